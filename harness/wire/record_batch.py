"""The encoding of keys and values as a record batch of format version 2, as a producer sends one."""

import gzip
import struct
from collections.abc import Sequence
from typing import Final, NamedTuple

from crc32c import crc32c

from harness.wire.log_records import EncodedRecord, unsigned_varint

_MAGIC: Final = 2
_GZIP: Final = 1
_TRANSACTIONAL: Final = 0x10
_NUMBER_BYTES: Final = 6
"""The size of each value of `numbered_records`."""


class BatchProducer(NamedTuple):
    """The producer of a batch within a transaction."""

    producer_id: int
    producer_epoch: int
    base_sequence: int


_NOBODY: Final = BatchProducer(-1, -1, -1)


def numbered_records(count: int) -> Sequence[EncodedRecord]:
    """Return records without keys, whose values are their numbers."""
    return [EncodedRecord(b"", f"{number:0{_NUMBER_BYTES}}".encode()) for number in range(count)]


def encode_batch(
    records: Sequence[EncodedRecord], *, compress: bool = False, producer: BatchProducer = _NOBODY
) -> bytes:
    """Return a batch with timestamps of 0, which belongs to a transaction if it has a producer.

    Source: DefaultRecordBatch (3.9.2).
    """
    content = b"".join(_record(delta, *record) for delta, record in enumerate(records))
    if compress:
        content = gzip.compress(content, mtime=0)
    attributes = (_GZIP if compress else 0) | (0 if producer == _NOBODY else _TRANSACTIONAL)
    head = struct.pack(">hiqq", attributes, len(records) - 1, 0, 0)
    checked = head + struct.pack(">qhi", *producer) + struct.pack(">i", len(records)) + content
    versioned = struct.pack(">ibI", -1, _MAGIC, crc32c(checked)) + checked
    return struct.pack(">qi", 0, len(versioned)) + versioned


def _record(offset_delta: int, key: bytes, value: bytes | None) -> bytes:
    """Source: DefaultRecord#writeTo (3.9.2)."""
    body = b"\0" + _varint(0) + _varint(offset_delta) + _varint(len(key)) + key
    body += _varint(-1) if value is None else _varint(len(value)) + value
    body += _varint(0)
    return _varint(len(body)) + body


def _varint(number: int) -> bytes:
    """Source: ByteUtils#writeVarint (3.9.2)."""
    return unsigned_varint(number << 1 if number >= 0 else (-number << 1) - 1)
