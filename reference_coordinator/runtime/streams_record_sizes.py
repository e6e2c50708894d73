"""How long the records of streams groups are."""

import dataclasses
from collections.abc import Mapping
from typing import Final

from reference_coordinator.core.streams_records import (
    StreamsGroupMetadataRecord,
    StreamsGroupRecord,
    StreamsGroupTargetAssignmentMetadataRecord,
    TaskIdsWithEpochs,
)
from reference_coordinator.runtime.record_sizes import compact_bytes, text_bytes, unsigned_varint_bytes

_VERSION_BYTES: Final = 2
_KEY_FIELDS: Final = frozenset({"group_id", "member_id"})
_INT32_BYTES: Final = 4
_WIDTHS: Final = {
    "state": 1,
    "port": 2,
    "replication_factor": 2,
    "metadata_hash": 8,
    "assignment_timestamp_ms": 8,
}
"""Of numbers that do not have four bytes."""
_INT16_ARRAYS: Final = "CopartitionGroup"
_TAGGED: Final[Mapping[type[object], Mapping[str, object]]] = {
    StreamsGroupMetadataRecord: {"validated_topology_epoch": -1, "last_assignment_configs": ()},
    StreamsGroupTargetAssignmentMetadataRecord: {"assignment_timestamp_ms": 0},
    TaskIdsWithEpochs: {"assignment_epochs": None},
}
"""Tagged fields, which are not written with these values."""


def streams_key_bytes(record: StreamsGroupRecord) -> int:
    """How long the key of a record is: a type, a group, and which member."""
    member_id = getattr(record, "member_id", None)
    return 2 + text_bytes(record.group_id) + (0 if member_id is None else text_bytes(member_id))


def streams_value_bytes(record: StreamsGroupRecord) -> int | None:
    """How long the value of a record is; a tombstone has none."""
    return None if type(record).__name__.endswith("Tombstone") else _VERSION_BYTES + _struct_bytes(record)


def _struct_bytes(part: object) -> int:
    """Fields, how many of them are tagged, and those."""
    assert dataclasses.is_dataclass(part)
    tagged = _TAGGED.get(type(part), {})
    length = 1
    for each in dataclasses.fields(part):
        found = getattr(part, each.name)
        if each.name in _KEY_FIELDS or (each.name in tagged and found == tagged[each.name]):
            continue
        written = _field_bytes(part, each.name, found)
        length += written + (1 + unsigned_varint_bytes(written) if each.name in tagged else 0)
    return length


def _field_bytes(part: object, name: str, found: object) -> int:
    match found:
        case int():
            return _WIDTHS.get(name, _INT32_BYTES)
        case str():
            return compact_bytes(found)
        case None:
            return 1
        case tuple():
            is_short = type(part).__name__ == _INT16_ARRAYS
            items = (2 if is_short and isinstance(each, int) else _item_bytes(each) for each in found)
            return unsigned_varint_bytes(len(found) + 1) + sum(items)
        case _:
            # A struct that may be null has a byte before it that says so.
            return 1 + _struct_bytes(found)


def _item_bytes(item: object) -> int:
    match item:
        case int():
            return _INT32_BYTES
        case str():
            return compact_bytes(item)
        case _:
            return _struct_bytes(item)
