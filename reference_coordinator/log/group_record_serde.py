"""Conversion of the records of consumer, share and streams groups to keys and values, and back.

Records have the fields of Kafka's definitions, so all of them are written and read in one way. A key starts
with its type, a value with its version; there is only one version.

Source: GroupCoordinatorRecordHelpers, StreamsCoordinatorRecordHelpers, GroupCoordinatorRecordSerde (4.3.1).
"""

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import replace
from enum import IntEnum
from functools import cache
from types import MappingProxyType, NoneType, UnionType
from typing import TYPE_CHECKING, Any, Final, TypeAlias, get_args, get_origin, get_type_hints

from reference_coordinator.core.consumer_records import (
    ConsumerGroupCurrentMemberAssignmentRecord,
    ConsumerGroupMetadataRecord,
    ConsumerGroupRecord,
    ConsumerGroupTargetAssignmentMetadataRecord,
    TopicPartitions,
)
from reference_coordinator.core.ids import Millis
from reference_coordinator.core.share_records import ShareGroupPartitionMetadataRecord, ShareGroupRecord
from reference_coordinator.core.streams_records import StreamsGroupRecord
from reference_coordinator.core.values import value
from reference_coordinator.log.message_codec import Fields, message_type, read_message, write_message
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.profile.profiles import Profile

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

GroupRecord: TypeAlias = ConsumerGroupRecord | ShareGroupRecord | StreamsGroupRecord

_PREFIX_BYTES: Final = 2
_VERSION: Final = 0
_KEY_FIELDS: Final = ("group_id", "member_id", "regular_expression")
_KAFKAS_NAMES: Final = MappingProxyType(
    {"assignment_timestamp_ms": "assignment_timestamp", "timestamp_ms": "timestamp"}
)
"""Kafka's names of the fields whose names here have a unit."""
_OF_DESCRIPTIONS: Final = MappingProxyType(
    {"stored_description_topology_epoch": -1, "failed_description_topology_epoch": -1}
)
"""The values that 4.4 writes for descriptions of topologies if no plugin stores any."""


@value
class _RecordType:
    """The records with one type of key."""

    name: str
    """The name of Kafka's messages, without `Key` and `Value`."""
    record: type[Any]
    tombstone: type[Any]
    group_type: str
    since: Behaviour


def _record_types() -> Iterator[tuple[int, _RecordType]]:
    kinds = (
        (ConsumerGroupRecord, "consumer", Behaviour.CONSUMER_GROUPS),
        (ShareGroupRecord, "share", Behaviour.SHARE_GROUPS),
        (StreamsGroupRecord, "streams", Behaviour.STREAMS_GROUPS),
    )
    for records, group_type, since in kinds:
        classes = {each.__name__: each for each in get_args(records)}
        for name in (each.removesuffix("Record") for each in classes if each.endswith("Record")):
            yield (
                message_type(f"{name}Key"),
                _RecordType(
                    name=name,
                    record=classes[f"{name}Record"],
                    tombstone=classes[f"{name}Tombstone"],
                    group_type=group_type,
                    since=since,
                ),
            )


_TYPES: Final[Mapping[int, _RecordType]] = MappingProxyType(dict(_record_types()))
_TYPES_OF_CLASSES: Final[Mapping[type[Any], int]] = MappingProxyType(
    {cls: key_type for key_type, each in _TYPES.items() for cls in (each.record, each.tombstone)}
)
GROUP_TOMBSTONES: Final = tuple(each.tombstone for each in _TYPES.values())
"""The classes of the records without a value."""


def group_type_of(key_type: int, profile: Profile) -> str | None:
    """Return the group type of a key type (`consumer`, `share`, `streams`); None if the release has none."""
    found = _TYPES.get(key_type)
    if found is None or not profile.has(found.since):
        return None
    is_hashed = profile.has(Behaviour.SUBSCRIPTION_METADATA_IS_HASHED)
    if found.record is ShareGroupPartitionMetadataRecord and is_hashed:
        return None
    return found.group_type


def types_and_name(record: GroupRecord) -> tuple[str, int, str]:
    """Return a record's group type, its key's type, and the key's member id or expression, if any."""
    named = getattr(record, "member_id", None) or getattr(record, "regular_expression", None)
    key_type = _TYPES_OF_CLASSES[type(record)]
    return _TYPES[key_type].group_type, key_type, named or ""


