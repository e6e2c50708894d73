"""Upgrade of a classic group with members to a consumer group when a consumer joins."""

from dataclasses import replace
from typing import Final

from reference_coordinator.core.consumer_records import (
    ClassicMemberMetadata,
    ClassicProtocol,
    MemberState,
)
from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import MemberId, Millis, TopicId
from reference_coordinator.core.map_order import in_java_hash_map_order
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.groups.classic.answers import complete_join_future, complete_sync_future
from reference_coordinator.groups.classic.group import ClassicGroup
from reference_coordinator.groups.classic.lookups import as_classic_group
from reference_coordinator.groups.classic.member import ClassicGroupMember
from reference_coordinator.groups.classic.subscription import SubscriptionSchemaError
from reference_coordinator.groups.consumer.embedded_protocol import (
    deserialize_consumer_protocol_assignment,
    deserialize_consumer_protocol_subscription,
    to_topic_partitions,
)
from reference_coordinator.groups.consumer.group import ConsumerGroup, new_consumer_group
from reference_coordinator.groups.consumer.member import AssignedPartitions, ConsumerGroupMember
from reference_coordinator.groups.consumer.metadata import compute_subscription_metadata
from reference_coordinator.groups.consumer.record_helpers import (
    new_consumer_group_current_assignment_record,
    new_consumer_group_epoch_records,
    new_consumer_group_member_subscription_record,
    new_consumer_group_target_assignment_metadata_record,
    new_consumer_group_target_assignment_record,
)
from reference_coordinator.groups.consumer.timers import schedule_consumer_group_session_timeout
from reference_coordinator.groups.group import Group
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.runtime.error_responses import join_error, sync_error

_CUSTOM_ASSIGNOR: Final = (
    "an unsupported custom assignor is in use. Please refer to the documentation or switch to a default "
    "assignor before re-attempting the upgrade."
)


class _UnsupportedAssignmentError(Exception):
    """An assignment contains user data, which only a custom assignor understands."""


def convert_to_consumer_group(
    shard: GroupMetadataManager, group: Group, records: list[CoordinatorRecord]
) -> ConsumerGroup:
    """Convert a classic group to a consumer group. Parked requests are answered with REBALANCE_IN_PROGRESS.

    Raises:
        CoordinatorError: GROUP_ID_NOT_FOUND, if the group cannot be converted.
        IllegalStateError: the members' metadata is malformed or contradictory.

    Source: GroupMetadataManager#convertToConsumerGroup (4.3.1).
    """
    classic = as_classic_group(group)
    validate_online_upgrade(shard, classic)
    for member in classic.members.values():
        in_progress = Errors.REBALANCE_IN_PROGRESS
        complete_join_future(shard, member, join_error(member.member_id, in_progress))
        complete_sync_future(shard, member, sync_error(in_progress))
    records.extend(classic.create_group_tombstone_records())
    try:
        converted = from_classic_group(shard, classic)
    except SubscriptionSchemaError as failure:
        raise _cannot_upgrade(classic, "the embedded consumer protocol is malformed.") from failure
    except _UnsupportedAssignmentError as failure:
        raise _cannot_upgrade(classic, _CUSTOM_ASSIGNOR) from failure
    records.extend(create_consumer_group_records(converted))
    for each in converted.members.values():
        schedule_consumer_group_session_timeout(
            shard, converted.group_id, each.member_id, each.classic_metadata.session_timeout_ms
        )
    return converted


def validate_online_upgrade(shard: GroupMetadataManager, group: ClassicGroup) -> None:
    """Check that a group may be converted.

    Raises:
        CoordinatorError: GROUP_ID_NOT_FOUND.

    Source: GroupMetadataManager#validateOnlineUpgrade (4.3.1).
    """
    if not shard.config.group_consumer_migration_policy.is_upgrade_enabled:
        raise _cannot_upgrade(group, "online upgrade is disabled.")
    if not group.uses_consumer_group_protocol:
        raise _cannot_upgrade(group, "the group does not use the consumer embedded protocol.")
    if len(group.members) > shard.config.group_consumer_max_size:
        raise _cannot_upgrade(group, "the group size exceeds the consumer group maximum size.")


