"""The cost of a tap: clients send requests to a broker directly and through a tap, in turns."""

import asyncio
import dataclasses
import json
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from harness.bench.client import Count
from harness.bench.machine import machine_facts
from harness.bench.model import CLIENT_IS_THE_LIMIT, Sample, TrafficKind, Workload, spread
from harness.bench.rounds import Subject, Turns, client_pool, take_turns
from harness.bench.tap_clients import CLIENTS, carry_client
from harness.tap import Tap
from harness.targets.base.interface import Target, TargetError

DIRECT: Final = "direct"
TAPPED: Final = "tapped"
GOAL: Final = 0.8
"""The share of the direct rate to reach: a tap adds less than 20 %."""
LATEST: Final = "latest.json"
_WARM_UP_S: Final = 0.3
_WORKLOADS: Final = (
    Workload(talk=TrafficKind.HEARTBEATS, connections=1, in_flight=1),
    Workload(talk=TrafficKind.HEARTBEATS, connections=1, in_flight=10),
    Workload(talk=TrafficKind.HEARTBEATS, connections=1, in_flight=100),
    Workload(talk=TrafficKind.HEARTBEATS, connections=8, in_flight=100),
    Workload(talk=TrafficKind.CYCLES, connections=8),
)
"""The workloads of a client with almost no overhead, which shows the cost of the tap undiluted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TapBenchPlan:
    """The targets and settings of the benchmark."""

    target: Target
    turns: Turns
    clients: tuple[str, ...] = tuple(CLIENTS)
    """Real clients, by the names in `CLIENTS`."""
    workloads: tuple[Workload, ...] = _WORKLOADS


@dataclass(frozen=True, slots=True, kw_only=True)
class TapBenchReport:
    """The results of the benchmark."""

    started_at: str
    machine: Mapping[str, str]
    broker: str
    real: tuple[str, ...]
    """The workloads of real clients, to which the goal applies."""
    samples: tuple[Sample, ...]

    def workloads(self) -> tuple[str, ...]:
        """Return the workloads in the order in which they were measured."""
        return tuple(dict.fromkeys(each.workload for each in self.samples))

    def rates(self, workload: str, subject: str) -> list[float]:
        """Return the rates of one subject, round by round."""
        chosen = (each for each in self.samples if (each.workload, each.subject) == (workload, subject))
        return [each.requests_per_s for each in chosen]

    def ratios(self, workload: str) -> list[float]:
        """Return the ratio of the tapped rate to the direct one, round by round."""
        pairs = zip(self.rates(workload, TAPPED), self.rates(workload, DIRECT), strict=True)
        return [tapped / direct for tapped, direct in pairs]

    def is_met(self, workload: str) -> bool:
        """Return whether the median ratio reaches the goal."""
        return median(self.ratios(workload)) >= GOAL


async def bench_tap(plan: TapBenchPlan, tell: Callable[[str], None]) -> TapBenchReport:
    """Run the benchmark, with no other work of the harness running.

    Raises:
        TargetError: the target cannot be started, or does not answer as it should.
    """
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    machine = machine_facts()
    with tempfile.TemporaryDirectory(prefix="kafka-conformance-bench-") as directory:
        broker = await plan.target.start(broker_config={}, directory=Path(directory), progress=tell)
        try:
            samples = await _measure(plan, broker.description.bootstrap, Path(directory), tell)
        finally:
            await broker.stop()
    return TapBenchReport(
        started_at=started_at,
        machine=machine,
        broker=broker.description.implementation,
        real=plan.clients,
        samples=tuple(samples),
    )


async def _measure(
    plan: TapBenchPlan, bootstrap: str, directory: Path, tell: Callable[[str], None]
) -> list[Sample]:
    samples: list[Sample] = []
    with Tap(bootstrap, directory / "tap") as tap, client_pool(plan.turns) as pool:
        addresses = {DIRECT: bootstrap, TAPPED: tap.bootstrap_servers}
        for name in plan.clients:
            samples += await _take_client_turns(name, addresses, plan.turns, pool, tell)
        subjects = [
            Subject(name=name, profile="", address=_address(address)) for name, address in addresses.items()
        ]
        for workload in plan.workloads:
            samples += await take_turns(subjects, workload, plan.turns, pool, tell)
    return samples


async def _take_client_turns(
    name: str, addresses: Mapping[str, str], turns: Turns, pool: Executor, tell: Callable[[str], None]
) -> list[Sample]:
    loop = asyncio.get_running_loop()

    async def measured(subject: str, number: int, seconds: float) -> Count:
        arguments = (name, addresses[subject], f"bench-{subject}-{number}", _WARM_UP_S, seconds)
        try:
            return await loop.run_in_executor(pool, carry_client, *arguments)
        except Exception as error:
            raise TargetError(f"{name}, {subject}, cannot be measured: {error}") from error

    for subject in addresses:
        tell(f"{name}: {subject} gets warm")
        await measured(subject, -1, turns.heat_up_s)
    samples: list[Sample] = []
    for number in range(turns.rounds):
        for subject in addresses:
            tell(f"{name}: {subject}, round {number + 1} of {turns.rounds}")
            count = await measured(subject, number, turns.seconds)
            samples.append(
                Sample(
                    workload=name,
                    round=number,
                    subject=subject,
                    requests_per_s=round(count.answered / count.elapsed_s, 1),
                    client_load=round(count.cpu_s / count.elapsed_s, 3),
                )
            )
    return samples


def _address(bootstrap: str) -> tuple[str, int]:
    host, _, port = bootstrap.partition(",")[0].rpartition(":")
    return host, int(port)


def write_tap_report(report: TapBenchReport, out: Path) -> Path:
    """Write a report into a folder as the latest; return its path."""
    out.mkdir(parents=True, exist_ok=True)
    ratios = {name: dataclasses.asdict(spread(report.ratios(name))) for name in report.workloads()}
    path = out / LATEST
    content = dataclasses.asdict(report) | {"ratios": ratios}
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def print_tap_report(report: TapBenchReport, console: Console) -> None:
    """Print the rates, and the ratios of tapped to direct ones."""
    console.print(", ".join(f"{name}: {value}" for name, value in report.machine.items()), highlight=False)
    table = Table(box=SIMPLE_HEAD, title=f"Requests a second, {report.broker}; ratios round by round")
    for name in ("", DIRECT, TAPPED, "ratio (least-most)", "client's load"):
        table.add_column(name, justify="right" if name else "left")
    for workload in report.workloads():
        table.add_row(workload, *_cells(report, workload))
    console.print(table)
    for name in report.real:
        verdict = "goal met   " if report.is_met(name) else "goal MISSED"
        console.print(f"{verdict}  {name}: {median(report.ratios(name)):.2f} of at least {GOAL:g}")


def _cells(report: TapBenchReport, workload: str) -> list[str]:
    ratio = spread(report.ratios(workload))
    load = median(each.client_load for each in report.samples if each.workload == workload)
    return [
        f"{median(report.rates(workload, DIRECT)):,.0f}",
        f"{median(report.rates(workload, TAPPED)):,.0f}",
        f"{ratio.median:.2f} ({ratio.least:.2f}-{ratio.most:.2f})",
        f"{load:.2f}" + (" (the limit)" if load >= CLIENT_IS_THE_LIMIT else ""),
    ]
