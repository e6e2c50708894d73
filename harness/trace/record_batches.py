"""The canonical form of the record batches that a fetch returns."""

import struct
from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

BatchFields: TypeAlias = dict[str, "int | str | dict[str, str]"]

_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
_LENGTH_END: Final = 12
"""The length of a batch does not count its first two fields."""
_MAGIC: Final = 2
_CONTROL: Final = 0x20
_MARKER_TYPE: Final = slice(7, 9)
"""Where the only record of a control batch has its type: behind four lengths and the version of its key."""
_MARKERS: Final = {b"\0\0": "abort", b"\0\1": "commit"}
"""Source: ControlRecordType (4.3.1)."""


class _Header(NamedTuple):
    base_offset: int
    length: int
    partition_leader_epoch: int
    magic: int
    checksum: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int


def canonical_batches(data: bytes, producers: Mapping[int, str]) -> list[BatchFields] | None:
    """Return the fields of each batch, without those in which brokers that behave alike differ.

    These are checksums, leader epochs, and of a transaction's end its time and the coordinator's epoch. A
    producer id is replaced by its name. Records stay as their producer encoded them. A batch that is cut off
    is left out: a broker may cut off the last one.

    Args:
        data: batches of format version 2, as they lie in the log.
        producers: the names of the producer ids that are known.

    Returns:
        None if the data is of another format.

    Source: DefaultRecordBatch (4.3.1).
    """
    batches: list[BatchFields] = []
    begin = 0
    while len(data) - begin >= _HEADER.size:
        header = _Header(*_HEADER.unpack_from(data, begin))
        end = begin + _LENGTH_END + header.length
        if header.magic != _MAGIC or end < begin + _HEADER.size:
            return None
        if end <= len(data):
            batches.append(_canonical(header, data[begin + _HEADER.size : end], producers))
        begin = end
    return batches


def _canonical(header: _Header, records: bytes, producers: Mapping[int, str]) -> BatchFields:
    fields: BatchFields = {
        "base_offset": header.base_offset,
        "last_offset": header.base_offset + header.last_offset_delta,
        "attributes": header.attributes,
        "producer_id": producers.get(header.producer_id, header.producer_id),
        "producer_epoch": header.producer_epoch,
        "base_sequence": header.base_sequence,
    }
    if header.attributes & _CONTROL:
        marker = records[_MARKER_TYPE]
        return fields | {"marker": _MARKERS.get(marker, marker.hex())}
    return fields | {
        "base_timestamp": header.base_timestamp,
        "max_timestamp": header.max_timestamp,
        "records": {"$bytes": records.hex()},
    }
