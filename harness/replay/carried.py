"""The state that one part of a group's replay passes to the next one, and the result of all parts."""

from collections import Counter
from dataclasses import dataclass, field
from math import inf

from harness.orders.interface import ReferenceAnswer
from harness.replay.finding import Replayed
from harness.replay.machine import ReplayMachine
from harness.replay.operation import RecordedOperation
from harness.replay.seeds import TopicPartition
from harness.results.replay_results import ReplayFinding


@dataclass(slots=True, kw_only=True)
class Account:
    """The numbers of answers compared and not compared, and the findings."""

    conversation_id: str
    compared: int = 0
    not_compared: Counter[str] = field(default_factory=Counter)
    findings: list[ReplayFinding] = field(default_factory=list)
    agreed: set[int] = field(default_factory=set)
    """Positions of answers that equal the reference's. Readers empty the set."""
    otherwise: dict[int, ReferenceAnswer | None] = field(default_factory=dict)
    """The reference's answer, or None, by the position of an answer that differs. Readers empty this too."""

    def replayed(self) -> Replayed:
        """Return the account as a result."""
        return Replayed(
            conversation=self.conversation_id,
            compared=self.compared,
            not_compared=dict(self.not_compared),
            findings=tuple(sorted(self.findings, key=lambda each: each.position)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A group in a coordinator that continues into the next part."""

    machine: ReplayMachine
    left: tuple[RecordedOperation, ...]
    """Operations that have not taken effect yet, and may never: they are unanswered, or take effect later."""
    unknown: frozenset[TopicPartition] | None
    """As in a `Seed`."""
    named: frozenset[TopicPartition]
    """Partitions whose offsets a client wrote or read."""
    since_ms: float | None
    """When the coordinator took over, if it may still be loading."""


@dataclass(slots=True, kw_only=True)
class Past:
    """What is known of a group from the parts replayed so far."""

    end_ms: float = -inf
    running: Running | None = None
    member_ids: frozenset[str] = frozenset()
    transactional: frozenset[str] = frozenset()
    is_modern: bool = False
    """Whether members have sent heartbeats with an epoch."""
