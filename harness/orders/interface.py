"""What a search needs of a machine: something that takes requests one at a time and says what it answers.

An operation of a coordinator need not be one step. A group's metadata is written and *then* takes effect, a
rebalance ends by a timer, a group that is Dead is removed later. What goes on between two requests is an
*inner step*, which the search takes when it likes.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, Self

from harness.orders.history import Fields, Operation


class InnerKind(StrEnum):
    """What a coordinator does of its own accord between two requests."""

    DEADLINE = "a deadline passes"
    WRITE = "a write is through"
    REMOVAL = "a Dead group is removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class InnerStep:
    """One thing that could happen next without a request."""

    kind: InnerKind
    due_ms: int = 0
    """When a deadline is due."""
    key: Hashable = None
    """Which deadline it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceAnswer:
    """An answer that the machine gave."""

    operation: int
    """The index of the operation that it answers."""
    fields: Fields
    """What of it is compared."""
    permitted: Mapping[str, tuple[object, ...]] = field(default_factory=dict)
    """Top-level fields to what else may stand there."""
    is_as_recorded: bool = False
    """Whether its bytes are those of the recorded answer; then nobody has read its fields."""


class Machine(Protocol):
    """The specification in the course of one order of things."""

    @property
    def now_ms(self) -> int:
        """Its time, which never goes back."""

    def apply(self, operation: Operation, at_ms: float) -> tuple[ReferenceAnswer, ...]:
        """Let an operation take effect; return what is answered thereupon, to whomever."""

    def inner_steps(self) -> tuple[InnerStep, ...]:
        """Return what could happen next without a request, the likeliest first."""

    def take(self, step: InnerStep, at_ms: float) -> tuple[ReferenceAnswer, ...]:
        """Let it happen."""

    def state(self) -> str:
        """Return in words how the groups are."""

    def digest(self) -> str:
        """Return a text that is equal only for states from which everything goes on alike."""

    def copy(self) -> Self:
        """Return one that goes on by itself."""
