"""Conversion of records to keys and values, in the versions that a release writes, and back as it reads."""

import struct
from typing import Final

from kio.serial.errors import SerialError

from reference_coordinator.core import records
from reference_coordinator.core.ids import (
    GenerationId,
    GroupId,
    GroupInstanceId,
    MemberId,
    Millis,
    ProducerId,
)
from reference_coordinator.log.group_record_serde import (
    group_type_of,
    read_group_record,
    write_group_record,
)
from reference_coordinator.log.message_codec import Fields, message_type, read_message, write_message
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.profile.profiles import Profile

_OFFSET_COMMIT: Final = "OffsetCommit"
_GROUP_METADATA: Final = "GroupMetadata"
_OLD_OFFSET_COMMIT_TYPE: Final = 0
OFFSET_COMMIT: Final = message_type(f"{_OFFSET_COMMIT}Key")
GROUP_METADATA: Final = message_type(f"{_GROUP_METADATA}Key")
_KEY_VERSION: Final = 0
_VERSION_BYTES: Final = 2
_OF_RETENTION: Final = 1
"""The version of an offset value with its own retention, in every release."""
_FIRST_FLEXIBLE: Final = 4
_LAST_VERSION: Final = 4
_DAMAGE: Final = (SerialError, ValueError, IndexError, struct.error)


class UnreadableRecordError(Exception):
    """The profile's loader fails on the record. The message says why."""


class UnwritableRecordError(Exception):
    """A record does not fit its format, e.g. a string of more than 32767 bytes."""


def write_record(record: records.CoordinatorRecord, profile: Profile) -> tuple[bytes, bytes | None]:
    """Return the key and the value that a release writes; a tombstone has no value.

    Source: GroupCoordinatorRecordHelpers (4.3.1), GroupMetadataManager#offsetCommitValue (3.9.2).

    Raises:
        UnwritableRecordError: a string or a number does not fit.
    """
    try:
        return _write_record(record, profile)
    except (SerialError, ValueError, TypeError, OverflowError, struct.error) as error:
        raise UnwritableRecordError(f"{type(record).__name__} cannot be written: {error!r}") from error


def _write_record(record: records.CoordinatorRecord, profile: Profile) -> tuple[bytes, bytes | None]:
    match record:
        case records.OffsetCommitRecord():
            return _offset_key(record), _offset_value(record, profile)
        case records.OffsetCommitTombstone():
            return _offset_key(record), None
        case records.GroupMetadataRecord():
            return _group_key(record), _group_value(record)
        case records.GroupMetadataTombstone():
            return _group_key(record), None
        case records.EndTransactionMarker():
            raise AssertionError("a marker is a control record")
        case _:
            return write_group_record(record, profile)


def read_record(
    key: bytes | None, value: bytes | None, *, producer_id: ProducerId, profile: Profile
) -> records.CoordinatorRecord | None:
    """Decode a record as a release's loader does; return None for a type that it skips.

    Source: GroupMetadataManager#readMessageKey (3.9.2), CoordinatorRecordSerde#deserialize (4.3.1).

    Raises:
        UnreadableRecordError: the loader fails on the record.
    """
    if key is None:
        raise UnreadableRecordError("it has no key")
    key_type = _version(key, "key")
    match key_type:
        case 0 | 1:
            offset_key = _read(f"{_OFFSET_COMMIT}Key", _KEY_VERSION, key)
            is_old = key_type == _OLD_OFFSET_COMMIT_TYPE and profile.has(Behaviour.TYPE_0_HAS_VERSION_0)
            last_version = 0 if is_old else _LAST_VERSION
            return _offset(offset_key, value, last_version, producer_id=producer_id, profile=profile)
        case 2:
            group_key = _read(f"{_GROUP_METADATA}Key", _KEY_VERSION, key)
            return _group(GroupId(group_key["group"]), value, profile)
        case _ if (group_type := group_type_of(key_type, profile)) is not None:
            return _read_of_group(key, value, profile, group_type)
        case _ if profile.has(Behaviour.FLEXIBLE_RECORDS_READ):
            return None
        case _:
            raise UnreadableRecordError(f"it is of type {key_type}, which this release does not know")


def _read_of_group(
    key: bytes, value: bytes | None, profile: Profile, group_type: str
) -> records.CoordinatorRecord:
    try:
        return read_group_record(key, value, profile)
    except _DAMAGE as error:
        raise UnreadableRecordError(f"it is no record of a {group_type} group: {error}") from error


def _read(name: str, version: int, content: bytes) -> Fields:
    try:
        return read_message(name, version, content, _VERSION_BYTES)
    except _DAMAGE as error:
        what = "key" if name.endswith("Key") else "value"
        raise UnreadableRecordError(f"its {what} is no {name} of version {version}: {error!r}") from error


def _version(content: bytes, what: str) -> int:
    if len(content) < _VERSION_BYTES:
        raise UnreadableRecordError(f"its {what} ends before its version")
    return int.from_bytes(content[:_VERSION_BYTES], "big", signed=True)


