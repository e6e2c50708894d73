"""How long the parts of a record are, and the records of consumer groups."""

from collections.abc import Iterable
from typing import Final

from reference_coordinator.core.consumer_records import (
    ClassicMemberMetadata,
    ConsumerGroupCurrentMemberAssignmentRecord,
    ConsumerGroupCurrentMemberAssignmentTombstone,
    ConsumerGroupMemberMetadataRecord,
    ConsumerGroupMemberMetadataTombstone,
    ConsumerGroupMetadataRecord,
    ConsumerGroupPartitionMetadataRecord,
    ConsumerGroupRecord,
    ConsumerGroupRegularExpressionRecord,
    ConsumerGroupRegularExpressionTombstone,
    ConsumerGroupTargetAssignmentMemberRecord,
    ConsumerGroupTargetAssignmentMemberTombstone,
    ConsumerGroupTargetAssignmentMetadataRecord,
    TopicMetadata,
    TopicPartitions,
)

_VERSION_BYTES: Final = 2
_TAGGED_INT64_BYTES: Final = 10
"""Tag, size and number."""
_UUID_BYTES: Final = 16

_OfMember = (
    ConsumerGroupMemberMetadataRecord
    | ConsumerGroupMemberMetadataTombstone
    | ConsumerGroupTargetAssignmentMemberRecord
    | ConsumerGroupTargetAssignmentMemberTombstone
    | ConsumerGroupCurrentMemberAssignmentRecord
    | ConsumerGroupCurrentMemberAssignmentTombstone
)


def text_bytes(text: str | None) -> int:
    """A text with its length before it, in two bytes."""
    return 2 + len((text or "").encode())


def unsigned_varint_bytes(number: int) -> int:
    """A number of variable length. Decided in: ByteUtils#sizeOfUnsignedVarint (4.3.1)."""
    return max(1, -(-number.bit_length() // 7))


def consumer_key_bytes(record: ConsumerGroupRecord) -> int:
    """How long the key of a record is: a type, a group, and whom or what in it."""
    length = 2 + text_bytes(record.group_id)
    if isinstance(record, _OfMember):
        return length + text_bytes(record.member_id)
    if isinstance(record, ConsumerGroupRegularExpressionRecord | ConsumerGroupRegularExpressionTombstone):
        return length + text_bytes(record.regular_expression)
    return length


def consumer_value_bytes(record: ConsumerGroupRecord) -> int | None:
    """How long the value of a record is; a tombstone has none.

    Every value is a version, fields, and how many tagged fields come behind them.
    """
    match record:
        case ConsumerGroupMetadataRecord():
            tagged = _TAGGED_INT64_BYTES if record.metadata_hash else 0
            return _VERSION_BYTES + 4 + 1 + tagged
        case ConsumerGroupPartitionMetadataRecord():
            topics = sum(map(_topic_metadata_bytes, record.topics))
            return _VERSION_BYTES + unsigned_varint_bytes(len(record.topics) + 1) + topics + 1
        case ConsumerGroupMemberMetadataRecord():
            return _VERSION_BYTES + _member_bytes(record)
        case ConsumerGroupTargetAssignmentMetadataRecord():
            tagged = _TAGGED_INT64_BYTES if record.assignment_timestamp_ms else 0
            return _VERSION_BYTES + 4 + 1 + tagged
        case ConsumerGroupTargetAssignmentMemberRecord():
            return _VERSION_BYTES + _assignment_bytes(record.topic_partitions) + 1
        case ConsumerGroupCurrentMemberAssignmentRecord():
            assigned = _assignment_bytes(record.assigned_partitions)
            revoked = _assignment_bytes(record.partitions_pending_revocation)
            return _VERSION_BYTES + 9 + assigned + revoked + 1
        case ConsumerGroupRegularExpressionRecord():
            return _VERSION_BYTES + _texts_bytes(record.topics) + 16 + 1
        case _:
            return None


def compact_bytes(text: str | None) -> int:
    """A text with its length, plus one, before it; null is a length of nothing."""
    if text is None:
        return 1
    length = len(text.encode())
    return unsigned_varint_bytes(length + 1) + length


def _texts_bytes(texts: tuple[str, ...]) -> int:
    return unsigned_varint_bytes(len(texts) + 1) + sum(map(compact_bytes, texts))


def _topic_metadata_bytes(topic: TopicMetadata) -> int:
    partitions = sum(4 + _texts_bytes(racks) + 1 for _, racks in topic.racks)
    named = _UUID_BYTES + compact_bytes(topic.topic_name) + 4
    return named + unsigned_varint_bytes(len(topic.racks) + 1) + partitions + 1


def _member_bytes(record: ConsumerGroupMemberMetadataRecord) -> int:
    texts = (
        record.instance_id,
        record.rack_id,
        record.client_id,
        record.client_host,
        record.subscribed_topic_regex,
        record.server_assignor,
    )
    length = sum(map(compact_bytes, texts)) + _texts_bytes(record.subscribed_topic_names) + 4 + 1
    if record.classic_member_metadata is None:
        return length
    # A struct that may be null has a byte before it that says so.
    classic = 1 + _classic_bytes(record.classic_member_metadata)
    return length + 1 + unsigned_varint_bytes(classic) + classic


def _classic_bytes(metadata: ClassicMemberMetadata) -> int:
    protocols = (
        compact_bytes(each.name) + unsigned_varint_bytes(len(each.metadata) + 1) + len(each.metadata) + 1
        for each in metadata.supported_protocols
    )
    return 4 + unsigned_varint_bytes(len(metadata.supported_protocols) + 1) + sum(protocols) + 1


def _assignment_bytes(topics: Iterable[TopicPartitions]) -> int:
    listed = tuple(topics)
    return unsigned_varint_bytes(len(listed) + 1) + sum(map(_topic_partitions_bytes, listed))


def _topic_partitions_bytes(topic: TopicPartitions) -> int:
    length = _UUID_BYTES + _integers_bytes(len(topic.partitions)) + 1
    if topic.assignment_epochs is None:
        return length
    epochs = _integers_bytes(len(topic.assignment_epochs))
    return length + 1 + unsigned_varint_bytes(epochs) + epochs


def _integers_bytes(count: int) -> int:
    return unsigned_varint_bytes(count + 1) + 4 * count
