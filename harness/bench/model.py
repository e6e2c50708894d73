"""What is measured, and what came out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median
from typing import Final

IN_PROCESS: Final = "reference"
"""The subject without a socket: client and reference share a core, so that no goal is set for it."""


class TrafficKind(StrEnum):
    """What a connection of a workload talks about."""

    CYCLES = "cycles"
    """Its member joins, syncs, sends a heartbeat and leaves, over and over."""
    HEARTBEATS = "heartbeats"
    """Its member sends heartbeats, and never waits for one answer before it sends the next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """How many times as fast as the baseline the reference's server is to be."""

    least: float
    better: float
    """What would be welcome beyond that."""


_CYCLES_GOAL: Final = Goal(least=1, better=3)
_PIPELINED_GOAL: Final = Goal(least=3, better=5)
_PIPELINED_FROM: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Some connections, each with a group of its own, that all do the same."""

    talk: TrafficKind
    connections: int
    in_flight: int = 1
    """Requests of one connection that are not answered yet."""

    @property
    def name(self) -> str:
        """How tables call it."""
        if self.talk is TrafficKind.CYCLES:
            groups = "group" if self.connections == 1 else "groups"
            return f"join-sync-heartbeat-leave, {self.connections} {groups}"
        many = "" if self.connections == 1 else f"{self.connections} connections, "
        return f"heartbeats, {many}{self.in_flight} in flight"

    @property
    def goal(self) -> Goal | None:
        """What is asked of the reference's server; of some workloads nothing is."""
        if self.talk is TrafficKind.CYCLES:
            return _CYCLES_GOAL
        is_pipelined = self.connections == 1 and self.in_flight >= _PIPELINED_FROM
        return _PIPELINED_GOAL if is_pipelined else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A subject under a workload for a stretch of time. Grain: workload, round, subject."""

    workload: str
    round: int
    subject: str
    requests_per_s: float
    client_load: float
    """How much of a core the busiest client needed, 0 to 1; near 1 it measured itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteTime:
    """The whole suite run once on a subject. Grain: round, subject."""

    round: int
    subject: str
    scenarios: int
    drive_s: float
    """From when all brokers were ready to the last scenario's end."""
    total_s: float
    """With the start and the stop of the brokers."""
    longest_scenario: str
    longest_s: float
    """On the scenario's own clock, which is virtual in the reference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A number seen several times."""

    median: float
    least: float
    most: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchReport:
    """A whole run of the benchmark."""

    started_at: str
    machine: Mapping[str, str]
    subjects: Mapping[str, str]
    """Name to what it is, in the order in which they take turns."""
    baseline: str
    """The subject that the others are compared with."""
    workloads: tuple[Workload, ...]
    samples: tuple[Sample, ...]
    suite_times: tuple[SuiteTime, ...]


CLIENT_IS_THE_LIMIT: float = 0.9
"""From this load of a client on, a rate says how fast the client is."""


def spread(numbers: Sequence[float]) -> Spread:
    """Return the middle and both ends of some numbers."""
    return Spread(median=median(numbers), least=min(numbers), most=max(numbers))


def rates(report: BenchReport, workload: str, subject: str) -> list[float]:
    """Return a subject's rates under a workload, round by round."""
    return [
        each.requests_per_s for each in report.samples if (each.workload, each.subject) == (workload, subject)
    ]


def ratios(report: BenchReport, workload: str, subject: str) -> list[float]:
    """Return how many times as fast as the baseline a subject was, round by round.

    Rounds are compared pair by pair, because what else the machine does changes from one to the next.
    """
    pairs = zip(rates(report, workload, subject), rates(report, workload, report.baseline), strict=True)
    return [ours / theirs for ours, theirs in pairs]


def is_client_bound(report: BenchReport, workload: str, subject: str) -> bool:
    """Whether the client, not the subject, may have been the limit in the middle round."""
    loads = [
        each.client_load for each in report.samples if (each.workload, each.subject) == (workload, subject)
    ]
    return bool(loads) and median(loads) >= CLIENT_IS_THE_LIMIT


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalOutcome:
    """What became of a workload's goal. Grain: workload, server of the reference."""

    workload: str
    subject: str
    goal: Goal
    ratio: float
    """The middle one of the rounds."""

    @property
    def is_met(self) -> bool:
        """Whether the server was fast enough."""
        return self.ratio >= self.goal.least


def goal_outcomes(report: BenchReport) -> list[GoalOutcome]:
    """Return how every server of the reference stands to every goal."""
    servers = [each for each in report.subjects if each not in {IN_PROCESS, report.baseline}]
    return [
        GoalOutcome(
            workload=workload.name,
            subject=subject,
            goal=workload.goal,
            ratio=median(ratios(report, workload.name, subject)),
        )
        for workload in report.workloads
        if workload.goal is not None
        for subject in servers
    ]
