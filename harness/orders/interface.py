"""The interface of a search to a machine, which takes requests one at a time and returns its answers.

An operation of a coordinator need not be one step. A group's metadata is written and *then* takes effect, a
rebalance ends by a timer, a group that is Dead is removed later. What happens between two requests is an
*inner step*, which the search may take at any time.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf
from typing import NamedTuple, Protocol, Self

from harness.invariants.exchange import Exchange, Fields


class InnerKind(StrEnum):
    """The kinds of steps that a coordinator takes by itself between two requests."""

    DEADLINE = "a deadline passes"
    WRITE = "a write is through"
    REPLY = "another coordinator replies"
    REMOVAL = "a Dead group is removed"


class InnerStep(NamedTuple):
    """One thing that could happen next without a request."""

    kind: InnerKind
    due_ms: int = 0
    """When a deadline is due."""
    key: Hashable = None
    """The key of the deadline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceAnswer:
    """An answer that the machine gave."""

    operation: int
    """The index of the operation that it answers."""
    fields: Fields
    """The fields that are compared."""
    permitted: Mapping[str, tuple[object, ...]] = field(default_factory=dict)
    """Other permitted values, by top-level field."""
    is_as_recorded: bool = False
    """Whether its bytes equal the recorded answer; its fields are not decoded then."""


class Machine(Protocol):
    """The reference, as one order of operations runs on it."""

    @property
    def now_ms(self) -> int:
        """Its time, which never goes back."""

    def apply(self, operation: Exchange, at_ms: float) -> tuple[ReferenceAnswer, ...]:
        """Apply an operation; return the answers that it causes, to any client."""

    def inner_steps(self, until_ms: float = inf) -> tuple[InnerStep, ...]:
        """Return what could happen next without a request, up to a time, the likeliest first."""

    def take(self, step: InnerStep, at_ms: float) -> tuple[ReferenceAnswer, ...]:
        """Take an inner step; return the answers that it causes."""

    def state(self) -> str:
        """Return the state of the groups in words."""

    def digest(self) -> str:
        """Return a text that is equal only for states with the same future behaviour."""

    def copy(self) -> Self:
        """Return an independent copy."""
