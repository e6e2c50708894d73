"""A streams group: its members, its topology, its epochs, and its target assignment.

`Unwritten` contains the state that is not in the log. All versions of a group share it.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, unique
from typing import Final, Self

from typing_extensions import override

from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import GroupId, GroupInstanceId, MemberId, TopicId
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.groups.group import (
    CommitPartitionValidator,
    GroupType,
)
from reference_coordinator.groups.modern_group import ModernGroup
from reference_coordinator.groups.streams.configured_topology import ConfiguredTopology
from reference_coordinator.groups.streams.current_tasks import CurrentTasks
from reference_coordinator.groups.streams.member import StreamsGroupMember
from reference_coordinator.groups.streams.record_helpers import group_tombstone_records
from reference_coordinator.groups.streams.task_offsets import NO_OFFSETS, MemberTaskOffsets
from reference_coordinator.groups.streams.tasks import EMPTY, RefinedAssignment, TasksTuple
from reference_coordinator.groups.streams.topology import StreamsTopology
from reference_coordinator.profile.profiles import Behaviour, Profile


@unique
class StreamsGroupState(Enum):
    """The state of a group. The value is the name that Kafka prints.

    Source: StreamsGroup.StreamsGroupState (4.3.1).
    """

    EMPTY = "Empty"
    NOT_READY = "NotReady"
    """A topic of the topology is missing, or its partition count does not match the others."""
    ASSIGNING = "Assigning"
    """There is no target assignment for the group's epoch yet."""
    RECONCILING = "Reconciling"
    """Some member has not reached its target assignment."""
    STABLE = "Stable"

    @property
    def filter_name(self) -> str:
        """The name of the state in a filter of states.

        Decided in: StreamsGroup.StreamsGroupState#toLowerCaseString (4.3.1).
        """
        return "not_ready" if self is StreamsGroupState.NOT_READY else self.value.lower()


_PROTOCOL_TYPE: Final = "streams"
_UNKNOWN_EPOCH: Final = -1
_STREAMS_COMMITS_SINCE: Final = 9


@dataclass(slots=True, kw_only=True)
class Unwritten:
    """The state of a group that is not in the log. A failed write does not revert it."""

    shutdown_request_member_id: MemberId | None = None
    endpoint_information_epoch: int = 0
    task_offsets: dict[MemberId, MemberTaskOffsets] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True, eq=False)
class StreamsGroup(ModernGroup[StreamsGroupMember, TasksTuple]):
    """A snapshot of one streams group. Source: StreamsGroup (4.3.1)."""

    validated_topology_epoch: int = 0
    metadata_hash: int = 0
    last_assignment_configs: Mapping[str, str] = field(default_factory=dict)
    static_members: Mapping[GroupInstanceId, MemberId] = field(default_factory=dict)
    topology: StreamsTopology | None = None
    configured_topology: ConfiguredTopology | None = None
    """None until a heartbeat has configured it."""
    refined_assignment: RefinedAssignment | None = None
    """The cached assignment of an epoch, which is not in the log."""
    current_tasks: CurrentTasks = field(default_factory=CurrentTasks)
    unwritten: Unwritten = field(default_factory=Unwritten)

    @override
    def new_member(self, member_id: MemberId) -> StreamsGroupMember:
        return StreamsGroupMember(member_id=member_id)

    @property
    @override
    def type(self) -> GroupType:
        """The type of the group. Source: StreamsGroup#type (4.3.1)."""
        return GroupType.STREAMS

    @property
    @override
    def state(self) -> StreamsGroupState:
        """The state of the group. Decided in: StreamsGroup#maybeUpdateGroupState (4.3.1)."""
        if not self.members:
            return StreamsGroupState.EMPTY
        if self.topology is None or self.topology.topology_epoch != self.validated_topology_epoch:
            return StreamsGroupState.NOT_READY
        if self.group_epoch > self.assignment_epoch:
            return StreamsGroupState.ASSIGNING
        if all(each.is_reconciled_to(self.assignment_epoch) for each in self.members.values()):
            return StreamsGroupState.STABLE
        return StreamsGroupState.RECONCILING

    @override
    def is_in_states(self, states: Collection[str]) -> bool:
        """Return whether the group is in a state of a filter. Source: StreamsGroup#isInStates (4.3.1)."""
        return self.state.filter_name in states

    @property
    @override
    def protocol_type(self) -> str:
        return _PROTOCOL_TYPE

    @override
    def is_subscribed_to_topic(self, topic: str) -> bool:
        """Return whether the members read a topic. Source: StreamsGroup#isSubscribedToTopic (4.3.1)."""
        return bool(self.members) and self.topology is not None and topic in self.topology.source_topic_map

    def requires_any_topic(self, topics: Collection[str]) -> bool:
        """Return whether the topology requires one of several topics.

        Decided in: GroupMetadataManager#groupsSubscribedToTopic (4.3.1).
        """
        return self.topology is not None and not self.topology.required_topics.isdisjoint(topics)

    def static_member(self, instance_id: GroupInstanceId | None) -> StreamsGroupMember | None:
        """Return the member with an instance id, or None. Source: StreamsGroup#staticMember (4.3.1)."""
        member_id = None if instance_id is None else self.static_members.get(instance_id)
        return None if member_id is None else self.members.get(member_id)

    def task_offsets(self, member_id: MemberId) -> MemberTaskOffsets:
        """Return the offsets that a member has restored. Source: StreamsGroup#taskOffsets (4.4.0)."""
        return self.unwritten.task_offsets.get(member_id, NO_OFFSETS)

    def target_assignment_of(self, member_id: MemberId) -> TasksTuple:
        """Return a member's target assignment. Decided in: StreamsGroup#targetAssignment (4.3.1)."""
        return self.target_assignment.get(member_id, EMPTY)

    def update_member(self, member: StreamsGroupMember) -> Self:
        """Return the group with an added or updated member. Source: StreamsGroup#updateMember (4.3.1)."""
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

    @override
    def remove_member(self, member_id: MemberId) -> Self:
        """Return the group without a member. Source: StreamsGroup#removeMember (4.3.1)."""
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
        """Check that a member may commit offsets, and return the check to apply to each partition.

        Raises:
            CoordinatorError: the first check that fails.

        Source: StreamsGroup#validateOffsetCommit (4.3.1).
        """
        epoch = generation_id_or_member_epoch
        if epoch < 0 and not self.members:
            # The sender is a simple consumer, which is not a group member.
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
    def create_group_tombstone_records(self) -> tuple[CoordinatorRecord, ...]:
        """Return the tombstones to write when the group is removed.

        Source: StreamsGroup#createGroupTombstoneRecords (4.3.1).
        """
        return group_tombstone_records(self.group_id, tuple(self.members))


def new_streams_group(group_id: GroupId, profile: Profile) -> StreamsGroup:
    """Return a group without members. Its first epoch depends on the release."""
    first = 1 if profile.has(Behaviour.GROUP_EPOCH_STARTS_AT_ONE) else 0
    return StreamsGroup(group_id=group_id, profile=profile, group_epoch=first, assignment_epoch=first)
