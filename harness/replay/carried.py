"""What one part of a group's replay leaves to the next one, and what comes of all."""

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
    """What was compared, what was not, and what was found."""

    conversation_id: str
    compared: int = 0
    not_compared: Counter[str] = field(default_factory=Counter)
    findings: list[ReplayFinding] = field(default_factory=list)
    agreed: set[int] = field(default_factory=set)
    """Positions of answers that are the reference's; whoever reads them empties the set."""
    otherwise: dict[int, ReferenceAnswer | None] = field(default_factory=dict)
    """By the position of an answer that is not: the reference's, None where it has none; emptied likewise."""

    def replayed(self) -> Replayed:
        """Return it as a result."""
        return Replayed(
            conversation=self.conversation_id,
            compared=self.compared,
            not_compared=dict(self.not_compared),
            findings=tuple(sorted(self.findings, key=lambda each: each.position)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A group in a coordinator that goes on."""

    machine: ReplayMachine
    left: tuple[RecordedOperation, ...]
    """What has not taken effect yet, and may never: nobody was answered, or it takes effect later."""
    unknown: frozenset[TopicPartition] | None
    """As in a `Seed`."""
    named: frozenset[TopicPartition]
    """Partitions whose offsets somebody wrote or saw."""
    since_ms: float | None
    """When the coordinator came, if it may still be loading."""


@dataclass(slots=True, kw_only=True)
class Past:
    """What is known of a group from the parts that were replayed."""

    end_ms: float = -inf
    running: Running | None = None
    member_ids: frozenset[str] = frozenset()
    transactional: frozenset[str] = frozenset()
    is_of_consumers: bool = False
    other: str | None = None
    """Why nothing about it is replayed."""
