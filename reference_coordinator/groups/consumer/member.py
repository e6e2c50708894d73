"""A member of a consumer group."""

from collections.abc import Mapping
from dataclasses import field, replace
from types import MappingProxyType
from typing import Final

from reference_coordinator.core.consumer_records import (
    ClassicMemberMetadata,
    ConsumerGroupCurrentMemberAssignmentRecord,
    ConsumerGroupMemberMetadataRecord,
    MemberState,
    TopicPartitions,
)
from reference_coordinator.core.ids import GroupInstanceId, MemberId, Millis, TopicId
from reference_coordinator.core.values import value

AssignedPartitions = Mapping[TopicId, Mapping[int, int]]
"""Partitions by topic, each with the epoch in which it was assigned to the member."""
NO_PARTITIONS: Final[AssignedPartitions] = MappingProxyType({})


@value
class ConsumerGroupMember:
    """A member with its metadata and current assignment. Source: ConsumerGroupMember (4.3.1)."""

    member_id: MemberId
    member_epoch: int = 0
    previous_member_epoch: int = -1
    state: MemberState = MemberState.STABLE
    instance_id: GroupInstanceId | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: Millis = Millis(-1)
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: frozenset[str] = frozenset()
    subscribed_topic_regex: str | None = ""
    server_assignor_name: str | None = None
    assigned_partitions: AssignedPartitions = field(default_factory=dict)
    partitions_pending_revocation: AssignedPartitions = field(default_factory=dict)
    classic_member_metadata: ClassicMemberMetadata | None = None

    @property
    def use_classic_protocol(self) -> bool:
        """Whether it uses the classic protocol. Source: ConsumerGroupMember#useClassicProtocol (4.3.1)."""
        return self.classic_member_metadata is not None

    @property
    def classic_metadata(self) -> ClassicMemberMetadata:
        """The metadata from the member's JoinGroup. The member must use the classic protocol."""
        assert self.classic_member_metadata is not None, "it speaks the consumer protocol"
        return self.classic_member_metadata

    def is_reconciled_to(self, target_assignment_epoch: int) -> bool:
        """Return whether the member has reached the target assignment of an epoch.

        Source: ModernGroupMember#isReconciledTo (4.3.1).
        """
        return self.state is MemberState.STABLE and self.member_epoch == target_assignment_epoch

    def assignment_epoch(self, topic_id: TopicId, partition: int) -> int | None:
        """Return the epoch in which a partition was assigned, even if it is to be revoked, or None.

        Source: ConsumerGroupMember#assignmentEpoch, ConsumerGroupMember#pendingRevocationEpoch (4.3.1).
        """
        assigned = self.assigned_partitions.get(topic_id, {}).get(partition)
        if assigned is not None:
            return assigned
        return self.partitions_pending_revocation.get(topic_id, {}).get(partition)

    def update_member_epoch(self, member_epoch: int) -> "ConsumerGroupMember":
        """Return the member in a new epoch, with its current epoch as the previous one.

        Source: ConsumerGroupMember.Builder#updateMemberEpoch (4.3.1).
        """
        return replace(self, member_epoch=member_epoch, previous_member_epoch=self.member_epoch)

    def update_with_metadata(self, record: ConsumerGroupMemberMetadataRecord) -> "ConsumerGroupMember":
        """Return the member with the metadata of a record.

        Decided in: ConsumerGroupMember.Builder#updateWith (4.3.1).
        """
        return replace(
            self,
            instance_id=record.instance_id,
            rack_id=record.rack_id,
            client_id=record.client_id,
            client_host=record.client_host,
            subscribed_topic_names=frozenset(record.subscribed_topic_names),
            subscribed_topic_regex=record.subscribed_topic_regex,
            rebalance_timeout_ms=record.rebalance_timeout_ms,
            server_assignor_name=record.server_assignor,
            classic_member_metadata=record.classic_member_metadata,
        )

    def update_with_assignment(
        self, record: ConsumerGroupCurrentMemberAssignmentRecord
    ) -> "ConsumerGroupMember":
        """Return the member with the current assignment of a record.

        Decided in: ConsumerGroupMember.Builder#updateWith (4.3.1).
        """
        epoch = record.member_epoch
        return replace(
            self,
            member_epoch=epoch,
            previous_member_epoch=record.previous_member_epoch,
            state=record.state,
            assigned_partitions=assignment_from_topic_partitions(record.assigned_partitions, epoch),
            partitions_pending_revocation=assignment_from_topic_partitions(
                record.partitions_pending_revocation, epoch
            ),
        )

    def reset_assigned_partitions_epochs_to_zero(self) -> "ConsumerGroupMember":
        """Return the member with epoch 0 for all of its assigned partitions.

        Source: ConsumerGroupMember.Builder#resetAssignedPartitionsEpochsToZero (4.3.1).
        """
        reset = {topic: dict.fromkeys(epochs, 0) for topic, epochs in self.assigned_partitions.items()}
        return replace(self, assigned_partitions=reset)


def subscribed_topic_regex_or_none(member: ConsumerGroupMember | None) -> str | None:
    """Return a member's regular expression, or None if it has none or an empty one.

    Decided in: ConsumerGroupMember#subscribedTopicRegexOrNull (4.3.1).
    """
    return None if member is None else member.subscribed_topic_regex or None


def assignment_from_topic_partitions(
    topics: tuple[TopicPartitions, ...], default_epoch: int
) -> AssignedPartitions:
    """Parse a record's partitions. Those without assignment epochs, from older releases, get the default.

    Source: Utils#assignmentFromTopicPartitions (4.3.1).
    """
    epoch = max(default_epoch, 0)
    return {
        each.topic_id: dict(
            zip(each.partitions, each.assignment_epochs, strict=True)
            if each.assignment_epochs is not None and len(each.assignment_epochs) == len(each.partitions)
            else ((partition, epoch) for partition in each.partitions)
        )
        for each in topics
    }
