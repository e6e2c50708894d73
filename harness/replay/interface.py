"""What a machine tells a search: its answers, and the steps that it may take by itself.

An operation of a coordinator need not be one step. A group's metadata is written and *then* takes effect, a
rebalance ends by a timer, a group that is Dead is removed later. What happens between two requests is an
*inner step*, which the search may take at any time.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from harness.invariants.exchange import Fields


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
