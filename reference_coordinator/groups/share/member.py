"""A member of a share group."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import field, replace
from types import MappingProxyType
from typing import Final

from reference_coordinator.core.consumer_records import MemberState
from reference_coordinator.core.ids import MemberId, TopicId
from reference_coordinator.core.java_hash_map import JavaHashSet
from reference_coordinator.core.map_order import string_hash_code
from reference_coordinator.core.share_records import (
    ShareGroupCurrentMemberAssignmentRecord,
    ShareGroupMemberMetadataRecord,
)
from reference_coordinator.core.values import value

AssignedPartitions = Mapping[TopicId, AbstractSet[int]]
"""Partitions by topic. Of a target assignment, the order of topics and partitions is that of Kafka's maps."""
NO_PARTITIONS: Final[AssignedPartitions] = MappingProxyType({})


@value
class ShareGroupMember:
    """A member with its metadata and current assignment. Source: ShareGroupMember (4.3.1)."""

    member_id: MemberId
    member_epoch: int = 0
    previous_member_epoch: int = -1
    state: MemberState = MemberState.STABLE
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: AbstractSet[str] = frozenset()
    """In the order of Java's set, which depends on the order in the request or the record."""
    assigned_partitions: AssignedPartitions = field(default_factory=dict)

    def update_member_epoch(self, member_epoch: int) -> "ShareGroupMember":
        """Return the member in a new epoch, with its current epoch as the previous one.

        Source: ShareGroupMember.Builder#updateMemberEpoch (4.3.1).
        """
        return replace(self, member_epoch=member_epoch, previous_member_epoch=self.member_epoch)

    def update_with_metadata(self, record: ShareGroupMemberMetadataRecord) -> "ShareGroupMember":
        """Return the member with the metadata of a record.

        Decided in: ShareGroupMember.Builder#updateWith (4.3.1).
        """
        return replace(
            self,
            rack_id=record.rack_id,
            client_id=record.client_id,
            client_host=record.client_host,
            subscribed_topic_names=JavaHashSet.copy_of(record.subscribed_topic_names, string_hash_code),
        )

    def update_with_assignment(self, record: ShareGroupCurrentMemberAssignmentRecord) -> "ShareGroupMember":
        """Return the member with the current assignment of a record.

        Decided in: ShareGroupMember.Builder#updateWith (4.3.1).
        """
        return replace(
            self,
            member_epoch=record.member_epoch,
            previous_member_epoch=record.previous_member_epoch,
            state=record.state,
            assigned_partitions={
                each.topic_id: frozenset(each.partitions) for each in record.assigned_partitions
            },
        )
