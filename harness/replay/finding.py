"""What comes of a replay: differences, and how much was compared at all."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayFinding:
    """An answer that the reference would not have given. Grain: conversation, position, field."""

    conversation: str
    position: int
    """The answer's sequence in its conversation; the request's where the difference is its time."""
    at_ms: float
    """When it came, on the tap's clock."""
    api: str
    api_version: int
    actor: str | None
    group: str
    field: str
    """Path of the field, e.g. `members[1].metadata`; empty where it is about the whole answer."""
    expected: str
    """The reference's value, JSON."""
    actual: str
    """The recorded one, JSON."""
    state: str
    """The group as the reference had it before."""
    says: str
    """For people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """What came of replaying one conversation."""

    conversation: str
    compared: int
    """Answers of the coordinator that were compared with the reference's."""
    not_compared: Mapping[str, int] = field(default_factory=dict)
    """Answers of the coordinator that were not, by reason."""
    findings: tuple[ReplayFinding, ...] = ()

    @property
    def reported(self) -> str:
        """The counts in words."""
        left_out = "; ".join(f"{count} {why}" for why, count in sorted(self.not_compared.items()))
        return f"{self.compared} answers compared" + (f", not compared: {left_out}" if left_out else "")


def total(replayed: "tuple[Replayed, ...]") -> Replayed:
    """Return the sums over several conversations."""
    not_compared: Counter[str] = Counter()
    for each in replayed:
        not_compared.update(each.not_compared)
    return Replayed(
        conversation="all",
        compared=sum(each.compared for each in replayed),
        not_compared=dict(not_compared),
        findings=tuple(finding for each in replayed for finding in each.findings),
    )
