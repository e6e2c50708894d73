"""What the search needs of a specification: something that takes requests one at a time and tells answers.

An operation of a coordinator need not be one step. A group's metadata is written and *then* takes effect, a
rebalance ends by a timer of no length, a group that is Dead is removed later: what goes on inside between two
requests is an *inner step*, which the search takes whenever it likes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from harness.races.history import History
from harness.wire.codec import Fields


class InnerStep(StrEnum):
    """What a coordinator does of its own accord between two requests."""

    DEADLINE = "a deadline passes"
    WRITE = "a write is through"
    REMOVAL = "a Dead group is removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceAnswer:
    """An answer that the specification gave."""

    operation: int
    """Which operation of the history it answers."""
    api: str
    answer: Fields
    """In canonical form."""
    permitted: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Top-level fields to what else may stand there, as canonical JSON."""


class Machine(Protocol):
    """The specification in the course of one order of things."""

    def apply(
        self, operation: int, actor: str, api: str, api_version: int, request: Fields
    ) -> tuple[ReferenceAnswer, ...]:
        """Let an operation take place; tell what is answered thereupon, to whomever."""

    def inner_steps(self) -> tuple[InnerStep, ...]:
        """Return what could happen next without a request."""

    def take(self, step: InnerStep) -> tuple[ReferenceAnswer, ...]:
        """Let it happen."""

    def digest(self) -> str:
        """Return a text that is equal only for states from which everything goes on alike."""


class MachineFactory(Protocol):
    """Makes machines, each at the beginning of a group's life."""

    @property
    def family(self) -> str:
        """Which of Kafka's coordinators it is: `scala` or `java`."""

    @property
    def reads_may_be_stale(self) -> bool:
        """Whether reading APIs answer from what is written for good, which may lag behind."""

    def begin(self, history: History | None = None) -> Machine:
        """Return a new machine; with a history, one that chooses as its target was seen to choose."""
