"""A log that takes long to load: many records that compress to next to nothing.

They are produced to `__consumer_offsets` as Kafka's own tools do, so it works with any broker that lets its
administrator write there, and replicas get them, too. All are one offset of one group that nobody asks for.
"""

import functools
import struct
from typing import Final

from kafka.record import MemoryRecordsBuilder  # type: ignore[import-untyped] # it has no types of its own

from harness.targets.base import Stage, TargetError
from harness.targets.cluster import GROUPS_TOPIC
from harness.targets.dialogue import Answer, Dialogue, NotYet
from harness.wire.codec import Fields

_BATCHES: Final = 80
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
    builder = MemoryRecordsBuilder(magic=_MAGIC, compression_type=_GZIP, batch_size=2**30)
    key = struct.pack(">h", _KEY_VERSION) + _string("kafka-conformance-long-log") + _string("orders")
    key += struct.pack(">i", 0)
    value = struct.pack(">hqi", _VALUE_VERSION, 0, -1) + _string("x" * _METADATA_BYTES) + struct.pack(">q", 0)
    for _ in range(_RECORDS):
        builder.append(timestamp=0, key=key, value=value, headers=[])
    builder.close()
    return bytes(builder.buffer())


def _string(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()
