"""What the benchmark makes of its samples, and that it runs from end to end."""

import asyncio
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from harness.bench.model import (
    BenchReport,
    Sample,
    SuiteTime,
    TrafficKind,
    Workload,
    goal_outcomes,
    ratios,
    spread,
)
from harness.bench.output import print_report, write_report
from harness.bench.rounds import Turns
from harness.bench.run import BenchPlan, bench
from harness.orchestration.progress import ProgressDisplay
from harness.targets.base.interface import Target, TargetError
from harness.targets.reference.target import ReferenceTarget
from harness.targets.reference.tcp import ReferenceTcpTarget

WORKLOAD = Workload(talk=TrafficKind.HEARTBEATS, connections=1, in_flight=10)
TURNS = Turns(rounds=1, seconds=0.01, heat_up_s=0.01, clients=2)


def sample(number: int, subject: str, rate: float, *, client_load: float = 0.1) -> Sample:
    return Sample(
        workload=WORKLOAD.name, round=number, subject=subject, requests_per_s=rate, client_load=client_load
    )


def report(*samples: Sample) -> BenchReport:
    return BenchReport(
        started_at="2026-01-01T00:00:00+00:00",
        machine={"cores": "4"},
        subjects={"ours": "reference over TCP", "theirs": "Apache Kafka"},
        baseline="theirs",
        workloads=(WORKLOAD,),
        samples=samples,
        suite_times=(
            SuiteTime(
                round=0,
                subject="ours",
                scenarios=300,
                drive_s=4.5,
                total_s=7,
                longest_scenario="classic/join/[slow]",
                longest_s=3.5,
            ),
        ),
    )


INTERLEAVED = (
    sample(0, "ours", 300), sample(0, "theirs", 100),
    sample(1, "ours", 100), sample(1, "theirs", 100),
    sample(2, "ours", 50), sample(2, "theirs", 10),
)  # fmt: skip


def printed(reported: BenchReport) -> str:
    written = io.StringIO()
    print_report(reported, Console(width=120, file=written))
    return written.getvalue()


def test_ratios_are_taken_pair_by_pair() -> None:
    assert ratios(report(*INTERLEAVED), WORKLOAD.name, "ours") == [3, 1, 5]


def test_a_spread_has_the_middle_and_both_ends() -> None:
    seen = spread([3, 1, 5])

    assert (seen.median, seen.least, seen.most) == (3, 1, 5)


def test_the_tables_show_rates_ratios_and_the_longest_scenario() -> None:
    text = printed(report(*INTERLEAVED))

    assert "100  (50-300)" in text
    assert "3.00x  (1.00-5.00)" in text
    assert "classic/join/[slow], 3.5" in text


@pytest.mark.parametrize(
    ("workload", "goal"),
    [
        (Workload(talk=TrafficKind.CYCLES, connections=64), (1, 3)),
        (WORKLOAD, (3, 5)),
        (Workload(talk=TrafficKind.HEARTBEATS, connections=1), None),
        (Workload(talk=TrafficKind.HEARTBEATS, connections=8, in_flight=100), None),
    ],
)
def test_cycles_and_what_is_in_flight_on_one_connection_have_goals(
    workload: Workload, goal: tuple[float, float] | None
) -> None:
    found = workload.goal

    assert (None if found is None else (found.least, found.better)) == goal


@pytest.mark.parametrize(("rate", "line"), [(300, "goal met     "), (299, "goal MISSED  ")])
def test_the_report_names_each_goal_that_is_met_or_missed(rate: float, line: str) -> None:
    reported = printed(report(sample(0, "ours", rate), sample(0, "theirs", 100)))

    assert f"{line}{WORKLOAD.name}, ours: {rate / 100:.2f}x of at least 3x, better 5x" in reported


def test_neither_the_baseline_nor_what_has_no_socket_has_a_goal() -> None:
    everybody = replace(
        report(*(sample(0, subject, 100) for subject in ("reference", "ours", "theirs"))),
        subjects={each: each for each in ("reference", "ours", "theirs")},
    )

    assert [each.subject for each in goal_outcomes(everybody)] == ["ours"]


@pytest.mark.parametrize(("client_load", "is_said"), [(0.95, True), (0.5, False)])
def test_a_client_that_was_the_limit_is_said_to_be(client_load: float, *, is_said: bool) -> None:
    text = printed(report(sample(0, "ours", 2, client_load=client_load), sample(0, "theirs", 1)))

    assert ("the client was the limit" in text) == is_said


def test_the_report_is_written_with_its_ratios(tmp_path: Path) -> None:
    path = write_report(report(*INTERLEAVED), tmp_path / "bench")

    content = json.loads(path.read_text(encoding="utf-8"))
    assert path.name == "latest.json"
    assert content["ratios"][WORKLOAD.name]["ours"] == {"median": 3, "least": 1, "most": 5}
    assert len(content["samples"]) == 6


def run(target: Target, *workloads: Workload) -> BenchReport:
    plan = BenchPlan(
        target=target, profile=None, turns=TURNS, scripts={}, suite_rounds=0, workloads=workloads
    )
    return asyncio.run(bench(plan, ProgressDisplay(Console(quiet=True))))


@pytest.mark.slow
def test_every_subject_takes_its_turn_under_every_workload() -> None:
    workloads = (WORKLOAD, Workload(talk=TrafficKind.CYCLES, connections=3))

    reported = run(ReferenceTcpTarget("3.9", profile_in_spec=True), *workloads)

    turns = [(each.workload, each.subject) for each in reported.samples]
    subjects = ("reference", "reference-tcp", "reference-tcp-3.9")
    assert turns == [(workload.name, subject) for workload in workloads for subject in subjects]
    assert all(each.requests_per_s > 0 for each in reported.samples)


@pytest.mark.slow
def test_a_target_without_a_port_cannot_be_compared_with() -> None:
    with pytest.raises(TargetError, match="listens nowhere"):
        run(ReferenceTarget("3.9"), WORKLOAD)
