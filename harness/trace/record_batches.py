"""The canonical form of the record batches that a fetch returns."""

import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Final, NamedTuple, TypeAlias

Letter: TypeAlias = dict[str, "str | None | dict[str, str]"]
BatchFields: TypeAlias = dict[str, "int | str | dict[str, str] | list[Letter]"]

_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
_LENGTH_END: Final = 12
"""The length of a batch does not count its first two fields."""
_MAGIC: Final = 2
_CONTROL: Final = 0x20
_MARKER_TYPE: Final = slice(7, 9)
"""Where the only record of a control batch has its type: behind four lengths and the version of its key."""
_MARKERS: Final = {b"\0\0": "abort", b"\0\1": "commit"}
"""Source: ControlRecordType (4.3.1)."""
_LETTER_HEADERS: Final = b"__dlq.errors."
_LETTERS: Final = "dead_letters"


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


def canonical_batches(
    data: bytes, producers: Mapping[int, str], named: Callable[[str], str] = str
) -> list[BatchFields] | None:
    """Return the fields of each batch, without those in which brokers that behave alike differ.

    These are checksums, leader epochs, and of a transaction's end its time and the coordinator's epoch. A
    producer id is replaced by its name. Records stay as their producer encoded them. A batch that is cut off
    is left out: a broker may cut off the last one.

    Dead letters are written by brokers, in batches that hang on how busy they are, at their own time, and
    with names of groups and topics in their headers: they become one list of records.

    Args:
        data: batches of format version 2, as they lie in the log.
        producers: the names of the producer ids that are known.
        named: replaces the names of groups and topics in a text by symbolic ones.

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
            batch = _canonical(header, data[begin + _HEADER.size : end], producers, named)
            _add(batches, batch)
        begin = end
    return batches


def _add(batches: list[BatchFields], batch: BatchFields) -> None:
    """Add a batch; dead letters are added to those before them."""
    letters, before = batch.get(_LETTERS), batches[-1].get(_LETTERS) if batches else None
    if isinstance(letters, list) and isinstance(before, list):
        batches[-1] |= {"last_offset": batch["last_offset"], _LETTERS: before + letters}
    else:
        batches.append(batch)


def _canonical(
    header: _Header, records: bytes, producers: Mapping[int, str], named: Callable[[str], str]
) -> BatchFields:
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
    if not header.attributes and _LETTER_HEADERS in records:
        # Records that are none stay as they are, whoever sent them.
        with suppress(IndexError, UnicodeDecodeError):
            return fields | {_LETTERS: list(_letters(records, header.record_count, named))}
    return fields | {
        "base_timestamp": header.base_timestamp,
        "max_timestamp": header.max_timestamp,
        "records": {"$bytes": records.hex()},
    }


def _letters(records: bytes, count: int, named: Callable[[str], str]) -> Iterator[Letter]:
    """Decode dead letters: their keys, values and headers, without their times.

    Source: DefaultRecord#readFrom (4.4.0).
    """
    at = 0
    for _ in range(count):
        _, at = _varint(records, at)
        at += 1
        for _ in ("timestamp", "offset"):
            _, at = _varint(records, at)
        key, at = _bytes(records, at)
        value, at = _bytes(records, at)
        header_count, at = _varint(records, at)
        headers: dict[str, str] = {}
        for _ in range(header_count):
            name, at = _bytes(records, at)
            content, at = _bytes(records, at)
            headers[(name or b"").decode()] = named((content or b"").decode())
        yield {"key": None if key is None else key.hex(), "value": None if value is None else value.hex()} | {
            "headers": headers
        }


def _bytes(content: bytes, at: int) -> tuple[bytes | None, int]:
    length, at = _varint(content, at)
    return (None, at) if length < 0 else (content[at : at + length], at + length)


def _varint(content: bytes, at: int) -> tuple[int, int]:
    """Read a number, and return it with the position after it. Source: ByteUtils#readVarint (4.4.0)."""
    number, shift = 0, 0
    while content[at] & 0x80:
        number |= (content[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
    number |= content[at] << shift
    return (number >> 1) ^ -(number & 1), at + 1
