"""What is measured, and what came out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median


class Talk(StrEnum):
    """What a connection of a workload talks about."""

    CYCLES = "cycles"
    """Its member joins, syncs, sends a heartbeat and leaves, over and over."""
    HEARTBEATS = "heartbeats"
    """Its member sends heartbeats, and never waits for one answer before it sends the next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Some connections, each with a group of its own, that all do the same."""

    talk: Talk
    connections: int
    in_flight: int = 1
    """Requests of one connection that are not answered yet."""

    @property
    def name(self) -> str:
        """How tables call it."""
        if self.talk is Talk.CYCLES:
            groups = "group" if self.connections == 1 else "groups"
            return f"join-sync-heartbeat-leave, {self.connections} {groups}"
        many = "" if self.connections == 1 else f"{self.connections} connections, "
        return f"heartbeats, {many}{self.in_flight} in flight"


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
    """The whole suite held once with a subject. Grain: round, subject."""

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
