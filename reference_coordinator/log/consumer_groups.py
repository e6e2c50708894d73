"""Consumer groups as a partition's records have them, for a person to look at."""

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from reference_coordinator.core.consumer_records import (
    ConsumerGroupCurrentMemberAssignmentRecord,
    ConsumerGroupCurrentMemberAssignmentTombstone,
    ConsumerGroupMemberMetadataRecord,
    ConsumerGroupMetadataRecord,
    ConsumerGroupMetadataTombstone,
    ConsumerGroupRecord,
    ConsumerGroupRegularExpressionRecord,
    ConsumerGroupTargetAssignmentMemberRecord,
    ConsumerGroupTargetAssignmentMemberTombstone,
    ConsumerGroupTargetAssignmentMetadataRecord,
    ConsumerGroupTargetAssignmentMetadataTombstone,
    TopicPartitions,
)
from reference_coordinator.core.ids import GroupId, MemberId
from reference_coordinator.core.records import (
    CoordinatorRecord,
    EndTransactionMarker,
    GroupMetadataRecord,
    GroupMetadataTombstone,
    OffsetCommitRecord,
    OffsetCommitTombstone,
)
from reference_coordinator.core.values import value
from reference_coordinator.log.consumer_serde import CONSUMER_TOMBSTONES, type_and_name

_OTHERS: Final = (
    GroupMetadataRecord,
    GroupMetadataTombstone,
    OffsetCommitRecord,
    OffsetCommitTombstone,
    EndTransactionMarker,
)
_Records: TypeAlias = dict[tuple[int, str], ConsumerGroupRecord]
"""The last record of each key of a group, without tombstones."""


@value
class LoadedPartitions:
    """Partitions of a topic, by its id."""

    topic_id: str
    partitions: tuple[int, ...]
    assignment_epochs: tuple[int, ...] | None


@value
class LoadedConsumerMember:
    """A member, as it was stored; what no record says of it is None or empty."""

    member_id: str
    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    subscribed_topic_names: tuple[str, ...]
    subscribed_topic_regex: str | None
    server_assignor: str | None
    rebalance_timeout_ms: int
    speaks_classic_protocol: bool
    member_epoch: int | None
    state: str | None
    assigned: tuple[LoadedPartitions, ...]
    pending_revocation: tuple[LoadedPartitions, ...]
    target: tuple[LoadedPartitions, ...]


@value
class LoadedRegularExpression:
    """The topics that an expression was found to match."""

    regular_expression: str
    topics: tuple[str, ...]


@value
class StoredConsumerGroup:
    """A consumer group without its offsets."""

    group_id: GroupId
    group_epoch: int
    metadata_hash: int
    assignment_epoch: int | None
    members: tuple[LoadedConsumerMember, ...]
    regular_expressions: tuple[LoadedRegularExpression, ...]


def consumer_groups(records: Iterable[CoordinatorRecord]) -> Mapping[GroupId, StoredConsumerGroup]:
    """Return the groups that have an epoch, by their ids."""
    by_group: dict[GroupId, _Records] = {}
    for record in records:
        if isinstance(record, _OTHERS):
            continue
        kept = by_group.setdefault(record.group_id, {})
        if isinstance(record, CONSUMER_TOMBSTONES):
            kept.pop(type_and_name(record), None)
        else:
            kept[type_and_name(record)] = record
    found = (_group(group_id, kept) for group_id, kept in sorted(by_group.items()))
    return {each.group_id: each for each in found if each is not None}


def _group(group_id: GroupId, kept: _Records) -> StoredConsumerGroup | None:
    epoch = kept.get(type_and_name(ConsumerGroupMetadataTombstone(group_id=group_id)))
    if not isinstance(epoch, ConsumerGroupMetadataRecord):
        return None
    members = [each for each in kept.values() if isinstance(each, ConsumerGroupMemberMetadataRecord)]
    target = kept.get(type_and_name(ConsumerGroupTargetAssignmentMetadataTombstone(group_id=group_id)))
    expressions = (each for each in kept.values() if isinstance(each, ConsumerGroupRegularExpressionRecord))
    return StoredConsumerGroup(
        group_id=group_id,
        group_epoch=epoch.epoch,
        metadata_hash=epoch.metadata_hash,
        assignment_epoch=target.assignment_epoch
        if isinstance(target, ConsumerGroupTargetAssignmentMetadataRecord)
        else None,
        members=tuple(_member(each, kept) for each in sorted(members, key=lambda member: member.member_id)),
        regular_expressions=tuple(
            LoadedRegularExpression(regular_expression=each.regular_expression, topics=each.topics)
            for each in expressions
        ),
    )


def _member(member: ConsumerGroupMemberMetadataRecord, kept: _Records) -> LoadedConsumerMember:
    current, target = _assignments(member.group_id, member.member_id, kept)
    return LoadedConsumerMember(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=member.subscribed_topic_names,
        subscribed_topic_regex=member.subscribed_topic_regex,
        server_assignor=member.server_assignor,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        speaks_classic_protocol=member.classic_member_metadata is not None,
        member_epoch=None if current is None else current.member_epoch,
        state=None if current is None else current.state.name,
        assigned=() if current is None else _partitions(current.assigned_partitions),
        pending_revocation=() if current is None else _partitions(current.partitions_pending_revocation),
        target=() if target is None else _partitions(target.topic_partitions),
    )


def _assignments(
    group_id: GroupId, member_id: MemberId, kept: _Records
) -> tuple[
    ConsumerGroupCurrentMemberAssignmentRecord | None, ConsumerGroupTargetAssignmentMemberRecord | None
]:
    current_key = ConsumerGroupCurrentMemberAssignmentTombstone(group_id=group_id, member_id=member_id)
    target_key = ConsumerGroupTargetAssignmentMemberTombstone(group_id=group_id, member_id=member_id)
    current, target = kept.get(type_and_name(current_key)), kept.get(type_and_name(target_key))
    return (
        current if isinstance(current, ConsumerGroupCurrentMemberAssignmentRecord) else None,
        target if isinstance(target, ConsumerGroupTargetAssignmentMemberRecord) else None,
    )


def _partitions(topics: Iterable[TopicPartitions]) -> tuple[LoadedPartitions, ...]:
    return tuple(
        LoadedPartitions(
            topic_id=each.topic_id, partitions=each.partitions, assignment_epochs=each.assignment_epochs
        )
        for each in topics
    )
