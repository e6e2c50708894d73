"""A consumer group: its members, its epochs, and its target assignment."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum, unique
from typing import Final

from typing_extensions import override

from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import GroupId, GroupInstanceId, MemberId, TopicId
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.groups.classic.subscription import CONSUMER_PROTOCOL_TYPE
from reference_coordinator.groups.consumer.member import ConsumerGroupMember
from reference_coordinator.groups.consumer.membership import ConsumerGroupMembership
from reference_coordinator.groups.consumer.record_helpers import group_tombstone_records
from reference_coordinator.groups.group import CommitPartitionValidator, GroupType
from reference_coordinator.profile.profiles import Behaviour, Profile


@unique
class ConsumerGroupState(Enum):
    """The state of a group. The value is the name that Kafka prints.

    Source: ConsumerGroup.ConsumerGroupState (4.3.1).
    """

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    """There is no target assignment for the group's epoch yet."""
    RECONCILING = "Reconciling"
    """Some member has not reached its target assignment."""
    STABLE = "Stable"


_UNKNOWN_EPOCH: Final = -1
_CONSUMER_PROTOCOL_COMMITS_SINCE: Final = 9


@dataclass(slots=True, kw_only=True, eq=False)
class ConsumerGroup(ConsumerGroupMembership):
    """A snapshot of one consumer group. Source: ConsumerGroup (4.3.1)."""

    @property
    @override
    def type(self) -> GroupType:
        """The type of the group. Source: ConsumerGroup#type (4.3.1)."""
        return GroupType.CONSUMER

    @property
    @override
    def state(self) -> ConsumerGroupState:
        """The state of the group. Decided in: ConsumerGroup#maybeUpdateGroupState (4.3.1)."""
        if not self.members:
            return ConsumerGroupState.EMPTY
        if self.group_epoch > self.assignment_epoch:
            return ConsumerGroupState.ASSIGNING
        if all(each.is_reconciled_to(self.assignment_epoch) for each in self.members.values()):
            return ConsumerGroupState.STABLE
        return ConsumerGroupState.RECONCILING

    @override
    def is_in_states(self, states: Collection[str]) -> bool:
        """Return whether the group is in a state of a filter. Source: ConsumerGroup#isInStates (4.3.1)."""
        return self.state.value.lower() in states

    @property
    @override
    def protocol_type(self) -> str:
        return CONSUMER_PROTOCOL_TYPE

    @override
    def is_subscribed_to_topic(self, topic: str) -> bool:
        """Return whether a member subscribes to a topic. Source: ModernGroup#isSubscribedToTopic (4.3.1)."""
        return topic in self.subscriptions.subscribed_topic_names

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

        Source: ConsumerGroup#validateOffsetCommit (4.3.1).
        """
        epoch = generation_id_or_member_epoch
        if epoch < 0 and not self.members:
            # The sender is a simple consumer, which is not a group member.
            return None
        if is_transactional and epoch == _UNKNOWN_EPOCH and not member_id and group_instance_id is None:
            return None
        member = self.get_or_maybe_create_member(member_id, create_if_not_exists=False)
        is_old = api_version < _CONSUMER_PROTOCOL_COMMITS_SINCE
        if not is_transactional and not member.use_classic_protocol and is_old:
            raise CoordinatorError(Errors.UNSUPPORTED_VERSION)
        if epoch == member.member_epoch:
            return None
        if epoch > member.member_epoch or not self.profile.has(Behaviour.PARTITIONS_HAVE_ASSIGNMENT_EPOCHS):
            raise CoordinatorError(self.stale(member))
        return self._create_assignment_epoch_validator(member, epoch)

    @override
    def stale(self, member: ConsumerGroupMember) -> Errors:
        """Return the error for a request whose epoch is not the member's."""
        return Errors.ILLEGAL_GENERATION if member.use_classic_protocol else Errors.STALE_MEMBER_EPOCH

    def _create_assignment_epoch_validator(
        self, member: ConsumerGroupMember, epoch: int
    ) -> CommitPartitionValidator:
        """Source: ConsumerGroup#createAssignmentEpochValidator (4.3.1)."""

        def validate(_: str, topic_id: TopicId | None, partition: int) -> None:
            since = None if topic_id is None else member.assignment_epoch(topic_id, partition)
            if since is None or epoch < since:
                raise CoordinatorError(self.stale(member))

        return validate

    @override
    def create_group_tombstone_records(self) -> tuple[CoordinatorRecord, ...]:
        """Return the tombstones to write when the group is removed.

        Source: ConsumerGroup#createGroupTombstoneRecords (4.3.1).
        """
        return group_tombstone_records(
            self.group_id, tuple(self.members), tuple(self.resolved_regular_expressions)
        )

    @override
    def check_invariants(self) -> None:
        """Assert the invariants that are true between any two inputs, whatever clients send."""
        super(ConsumerGroup, self).check_invariants()
        owned = [
            (topic_id, partition)
            for member in self.members.values()
            for partitions in (member.assigned_partitions, member.partitions_pending_revocation)
            for topic_id, epochs in partitions.items()
            for partition in epochs
        ]
        assert len(owned) == len(set(owned)), "somebody else has a partition too"


def new_consumer_group(group_id: GroupId, profile: Profile) -> ConsumerGroup:
    """Return a group without members. Its first epoch depends on the release."""
    first = 1 if profile.has(Behaviour.GROUP_EPOCH_STARTS_AT_ONE) else 0
    return ConsumerGroup(group_id=group_id, profile=profile, group_epoch=first, assignment_epoch=first)