def write_group_record(record: GroupRecord, profile: Profile) -> tuple[bytes, bytes | None]:
    """Return the key and the value that a release writes; a tombstone has no value.

    Raises:
        ValueError, TypeError, struct.error: a string or a number does not fit.
    """
    key_type = _TYPES_OF_CLASSES[type(record)]
    found = _TYPES[key_type]
    fields = _written(_as_known(record, profile))
    key = key_type.to_bytes(_PREFIX_BYTES, "big") + write_message(f"{found.name}Key", _VERSION, fields)
    if isinstance(record, found.tombstone):
        return key, None
    version = _VERSION.to_bytes(_PREFIX_BYTES, "big")
    return key, version + write_message(f"{found.name}Value", _VERSION, {**_OF_DESCRIPTIONS, **fields})


def read_group_record(key: bytes, content: bytes | None, profile: Profile) -> GroupRecord:
    """Decode a record of a type that the profile's release supports.

    Raises:
        ValueError, IndexError, struct.error: its key or value is not such a message, or has another version.
    """
    found = _TYPES[int.from_bytes(key[:_PREFIX_BYTES], "big", signed=True)]
    key_fields = read_message(f"{found.name}Key", _VERSION, key, _PREFIX_BYTES)
    if content is None:
        tombstone: GroupRecord = found.tombstone(**key_fields)
        return tombstone
    if len(content) < _PREFIX_BYTES:
        raise ValueError("its value ends before its version")
    version = int.from_bytes(content[:_PREFIX_BYTES], "big", signed=True)
    if version != _VERSION:
        raise ValueError(f"its value is {found.name} of version {version}, which this release does not know")
    fields = read_message(f"{found.name}Value", _VERSION, content, _PREFIX_BYTES)
    record: GroupRecord = _read(found.record, {**key_fields, **fields})
    return _as_known(record, profile)


def _as_known(record: GroupRecord, profile: Profile) -> GroupRecord:
    """Return a record without the fields that a release neither writes nor reads."""
    match record:
        case ConsumerGroupMetadataRecord() if not profile.has(Behaviour.SUBSCRIPTION_METADATA_IS_HASHED):
            return replace(record, metadata_hash=0)
        case ConsumerGroupTargetAssignmentMetadataRecord() if not profile.has(
            Behaviour.ASSIGNMENT_INTERVAL_KEPT
        ):
            return replace(record, assignment_timestamp_ms=Millis(0))
        case ConsumerGroupCurrentMemberAssignmentRecord() if not profile.has(
            Behaviour.PARTITIONS_HAVE_ASSIGNMENT_EPOCHS
        ):
            return replace(
                record,
                assigned_partitions=_without_epochs(record.assigned_partitions),
                partitions_pending_revocation=_without_epochs(record.partitions_pending_revocation),
            )
        case _:
            return record


def _without_epochs(topics: tuple[TopicPartitions, ...]) -> tuple[TopicPartitions, ...]:
    return tuple(replace(each, assignment_epochs=None) for each in topics)


@cache
def _names(part: "type[DataclassInstance]") -> Mapping[str, tuple[str, Any]]:
    """Return Kafka's name and the type of each field of a record, or of a part of one."""
    hints = get_type_hints(part)
    names = (each.name for each in dataclasses.fields(part))
    return {name: (_KAFKAS_NAMES.get(name, name), hints[name]) for name in names}


def _written(part: "DataclassInstance") -> Fields:
    return {known: _written_value(getattr(part, name)) for name, (known, _) in _names(type(part)).items()}


def _written_value(found: object) -> object:
    if isinstance(found, tuple):
        return tuple(map(_written_value, found))
    if dataclasses.is_dataclass(found) and not isinstance(found, type):
        return _written(found)
    return found


def _read(part: "type[DataclassInstance]", fields: Fields) -> Any:  # noqa: ANN401 - of the part's class
    names = _names(part).items()
    return part(
        **{name: _read_value(hint, fields[known]) for name, (known, hint) in names if known in fields}
    )


def _read_value(hint: Any, found: Any) -> Any:  # noqa: ANN401 - of any field's type
    """Decided in: MemberState#fromValue (4.3.1)."""
    if found is None:
        return None
    if get_origin(hint) is UnionType:
        (hint,) = (each for each in get_args(hint) if each is not NoneType)
    if get_origin(hint) is tuple:
        return tuple(_read_value(get_args(hint)[0], each) for each in found)
    if not isinstance(hint, type):
        return found
    if issubclass(hint, IntEnum):
        return hint(found) if found in frozenset(hint) else hint["UNKNOWN"]
    return _read(hint, found) if dataclasses.is_dataclass(hint) else found
