"""The members, subscriptions and target assignment of a consumer group. Only this code changes members."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, Self

from typing_extensions import override

from reference_coordinator.core.ids import GroupInstanceId, MemberId, TopicId
from reference_coordinator.core.java_hash_map import JavaHashMap, capacity_for
from reference_coordinator.core.map_order import string_hash_code
from reference_coordinator.core.timeline_hash_map import TimelineHashMap
from reference_coordinator.groups.consumer.assignors.group_spec import Assignment, SubscriptionType
from reference_coordinator.groups.consumer.member import ConsumerGroupMember
from reference_coordinator.groups.consumer.metadata import SubscriptionMetadata
from reference_coordinator.groups.consumer.partition_epochs import (
    NO_EPOCH,
    PartitionEpochs,
    add_partition_epochs,
    remove_partition_epochs,
)
from reference_coordinator.groups.consumer.subscriptions import (
    ResolvedRegularExpression,
    ResolvedRegularExpressions,
    Subscriptions,
    subscriptions_of,
)
from reference_coordinator.groups.modern_group import ModernGroup
from reference_coordinator.profile.profiles import Behaviour

NO_ASSIGNMENT: Final[Assignment] = MappingProxyType({})
"""Source: Assignment.EMPTY (4.3.1)."""


@dataclass(slots=True, kw_only=True, eq=False)
class ConsumerGroupMembership(ModernGroup[ConsumerGroupMember, Assignment]):
    """A snapshot of the members of one consumer group. Source: ConsumerGroup, ModernGroup (4.3.1)."""

    static_members: Mapping[GroupInstanceId, MemberId] = field(default_factory=dict)
    subscription_metadata: SubscriptionMetadata = field(default_factory=SubscriptionMetadata)
    has_subscription_metadata_record: bool = False
    """Whether the log has a record of the subscribed topics, which releases before 4.1 write."""
    resolved_regular_expressions: ResolvedRegularExpressions = field(default_factory=dict)
    current_partition_epochs: PartitionEpochs = field(default_factory=dict)
    subscription_type: SubscriptionType = SubscriptionType.HOMOGENEOUS

    @override
    def new_member(self, member_id: MemberId) -> ConsumerGroupMember:
        return ConsumerGroupMember(member_id=member_id)

    @property
    def subscriptions(self) -> Subscriptions:
        """The subscriptions of all members."""
        return subscriptions_of(self.members.values(), self.resolved_regular_expressions)

    def num_subscribed_members(self, regex: str) -> int:
        """Return how many members subscribe with a regular expression.

        Source: ConsumerGroup#numSubscribedMembers (4.3.1).
        """
        return self.subscriptions.regexes[regex]

    def static_member(self, instance_id: GroupInstanceId | None) -> ConsumerGroupMember | None:
        """Return the member with an instance id, or None.

        Raises:
            CoordinatorError: UNKNOWN_MEMBER_ID, if the instance id belongs to a member that has left.

        Source: ConsumerGroup#staticMember (4.3.1).
        """
        member_id = None if instance_id is None else self.static_members.get(instance_id)
        if member_id is None:
            return None
        return self.get_or_maybe_create_member(member_id, create_if_not_exists=False)

    def target_assignment_of(
        self, member_id: MemberId, instance_id: GroupInstanceId | None = None
    ) -> Assignment:
        """Return a member's target assignment. A static member has that of its predecessor.

        Decided in: ConsumerGroup#targetAssignment (4.3.1).
        """
        if instance_id is None:
            return self.target_assignment.get(member_id, NO_ASSIGNMENT)
        previous = self.static_members.get(instance_id)
        return NO_ASSIGNMENT if previous is None else self.target_assignment.get(previous, NO_ASSIGNMENT)

    def current_partition_epoch(self, topic_id: TopicId, partition: int) -> int:
        """Return the epoch of the member that owns a partition, or -1 if it has no owner.

        Source: ConsumerGroup#currentPartitionEpoch (4.3.1).
        """
        return self.current_partition_epochs.get(topic_id, {}).get(partition, NO_EPOCH)

    def preferred_server_assignor(self) -> str | None:
        """Return the assignor with most votes. Source: ConsumerGroup#preferredServerAssignor (4.3.1)."""
        return _most_voted(self._server_assignors)

    def compute_preferred_server_assignor(
        self, old_member: ConsumerGroupMember, new_member: ConsumerGroupMember
    ) -> str | None:
        """Return the assignor with the most votes after a member changed its vote.

        On a tie, the first in Kafka's map wins.

        Source: ConsumerGroup#computePreferredServerAssignor (4.3.1).
        """
        before = self._server_assignors
        votes = JavaHashMap[str, int](string_hash_code, capacity=capacity_for(len(before)))
        votes.update(before)
        old, new = old_member.server_assignor_name, new_member.server_assignor_name
        if old is not None:
            votes[old] -= 1
            if not votes[old]:
                del votes[old]
        if new is not None:
            votes[new] = votes.compute_if_absent(new, int) + 1
        return _most_voted(votes)

    @property
    def _server_assignors(self) -> TimelineHashMap[str, int]:
        votes = TimelineHashMap[str, int](string_hash_code)
        for member in self.members.values():
            if member.server_assignor_name is not None:
                votes[member.server_assignor_name] = votes.get(member.server_assignor_name, 0) + 1
        return votes

    def update_member(self, member: ConsumerGroupMember) -> Self:
        """Return the group with an added or updated member.

        Raises:
            IllegalStateError: another member owns one of the member's partitions.

        Source: ConsumerGroup#updateMember, ConsumerGroup#maybeUpdatePartitionEpoch (4.3.1).
        """
        is_tolerant = self._tolerates_compaction
        epochs = self._epochs_without(self.members.get(member.member_id))
        for partitions in (member.assigned_partitions, member.partitions_pending_revocation):
            epochs = add_partition_epochs(epochs, partitions, member.member_epoch, is_tolerant=is_tolerant)
        members = self.members.copy()
        members[member.member_id] = member
        return self._with_members(
            members,
            static_members=self._static_members_with(member),
            current_partition_epochs=epochs,
        )

    @override
    def remove_member(self, member_id: MemberId) -> Self:
        """Return the group without a member. Source: ConsumerGroup#removeMember (4.3.1)."""
        members, static_members = self.members.copy(), dict(self.static_members)
        removed = members.pop(member_id)
        if removed.instance_id is not None:
            static_members.pop(removed.instance_id, None)
        return self._with_members(
            members,
            static_members=static_members,
            current_partition_epochs=self._epochs_without(removed),
        )

    def update_resolved_regular_expression(
        self, regex: str, resolved: ResolvedRegularExpression | None
    ) -> Self:
        """Return the group with the new topics of a regular expression, or without the expression.

        Source: ConsumerGroup#updateResolvedRegularExpression (4.3.1).
        """
        others = {key: each for key, each in self.resolved_regular_expressions.items() if key != regex}
        if resolved is not None:
            others[regex] = resolved
        return replace(self, resolved_regular_expressions=others)

    @property
    def _tolerates_compaction(self) -> bool:
        return self.profile.has(Behaviour.PARTITION_EPOCHS_TOLERATE_COMPACTION)

    def _epochs_without(self, member: ConsumerGroupMember | None) -> PartitionEpochs:
        """Decided in: ConsumerGroup#maybeRemovePartitionEpoch (4.3.1)."""
        epochs = self.current_partition_epochs
        if member is None:
            return epochs
        for partitions in (member.assigned_partitions, member.partitions_pending_revocation):
            epochs = remove_partition_epochs(
                epochs, partitions, member.member_epoch, is_tolerant=self._tolerates_compaction
            )
        return epochs

    def _static_members_with(self, member: ConsumerGroupMember) -> Mapping[GroupInstanceId, MemberId]:
        """Decided in: ConsumerGroup#updateStaticMember (4.3.1)."""
        static_members = dict(self.static_members)
        before = self.members.get(member.member_id)
        frees = self.profile.has(Behaviour.CHANGED_INSTANCE_ID_IS_FREE)
        if frees and before is not None and before.instance_id is not None:
            static_members.pop(before.instance_id, None)
        if member.instance_id is not None:
            static_members[member.instance_id] = member.member_id
        return static_members

    def _with_members(
        self,
        members: TimelineHashMap[MemberId, ConsumerGroupMember],
        *,
        static_members: Mapping[GroupInstanceId, MemberId],
        current_partition_epochs: PartitionEpochs,
    ) -> Self:
        subscriptions = subscriptions_of(members.values(), self.resolved_regular_expressions)
        return replace(
            self,
            members=members,
            static_members=static_members,
            current_partition_epochs=current_partition_epochs,
            subscription_type=subscriptions.subscription_type(len(members)),
        )


def _most_voted(votes: Mapping[str, int]) -> str | None:
    """Return the name with the most votes. On a tie, the first in Kafka's map wins."""
    return max(votes, key=lambda name: votes[name], default=None)
