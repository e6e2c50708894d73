"""The limits of the log: batches that are too large, and all writes while there are too few replicas."""

from collections.abc import Callable, Iterable
from typing import Final

from reference_coordinator.core.effects import ALL_REPLICAS, AppendRecords
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.records import (
    CoordinatorRecord,
    EndTransactionMarker,
    GroupMetadataRecord,
    GroupMetadataRecordMember,
    GroupMetadataTombstone,
    OffsetCommitRecord,
    OffsetCommitTombstone,
)
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.profiles import Profile
from reference_coordinator.runtime.group_record_sizes import (
    group_record_bytes,
    text_bytes,
    unsigned_varint_bytes,
)

_BATCH_OVERHEAD: Final = 61
"""Source: DefaultRecordBatch#RECORD_BATCH_OVERHEAD (4.3.1)."""
_REPLICAS: Final = 1
_MARKER_KEY_BYTES: Final = 4
_MARKER_VALUE_BYTES: Final = 6


def log_limits(config: GroupCoordinatorConfig, profile: Profile) -> Callable[[AppendRecords], Errors]:
    """Return a function that returns the outcome of a write.

    Decided in: UnifiedLog#analyzeAndValidateRecords, Partition#appendRecordsToLeader (3.9.2).
    """
    has_too_few_replicas = config.min_insync_replicas > _REPLICAS and not profile.has(
        Behaviour.MIN_INSYNC_REPLICAS_CAPPED
    )

    def outcome(append: AppendRecords) -> Errors:
        if has_too_few_replicas and append.required_acks == ALL_REPLICAS:
            return Errors.NOT_ENOUGH_REPLICAS
        if is_too_large(append.records, config, profile):
            return Errors.MESSAGE_TOO_LARGE
        return Errors.NONE

    return outcome


def is_too_large(
    records: Iterable[CoordinatorRecord], config: GroupCoordinatorConfig, profile: Profile
) -> bool:
    """Return whether records do not fit into one batch.

    A coordinator that checks the size itself counts the batch header twice.

    Decided in: MemoryRecordsBuilder#maxAllowedBytes and #hasRoomFor (4.3.1),
    CoordinatorRuntime#append (3.9.2).
    """
    again = _BATCH_OVERHEAD if profile.has(Behaviour.TOO_LARGE_WRITE_LEAVES_BATCH_OPEN) else 0
    return again + size_in_bytes(records, profile) > config.message_max_bytes


def size_in_bytes(records: Iterable[CoordinatorRecord], profile: Profile) -> int:
    """Return the uncompressed size of the batch that a release writes. Nothing is encoded for that.

    Source: DefaultRecordBatch#sizeInBytes (4.3.1).
    """
    is_flexible = profile.has(Behaviour.OFFSETS_WRITTEN_FLEXIBLE)
    return _BATCH_OVERHEAD + sum(
        _record_bytes(delta, *_key_and_value_bytes(record, is_flexible=is_flexible))
        for delta, record in enumerate(records)
    )


def _record_bytes(offset_delta: int, key_bytes: int, value_bytes: int | None) -> int:
    """Decided in: DefaultRecord#sizeInBytes (4.3.1)."""
    # Three bytes: the attributes, the timestamp delta (always 0), and the number of headers.
    body = 3 + _size_of_varint(offset_delta) + _size_of_varint(key_bytes) + key_bytes
    body += 1 if value_bytes is None else _size_of_varint(value_bytes) + value_bytes
    return _size_of_varint(body) + body


def _key_and_value_bytes(record: CoordinatorRecord, *, is_flexible: bool) -> tuple[int, int | None]:
    """Return the sizes of key and value. The latter is None for a tombstone."""
    match record:
        case GroupMetadataRecord():
            return _key_bytes(record.group_id), _group_bytes(record)
        case GroupMetadataTombstone():
            return _key_bytes(record.group_id), None
        case OffsetCommitRecord():
            return _offset_key_bytes(record), _offset_bytes(record, is_flexible=is_flexible)
        case OffsetCommitTombstone():
            return _offset_key_bytes(record), None
        case EndTransactionMarker():
            return _MARKER_KEY_BYTES, _MARKER_VALUE_BYTES
        case _:
            return group_record_bytes(record)


def _key_bytes(group_id: str) -> int:
    """Return the size of a key with a type and a group."""
    return 2 + text_bytes(group_id)


def _offset_key_bytes(record: OffsetCommitRecord | OffsetCommitTombstone) -> int:
    """Return the size of a key with a type, a group, a topic and a partition."""
    return _key_bytes(record.group_id) + text_bytes(record.topic) + 4


def _offset_bytes(record: OffsetCommitRecord, *, is_flexible: bool) -> int:
    """Return the size of version, offset, metadata, commit time, and expiry time or leader epoch."""
    if record.expire_timestamp_ms is not None:
        return 18 + text_bytes(record.metadata) + 8
    if not is_flexible:
        return 18 + text_bytes(record.metadata) + 4
    length = len(record.metadata.encode())
    # A compact string follows its length plus one. The last byte is the number of tagged fields.
    return 18 + unsigned_varint_bytes(length + 1) + length + 4 + 1


def _group_bytes(record: GroupMetadataRecord) -> int:
    """Return the size of version, generation, timestamp, member count, texts and members."""
    texts = (record.protocol_type, record.protocol, record.leader)
    return 18 + sum(map(text_bytes, texts)) + sum(map(_member_bytes, record.members))


def _member_bytes(member: GroupMetadataRecordMember) -> int:
    """Return the size of timeouts, lengths, texts and bytes."""
    texts = (member.member_id, member.group_instance_id, member.client_id, member.client_host)
    return 16 + sum(map(text_bytes, texts)) + len(member.subscription) + len(member.assignment)


def _size_of_varint(value: int) -> int:
    """Return the size of a non-negative varint. Source: ByteUtils#sizeOfVarint (4.3.1)."""
    # Nearly all values are lengths below a few thousand bytes, so these are fast.
    return 1 if value < 64 else 2 if value < 8_192 else unsigned_varint_bytes(2 * value)
