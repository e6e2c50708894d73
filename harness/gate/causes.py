"""Complaints grouped by their most likely cause, so that the same difference is reported once."""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.gate.complaint import Complaint


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Complaints of one kind with the same difference, in any scenarios and targets."""

    first: Complaint
    others: tuple[Complaint, ...]

    @property
    def count(self) -> int:
        """The number of complaints."""
        return 1 + len(self.others)


def causes_of(complaints: Sequence[Complaint]) -> tuple[Cause, ...]:
    """Group complaints by cause, ordered by first occurrence; one without a difference is its own group."""
    alike: dict[object, list[Complaint]] = {}
    for place, each in enumerate(complaints):
        alike.setdefault(_likeness(each) or place, []).append(each)
    return tuple(Cause(first=first, others=tuple(others)) for first, *others in alike.values())


def _likeness(complaint: Complaint) -> object:
    found = complaint.difference
    return found and (complaint.kind, found.cause)
