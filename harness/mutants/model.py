"""The description of a mutant, and its fate."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum, unique
from typing import Final

from harness.mutants.source import Source

_REACHING_NAMED: Final = 5


@unique
class Kind(StrEnum):
    """The kinds of faults in mutants."""

    BEHAVIOUR = "behaviour"
    """A named behaviour is present where it should not be, or the other way round."""
    CHECK = "check"
    """A check is missing, or comes after the one that it should precede."""
    TIMER = "timer"
    """A deadline is not set, not cancelled, or twice as far away."""
    FIELD = "field"
    """A field of a response, or an error code, has another value."""
    GUARD = "guard"
    """A comparison or a boolean operator is replaced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A replacement in a syntax tree: of an attribute of a node, or of a slice of its list.

    Attributes:
        parent: the node that contains the place.
        attribute: the attribute's name.
        start: where the slice begins; None if the attribute is not a list.
        stop: where the slice ends.
        nodes: the replacement; one node if the attribute is not a list.
    """

    parent: ast.AST
    attribute: str
    start: int | None = None
    stop: int = 0
    nodes: tuple[ast.AST, ...]

    def apply(self) -> "Edit":
        """Apply the replacement; return the edit that reverts it."""
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
    """The name below the reference's package, e.g. `groups.classic.join`."""
    function: str
    """The qualified name within the module, e.g. `ClassicGroup.add`."""
    kind: Kind
    fault: str
    """The name of the fault, e.g. `dropped`."""
    lines: range
    """Lines of the module, one of which must be executed for the fault to matter."""
    before: str
    after: str
    """The code concerned, after the fault; `before` is the original."""
    behaviour: str | None = None
    """The named behaviour that is switched, if that is the fault."""
    profile: str | None = None
    """The only profile in which it is tried; None tries all."""
    source: Source = field(repr=False, compare=False)
    """The module whose tree is edited."""
    compiled: str
    """The qualified name of the function in that module whose code is replaced."""
    edit: Edit = field(repr=False, compare=False)

    @property
    def change(self) -> str:
        """The fault in one line, which shows whether an entry of the equivalents still means this mutant."""
        return f"{self.before} -> {self.after}"


@unique
class Fate(StrEnum):
    """The fate of a mutant."""

    KILLED = "killed"
    """A scenario detected it."""
    SURVIVED = "survived"
    """Scenarios executed it, and none detected it."""
    NOT_COVERED = "not covered"
    """No scenario executes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The result of trying one mutant. Grain: campaign, mutant."""

    mutant: str
    """The mutant's id."""
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
    """Why no client can detect it, if it is in the list of equivalents."""
    profile: str | None
    """The profile in which it was detected."""
    scenario: str | None
    """The scenario that detected it."""
    how: str | None
    """The difference that was detected."""
    run_count: int
    """The number of conversations that were run on it."""
    reached: int
    """The number of conversations that execute it."""
    reached_by: tuple[str, ...]
    """The shortest of these, each as `profile scenario`."""
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
    """Return the result for a mutant; `killer` and `reached_by` contain profiles with scenarios."""
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
