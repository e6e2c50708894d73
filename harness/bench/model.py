"""The workloads and subjects that are measured, and the results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median
from typing import Final

IN_PROCESS: Final = "reference"
"""The subject without a socket. Client and reference share a core, so it has no goal."""


class TrafficKind(StrEnum):
    """The traffic on a connection of a workload."""

    CYCLES = "cycles"
    """Its member joins, syncs, sends a heartbeat and leaves, over and over."""
    HEARTBEATS = "heartbeats"
    """Its member sends heartbeats, without waiting for one answer before it sends the next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """How many times as fast as the baseline the reference's server must be."""

    least: float
    better: float
    """A higher ratio that is desirable."""


_CYCLES_GOAL: Final = Goal(least=1, better=3)
_PIPELINED_GOAL: Final = Goal(least=3, better=5)
_PIPELINED_FROM: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A number of connections, each with its own group, that all send the same requests."""

    talk: TrafficKind
    connections: int
    in_flight: int = 1
    """The number of unanswered requests on one connection."""

    @property
    def name(self) -> str:
        """The workload's name in tables."""
        if self.talk is TrafficKind.CYCLES:
            groups = "group" if self.connections == 1 else "groups"
            return f"join-sync-heartbeat-leave, {self.connections} {groups}"
        many = "" if self.connections == 1 else f"{self.connections} connections, "
        return f"heartbeats, {many}{self.in_flight} in flight"

    @property
    def goal(self) -> Goal | None:
        """The goal of the reference's server; some workloads have none."""
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
    """How much of a core the busiest client used, 0 to 1; near 1 the client was the limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteTime:
    """The whole suite run once on a subject. Grain: round, subject."""

    round: int
    subject: str
    scenarios: int
    drive_s: float
    """From when all brokers were ready to the last scenario's end."""
    total_s: float
    """Including the start and the stop of the brokers."""
    longest_scenario: str
    longest_s: float
    """On the scenario's own clock, which is virtual in the reference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The median and the extremes of repeated measurements."""

    median: float
    least: float
    most: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchReport:
    """A whole run of the benchmark."""

    started_at: str
    machine: Mapping[str, str]
    subjects: Mapping[str, str]
    """Descriptions by name, in the order in which they take turns."""
    baseline: str
    """The subject that the others are compared with."""
    workloads: tuple[Workload, ...]
    samples: tuple[Sample, ...]
    suite_times: tuple[SuiteTime, ...]


CLIENT_IS_THE_LIMIT: float = 0.9
"""From this load on, a rate shows the speed of the client."""


def spread(numbers: Sequence[float]) -> Spread:
    """Return the median, the minimum and the maximum of some numbers."""
    return Spread(median=median(numbers), least=min(numbers), most=max(numbers))


def rates(report: BenchReport, workload: str, subject: str) -> list[float]:
    """Return a subject's rates under a workload, round by round."""
    return [
        each.requests_per_s for each in report.samples if (each.workload, each.subject) == (workload, subject)
    ]


def ratios(report: BenchReport, workload: str, subject: str) -> list[float]:
    """Return how many times as fast as the baseline a subject was, round by round.

    Rounds are compared pair by pair, because other work on the machine changes from one to the next.
    """
    pairs = zip(rates(report, workload, subject), rates(report, workload, report.baseline), strict=True)
    return [ours / theirs for ours, theirs in pairs]


def is_client_bound(report: BenchReport, workload: str, subject: str) -> bool:
    """Return whether the client, not the subject, may have been the limit in the median round."""
    loads = [
        each.client_load for each in report.samples if (each.workload, each.subject) == (workload, subject)
    ]
    return bool(loads) and median(loads) >= CLIENT_IS_THE_LIMIT


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalOutcome:
    """The result of a workload's goal. Grain: workload, server of the reference."""

    workload: str
    subject: str
    goal: Goal
    ratio: float
    """The median of the rounds."""

    @property
    def is_met(self) -> bool:
        """Whether the server was fast enough."""
        return self.ratio >= self.goal.least


def goal_outcomes(report: BenchReport) -> list[GoalOutcome]:
    """Return the result of every goal for every server of the reference."""
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
