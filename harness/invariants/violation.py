"""What can be found: which invariant is broken, where, and by whom."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class Invariant(StrEnum):
    """What must be true."""

    ONE_OWNER = "one owner"
    """A partition has at most one owner: within a generation, or in a consumer group at any time.

    In a consumer group a member owns what an answer gave it, until it says that it has given that up, joins
    anew, leaves, is fenced, or may have been removed for its silence.
    Source: ConsumerGroup#addPartitionEpochs, CurrentAssignmentBuilder#computeNextAssignment (4.3.1).
    """
    LEADER_ASSIGNS = "the leader assigns"
    """What a member is given is what its generation's leader sent for it."""
    GENERATIONS_GROW = "generations grow"
    """No join is answered with a generation below one that was known when it was sent."""
    COMMITS_STAY = "commits stay"
    """A committed offset never goes back unless one was committed there."""
    ALL_ASSIGNED = "all are assigned"
    """Every member of a stable generation has an assignment."""
    EPOCHS_GROW = "epochs grow"
    """No member's epoch falls unless it joins anew, and no consumer group's while it has members.

    Source: GroupMetadataManager#throwIfConsumerGroupMemberEpochIsInvalid, ConsumerGroupMember.Builder
    #updateMemberEpoch, GroupMetadataManager#updateSubscriptionMetadata (4.3.1).
    """
    ONLY_SUBSCRIBED = "only what is subscribed"
    """No member of a consumer group is given partitions of a topic to which it does not subscribe.

    Source: TargetAssignmentBuilder#build, CurrentAssignmentBuilder#computeNextAssignment (4.3.1).
    """
    FENCED_STAY_OUT = "the fenced stay out"
    """Whoever a consumer group refused as a member is accepted as one only after it has joined.

    Source: ConsumerGroup#getOrMaybeCreateMember,
    GroupMetadataManager#throwIfConsumerGroupMemberEpochIsInvalid (4.3.1).
    """


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
