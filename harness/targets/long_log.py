"""A log that takes long to load: many records that compress to next to nothing.

They are produced to `__consumer_offsets` as Kafka's own tools do, so it works with any broker that lets its
administrator write there, and replicas get them, too. All are one offset of one group that nobody asks for.
"""

import functools
import gzip
import struct
from typing import Final

from crc32c import crc32c

from harness.targets.base import Stage, TargetError
from harness.targets.cluster import GROUPS_TOPIC
from harness.targets.dialogue import Answer, Dialogue, NotYet
from harness.wire.codec import Fields

_BATCHES: Final = 40
_RECORDS: Final = 5_000
"""In one batch: 40 kB on the wire, 20 MB to be read."""
_METADATA_BYTES: Final = 4_000
_MAGIC: Final = 2
_GZIP: Final = 1
_PRODUCE_VERSION: Final = 7
_ADMINISTRATOR: Final = "__admin_client"
"""Who may write to internal topics. Source: AdminUtils#ADMIN_CLIENT_ID (3.9.2)."""
_KEY_VERSION: Final = 1
_VALUE_VERSION: Final = 3
"""The oldest that every release since 2.1 reads. Source: OffsetCommitValue.json."""


async def lengthen_log(stage: Stage) -> None:
    """Write the records, so that the coordinator's next load takes a second or more.

    Raises:
        TargetError: the broker does not take them.
    """
    connection = await stage.connect()
    dialogue = Dialogue(connection, client_id=_ADMINISTRATOR)
    try:
        for _ in range(_BATCHES):
            partition: Fields = {"index": 0, "records": _batch()}
            topic: Fields = {"name": GROUPS_TOPIC, "partition_data": [partition]}
            fields: Fields = {"acks": -1, "timeout_ms": 10_000, "topic_data": [topic]}
            _require_written(await dialogue.ask("Produce", _PRODUCE_VERSION, fields))
    except NotYet as error:
        raise TargetError(f"the log cannot be lengthened: {error}") from error
    finally:
        await connection.close()


def _require_written(answer: Answer) -> None:
    codes = [
        row.text("error_code")
        for topic in answer.rows("responses")
        for row in topic.rows("partition_responses")
    ]
    if codes != ["NONE"]:
        raise TargetError(f"the log cannot be lengthened: Produce answers {', '.join(map(str, codes))}")


@functools.cache
def _batch() -> bytes:
    """Return a batch of equal records, as Kafka writes it. Source: DefaultRecordBatch (3.9.2)."""
    key = struct.pack(">h", _KEY_VERSION) + _string("kafka-conformance-long-log") + _string("orders")
    key += struct.pack(">i", 0)
    value = struct.pack(">hqi", _VALUE_VERSION, 0, -1) + _string("x" * _METADATA_BYTES) + struct.pack(">q", 0)
    records = gzip.compress(b"".join(_record(delta, key, value) for delta in range(_RECORDS)), mtime=0)
    producer = struct.pack(">qhi", -1, -1, -1)
    checked = (
        struct.pack(">hiqq", _GZIP, _RECORDS - 1, 0, 0) + producer + struct.pack(">i", _RECORDS) + records
    )
    versioned = struct.pack(">ibI", -1, _MAGIC, crc32c(checked)) + checked
    return struct.pack(">qi", 0, len(versioned)) + versioned


def _record(offset_delta: int, key: bytes, value: bytes) -> bytes:
    """Source: DefaultRecord#writeTo (3.9.2)."""
    body = b"\0" + _varint(0) + _varint(offset_delta) + _varint(len(key)) + key
    body += _varint(len(value)) + value + _varint(0)
    return _varint(len(body)) + body


def _varint(number: int) -> bytes:
    """Write a number that is not negative. Source: ByteUtils#writeVarint (3.9.2)."""
    zigzag = number << 1
    written = bytearray()
    while zigzag > 0x7F:
        written.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    written.append(zigzag)
    return bytes(written)


def _string(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()
