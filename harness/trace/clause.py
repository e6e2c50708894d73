"""A row of the catalogue, in suites and in the folders of runs."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from harness.verdict import Outcome


class Exclusion(StrEnum):
    """Why no scenario has to exercise a clause."""

    UNOBSERVABLE = "not observable"
    """No client can observe it, or provoke it at will."""
    OUT_OF_SCOPE = "out of scope"
    """A client could observe it, but not with the means of the harness."""
    NO_CLAIM = "no claim"
    """It claims nothing about a coordinator: a rule, a mechanism, a summary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """One thing that a group coordinator is known to do. Grain: clause."""

    id: str
    section: str
    """The file that contains it, without its suffix."""
    section_title: str
    statement: str
    apis: tuple[str, ...]
    versions: str | None
    """Releases that have the behaviour, e.g. `>=2.5`; None if all do."""
    derived: bool
    """Whether it was inferred rather than observed."""
    exclusion: str | None
    """An `Exclusion`; None if a scenario has to exercise it."""
    reason: str | None
    """The reason for the exclusion."""

    @property
    def is_due(self) -> bool:
        """Whether a scenario has to exercise it."""
        return self.exclusion is None


class ClauseStatus(StrEnum):
    """The result of a run for one row of the catalogue with one target."""

    DIFFERS = "differs"
    """A scenario that exercises the row diverges."""
    AGREED = "agreed"
    """Scenarios that exercise the row ran to a verdict, and none diverges."""
    UNCLEAR = "unclear"
    """No scenario that exercises the row ran to a verdict."""
    NOT_APPLICABLE = "not applicable"
    """No scenario that exercises the row could run on this target."""
    NOT_EXERCISED = "not exercised"
    """The run has no scenario for the row, although the row is not excluded."""
    EXCLUDED = "excluded"
    """The row is excluded, and no scenario exercises it."""


DECIDING: Final[Mapping[ClauseStatus, frozenset[str]]] = {
    ClauseStatus.DIFFERS: frozenset((Outcome.DIVERGES,)),
    ClauseStatus.AGREED: frozenset((Outcome.CONFORMS, Outcome.LENIENT)),
    ClauseStatus.UNCLEAR: frozenset((Outcome.INDETERMINATE, Outcome.HARNESS_ERROR)),
    ClauseStatus.NOT_APPLICABLE: frozenset((Outcome.NOT_APPLICABLE,)),
}
"""The outcomes of which one suffices for a status, in order: a difference outweighs agreement."""
