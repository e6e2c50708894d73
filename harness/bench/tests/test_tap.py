"""What a tap costs, as its benchmark tells it."""

import asyncio
import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from harness.bench.model import Sample, TrafficKind, Workload
from harness.bench.rounds import Turns
from harness.bench.tap_run import (
    DIRECT,
    TAPPED,
    TapBenchPlan,
    TapBenchReport,
    bench_tap,
    print_tap_report,
    write_tap_report,
)
from harness.targets.reference.tcp import ReferenceTcpTarget

REAL = "confluent-kafka, commits one by one"
HEARTBEATS = Workload(talk=TrafficKind.HEARTBEATS, connections=1)


def report(*rounds: tuple[float, float]) -> TapBenchReport:
    samples = tuple(
        Sample(workload=REAL, round=number, subject=subject, requests_per_s=rate, client_load=0.5)
        for number, rates in enumerate(rounds)
        for subject, rate in zip((DIRECT, TAPPED), rates, strict=True)
    )
    return TapBenchReport(
        started_at="", machine={"cores": "4"}, broker="Kafka", real=(REAL,), samples=samples
    )


def printed(found: TapBenchReport) -> str:
    console = Console(file=StringIO(), width=120)
    print_tap_report(found, console)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_rates_are_compared_round_by_round_and_the_middle_decides() -> None:
    good = report((100, 90), (1000, 400), (10, 9))
    bad = report((100, 70), (1000, 400), (10, 9))

    assert good.ratios(REAL) == [0.9, 0.4, 0.9]
    assert f"goal met     {REAL}: 0.90 of at least 0.8" in printed(good)
    assert f"goal MISSED  {REAL}: 0.70 of at least 0.8" in printed(bad)


@pytest.mark.slow
def test_a_client_and_the_benchmarks_own_are_measured_with_and_without_a_tap(tmp_path: Path) -> None:
    plan = TapBenchPlan(
        target=ReferenceTcpTarget(),
        turns=Turns(rounds=1, seconds=0.1, heat_up_s=0.1, clients=1),
        clients=(REAL,),
        workloads=(HEARTBEATS,),
    )
    found = asyncio.run(bench_tap(plan, lambda _: None))

    assert found.workloads() == (REAL, HEARTBEATS.name)
    assert all(each.requests_per_s > 0 for each in found.samples)
    assert len(found.samples) == 4
    assert json.loads(write_tap_report(found, tmp_path).read_text())["ratios"].keys() == {
        REAL,
        HEARTBEATS.name,
    }
