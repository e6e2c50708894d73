"""Records to keys and values, in the versions that a release writes; and back, as it reads them."""

import struct
from collections.abc import Mapping
from io import BytesIO
from types import MappingProxyType
from typing import Any, Final, TypeVar

from kio.serial import entity_reader, entity_writer
from kio.serial.errors import SerialError
from kio.serial.readers import Reader, read_unsigned_varint
from kio.static.protocol import Entity

from reference_coordinator.core.ids import (
    GenerationId,
    GroupId,
    GroupInstanceId,
    MemberId,
    Millis,
    ProducerId,
)
from reference_coordinator.core.records import (
    CoordinatorRecord,
    EndTransactionMarker,
    GroupMetadataRecord,
    GroupMetadataRecordMember,
    GroupMetadataTombstone,
    OffsetCommitRecord,
    OffsetCommitTombstone,
)
from reference_coordinator.core.streams_records import StreamsGroupRecord
from reference_coordinator.log.consumer_serde import (
    CONSUMER_RECORD_TYPES,
    read_consumer_record,
    write_consumer_record,
)
from reference_coordinator.log.schemas import (
    GroupMetadataKey,
    GroupMetadataValue,
    GroupMetadataValueV0,
    GroupMetadataValueV1,
    GroupMetadataValueV2,
    GroupMetadataValueV3,
    GroupMetadataValueV4,
    MemberMetadataV0,
    MemberMetadataV1,
    MemberMetadataV3,
    OffsetCommitKey,
    OffsetCommitValue,
    OffsetCommitValueV0,
    OffsetCommitValueV1,
    OffsetCommitValueV2,
    OffsetCommitValueV3,
    OffsetCommitValueV4,
)
from reference_coordinator.log.streams_serde import (
    STREAMS_RECORD_TYPES,
    read_streams_record,
    write_streams_record,
)
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.profile.profiles import Profile

EntityT = TypeVar("EntityT", bound=Entity)

OFFSET_COMMIT: Final = 1
GROUP_METADATA: Final = 2
_VERSION_BYTES: Final = 2
_FIRST_FLEXIBLE: Final = 4
_METADATA_AT: Final = 14
"""Behind the version, the offset and the leader epoch."""
_TIMESTAMP_BYTES: Final = 8
_NO_TAGS: Final = b"\0"
_READERS: Final[dict[type[Entity], Reader[Any]]] = {}
"""Each is made once, since that takes long."""
_OFFSET_VALUES: Final[Mapping[int, type[OffsetCommitValue]]] = MappingProxyType(
    dict(
        enumerate(
            (
                OffsetCommitValueV0,
                OffsetCommitValueV1,
                OffsetCommitValueV2,
                OffsetCommitValueV3,
                OffsetCommitValueV4,
            )
        )
    )
)
_OFFSET_VALUES_OF_TYPE_0: Final[Mapping[int, type[OffsetCommitValue]]] = MappingProxyType(
    {0: OffsetCommitValueV0}
)
_GROUP_VALUES: Final[Mapping[int, type[GroupMetadataValue]]] = MappingProxyType(
    dict(
        enumerate(
            (
                GroupMetadataValueV0,
                GroupMetadataValueV1,
                GroupMetadataValueV2,
                GroupMetadataValueV3,
                GroupMetadataValueV4,
            )
        )
    )
)


class UnreadableRecordError(Exception):
    """A loader of the profile fails on the record; the message says why."""


class UnwritableRecordError(Exception):
    """A record does not fit its format, e.g. a text beyond 32767 bytes."""


def write_record(record: CoordinatorRecord, profile: Profile) -> tuple[bytes, bytes | None]:
    """Return the key and the value that a release writes; a tombstone has no value.

    Source: GroupCoordinatorRecordHelpers (4.3.1), GroupMetadataManager#offsetCommitValue (3.9.2).

    Raises:
        UnwritableRecordError: a text or a number does not fit.
    """
    try:
        return _write_record(record, profile)
    except (SerialError, ValueError, TypeError, OverflowError, struct.error) as error:
        raise UnwritableRecordError(f"{type(record).__name__} cannot be written: {error!r}") from error


def _write_record(record: CoordinatorRecord, profile: Profile) -> tuple[bytes, bytes | None]:
    match record:
        case OffsetCommitRecord():
            return _offset_key(record), _offset_value(record, profile)
        case OffsetCommitTombstone():
            return _offset_key(record), None
        case GroupMetadataRecord():
            return _group_key(record), _group_value(record)
        case GroupMetadataTombstone():
            return _group_key(record), None
        case EndTransactionMarker():
            raise AssertionError("a marker is a control record")
        case _ if isinstance(record, StreamsGroupRecord):
            return write_streams_record(record)
        case _:
            return write_consumer_record(record, profile)


