"""The result of a replay: the differences, and how many answers were compared."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.results.replay_results import ReplayFinding


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """The result of replaying one conversation."""

    conversation: str
    compared: int
    """Answers of the coordinator that were compared with the reference's."""
    not_compared: Mapping[str, int] = field(default_factory=dict)
    """The numbers of the coordinator's answers that were not compared, by reason."""
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
