"""A share group: its members, its epochs, its target assignment, and the partitions with state."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from enum import Enum, unique
from typing import Final, NoReturn, Self

from typing_extensions import override

from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import GroupId, GroupInstanceId, MemberId
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.groups.consumer.assignors.group_spec import SubscriptionType
from reference_coordinator.groups.consumer.metadata import SubscriptionMetadata
from reference_coordinator.groups.group import (
    CommitPartitionValidator,
    GroupType,
    OffsetExpirationCondition,
)
from reference_coordinator.groups.modern_group import ModernGroup
from reference_coordinator.groups.share.member import NO_PARTITIONS, AssignedPartitions, ShareGroupMember
from reference_coordinator.groups.share.record_helpers import group_tombstone_records
from reference_coordinator.groups.share.state_partitions import ShareGroupStatePartitionMetadataInfo
from reference_coordinator.profile.profiles import Behaviour, Profile


@unique
class ShareGroupState(Enum):
    """The state of a group: whether it has members. Source: ShareGroup.ShareGroupState (4.3.1)."""

    EMPTY = "Empty"
    STABLE = "Stable"


_PROTOCOL_TYPE: Final = "share"
"""Source: ShareGroup.PROTOCOL_TYPE (4.3.1)."""


@dataclass(slots=True, kw_only=True, eq=False)
class ShareGroup(ModernGroup[ShareGroupMember, AssignedPartitions]):
    """A snapshot of one share group. Source: ShareGroup, ModernGroup (4.3.1)."""

    subscription_metadata: SubscriptionMetadata = field(default_factory=SubscriptionMetadata)
    state_partitions: ShareGroupStatePartitionMetadataInfo | None = None
    """None if the log has no record of them.

    Decided in: GroupMetadataManager.shareGroupStatePartitionMetadata (4.3.1).
    """

    @override
    def new_member(self, member_id: MemberId) -> ShareGroupMember:
        return ShareGroupMember(member_id=member_id)

    @property
    @override
    def type(self) -> GroupType:
        """The type of the group. Source: ShareGroup#type (4.3.1)."""
        return GroupType.SHARE

    @property
    @override
    def state(self) -> ShareGroupState:
        """The state of the group. Decided in: ShareGroup#maybeUpdateGroupState (4.3.1)."""
        return ShareGroupState.STABLE if self.members else ShareGroupState.EMPTY

    @override
    def is_in_states(self, states: Collection[str]) -> bool:
        """Return whether the group is in a state of a filter. Source: ShareGroup#isInStates (4.3.1)."""
        return self.state.value.lower() in states

    @property
    @override
    def protocol_type(self) -> str:
        return _PROTOCOL_TYPE

    @property
    def subscribed_topic_names(self) -> Counter[str]:
        """All subscribed topics, with their numbers of subscribers.

        Source: ModernGroup#subscribedTopicNames (4.3.1).
        """
        return Counter(name for each in self.members.values() for name in each.subscribed_topic_names)

    def compute_subscribed_topic_names(
        self, old: ShareGroupMember | None, new: ShareGroupMember | None
    ) -> Counter[str]:
        """Return the subscribed topics after a member was removed or changed.

        Source: ModernGroup#computeSubscribedTopicNames (4.3.1).
        """
        names = self.subscribed_topic_names
        names.subtract(() if old is None else old.subscribed_topic_names)
        names.update(() if new is None else new.subscribed_topic_names)
        return +names

    @property
    def subscription_type(self) -> SubscriptionType:
        """Whether all members subscribe to the same topics. Source: ModernGroup#subscriptionType (4.3.1)."""
        return subscription_type(self.subscribed_topic_names, len(self.members))

    @override
    def is_subscribed_to_topic(self, topic: str) -> bool:
        """Return whether a member subscribes to a topic. Source: ModernGroup#isSubscribedToTopic (4.3.1)."""
        return topic in self.subscribed_topic_names

    def target_assignment_of(self, member_id: MemberId) -> AssignedPartitions:
        """Return a member's target assignment. Decided in: ModernGroup#targetAssignment (4.3.1)."""
        return self.target_assignment.get(member_id, NO_PARTITIONS)

    def update_member(self, member: ShareGroupMember) -> Self:
        """Return the group with an added or updated member. Source: ShareGroup#updateMember (4.3.1)."""
        members = self.members.copy()
        members[member.member_id] = member
        return replace(self, members=members)

    @override
    def remove_member(self, member_id: MemberId) -> Self:
        """Return the group without a member. Source: ShareGroup#removeMember (4.3.1)."""
        members = self.members.copy()
        members.pop(member_id, None)
        return replace(self, members=members)

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
        """Refuse every commit.

        Raises:
            CoordinatorError: GROUP_ID_NOT_FOUND.

        Source: ShareGroup#validateOffsetCommit (4.3.1).
        """
        self._throw_no_consumer_group()

    @override
    def validate_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        """Refuse to return offsets, because a share group has none.

        Raises:
            CoordinatorError: GROUP_ID_NOT_FOUND.

        Source: ShareGroup#validateOffsetFetch (4.3.1).
        """
        self._throw_no_consumer_group()

    @override
    def validate_offset_delete(self) -> None:
        """Refuse to delete offsets, because a share group has none.

        Raises:
            CoordinatorError: GROUP_ID_NOT_FOUND.

        Source: ShareGroup#validateOffsetDelete (4.3.1).
        """
        self._throw_no_consumer_group()

    def _throw_no_consumer_group(self) -> NoReturn:
        raise CoordinatorError(Errors.GROUP_ID_NOT_FOUND, f"Group {self.group_id} is not a consumer group.")

    @override
    def validate_delete_group(self) -> None:
        """Refuse to delete a group that has members.

        Raises:
            CoordinatorError: NON_EMPTY_GROUP.

        Source: ShareGroup#validateDeleteGroup (4.3.1).
        """
        if self.members:
            raise CoordinatorError(Errors.NON_EMPTY_GROUP)

    @override
    def offset_expiration_condition(self) -> OffsetExpirationCondition | None:
        """Return None, as there are no offsets. Source: ShareGroup#offsetExpirationCondition (4.3.1)."""
        return None

    @override
    def create_group_tombstone_records(self) -> tuple[CoordinatorRecord, ...]:
        """Return the tombstones to write when the group is removed.

        Source: ShareGroup#createGroupTombstoneRecords (4.3.1).
        """
        return group_tombstone_records(self.group_id, self.profile)

    @override
    def check_invariants(self) -> None:
        """Assert the invariants that are true between any two inputs, whatever clients send."""
        if self.profile.has(Behaviour.SHARE_ASSIGNOR_BALANCES):
            super(ShareGroup, self).check_invariants()
        # Before, a member whom the assignor refused may have a target in the log, and no other record.
        assert all(key == member.member_id for key, member in self.members.items())
        assert all(each.member_epoch <= self.group_epoch for each in self.members.values())


def subscription_type(names: Counter[str], number_of_members: int) -> SubscriptionType:
    """Return whether all subscriptions are the same. Source: ModernGroup#subscriptionType (4.3.1)."""
    if all(count == number_of_members for count in names.values()):
        return SubscriptionType.HOMOGENEOUS
    return SubscriptionType.HETEROGENEOUS


def new_share_group(group_id: GroupId, profile: Profile) -> ShareGroup:
    """Return a group without members. Its first epoch depends on the release."""
    first = 1 if profile.has(Behaviour.GROUP_EPOCH_STARTS_AT_ONE) else 0
    return ShareGroup(group_id=group_id, profile=profile, group_epoch=first, assignment_epoch=first)
