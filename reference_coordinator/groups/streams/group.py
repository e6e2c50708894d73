"""A streams group: its members, its topology, its epochs, and what everybody is to have.

A group is a value, as consumer groups are. What is not in the log is in `Unwritten`, which all versions of a
group share.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Self

from typing_extensions import override

from reference_coordinator.core.errors import CoordinatorError, Errors, IllegalStateError
from reference_coordinator.core.ids import GroupId, GroupInstanceId, MemberId, Millis, TopicId
from reference_coordinator.core.map_order import string_hash_code
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.core.timeline_hash_map import TimelineHashMap
from reference_coordinator.groups.group import (
    CommitPartitionValidator,
    Group,
    GroupType,
    OffsetExpirationCondition,
)
from reference_coordinator.groups.streams.configured_topology import ConfiguredTopology
from reference_coordinator.groups.streams.current_tasks import CurrentTasks
from reference_coordinator.groups.streams.member import StreamsGroupMember
from reference_coordinator.groups.streams.record_helpers import group_tombstone_records
from reference_coordinator.groups.streams.state import StreamsGroupState
from reference_coordinator.groups.streams.task_offsets import NO_OFFSETS, MemberTaskOffsets
from reference_coordinator.groups.streams.tasks import EMPTY, RefinedAssignment, TasksTuple
from reference_coordinator.groups.streams.topology import StreamsTopology
from reference_coordinator.messages import ListedGroup
from reference_coordinator.profile.profiles import Behaviour, Profile

_PROTOCOL_TYPE: Final = "streams"
_UNKNOWN_EPOCH: Final = -1
_STREAMS_COMMITS_SINCE: Final = 9
_NEVER_MS: Final = Millis(0)
DELETED_ASSIGNMENT_EPOCH: Final = -1
"""Of a group whose target assignment is no more."""


def _no_members() -> TimelineHashMap[MemberId, StreamsGroupMember]:
    return TimelineHashMap(string_hash_code)


@dataclass(slots=True, kw_only=True)
class Unwritten:
    """What a group knows and does not write; it outlives writes that fail."""

    refresh_deadline_ms: Millis = _NEVER_MS
    refresh_epoch: int = 0
    """The group's epoch at the last look at its topics."""
    shutdown_request_member_id: MemberId | None = None
    endpoint_information_epoch: int = 0
    task_offsets: dict[MemberId, MemberTaskOffsets] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True, eq=False)
