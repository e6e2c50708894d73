"""A row of the catalogue, in suites and in the folders of runs."""

from dataclasses import dataclass
from enum import StrEnum


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
