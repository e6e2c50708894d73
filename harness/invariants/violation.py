"""What can be found: which invariant is broken, where, and by whom."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class Invariant(StrEnum):
    """What must be true."""

    ONE_OWNER = "one owner"
    """Within a generation, a partition has at most one owner."""
    LEADER_ASSIGNS = "the leader assigns"
    """What a member is given is what its generation's leader sent for it."""
    GENERATIONS_GROW = "generations grow"
    """No join is answered with a generation below one that was known when it was sent."""
    COMMITS_STAY = "commits stay"
    """A committed offset never goes back unless one was committed there."""
    ALL_ASSIGNED = "all are assigned"
    """Every member of a stable generation has an assignment."""


class AtFault(StrEnum):
    """Who broke it."""

    COORDINATOR = "coordinator"
    CLIENTS = "clients"
    """The bytes that clients sent are enough to break it, however well they were answered."""


Found: TypeAlias = tuple[Invariant, AtFault, str]
"""What is broken, by whom, and what was seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """An invariant that was broken. Grain: target, conversation, event that shows it."""

    invariant: str
    """An `Invariant`."""
    party: str
    """A `AtFault`."""
    run_id: str
    target: str
    scenario_id: str
    group_id: str
    sequence: int
    """Of the event that shows it."""
    at_ms: float
    detail: str
    """For people: what was seen, and what should have been."""
