"""Writes external records, which the coordinator does not know of, to `__consumer_offsets`: few, or many.

They are produced like those of Kafka's own tools. So this works with any broker that lets its administrator
write to the topic, and the records are replicated.
"""

import asyncio
import functools
from collections.abc import Sequence
from typing import Final

from harness.targets.base.cluster import GROUPS_TOPIC
from harness.targets.base.dialogue import Answer, Dialogue, NotYet
from harness.targets.base.interface import BrokerSession, TargetError
from harness.wire.codec import Fields
from harness.wire.log_records import EncodedRecord, encode_record
from harness.wire.record_batch import encode_batch

_PRODUCE_VERSION: Final = 7
_ADMINISTRATOR: Final = "__admin_client"
"""The client id that may write to internal topics. Source: AdminUtils#ADMIN_CLIENT_ID (3.9.2)."""


async def append_records(session: BrokerSession, partition: int, records: Sequence[EncodedRecord]) -> None:
    """Write records as one batch, on the broker that coordinates and leads the partition.

    Raises:
        TargetError: the broker does not accept them.
    """
    await produce(session, partition, (encode_batch(records),))


async def produce(session: BrokerSession, partition: int, batches: Sequence[bytes]) -> None:
    """Write batches, one after another.

    Raises:
        TargetError: the broker does not accept them.
    """
    connection = await session.connect()
    dialogue = Dialogue(connection, client_id=_ADMINISTRATOR)
    try:
        for batch in batches:
            rows: Fields = {"index": partition, "records": batch}
            topic: Fields = {"name": GROUPS_TOPIC, "partition_data": [rows]}
            fields: Fields = {"acks": -1, "timeout_ms": 10_000, "topic_data": [topic]}
            _require_written(await dialogue.ask("Produce", _PRODUCE_VERSION, fields))
    except NotYet as error:
        raise TargetError(f"{GROUPS_TOPIC} cannot be written: {error}") from error
    finally:
        await connection.close()


def _require_written(answer: Answer) -> None:
    codes = [
        row.text("error_code")
        for topic in answer.rows("responses")
        for row in topic.rows("partition_responses")
    ]
    if codes != ["NONE"]:
        raise TargetError(f"{GROUPS_TOPIC} cannot be written: Produce answers {', '.join(map(str, codes))}")


_BATCHES: Final = 40
_RECORDS: Final = 5_000
"""Records in one batch: 40 kB on the wire, 20 MB to be read."""
BATCH_BYTES_MAX: Final = 60_000
"""The maximum size of a batch on the wire."""
_METADATA_BYTES: Final = 4_000
_PARTITION: Final = 0
_VALUE_VERSION: Final = 3
"""The oldest version that every release since 2.1 reads. Source: OffsetCommitValue.json."""


async def lengthen_log(session: BrokerSession) -> None:
    """Write so many records that the coordinator's next load takes a second or more.

    They compress to almost nothing: all are the same offset of a group that no scenario uses.

    Raises:
        TargetError: the broker does not accept them.
    """
    batch = await asyncio.to_thread(_batch)
    await produce(session, _PARTITION, (batch,) * _BATCHES)


@functools.cache
def _batch() -> bytes:
    """Return a batch of equal records."""
    record = encode_record(
        {
            "key": {"type": 1, "group": "kafka-conformance-long-log", "topic": "orders", "partition": 0},
            "value": {
                "version": _VALUE_VERSION,
                "offset": 0,
                "leader_epoch": -1,
                "metadata": "x" * _METADATA_BYTES,
                "commit_timestamp": 0,
            },
        }
    )
    return encode_batch((record,) * _RECORDS, compress=True)