def _read_value(name: str, value: bytes, last_version: int, what: str, profile: Profile) -> Fields:
    version = _version(value, "value")
    if profile.has(Behaviour.UNKNOWN_VERSIONS_READ_AS_NEAREST):
        version = min(max(version, 0), last_version)
    is_flexible = version >= _FIRST_FLEXIBLE
    if not 0 <= version <= last_version or (is_flexible and not profile.has(Behaviour.FLEXIBLE_RECORDS_READ)):
        raise UnreadableRecordError(
            f"its value is {what} of version {version}, which this release does not know"
        )
    return _read(f"{name}Value", version, value)


def _write_key(name: str, fields: Fields) -> bytes:
    message = f"{name}Key"
    return _prefix(message_type(message)) + write_message(message, _KEY_VERSION, fields)


def _write_value(name: str, version: int, fields: Fields) -> bytes:
    return _prefix(version) + write_message(f"{name}Value", version, fields)


def _prefix(number: int) -> bytes:
    return number.to_bytes(_VERSION_BYTES, "big")


def _offset_key(record: records.OffsetCommitRecord | records.OffsetCommitTombstone) -> bytes:
    fields = {"group": record.group_id, "topic": record.topic, "partition": record.partition}
    return _write_key(_OFFSET_COMMIT, fields)


def _group_key(record: records.GroupMetadataRecord | records.GroupMetadataTombstone) -> bytes:
    return _write_key(_GROUP_METADATA, {"group": record.group_id})


def _offset_value(record: records.OffsetCommitRecord, profile: Profile) -> bytes:
    version = 4 if profile.has(Behaviour.OFFSETS_WRITTEN_FLEXIBLE) else 3
    fields = {
        "offset": record.offset,
        "leader_epoch": record.leader_epoch,
        "metadata": record.metadata,
        "commit_timestamp": record.commit_timestamp_ms,
        "expire_timestamp": record.expire_timestamp_ms,
        "topic_id": None,
    }
    return _write_value(
        _OFFSET_COMMIT, version if record.expire_timestamp_ms is None else _OF_RETENTION, fields
    )


def _group_value(record: records.GroupMetadataRecord) -> bytes:
    fields = {
        "protocol_type": record.protocol_type,
        "generation": record.generation_id,
        "protocol": record.protocol,
        "leader": record.leader,
        "current_state_timestamp": record.current_state_timestamp_ms,
        "members": tuple(_member_value(member) for member in record.members),
    }
    return _write_value(_GROUP_METADATA, 3, fields)


def _member_value(member: records.GroupMetadataRecordMember) -> Fields:
    return {
        "member_id": member.member_id,
        "group_instance_id": member.group_instance_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "rebalance_timeout": member.rebalance_timeout_ms,
        "session_timeout": member.session_timeout_ms,
        "subscription": member.subscription,
        "assignment": member.assignment,
    }


def _offset(
    key: Fields, value: bytes | None, last_version: int, *, producer_id: ProducerId, profile: Profile
) -> records.OffsetCommitRecord | records.OffsetCommitTombstone:
    group_id, topic, partition = GroupId(key["group"]), key["topic"], key["partition"]
    if value is None:
        return records.OffsetCommitTombstone(group_id=group_id, topic=topic, partition=partition)
    found = _read_value(_OFFSET_COMMIT, value, last_version, "an offset", profile)
    expires_ms = found.get("expire_timestamp", -1)
    return records.OffsetCommitRecord(
        group_id=group_id,
        topic=topic,
        partition=partition,
        offset=found["offset"],
        leader_epoch=found.get("leader_epoch", -1),
        metadata=found["metadata"],
        commit_timestamp_ms=Millis(found["commit_timestamp"]),
        expire_timestamp_ms=None if expires_ms == -1 else Millis(expires_ms),
        producer_id=producer_id,
    )


def _group(
    group_id: GroupId, value: bytes | None, profile: Profile
) -> records.GroupMetadataRecord | records.GroupMetadataTombstone:
    if value is None:
        return records.GroupMetadataTombstone(group_id=group_id)
    found = _read_value(_GROUP_METADATA, value, _LAST_VERSION, "a group", profile)
    return records.GroupMetadataRecord(
        group_id=group_id,
        protocol_type=found["protocol_type"],
        generation_id=GenerationId(found["generation"]),
        protocol=found["protocol"],
        leader=None if found["leader"] is None else MemberId(found["leader"]),
        current_state_timestamp_ms=Millis(found.get("current_state_timestamp", -1)),
        members=tuple(_member(member) for member in found["members"]),
    )


def _member(member: Fields) -> records.GroupMetadataRecordMember:
    """Return a member; without a rebalance timeout, its session timeout is used.

    Source: GroupMetadataManager#replay (4.3.1).
    """
    rebalance_timeout = member.get("rebalance_timeout", -1)
    instance = member.get("group_instance_id")
    return records.GroupMetadataRecordMember(
        member_id=MemberId(member["member_id"]),
        group_instance_id=None if instance is None else GroupInstanceId(instance),
        client_id=member["client_id"],
        client_host=member["client_host"],
        rebalance_timeout_ms=Millis(
            member["session_timeout"] if rebalance_timeout == -1 else rebalance_timeout
        ),
        session_timeout_ms=Millis(member["session_timeout"]),
        subscription=member["subscription"],
        assignment=member["assignment"],
    )
