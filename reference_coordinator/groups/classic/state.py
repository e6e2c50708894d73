"""The states of a classic group.

Two rules: `VALID_PREVIOUS_STATES` alone defines which transitions are legal, and
`ClassicGroup.transition_to` is the only place that changes a state.

A group is Empty until its first member joins. The first join, and any later change of the members,
leads to PreparingRebalance: JoinGroups are parked until all members have joined or the rebalance
timeout expires. Then the generation is incremented and all JoinGroups are answered. In
CompletingRebalance, SyncGroups are parked until the leader has sent the assignment and it is written.
Stable lasts until the next change. When the last member leaves, the group is Empty again, and its
generation is incremented. A Dead group was removed while something still had a reference to it.

The table defines which transitions exist, not which input causes them. That depends on guards (is the
member the leader, did its metadata change, have all joined, is any member pending), and one request
can cause two transitions. The guards are code in the other modules of this package.

Two things look like states but are not. A *pending* member has an id but has not joined with it yet,
so the group may be Empty. The *initial delay* is PreparingRebalance entered from Empty. Unlike other
join phases, it does not end when all members have joined.
"""

from enum import Enum, unique
from typing import Final


@unique
class ClassicGroupState(Enum):
    """The state of a group. The value is the name that Kafka prints. Source: ClassicGroupState (4.3.1)."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"

    # Enum.__hash__ is written in Python and thus slow, and states are looked up very often.
    __hash__ = object.__hash__


VALID_PREVIOUS_STATES: Final = {
    ClassicGroupState.EMPTY: frozenset({ClassicGroupState.PREPARING_REBALANCE}),
    ClassicGroupState.PREPARING_REBALANCE: frozenset(
        {
            ClassicGroupState.STABLE,
            ClassicGroupState.COMPLETING_REBALANCE,
            ClassicGroupState.EMPTY,
        }
    ),
    ClassicGroupState.COMPLETING_REBALANCE: frozenset({ClassicGroupState.PREPARING_REBALANCE}),
    ClassicGroupState.STABLE: frozenset({ClassicGroupState.COMPLETING_REBALANCE}),
    ClassicGroupState.DEAD: frozenset(ClassicGroupState),
}
"""By state, the states from which a group may enter it. Source: ClassicGroupState (4.3.1)."""
