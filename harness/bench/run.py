"""The benchmark from its plan to its report."""

import tempfile
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from harness.bench.machine import machine_facts
from harness.bench.model import IN_PROCESS, BenchReport, Sample, SuiteTime, TrafficKind, Workload
from harness.bench.rounds import Subject, Turns, client_pool, take_turns
from harness.bench.suite_time import time_suite
from harness.runner.watcher import Watcher
from harness.scenario.script import Script
from harness.targets.base.interface import Broker, BrokerDescription, Target, TargetError
from harness.targets.reference.target import ReferenceTarget
from harness.targets.reference.tcp import ReferenceTcpTarget

WORKLOADS: Final = (
    Workload(talk=TrafficKind.CYCLES, connections=1),
    Workload(talk=TrafficKind.CYCLES, connections=8),
    Workload(talk=TrafficKind.CYCLES, connections=64),
    Workload(talk=TrafficKind.HEARTBEATS, connections=1, in_flight=1),
    Workload(talk=TrafficKind.HEARTBEATS, connections=1, in_flight=10),
    Workload(talk=TrafficKind.HEARTBEATS, connections=1, in_flight=100),
    Workload(talk=TrafficKind.HEARTBEATS, connections=1, in_flight=1000),
    Workload(talk=TrafficKind.HEARTBEATS, connections=8, in_flight=100),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchPlan:
    """The targets and settings of a benchmark."""

    target: Target
    """The target that the reference is compared with."""
    profile: str | None
    """The profile of the reference; None for that of the target."""
    turns: Turns
    scripts: Mapping[str, Script]
    """The suite."""
    suite_rounds: int
    workloads: tuple[Workload, ...] = WORKLOADS


async def bench(plan: BenchPlan, watcher: Watcher) -> BenchReport:
    """Measure the rates first, then the suite, both with no other work of the harness running.

    Raises:
        TargetError: a target cannot be started or measured, or was lost.
    """
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    machine = machine_facts()
    with tempfile.TemporaryDirectory(prefix="kafka-conformance-bench-") as directory:
        rates = await _measure_rates(plan, watcher, Path(directory))
        suite_times = await _time_suites(plan, rates.profile, watcher, Path(directory))
    return BenchReport(
        started_at=started_at,
        machine=machine,
        subjects=rates.subjects,
        baseline=rates.baseline,
        workloads=plan.workloads,
        samples=rates.samples,
        suite_times=suite_times,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rates:
    profile: str
    subjects: Mapping[str, str]
    baseline: str
    samples: tuple[Sample, ...]


async def _measure_rates(plan: BenchPlan, watcher: Watcher, directory: Path) -> _Rates:
    async with AsyncExitStack() as brokers:
        baseline = await _started(plan.target, brokers, directory, watcher)
        profile = plan.profile or baseline.profile
        reported = {IN_PROCESS: f"reference coordinator in process, profile {profile}"}
        subjects = [Subject(name=IN_PROCESS, profile=profile, address=None)]
        for target in (ReferenceTcpTarget(profile), plan.target):
            started = (
                baseline if target is plan.target else await _started(target, brokers, directory, watcher)
            )
            reported[target.name] = started.implementation
            subjects.append(Subject(name=target.name, profile=profile, address=_address(started)))
        samples: list[Sample] = []
        with client_pool(plan.turns) as pool:
            for workload in plan.workloads:
                tell = _teller(watcher, "bench")
                samples += await take_turns(subjects, workload, plan.turns, pool, tell)
    return _Rates(profile=profile, subjects=reported, baseline=plan.target.name, samples=tuple(samples))


async def _started(
    target: Target, brokers: AsyncExitStack, directory: Path, watcher: Watcher
) -> BrokerDescription:
    logs = _made(directory / f"broker-{target.name}")
    broker: Broker = await target.start(
        broker_config={}, directory=logs, progress=_teller(watcher, target.name)
    )
    brokers.push_async_callback(broker.stop)
    return broker.description


def _made(directory: Path) -> Path:
    directory.mkdir()
    return directory


def _teller(watcher: Watcher, subject: str) -> Callable[[str], None]:
    return lambda text: watcher.target_says(subject, text)


def _address(description: BrokerDescription) -> tuple[str, int]:
    host, colon, port = description.bootstrap.rpartition(":")
    if not colon:
        raise TargetError(f"{description.spec} listens nowhere; compare with a target that has a port")
    return host, int(port)


async def _time_suites(
    plan: BenchPlan, profile: str, watcher: Watcher, directory: Path
) -> tuple[SuiteTime, ...]:
    times: list[SuiteTime] = []
    for number in range(plan.suite_rounds):
        for target in (ReferenceTarget(profile), ReferenceTcpTarget(profile), plan.target):
            place = _made(directory / f"suite-{number}-{target.name}")
            times.append(
                await time_suite(target, plan.scripts, number=number, directory=place, watcher=watcher)
            )
    return tuple(times)
