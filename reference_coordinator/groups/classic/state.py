"""The states of a classic group.

Two rules. All legality of transitions is in `VALID_PREVIOUS_STATES`; and `ClassicGroup.transition_to`
is the only place that changes a state.

The theory. A group is Empty until its first member joins. The first join, or any change among the
members later, brings PreparingRebalance: JoinGroups are parked until everybody has joined or the
rebalance timeout passes. Then the generation is counted up, all are answered, and in
CompletingRebalance SyncGroups are parked until the leader has brought the assignment and that is
written. Stable lasts until the next change. A group whose last member is gone is Empty again, with a
generation more. Dead is a group that was removed while somebody still had a reference to it.

The table says which edges exist, not which input takes them: that hangs on guards (is it the leader,
did the metadata change, have all joined, is anybody pending), and one request can cross two edges.
Those are code, in the modules beside this one.

Two things are not states although they look like it. A *pending* member has an id and has not joined
with it: the group may well be Empty. And the *initial delay* is PreparingRebalance entered from
Empty, which alone does not end when everybody has joined.
"""

from enum import Enum, unique
from typing import Final


@unique
class ClassicGroupState(Enum):
    """What a group is doing; the value is how Kafka prints it. Source: ClassicGroupState (4.3.1)."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"

    # An Enum's own is written in Python, and states are looked up at every turn.
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
"""By target, the states from which a group may come. Source: ClassicGroupState (4.3.1)."""
