"""Writes external records, which the coordinator does not know of, to `__consumer_offsets`.

They are produced like those of Kafka's own tools. So this works with any broker that lets its administrator
write to the topic, and the records are replicated.
"""

from collections.abc import Sequence
from typing import Final

from harness.targets.base.cluster import GROUPS_TOPIC
from harness.targets.base.dialogue import Answer, Dialogue, NotYet
from harness.targets.base.interface import BrokerSession, TargetError
from harness.wire.codec import Fields
from harness.wire.log_records import EncodedRecord
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
