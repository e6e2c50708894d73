"""Records of streams groups to keys and values, and back.

Records have the fields of Kafka's definitions, so all of them are written and read alike.

Source: StreamsCoordinatorRecordHelpers, GroupCoordinatorRecordSerde (4.3.1).
"""

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Final, get_args, get_origin, get_type_hints

from reference_coordinator.core.streams_records import (
    StreamsGroupCurrentMemberAssignmentRecord,
    StreamsGroupCurrentMemberAssignmentTombstone,
    StreamsGroupMemberMetadataRecord,
    StreamsGroupMemberMetadataTombstone,
    StreamsGroupMetadataRecord,
    StreamsGroupMetadataTombstone,
    StreamsGroupRecord,
    StreamsGroupTargetAssignmentMemberRecord,
    StreamsGroupTargetAssignmentMemberTombstone,
    StreamsGroupTargetAssignmentMetadataRecord,
    StreamsGroupTargetAssignmentMetadataTombstone,
    StreamsGroupTopologyRecord,
    StreamsGroupTopologyTombstone,
)
from reference_coordinator.log.message_codec import Fields, message_type, read_message, write_message

_PREFIX_BYTES: Final = 2
_VERSION: Final = 0
_KEY_FIELDS: Final = ("group_id", "member_id")
_TIMESTAMP: Final = "assignment_timestamp"
_OF_DESCRIPTIONS: Final = MappingProxyType(
    {"stored_description_topology_epoch": -1, "failed_description_topology_epoch": -1}
)
"""What 4.4 writes of descriptions of topologies, where no plugin stores any."""
_RECORDS: Final = (
    StreamsGroupMetadataRecord,
    StreamsGroupMemberMetadataRecord,
    StreamsGroupTargetAssignmentMetadataRecord,
    StreamsGroupTargetAssignmentMemberRecord,
    StreamsGroupCurrentMemberAssignmentRecord,
    StreamsGroupTopologyRecord,
)
STREAMS_TOMBSTONES: Final = (
    StreamsGroupMetadataTombstone,
    StreamsGroupMemberMetadataTombstone,
    StreamsGroupTargetAssignmentMetadataTombstone,
    StreamsGroupTargetAssignmentMemberTombstone,
    StreamsGroupCurrentMemberAssignmentTombstone,
    StreamsGroupTopologyTombstone,
)
"""The records without a value."""
_NAMES: Final[Mapping[type[Any], str]] = MappingProxyType(
    {
        each: record.__name__.removesuffix("Record")
        for record, tombstone in zip(_RECORDS, STREAMS_TOMBSTONES, strict=True)
        for each in (record, tombstone)
    }
)
_CLASSES: Final[Mapping[int, tuple[str, type[Any], type[Any]]]] = MappingProxyType(
    {
        message_type(f"{_NAMES[record]}Key"): (_NAMES[record], record, tombstone)
        for record, tombstone in zip(_RECORDS, STREAMS_TOMBSTONES, strict=True)
    }
)
"""The name, the record and the tombstone of each type of key."""
STREAMS_RECORD_TYPES: Final = frozenset(_CLASSES)
"""The types of the records of streams groups."""


def write_streams_record(record: StreamsGroupRecord) -> tuple[bytes, bytes | None]:
    """Return the key and the value of a record; a tombstone has no value.

    Raises:
        ValueError, TypeError, struct.error: a text or a number does not fit.
    """
    name = _NAMES[type(record)]
    fields = dict(_written(record))
    key: Fields = {each: fields.pop(each) for each in _KEY_FIELDS if each in fields}
    type_of_key = message_type(f"{name}Key").to_bytes(_PREFIX_BYTES, "big")
    written = type_of_key + write_message(f"{name}Key", _VERSION, key)
    if isinstance(record, STREAMS_TOMBSTONES):
        return written, None
    if isinstance(record, StreamsGroupMetadataRecord):
        fields |= _OF_DESCRIPTIONS
    version = _VERSION.to_bytes(_PREFIX_BYTES, "big")
    return written, version + write_message(f"{name}Value", _VERSION, fields)


def read_streams_record(key: bytes, value: bytes | None) -> StreamsGroupRecord:
    """Return what a loader makes of a record of one of `STREAMS_RECORD_TYPES`.

    Raises:
        ValueError, IndexError, struct.error: its key or value is no such message, or of an unknown version.
    """
    name, record, tombstone = _CLASSES[int.from_bytes(key[:_PREFIX_BYTES], "big", signed=True)]
    key_fields = read_message(f"{name}Key", _VERSION, key, _PREFIX_BYTES)
    read: StreamsGroupRecord
    if value is None:
        read = tombstone(**key_fields)
        return read
    if len(value) < _PREFIX_BYTES:
        raise ValueError("its value ends before its version")
    version = int.from_bytes(value[:_PREFIX_BYTES], "big", signed=True)
    if version != _VERSION:
        raise ValueError(f"its value is {name} of version {version}, which this release does not know")
    fields = read_message(f"{name}Value", _VERSION, value, _PREFIX_BYTES)
    read = _read(record, {**key_fields, **fields})
    return read


def type_and_name(record: StreamsGroupRecord) -> tuple[int, str]:
    """Return the type of a record's key, and the member that it names, empty for none."""
    return message_type(f"{_NAMES[type(record)]}Key"), getattr(record, "member_id", "")


def _written(part: object) -> Fields:
    """A record or a part of one, field by field."""
    assert dataclasses.is_dataclass(part)
    return {_name(each.name): _written_value(getattr(part, each.name)) for each in dataclasses.fields(part)}


def _written_value(found: object) -> object:
    if isinstance(found, tuple):
        return tuple(map(_written_value, found))
    return _written(found) if dataclasses.is_dataclass(found) else found


def _read(part: type[Any], fields: Fields) -> Any:  # noqa: ANN401 - of the part's class
    hints = get_type_hints(part)
    known = {each.name: _name(each.name) for each in dataclasses.fields(part)}
    return part(**{name: _read_value(hints[name], fields[written]) for name, written in known.items()})


def _read_value(hint: Any, found: Any) -> Any:  # noqa: ANN401 - of any field's type
    if found is None:
        return None
    if get_origin(hint) is UnionType:
        (hint,) = (each for each in get_args(hint) if each is not NoneType)
    if get_origin(hint) is tuple:
        return tuple(_read_value(get_args(hint)[0], each) for each in found)
    return _read(hint, found) if isinstance(hint, type) and dataclasses.is_dataclass(hint) else found


def _name(name: str) -> str:
    """Kafka's definition leaves the unit out of one name."""
    return _TIMESTAMP if name == f"{_TIMESTAMP}_ms" else name
