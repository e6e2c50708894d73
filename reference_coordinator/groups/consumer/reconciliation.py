"""The common part of heartbeats and JoinGroups to a consumer group: subscription, epoch and assignment."""

from dataclasses import dataclass, field

from reference_coordinator.core.consumer_records import (
    ConsumerGroupPartitionMetadataTombstone,
    MemberState,
)
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.groups.consumer.assignors.group_spec import Assignment, SubscriptionType
from reference_coordinator.groups.consumer.current_assignment import (
    CurrentAssignmentBuilder,
    OwnedPartitions,
)
from reference_coordinator.groups.consumer.group import ConsumerGroup
from reference_coordinator.groups.consumer.member import ConsumerGroupMember
from reference_coordinator.groups.consumer.metadata import compute_subscription_metadata
from reference_coordinator.groups.consumer.record_helpers import (
    new_consumer_group_current_assignment_record,
    new_consumer_group_epoch_records,
    new_consumer_group_member_subscription_record,
)
from reference_coordinator.groups.consumer.regular_expressions import METADATA_REFRESH_INTERVAL_MS
from reference_coordinator.groups.consumer.target_assignment import maybe_update_target_assignment
from reference_coordinator.groups.consumer.timers import (
    cancel_group_rebalance_timeout,
    schedule_consumer_group_rebalance_timeout,
)
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager


@dataclass(slots=True, kw_only=True)
class MemberUpdate:
    """The update of a member by its request, with the records to write."""

    shard: GroupMetadataManager
    group: ConsumerGroup
    member: ConsumerGroupMember
    """The member before the update."""
    updated_member: ConsumerGroupMember
    records: list[CoordinatorRecord] = field(default_factory=list)
    group_epoch: int = 0
    subscription_type: SubscriptionType = SubscriptionType.HOMOGENEOUS

    def __post_init__(self) -> None:
        self.group_epoch = self.group.group_epoch
        self.subscription_type = self.group.subscription_type

    def has_member_subscription_changed(self) -> bool:
        """Add a record if the member changed. Return whether its subscribed topic names changed.

        Source: GroupMetadataManager#hasMemberSubscriptionChanged (4.3.1).
        """
        if self.updated_member == self.member:
            return False
        self.records.append(
            new_consumer_group_member_subscription_record(self.group.group_id, self.updated_member)
        )
        return self.updated_member.subscribed_topic_names != self.member.subscribed_topic_names

    def update_subscription_metadata(self, *, bump_group_epoch: bool) -> None:
        """Recompute the subscription metadata. Bump the group epoch if requested or if the metadata changed.

        Source: GroupMetadataManager#updateSubscriptionMetadata (4.3.1).
        """
        group, updated = self.group, self.updated_member
        subscriptions = group.subscriptions.changed([self.member], updated)
        metadata = compute_subscription_metadata(
            subscriptions.subscribed_topic_names, self.shard.metadata_image, self.shard.profile
        )
        is_new = updated.member_id not in group.members and updated.instance_id not in group.static_members
        self.subscription_type = subscriptions.subscription_type(len(group.members) + is_new)
        before = group.subscription_metadata
        if bump_group_epoch or metadata != before:
            self.group_epoch += 1
            self.records += new_consumer_group_epoch_records(
                group.group_id, self.group_epoch, metadata, before
            )
        deadline_ms = self.shard.now_ms + METADATA_REFRESH_INTERVAL_MS
        group.set_metadata_refresh_deadline(deadline_ms, self.group_epoch)
        if group.has_subscription_metadata_record:
            self.records.append(ConsumerGroupPartitionMetadataTombstone(group_id=group.group_id))

    def update_assignment(
        self, *, has_subscription_changed: bool, owned_topic_partitions: OwnedPartitions
    ) -> None:
        """Compute a new target assignment if one is due, and reconcile the member with the target.

        Raises:
            CoordinatorError: UNKNOWN_SERVER_ERROR or FENCED_MEMBER_EPOCH.
        """
        result = maybe_update_target_assignment(
            self.shard, self.group, self.group_epoch, self.member, self.updated_member, self.subscription_type
        )
        self.records += result.records
        self.maybe_reconcile(
            result.target_assignment_epoch,
            result.target_assignment,
            has_subscription_changed=has_subscription_changed,
            owned_topic_partitions=owned_topic_partitions,
        )

    def maybe_reconcile(
        self,
        target_assignment_epoch: int,
        target_assignment: Assignment,
        *,
        has_subscription_changed: bool,
        owned_topic_partitions: OwnedPartitions,
    ) -> None:
        """Move the member one step towards its target assignment.

        Raises:
            CoordinatorError: FENCED_MEMBER_EPOCH.

        Source: GroupMetadataManager#maybeReconcile (4.3.1).
        """
        before = self.updated_member
        if not has_subscription_changed and before.is_reconciled_to(target_assignment_epoch):
            return
        after = CurrentAssignmentBuilder(
            group=self.group,
            member=before,
            image=self.shard.metadata_image,
            target_assignment_epoch=target_assignment_epoch,
            target_assignment=target_assignment,
            has_subscription_changed=has_subscription_changed,
            owned_topic_partitions=owned_topic_partitions,
        ).build()
        if after == before:
            return
        self.updated_member = after
        self.records.append(
            new_consumer_group_current_assignment_record(self.group.group_id, after, self.shard.profile)
        )
        if after.use_classic_protocol:
            return
        if after.state is MemberState.UNREVOKED_PARTITIONS:
            schedule_consumer_group_rebalance_timeout(self.shard, self.group, after)
        else:
            cancel_group_rebalance_timeout(self.shard, self.group.group_id, after.member_id)