def read_record(
    key: bytes | None, value: bytes | None, *, producer_id: ProducerId, profile: Profile
) -> CoordinatorRecord | None:
    """Return what a release's loader makes of a record; None for a type that it skips.

    Source: GroupMetadataManager#readMessageKey (3.9.2), CoordinatorRecordSerde#deserialize (4.3.1).

    Raises:
        UnreadableRecordError: it fails on it.
    """
    if key is None:
        raise UnreadableRecordError("it has no key")
    key_type = _version(key, "key")
    match key_type:
        case 0 | 1:
            offset_key = _read(OffsetCommitKey, key, "key")
            is_old = key_type == 0 and profile.has(Behaviour.TYPE_0_HAS_VERSION_0)
            classes = _OFFSET_VALUES_OF_TYPE_0 if is_old else _OFFSET_VALUES
            return _offset(offset_key, value, classes, producer_id=producer_id, profile=profile)
        case 2:
            group_id = GroupId(_read(GroupMetadataKey, key, "key").group)
            return _group(group_id, value, profile)
        case _ if key_type in CONSUMER_RECORD_TYPES and profile.has(Behaviour.CONSUMER_GROUPS):
            return _read_of_consumer_group(key, value, profile)
        case _ if key_type in STREAMS_RECORD_TYPES and profile.has(Behaviour.STREAMS_GROUPS):
            return _read_of_streams_group(key, value)
        case _ if profile.has(Behaviour.FLEXIBLE_RECORDS_READ):
            return None
        case _:
            raise UnreadableRecordError(f"it is of type {key_type}, which this release does not know")


def _read_of_consumer_group(key: bytes, value: bytes | None, profile: Profile) -> CoordinatorRecord:
    try:
        return read_consumer_record(key, value, profile)
    except (SerialError, ValueError, IndexError, struct.error) as error:
        raise UnreadableRecordError(f"it is no record of a consumer group: {error}") from error


def _read_of_streams_group(key: bytes, value: bytes | None) -> CoordinatorRecord:
    try:
        return read_streams_record(key, value)
    except (SerialError, ValueError, IndexError, struct.error) as error:
        raise UnreadableRecordError(f"it is no record of a streams group: {error}") from error


def _write(version: int, message: Entity) -> bytes:
    buffer = BytesIO()
    buffer.write(version.to_bytes(_VERSION_BYTES, "big"))
    entity_writer(type(message))(buffer, message)
    return buffer.getvalue()


def _read(entity: type[EntityT], content: bytes, what: str) -> EntityT:
    try:
        return _reader(entity)(content, _VERSION_BYTES)[0]
    except (SerialError, ValueError, KeyError) as error:
        # A tag that no schema here knows is a KeyError of kio's.
        raise UnreadableRecordError(f"its {what} is no {entity.__name__}: {error!r}") from error


def _reader(entity: type[EntityT]) -> Reader[EntityT]:
    found = _READERS.get(entity)
    if found is None:
        found = _READERS[entity] = entity_reader(entity)
    return found


def _version(content: bytes, what: str) -> int:
    if len(content) < _VERSION_BYTES:
        raise UnreadableRecordError(f"its {what} ends before its version")
    return int.from_bytes(content[:_VERSION_BYTES], "big", signed=True)


def _value_class(
    classes: Mapping[int, type[EntityT]], value: bytes, what: str, profile: Profile
) -> type[EntityT]:
    version = _version(value, "value")
    if profile.has(Behaviour.UNKNOWN_VERSIONS_READ_AS_NEAREST):
        version = min(max(version, min(classes)), max(classes))
    found = classes.get(version)
    if found is None or (version >= _FIRST_FLEXIBLE and not profile.has(Behaviour.FLEXIBLE_RECORDS_READ)):
        raise UnreadableRecordError(
            f"its value is {what} of version {version}, which this release does not know"
        )
    return found


def _offset_key(record: OffsetCommitRecord | OffsetCommitTombstone) -> bytes:
    key = OffsetCommitKey(group=record.group_id, topic=record.topic, partition=record.partition)
    return _write(OFFSET_COMMIT, key)


def _group_key(record: GroupMetadataRecord | GroupMetadataTombstone) -> bytes:
    return _write(GROUP_METADATA, GroupMetadataKey(group=record.group_id))