class StreamsGroup(Group):
    """One group of streams clients, as of one moment. Source: StreamsGroup (4.3.1)."""

    group_id: GroupId
    profile: Profile
    group_epoch: int
    assignment_epoch: int
    assignment_timestamp_ms: Millis = _NEVER_MS
    validated_topology_epoch: int = 0
    metadata_hash: int = 0
    last_assignment_configs: Mapping[str, str] = field(default_factory=dict)
    members: TimelineHashMap[MemberId, StreamsGroupMember] = field(default_factory=_no_members)
    """Never changed in place. In the order of Kafka's map, by which the assignor breaks ties."""
    static_members: Mapping[GroupInstanceId, MemberId] = field(default_factory=dict)
    target_assignment: Mapping[MemberId, TasksTuple] = field(default_factory=dict)
    topology: StreamsTopology | None = None
    configured_topology: ConfiguredTopology | None = None
    """None until a heartbeat has looked at the topics."""
    refined_assignment: RefinedAssignment | None = None
    """What members are to have, as it is remembered; not in the log."""
    current_tasks: CurrentTasks = field(default_factory=CurrentTasks)
    unwritten: Unwritten = field(default_factory=Unwritten)

    @property
    @override
    def type(self) -> GroupType:
        """The protocol of its members. Source: StreamsGroup#type (4.3.1)."""
        return GroupType.STREAMS

    @property
    def state(self) -> StreamsGroupState:
        """How far it is. Decided in: StreamsGroup#maybeUpdateGroupState (4.3.1)."""
        if not self.members:
            return StreamsGroupState.EMPTY
        if self.topology is None or self.topology.topology_epoch != self.validated_topology_epoch:
            return StreamsGroupState.NOT_READY
        if self.group_epoch > self.assignment_epoch:
            return StreamsGroupState.ASSIGNING
        if all(each.is_reconciled_to(self.assignment_epoch) for each in self.members.values()):
            return StreamsGroupState.STABLE
        return StreamsGroupState.RECONCILING

    @property
    @override
    def is_empty(self) -> bool:
        """Whether it has no members. Source: StreamsGroup#isEmpty (4.3.1)."""
        return not self.members

    @override
    def is_in_states(self, states: Collection[str]) -> bool:
        """Whether it is in one of the states of a filter. Source: StreamsGroup#isInStates (4.3.1)."""
        return self.state.filter_name in states

    @override
    def as_listed_group(self) -> ListedGroup:
        """The group in a listing. Source: StreamsGroup#asListedGroup (4.3.1)."""
        return ListedGroup(
            group_id=self.group_id,
            protocol_type=_PROTOCOL_TYPE,
            group_state=self.state.value,
            group_type=self.type.value,
        )

    @override
    def is_subscribed_to_topic(self, topic: str) -> bool:
        """Whether its members read a topic. Source: StreamsGroup#isSubscribedToTopic (4.3.1)."""
        return bool(self.members) and self.topology is not None and topic in self.topology.source_topic_map

    def requires_any_topic(self, topics: Collection[str]) -> bool:
        """Whether its topology has one of several topics.

        Decided in: GroupMetadataManager#groupsSubscribedToTopic (4.3.1).
        """
        return self.topology is not None and not self.topology.required_topics.isdisjoint(topics)

    def get_or_maybe_create_member(
        self, member_id: MemberId, *, create_if_not_exists: bool
    ) -> StreamsGroupMember:
        """A member, or a new one that is in no group yet.

        Raises:
            CoordinatorError: UNKNOWN_MEMBER_ID.

        Decided in: StreamsGroup#getMemberOrThrow, StreamsGroup#getOrCreateDefaultMember (4.3.1).
        """
        member = self.members.get(member_id)
        if member is not None:
            return member
        if not create_if_not_exists:
            raise CoordinatorError(
                Errors.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {self.group_id}."
            )
        return StreamsGroupMember(member_id=member_id)

    def static_member(self, instance_id: GroupInstanceId | None) -> StreamsGroupMember | None:
        """The member that has an instance id. Source: StreamsGroup#staticMember (4.3.1)."""
        member_id = None if instance_id is None else self.static_members.get(instance_id)
        return None if member_id is None else self.members.get(member_id)

    def task_offsets(self, member_id: MemberId) -> MemberTaskOffsets:
        """How far a member has restored tasks. Source: StreamsGroup#taskOffsets (4.4.0)."""
        return self.unwritten.task_offsets.get(member_id, NO_OFFSETS)

    def target_assignment_of(self, member_id: MemberId) -> TasksTuple:
        """What a member is to have. Decided in: StreamsGroup#targetAssignment (4.3.1)."""
        return self.target_assignment.get(member_id, EMPTY)

    def has_metadata_expired(self, now_ms: Millis) -> bool:
        """Whether it is time to look at the topics. Source: StreamsGroup#hasMetadataExpired (4.3.1)."""
        is_behind = self.group_epoch < self.unwritten.refresh_epoch
        return now_ms >= self.unwritten.refresh_deadline_ms or is_behind

    def set_metadata_refresh_deadline(self, deadline_ms: int, group_epoch: int) -> None:
        """Look at the topics again then. Source: StreamsGroup#setMetadataRefreshDeadline (4.3.1)."""
        self.unwritten.refresh_deadline_ms = Millis(deadline_ms)
        self.unwritten.refresh_epoch = group_epoch

    def request_metadata_refresh(self) -> None:
        """Look at the topics at the next occasion. Source: StreamsGroup#requestMetadataRefresh (4.3.1)."""
        self.set_metadata_refresh_deadline(0, 0)

    def update_member(self, member: StreamsGroupMember) -> Self:
        """The group with a member as it is now. Source: StreamsGroup#updateMember (4.3.1)."""
        members, static_members = self.members.copy(), dict(self.static_members)
        before = members.get(member.member_id)
        members[member.member_id] = member
        if before is not None and before.instance_id is not None:
            static_members.pop(before.instance_id, None)
        if member.instance_id is not None:
            static_members[member.instance_id] = member.member_id
        return replace(
            self,
            members=members,
            static_members=static_members,
            current_tasks=self.current_tasks.changed(before, member),
        )

    def remove_member(self, member_id: MemberId) -> Self:
        """The group without a member. Source: StreamsGroup#removeMember (4.3.1)."""
        members, static_members = self.members.copy(), dict(self.static_members)
        removed = members.pop(member_id)
        if removed.instance_id is not None:
            static_members.pop(removed.instance_id, None)
        self.unwritten.task_offsets.pop(member_id, None)
        if not members:
            self.unwritten.shutdown_request_member_id = None
        return replace(
            self,
            members=members,
            static_members=static_members,
            current_tasks=self.current_tasks.changed(removed, None),
        )

    @override
    def validate_offset_commit(
        self,
        member_id: MemberId,
        group_instance_id: GroupInstanceId | None,
        generation_id_or_member_epoch: int,
        *,
        is_transactional: bool,
        api_version: int,
    ) -> CommitPartitionValidator | None:
        """Refuse who may not commit, or say how each partition is judged.

        Raises:
            CoordinatorError: the first check that fails.

        Source: StreamsGroup#validateOffsetCommit (4.3.1).
        """
        epoch = generation_id_or_member_epoch
        if epoch < 0 and not self.members:
            # It comes from somebody who is in no group.
            return None
        if is_transactional and epoch == _UNKNOWN_EPOCH and not member_id and group_instance_id is None:
            return None
        member = self.get_or_maybe_create_member(member_id, create_if_not_exists=False)
        if not is_transactional and api_version < _STREAMS_COMMITS_SINCE:
            raise CoordinatorError(Errors.UNSUPPORTED_VERSION)
        if epoch == member.member_epoch:
            return None
        if epoch > member.member_epoch:
            raise CoordinatorError(Errors.STALE_MEMBER_EPOCH)
        return self._create_assignment_epoch_validator(member, epoch)

    def _create_assignment_epoch_validator(
        self, member: StreamsGroupMember, epoch: int
    ) -> CommitPartitionValidator:
        """Source: StreamsGroup#createAssignmentEpochValidator (4.3.1)."""
        if self.topology is None:
            raise CoordinatorError(Errors.STALE_MEMBER_EPOCH)
        source_topic_map = self.topology.source_topic_map

        def validate(topic: str, _: TopicId | None, partition: int) -> None:
            subtopology = source_topic_map.get(topic)
            key = "" if subtopology is None else subtopology.subtopology_id
            tuples = (member.assigned_tasks, member.tasks_pending_revocation)
            since = [
                each.active_tasks[key][partition]
                for each in tuples
                if subtopology is not None and partition in each.active_tasks.get(key, ())
            ]
            if not since or epoch < since[0]:
                raise CoordinatorError(Errors.STALE_MEMBER_EPOCH)

        return validate

    @override
    def validate_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        """Refuse to show the group's offsets to somebody who is not quite a member.

        Raises:
            CoordinatorError: UNKNOWN_MEMBER_ID or STALE_MEMBER_EPOCH.
            IllegalStateError: an epoch comes without a member.

        Source: StreamsGroup#validateOffsetFetch (4.3.1).
        """
        if member_id is None and member_epoch < 0:
            return
        if member_id is None:
            raise IllegalStateError("a map of members has no null key")
        member = self.members.get(MemberId(member_id))
        if member is None:
            raise CoordinatorError(Errors.UNKNOWN_MEMBER_ID)
        if member.member_epoch != member_epoch:
            raise CoordinatorError(Errors.STALE_MEMBER_EPOCH)

    @override
    def validate_offset_delete(self) -> None:
        """Let offsets be forgotten. Source: StreamsGroup#validateOffsetDelete (4.3.1)."""

    @override
    def validate_delete_group(self) -> None:
        """Refuse to forget a group that has members.

        Raises:
            CoordinatorError: NON_EMPTY_GROUP.

        Source: StreamsGroup#validateDeleteGroup (4.3.1).
        """
        if self.members:
            raise CoordinatorError(Errors.NON_EMPTY_GROUP)

    @override
    def offset_expiration_condition(self) -> OffsetExpirationCondition:
        """Offsets expire since their commit. Source: StreamsGroup#offsetExpirationCondition (4.3.1)."""
        return OffsetExpirationCondition(since_ms=None)

    @override
    def create_group_tombstone_records(self) -> tuple[CoordinatorRecord, ...]:
        """What the log is told when the group is no more.

        Source: StreamsGroup#createGroupTombstoneRecords (4.3.1).
        """
        return group_tombstone_records(self.group_id, tuple(self.members))

    @override
    def check_invariants(self) -> None:
        """Assert the invariants between any two inputs, whatever a client sends."""
        assert all(key == member.member_id for key, member in self.members.items())
        assert set(self.target_assignment) <= set(self.members)


def new_streams_group(group_id: GroupId, profile: Profile) -> StreamsGroup:
    """A group that nobody has joined yet; its first epoch depends on the release."""
    first = 1 if profile.has(Behaviour.GROUP_EPOCH_STARTS_AT_ONE) else 0
    return StreamsGroup(group_id=group_id, profile=profile, group_epoch=first, assignment_epoch=first)
