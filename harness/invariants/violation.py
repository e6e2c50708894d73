"""The invariants, who is at fault, and the record of a violation."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class Invariant(StrEnum):
    """A statement that must be true."""

    ONE_OWNER = "one owner"
    """A partition has at most one owner: of those a leader assigns, or in a consumer group at any time.

    In a consumer group a member owns what an answer assigned to it, until it reports that it gave that up,
    joins anew, leaves, is fenced, or may have been removed because its session timed out.
    Source: ConsumerGroup#addPartitionEpochs, CurrentAssignmentBuilder#computeNextAssignment (4.3.1).
    """
    COMMITS_STAY = "commits stay"
    """A committed offset never decreases unless the lower offset was committed."""
    ALL_ASSIGNED = "all are assigned"
    """A leader assigns something to every member of its generation."""
    EPOCHS_GROW = "epochs grow"
    """A member's epoch falls only if it joins anew.

    Source: GroupMetadataManager#throwIfConsumerGroupMemberEpochIsInvalid, ConsumerGroupMember.Builder
    #updateMemberEpoch (4.3.1).
    """
    IDENTITY = "one member, one client"
    """No member id is used on two live connections, both of which join, or both of which heartbeat."""


class AtFault(StrEnum):
    """Who broke an invariant."""

    COORDINATOR = "coordinator"
    CLIENTS = "clients"
    """The bytes that clients sent break the invariant by themselves, whatever the answers."""


Found: TypeAlias = tuple[Invariant, AtFault, str]
"""The broken invariant, who is at fault, and what was found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """An invariant that was broken. One record for a target, a conversation and the event that shows it."""

    invariant: str
    """An `Invariant`."""
    party: str
    """An `AtFault`."""
    run_id: str
    target: str
    scenario_id: str
    group_id: str
    sequence: int
    """The sequence number of the event that shows it."""
    at_ms: float
    detail: str
    """For people: what was found, and what should have been."""