def _offset_value(record: OffsetCommitRecord, profile: Profile) -> bytes:
    if record.expire_timestamp_ms is not None:
        with_retention = OffsetCommitValueV1(
            offset=record.offset,
            metadata=record.metadata,
            commit_timestamp=record.commit_timestamp_ms,
            expire_timestamp=record.expire_timestamp_ms,
        )
        return _write(1, with_retention)
    is_flexible = profile.has(Behaviour.OFFSETS_WRITTEN_FLEXIBLE)
    value = (OffsetCommitValueV4 if is_flexible else OffsetCommitValueV3)(
        offset=record.offset,
        leader_epoch=record.leader_epoch,
        metadata=record.metadata,
        commit_timestamp=record.commit_timestamp_ms,
    )
    return _write(4 if is_flexible else 3, value)


def _group_value(record: GroupMetadataRecord) -> bytes:
    value = GroupMetadataValueV3(
        protocol_type=record.protocol_type,
        generation=record.generation_id,
        protocol=record.protocol,
        leader=record.leader,
        current_state_timestamp=record.current_state_timestamp_ms,
        members=tuple(_member_value(member) for member in record.members),
    )
    return _write(3, value)


def _member_value(member: GroupMetadataRecordMember) -> MemberMetadataV3:
    return MemberMetadataV3(
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout=member.rebalance_timeout_ms,
        session_timeout=member.session_timeout_ms,
        subscription=member.subscription,
        assignment=member.assignment,
    )


def _offset(
    key: OffsetCommitKey,
    value: bytes | None,
    classes: Mapping[int, type[OffsetCommitValue]],
    *,
    producer_id: ProducerId,
    profile: Profile,
) -> OffsetCommitRecord | OffsetCommitTombstone:
    group_id = GroupId(key.group)
    if value is None:
        return OffsetCommitTombstone(group_id=group_id, topic=key.topic, partition=key.partition)
    entity = _value_class(classes, value, "an offset", profile)
    content = _without_tags(value) if entity is OffsetCommitValueV4 else value
    read: OffsetCommitValue = _read(entity, content, "value")
    expires_ms = read.expire_timestamp if isinstance(read, OffsetCommitValueV1) else -1
    return OffsetCommitRecord(
        group_id=group_id,
        topic=key.topic,
        partition=key.partition,
        offset=read.offset,
        leader_epoch=read.leader_epoch if isinstance(read, OffsetCommitValueV3) else -1,
        metadata=read.metadata,
        commit_timestamp_ms=Millis(read.commit_timestamp),
        expire_timestamp_ms=None if expires_ms == -1 else Millis(expires_ms),
        producer_id=producer_id,
    )


def _without_tags(value: bytes) -> bytes:
    """Return an offset's value without its tagged fields: kio refuses those that it does not know.

    Releases to come may write others, and nobody here asks for those of today.
    """
    try:
        length, size = read_unsigned_varint(value, _METADATA_AT)
    except (SerialError, IndexError) as error:
        raise UnreadableRecordError(f"its value ends too early: {error!r}") from error
    tags_at = _METADATA_AT + size + length - 1 + _TIMESTAMP_BYTES
    return value[:tags_at] + _NO_TAGS if len(value) > tags_at else value


def _group(
    group_id: GroupId, value: bytes | None, profile: Profile
) -> GroupMetadataRecord | GroupMetadataTombstone:
    if value is None:
        return GroupMetadataTombstone(group_id=group_id)
    entity = _value_class(_GROUP_VALUES, value, "a group", profile)
    read: GroupMetadataValue = _read(entity, value, "value")
    timestamp_ms = -1
    if not isinstance(read, GroupMetadataValueV0 | GroupMetadataValueV1):
        timestamp_ms = read.current_state_timestamp
    return GroupMetadataRecord(
        group_id=group_id,
        protocol_type=read.protocol_type,
        generation_id=GenerationId(read.generation),
        protocol=read.protocol,
        leader=None if read.leader is None else MemberId(read.leader),
        current_state_timestamp_ms=Millis(timestamp_ms),
        members=tuple(_member(member) for member in read.members),
    )


def _member(member: MemberMetadataV0 | MemberMetadataV1 | MemberMetadataV3) -> GroupMetadataRecordMember:
    """Return a member; one without a rebalance timeout has its session timeout for it.

    Source: GroupMetadataManager#replay (4.3.1).
    """
    rebalance_timeout = -1 if isinstance(member, MemberMetadataV0) else member.rebalance_timeout
    instance = member.group_instance_id if isinstance(member, MemberMetadataV3) else None
    return GroupMetadataRecordMember(
        member_id=MemberId(member.member_id),
        group_instance_id=None if instance is None else GroupInstanceId(instance),
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=Millis(member.session_timeout if rebalance_timeout == -1 else rebalance_timeout),
        session_timeout_ms=Millis(member.session_timeout),
        subscription=member.subscription,
        assignment=member.assignment,
    )
