"""A client that writes to topics and reads from them, on a broker in this process, for tests."""

from typing import Any, NamedTuple

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import Millis, ProducerEpoch, ProducerId
from reference_coordinator.log.record_batch import Record, RecordBatch, decode_batch, encode_batch
from reference_coordinator.tests.wire_broker import WireBroker
from reference_coordinator.tests.wire_connection import Client

LOGS_ARE_CHECKED_AT_MS = 300_000
"""When a broker first looks for what is too old; it is due as soon as there is a topic's log."""
PRODUCE_VERSION = 9
FETCH_VERSION = 11


class Written(NamedTuple):
    """What came of a Produce for one partition."""

    error: Errors
    base_offset: int


def batch(
    *values: bytes | None,
    keys: tuple[bytes | None, ...] = (),
    producer: tuple[int, int] = (-1, -1),
    sequence: int = -1,
    timestamps: tuple[int, ...] = (),
    codec: int = 0,
    is_transactional: bool = False,
    is_control: bool = False,
) -> bytes:
    """A batch as a producer makes it."""
    times = timestamps or (0,) * len(values)
    return encode_batch(
        RecordBatch(
            base_offset=0,
            last_offset=len(values) - 1,
            max_timestamp_ms=Millis(max(times, default=0)),
            records=tuple(
                Record(offset=at, timestamp_ms=Millis(time), key=key, value=value)
                for at, (key, value, time) in enumerate(
                    zip(keys or (None,) * len(values), values, times, strict=True)
                )
            ),
            codec=codec,
            is_transactional=is_transactional,
            is_control=is_control,
            producer_id=ProducerId(producer[0]),
            producer_epoch=ProducerEpoch(producer[1]),
            base_sequence=sequence,
        )
    )


def values_of(records: bytes) -> list[bytes]:
    """The values of the records in a Fetch's bytes, those of markers left out."""
    found: list[bytes] = []
    position = 0
    while position < len(records):
        decoded, position = decode_batch(memoryview(records), position)
        if not decoded.is_control:
            found.extend(record.value or b"" for record in decoded.records)
    return found


class TopicConnection:
    """A client's connection, of a broker or of a cluster."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def produce(
        self,
        records: bytes,
        *,
        topic: str = "orders",
        partition: int = 0,
        version: int = PRODUCE_VERSION,
        **fields: Any,
    ) -> Written:
        """Write to one partition."""
        self.client.send(
            "produce", version, **({"acks": -1, "topic_data": one(topic, partition, records)} | fields)
        )
        answer = self.client.take("produce", version).responses[0].partition_responses[0]
        return Written(Errors(answer.error_code), answer.base_offset)

    def send_fetch(
        self,
        offset: int = 0,
        *,
        topic: str = "orders",
        partition: int = 0,
        current_leader_epoch: int = -1,
        **fields: Any,
    ) -> None:
        """Ask for records; by default without waiting."""
        wanted = {"partition": partition, "fetch_offset": offset, "partition_max_bytes": 1_000_000}
        wanted["current_leader_epoch"] = current_leader_epoch
        topics = ({"topic": topic, "partitions": (wanted,)},)
        self.client.send(
            "fetch", FETCH_VERSION, **({"max_wait": 0, "min_bytes": 1, "topics": topics} | fields)
        )

    def fetched(self) -> Any:
        """Take what was fetched from the only partition."""
        return self.client.take("fetch", FETCH_VERSION).responses[0].partitions[0]

    def fetch(self, offset: int = 0, **fields: Any) -> Any:
        """Ask for records and take them at once."""
        self.send_fetch(offset, **fields)
        return self.fetched()

    def batches(self, offset: int = 0) -> list[RecordBatch]:
        """Fetch until the end of the log, as a consumer does: a Fetch reads one segment."""
        found: list[RecordBatch] = []
        while content := self.fetch(offset).records:
            position = 0
            while position < len(content):
                decoded, position = decode_batch(memoryview(content), position)
                found.append(decoded)
            offset = found[-1].last_offset + 1
        return found

    def values(self, offset: int = 0, **fields: Any) -> list[bytes]:
        """The values that a Fetch brings."""
        return values_of(self.fetch(offset, **fields).records)

    def list_offset(self, timestamp: int, *, partition: int = 0, version: int = 7, **fields: Any) -> Any:
        """Ask for the offset of one time."""
        wanted = {"partition_index": partition, "current_leader_epoch": -1, "timestamp": timestamp}
        topics = ({"name": fields.pop("topic", "orders"), "partitions": (wanted,)},)
        answer = self.client.ask("list_offsets", version, replica_id=-1, topics=topics, **fields)
        return answer.topics[0].partitions[0]


class TopicClient(TopicConnection):
    """A client with a connection of its own."""

    def __init__(self, broker: WireBroker) -> None:
        super().__init__(broker.connect())
        self.broker = broker


def one(topic: str, partition: int, records: bytes | None) -> tuple[dict[str, Any], ...]:
    """What a Produce brings for a single partition."""
    return ({"name": topic, "partition_data": ({"index": partition, "records": records},)},)
