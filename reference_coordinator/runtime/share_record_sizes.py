"""How long the records of share groups are."""

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from reference_coordinator.core.share_records import ShareGroupRecord, ShareGroupTombstone
from reference_coordinator.runtime.record_sizes import text_bytes, unsigned_varint_bytes

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_KEY_FIELDS: Final = frozenset({"group_id", "member_id"})
_VERSION_BYTES: Final = 2
_NUMBER_BYTES: Final[Mapping[str, int]] = MappingProxyType({"metadata_hash": 8, "state": 1})
"""Of numbers that have not four."""
_TAGGED: Final = "assignment_timestamp"
_TAGGED_BYTES: Final = 10
_UUID_BYTES: Final = 16


def share_key_bytes(record: ShareGroupRecord) -> int:
    """How long the key of a record is: a type, a group, and perhaps a member."""
    return 2 + sum(text_bytes(getattr(record, name)) for name in _KEY_FIELDS if hasattr(record, name))


def share_value_bytes(record: ShareGroupRecord) -> int | None:
    """How long the value of a record is; a tombstone has none."""
    if isinstance(record, ShareGroupTombstone):
        return None
    return _VERSION_BYTES + _structure_bytes(record, without=_KEY_FIELDS)


def _structure_bytes(structure: "DataclassInstance", *, without: frozenset[str] = frozenset()) -> int:
    """The fields, and how many of them are tagged."""
    names = [each.name for each in dataclasses.fields(structure) if each.name not in without]
    return 1 + sum(_field_bytes(name, getattr(structure, name)) for name in names)


def _field_bytes(name: str, value: object) -> int:
    if name == _TAGGED:
        return _TAGGED_BYTES if value else 0
    if name == "topic_id":
        return _UUID_BYTES
    match value:
        case None:
            return 1
        case str():
            length = len(value.encode())
            return unsigned_varint_bytes(length + 1) + length
        case tuple():
            return unsigned_varint_bytes(len(value) + 1) + sum(_field_bytes("", each) for each in value)
        case int():
            return _NUMBER_BYTES.get(name, 4)
        case _:
            # Nothing else is left.
            return _structure_bytes(cast("DataclassInstance", value))
