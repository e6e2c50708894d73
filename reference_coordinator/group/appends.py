"""What the coordinator does when a write to the log has succeeded or failed.

Kafka hangs a callback on the append; here it is a value that says what to go on with. A group is
named by the object itself, as Kafka's closures do: one made anew under the same id is another group.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from reference_coordinator.classic.group import ClassicGroup
from reference_coordinator.classic.member import ClassicGroupMember
from reference_coordinator.core.ids import (
    AppendId,
    GenerationId,
    GroupId,
    GroupInstanceId,
    MemberId,
    Millis,
    ProducerId,
    ResponseToken,
)
from reference_coordinator.core.values import value
from reference_coordinator.group.parked import Join
from reference_coordinator.messages import (
    DeletableGroupResult,
    GroupRequest,
    GroupResponse,
    JoinGroupRequestProtocol,
    OffsetCommitResponse,
    OffsetFetchRequest,
    TxnOffsetCommitResponse,
)
from reference_coordinator.offsets.values import OffsetAndMetadata, TopicPartition


@value
class AssignmentStored:
    """The leader's assignment was to be written."""

    group: ClassicGroup
    generation_id: GenerationId
    assignments: Mapping[MemberId, bytes]


@value
class StaticMemberStored:
    """A static member's new id was to be written; the rest is how to take it back."""

    group: ClassicGroup
    member: ClassicGroupMember
    token: ResponseToken
    group_instance_id: GroupInstanceId
    old_member_id: MemberId
    new_member_id: MemberId
    old_protocols: tuple[JoinGroupRequestProtocol, ...]
    old_rebalance_timeout_ms: Millis
    old_session_timeout_ms: Millis
    current_leader: MemberId | None
    """Who led before."""
    leader_candidates: tuple[MemberId, ...]
    """Who else might have."""
    supports_skipping_assignment: bool


@value
class GroupCreated:
    """A group that a JoinGroup made was to be written."""

    join: Join


@value
class NobodyWaits:
    """Whether it was written makes no difference to what the coordinator does."""


@value
class AnswerStored:
    """A request was to be answered when its records were written, and refused if they were not."""

    token: ResponseToken
    request: GroupRequest
    response: GroupResponse


@value
class OffsetsStored:
    """Committed offsets were to be written."""

    group: ClassicGroup
    token: ResponseToken
    response: OffsetCommitResponse | TxnOffsetCommitResponse
    """What to answer on success; a failure replaces its NONEs."""
    offsets: Mapping[TopicPartition, OffsetAndMetadata]
    producer_id: ProducerId
    """Whose transaction they are part of, if they are."""
    record_offset: int
    """Where in the log they will stand."""


@dataclass(slots=True, kw_only=True, eq=False)
class Deletion:
    """A DeleteGroups under way: one write a partition, and one answer when all are through."""

    token: ResponseToken
    outstanding: int
    results: list[DeletableGroupResult]


@value
class GroupsDeleted:
    """The tombstones of some of the groups of one DeleteGroups were to be written."""

    deletion: Deletion
    group_ids: tuple[GroupId, ...]
    """Of one partition, those that could be deleted."""


@value
class HeldDeletion:
    """What the Scala coordinator holds between the death of groups and their removal."""

    token: ResponseToken | None
    """Of the DeleteGroups that awaits it; None where a group died of something else."""
    groups: tuple[ClassicGroup, ...]
    results: tuple[DeletableGroupResult, ...]
    """Of the groups that could not be deleted."""


@value
class HeldFetch:
    """An OffsetFetch that wants to see what is under way as well."""

    awaited: frozenset[AppendId]
    """Writes to the partitions of its groups."""
    token: ResponseToken
    request: OffsetFetchRequest


Continuation = (
    AssignmentStored
    | StaticMemberStored
    | GroupCreated
    | NobodyWaits
    | AnswerStored
    | OffsetsStored
    | GroupsDeleted
)
"""How to go on when an append is through."""
