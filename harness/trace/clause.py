"""A row of the catalogue, as suites write it and as runs keep it."""

from dataclasses import dataclass
from enum import StrEnum


class Exclusion(StrEnum):
    """Why no scenario is to exercise a clause."""

    UNOBSERVABLE = "not observable"
    """No client can see it, or provoke it at will."""
    OUT_OF_SCOPE = "out of scope"
    """A client could see it, but not with what the harness has."""
    NO_CLAIM = "no claim"
    """It says nothing of a coordinator: a rule, a means, a summary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """One thing that a group coordinator is known to do. Grain: clause."""

    id: str
    section: str
    """The file that it stands in, without its suffix."""
    section_title: str
    statement: str
    apis: tuple[str, ...]
    versions: str | None
    """Releases that have the behaviour, e.g. `>=2.5`; None where all do."""
    derived: bool
    """Whether it was inferred rather than observed."""
    exclusion: str | None
    """An `Exclusion`; None where a scenario is due."""
    reason: str | None
    """Of the exclusion."""

    @property
    def is_due(self) -> bool:
        """Whether a scenario is to exercise it."""
        return self.exclusion is None
