"""The encoding of keys and values as a record batch of format version 2, as a producer sends one."""

import gzip
import struct
from collections.abc import Sequence
from typing import Final

from crc32c import crc32c

from harness.wire.log_records import EncodedRecord, unsigned_varint

_MAGIC: Final = 2
_GZIP: Final = 1


def encode_batch(records: Sequence[EncodedRecord], *, compress: bool = False) -> bytes:
    """Return a batch without a producer id, and with timestamps of 0. Source: DefaultRecordBatch (3.9.2)."""
    content = b"".join(_record(delta, *record) for delta, record in enumerate(records))
    if compress:
        content = gzip.compress(content, mtime=0)
    producer = struct.pack(">qhi", -1, -1, -1)
    head = struct.pack(">hiqq", _GZIP if compress else 0, len(records) - 1, 0, 0)
    checked = head + producer + struct.pack(">i", len(records)) + content
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
