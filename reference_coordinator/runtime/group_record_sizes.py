"""The encoded sizes of parts of records, and of the records of consumer, share and streams groups.

Nothing is encoded to compute them. All records have the fields of Kafka's definitions, so the same code
measures all of them.
"""

import dataclasses
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from reference_coordinator.core.consumer_records import (
    ClassicMemberMetadata,
    ConsumerGroupMemberMetadataRecord,
    ConsumerGroupMetadataRecord,
    ConsumerGroupRecord,
    ConsumerGroupTargetAssignmentMetadataRecord,
    TopicPartitions,
)
from reference_coordinator.core.ids import Millis
from reference_coordinator.core.share_records import (
    ShareGroupRecord,
    ShareGroupTargetAssignmentMetadataRecord,
)
from reference_coordinator.core.streams_records import (
    StreamsGroupMetadataRecord,
    StreamsGroupRecord,
    StreamsGroupTargetAssignmentMetadataRecord,
    TaskIdsWithEpochs,
)

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_VERSION_BYTES: Final = 2
_KEY_FIELDS: Final = ("group_id", "member_id", "regular_expression")
_WIDTHS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "state": 1,
        "port": 2,
        "replication_factor": 2,
        **dict.fromkeys(("source_topics", "source_topic_regex", "repartition_source_topics"), 2),
        **dict.fromkeys(("metadata_hash", "assignment_timestamp_ms", "timestamp_ms", "version"), 8),
    }
)
"""The sizes of integers other than four bytes, by field name."""
_UUID: Final = "topic_id"
_UUID_BYTES: Final = 16
_TIMESTAMP: Final[Mapping[str, object]] = MappingProxyType({"assignment_timestamp_ms": 0})
_EPOCHS: Final[Mapping[str, object]] = MappingProxyType({"assignment_epochs": None})
_EMPTY: Final = ClassicMemberMetadata(session_timeout_ms=Millis(0), supported_protocols=())
_TAGGED: Final[Mapping[type[object], Mapping[str, object]]] = MappingProxyType(
    {
        ConsumerGroupMetadataRecord: {"metadata_hash": 0},
        ConsumerGroupMemberMetadataRecord: {"classic_member_metadata": _EMPTY},
        ConsumerGroupTargetAssignmentMetadataRecord: _TIMESTAMP,
        ShareGroupTargetAssignmentMetadataRecord: _TIMESTAMP,
        StreamsGroupTargetAssignmentMetadataRecord: _TIMESTAMP,
        StreamsGroupMetadataRecord: {"validated_topology_epoch": -1, "last_assignment_configs": ()},
        TopicPartitions: _EPOCHS,
        TaskIdsWithEpochs: _EPOCHS,
    }
)
"""Tagged fields and their default values, with which they are not written."""


def text_bytes(text: str | None) -> int:
    """Return the size of a text after its two-byte length."""
    return 2 + len((text or "").encode())


def unsigned_varint_bytes(number: int) -> int:
    """Return the size of an unsigned varint. Decided in: ByteUtils#sizeOfUnsignedVarint (4.3.1)."""
    return max(1, -(-number.bit_length() // 7))


def group_record_bytes(
    record: ConsumerGroupRecord | ShareGroupRecord | StreamsGroupRecord,
) -> tuple[int, int | None]:
    """Return the sizes of key and value. The latter is None for a tombstone."""
    key = 2 + sum(text_bytes(getattr(record, name)) for name in _KEY_FIELDS if hasattr(record, name))
    is_tombstone = type(record).__name__.endswith("Tombstone")
    return key, None if is_tombstone else _VERSION_BYTES + _structure_bytes(record)


@cache
def _names(structure: "type[DataclassInstance]") -> tuple[str, ...]:
    return tuple(each.name for each in dataclasses.fields(structure) if each.name not in _KEY_FIELDS)


def _structure_bytes(structure: "DataclassInstance") -> int:
    """Return the size of the fields, the number of tagged fields, and the tagged fields."""
    tagged = _TAGGED.get(type(structure), {})
    length = 1
    for name in _names(type(structure)):
        found = getattr(structure, name)
        if name not in tagged:
            length += _field_bytes(name, found)
        elif found != tagged[name]:
            written = _field_bytes(name, found)
            length += 1 + unsigned_varint_bytes(written) + written
    return length


def _field_bytes(name: str, found: object) -> int:
    match found:
        case None:
            return 1
        case tuple():
            return unsigned_varint_bytes(len(found) + 1) + sum(_item_bytes(name, each) for each in found)
        case int() | str() | bytes():
            return _item_bytes(name, found)
        case _:
            # A nullable struct follows a byte that marks whether it is null.
            return 1 + _structure_bytes(cast("DataclassInstance", found))


def _item_bytes(name: str, item: object) -> int:
    match item:
        case int():
            return _WIDTHS.get(name, 4)
        case str() if name == _UUID:
            return _UUID_BYTES
        case str() | bytes():
            length = len(item.encode() if isinstance(item, str) else item)
            return unsigned_varint_bytes(length + 1) + length
        case _:
            return _structure_bytes(cast("DataclassInstance", item))