def _cannot_upgrade(group: ClassicGroup, why: str) -> CoordinatorError:
    message = f"Cannot upgrade classic group {group.group_id} to consumer group because {why}"
    return CoordinatorError(Errors.GROUP_ID_NOT_FOUND, message)


def from_classic_group(shard: GroupMetadataManager, classic: ClassicGroup) -> ConsumerGroup:
    """Return a consumer group in which the classic members have their current assignments.

    Raises:
        SubscriptionSchemaError: a subscription or assignment is malformed.
        IllegalStateError: also for malformed data in some releases, if no protocol was chosen yet,
            or if two members have the same partition.

    Source: ConsumerGroup#fromClassicGroup (4.3.1).
    """
    generation = classic.generation_id
    converted = replace(
        new_consumer_group(classic.group_id, shard.profile),
        group_epoch=generation,
        assignment_epoch=generation,
    )
    for member_id in map(MemberId, in_java_hash_map_order(tuple(classic.members))):
        member = _converted_member(shard, classic, classic.members[member_id])
        target = {topic_id: tuple(partitions) for topic_id, partitions in member.assigned_partitions.items()}
        converted = replace(
            converted.update_member(member),
            target_assignment={**converted.target_assignment, member.member_id: target},
        )
    if not shard.profile.has(Behaviour.CONVERTED_GROUP_HAS_METADATA):
        return converted
    names = converted.subscriptions.subscribed_topic_names
    metadata = compute_subscription_metadata(names, shard.metadata_image, shard.profile)
    return replace(converted, subscription_metadata=metadata)


def create_consumer_group_records(group: ConsumerGroup) -> tuple[CoordinatorRecord, ...]:
    """Return all records of a group.

    Source: ConsumerGroup#createConsumerGroupRecords (4.3.1).
    """
    group_id, profile = group.group_id, group.profile
    none = new_consumer_group(group_id, profile).subscription_metadata
    return (
        *(new_consumer_group_member_subscription_record(group_id, each) for each in group.members.values()),
        *new_consumer_group_epoch_records(group_id, group.group_epoch, group.subscription_metadata, none),
        *(
            new_consumer_group_target_assignment_record(group_id, each, group.target_assignment_of(each))
            for each in group.members
        ),
        new_consumer_group_target_assignment_metadata_record(
            group_id, group.assignment_epoch, group.assignment_timestamp_ms, profile
        ),
        *(
            new_consumer_group_current_assignment_record(group_id, each, profile)
            for each in group.members.values()
        ),
    )


def _converted_member(
    shard: GroupMetadataManager, classic: ClassicGroup, member: ClassicGroupMember
) -> ConsumerGroupMember:
    assigned = _assigned_partitions(shard, member.assignment, epoch=classic.generation_id)
    subscription = deserialize_consumer_protocol_subscription(
        member.metadata(classic.protocol_name), shard.profile
    )
    return ConsumerGroupMember(
        member_id=member.member_id,
        member_epoch=classic.generation_id,
        previous_member_epoch=classic.generation_id,
        state=MemberState.STABLE,
        instance_id=member.group_instance_id,
        rack_id=subscription.rack_id or None,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        client_id=member.client_id or "",
        client_host=member.client_host,
        subscribed_topic_names=frozenset(subscription.topics),
        assigned_partitions=assigned,
        classic_member_metadata=ClassicMemberMetadata(
            session_timeout_ms=Millis(member.session_timeout_ms),
            supported_protocols=tuple(
                ClassicProtocol(name=each.name, metadata=each.metadata) for each in member.supported_protocols
            ),
        ),
    )


def _assigned_partitions(shard: GroupMetadataManager, assignment: bytes, *, epoch: int) -> AssignedPartitions:
    """Parse a classic member's assignment, which is empty before its first sync."""
    if not assignment:
        return {}
    read = deserialize_consumer_protocol_assignment(assignment, shard.profile)
    if read.user_data:
        raise _UnsupportedAssignmentError
    assigned: dict[TopicId, dict[int, int]] = {}
    for topic_id, partitions in to_topic_partitions(read.assigned_partitions, shard.metadata_image) or ():
        assigned[topic_id] = dict.fromkeys(partitions, epoch)
    return assigned
