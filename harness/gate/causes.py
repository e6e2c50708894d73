"""Complaints by what most likely causes them: what several results do in the same way is told once."""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.gate.complaint import Complaint


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Complaints of one kind in which the same differs, whatever the scenario and the target."""

    first: Complaint
    others: tuple[Complaint, ...]

    @property
    def count(self) -> int:
        """How many complaints there are."""
        return 1 + len(self.others)


def causes_of(complaints: Sequence[Complaint]) -> tuple[Cause, ...]:
    """Gather complaints, in the order of the first of each; one without a difference stands alone."""
    alike: dict[object, list[Complaint]] = {}
    for place, each in enumerate(complaints):
        alike.setdefault(_likeness(each) or place, []).append(each)
    return tuple(Cause(first=first, others=tuple(others)) for first, *others in alike.values())


def _likeness(complaint: Complaint) -> object:
    found = complaint.difference
    return found and (complaint.kind, found.cause)
