"""What the log refuses for its configuration: too large a batch, and any while replicas are too few."""

from collections.abc import Callable, Iterable
from typing import Final, assert_never

from reference_coordinator.behaviours import Behaviour
from reference_coordinator.config import GroupCoordinatorConfig
from reference_coordinator.effects import AppendRecords
from reference_coordinator.errors import Errors
from reference_coordinator.profiles import Profile
from reference_coordinator.records import (
    CoordinatorRecord,
    EndTransactionMarker,
    GroupMetadataRecord,
    GroupMetadataRecordMember,
    GroupMetadataTombstone,
    OffsetCommitRecord,
    OffsetCommitTombstone,
)

_BATCH_OVERHEAD: Final = 61
"""Source: DefaultRecordBatch#RECORD_BATCH_OVERHEAD (4.3.1)."""
_RECORD_OVERHEAD: Final = 9
"""Lengths, deltas, attributes and headers of a small record."""
_REPLICAS: Final = 1


def log_limits(config: GroupCoordinatorConfig, profile: Profile) -> Callable[[AppendRecords], Errors]:
    """Return what decides how a write ends.

    Source: UnifiedLog#analyzeAndValidateRecords, Partition#appendRecordsToLeader (3.9.2).
    """
    has_too_few_replicas = config.min_insync_replicas > _REPLICAS and not profile.has(
        Behaviour.MIN_INSYNC_REPLICAS_CAPPED
    )

    def outcome(append: AppendRecords) -> Errors:
        if has_too_few_replicas:
            return Errors.NOT_ENOUGH_REPLICAS
        if batch_bytes(append.records) > config.message_max_bytes:
            return Errors.MESSAGE_TOO_LARGE
        return Errors.NONE

    return outcome


def batch_bytes(records: Iterable[CoordinatorRecord]) -> int:
    """Return about how large a batch is: formats of values differ by some tens of bytes between releases."""
    return _BATCH_OVERHEAD + sum(_RECORD_OVERHEAD + _record_bytes(record) for record in records)


def _record_bytes(record: CoordinatorRecord) -> int:
    match record:
        case GroupMetadataRecord():
            return _key_bytes(record.group_id) + _group_bytes(record)
        case GroupMetadataTombstone():
            return _key_bytes(record.group_id)
        case OffsetCommitRecord():
            # Version, offset, leader epoch and timestamp stand beside the metadata.
            return _key_bytes(record.group_id, record.topic) + 22 + _text_bytes(record.metadata)
        case OffsetCommitTombstone():
            return _key_bytes(record.group_id, record.topic)
        case EndTransactionMarker():
            return 10
        case _:
            assert_never(record)


def _key_bytes(group_id: str, topic: str | None = None) -> int:
    """A version and a group, and for an offset a topic and a partition."""
    return 2 + _text_bytes(group_id) + (0 if topic is None else _text_bytes(topic) + 4)


def _group_bytes(record: GroupMetadataRecord) -> int:
    texts = (record.protocol_type, record.protocol, record.leader)
    return 18 + sum(map(_text_bytes, texts)) + sum(map(_member_bytes, record.members))


def _member_bytes(member: GroupMetadataRecordMember) -> int:
    texts = (member.member_id, member.group_instance_id, member.client_id, member.client_host)
    return 16 + sum(map(_text_bytes, texts)) + len(member.subscription) + len(member.assignment)


def _text_bytes(text: str | None) -> int:
    return 2 + len((text or "").encode())
