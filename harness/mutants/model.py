"""What is said of a mutant: what it is, and what became of it."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum, unique
from typing import Final

from harness.mutants.source import Source

_REACHING_NAMED: Final = 5


@unique
class Kind(StrEnum):
    """What of the reference is wrong in a mutant."""

    BEHAVIOUR = "behaviour"
    """A named behaviour is present where it should not be, or the other way round."""
    CHECK = "check"
    """A check is missing, or comes after the one that should follow it."""
    TIMER = "timer"
    """A deadline is not set, not lifted, or twice as far away."""
    FIELD = "field"
    """A field of a response, or an error code, has another value."""
    GUARD = "guard"
    """A comparison or a boolean operator is another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Other syntax in a place of a tree: an attribute of a node, or a stretch of its list.

    Attributes:
        parent: the node that contains the place.
        attribute: the attribute's name.
        start: where the stretch begins; None where the attribute is no list.
        stop: where it ends.
        nodes: what is to stand there; one node where the attribute is no list.
    """

    parent: ast.AST
    attribute: str
    start: int | None = None
    stop: int = 0
    nodes: tuple[ast.AST, ...]

    def apply(self) -> "Edit":
        """Put the other syntax in; returns the edit that takes it out again."""
        if self.start is None:
            before: ast.AST = getattr(self.parent, self.attribute)
            setattr(self.parent, self.attribute, self.nodes[0])
            return Edit(parent=self.parent, attribute=self.attribute, nodes=(before,))
        stretch: list[ast.AST] = getattr(self.parent, self.attribute)
        taken = tuple(stretch[self.start : self.stop])
        stretch[self.start : self.stop] = self.nodes
        return Edit(
            parent=self.parent,
            attribute=self.attribute,
            start=self.start,
            stop=self.start + len(self.nodes),
            nodes=taken,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A fault in one function of the reference."""

    id: str
    """`module:function:fault:index`, the index counting the faults of that name in the function."""
    module: str
    """Below the reference's package, e.g. `groups.classic.join`."""
    function: str
    """Qualified within the module, e.g. `ClassicGroup.add`."""
    kind: Kind
    fault: str
    """E.g. `dropped`."""
    lines: range
    """Lines of the module of which one must be executed for the fault to matter."""
    before: str
    after: str
    """The line or lines concerned, as they are and as they become."""
    behaviour: str | None = None
    """The named behaviour that is switched, if that is the fault."""
    profile: str | None = None
    """The only profile in which it is tried; None tries all."""
    source: Source = field(repr=False, compare=False)
    """The module whose tree is edited."""
    compiled: str
    """Qualified name of the function in that module that gets other code."""
    edit: Edit = field(repr=False, compare=False)

    @property
    def change(self) -> str:
        """The fault in one line, by which an entry of the equivalents is checked against what it meant."""
        return f"{self.before} -> {self.after}"


@unique
class Fate(StrEnum):
    """What became of a mutant."""

    KILLED = "killed"
    """A scenario noticed."""
    SURVIVED = "survived"
    """Scenarios executed it, and none noticed."""
    NOT_COVERED = "not covered"
    """No scenario executes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What became of one mutant. Grain: campaign, mutant."""

    mutant: str
    """Its id."""
    module: str
    function: str
    kind: str
    fault: str
    first_line: int
    before: str
    after: str
    fate: str
    """A `Fate`."""
    equivalent: str | None
    """Why nobody could notice, where the list of equivalents says so."""
    profile: str | None
    """In which it was noticed."""
    scenario: str | None
    """Which noticed."""
    how: str | None
    """What was noticed."""
    run_count: int
    """How many conversations were run on it."""
    reached: int
    """How many conversations execute it."""
    reached_by: tuple[str, ...]
    """The shortest of these, `profile scenario` each."""
    took_ms: float


def trial_of(
    mutant: Mutant,
    fate: Fate,
    *,
    equivalent: str | None,
    killer: tuple[str, str] | None = None,
    how: str | None = None,
    reached_by: Sequence[tuple[str, str]] = (),
    run_count: int = 0,
    took_ms: float = 0.0,
) -> Trial:
    """Tell what became of a mutant; who killed it and who reaches it are profile and scenario each."""
    return Trial(
        mutant=mutant.id,
        module=mutant.module,
        function=mutant.function,
        kind=mutant.kind.value,
        fault=mutant.fault,
        first_line=mutant.lines.start,
        before=mutant.before,
        after=mutant.after,
        fate=fate.value,
        equivalent=equivalent,
        profile=killer[0] if killer else None,
        scenario=killer[1] if killer else None,
        how=how,
        run_count=run_count,
        reached=len(reached_by),
        reached_by=tuple(f"{profile} {scenario}" for profile, scenario in reached_by[:_REACHING_NAMED]),
        took_ms=took_ms,
    )
