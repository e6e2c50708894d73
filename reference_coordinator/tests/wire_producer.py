"""A transactional producer on a broker or a cluster in this process, for tests."""

from typing import Any

from reference_coordinator.core.errors import Errors
from reference_coordinator.tests.wire_broker import WireBroker
from reference_coordinator.tests.wire_connection import Client
from reference_coordinator.tests.wire_topic_client import PRODUCE_VERSION, TopicConnection, Written, batch


class Producer:
    """A client with a transactional id."""

    def __init__(self, wire: WireBroker | Client, *, name: str = "x", timeout_ms: int = 60_000) -> None:
        self.client: Client = wire.connect() if isinstance(wire, WireBroker) else wire
        self.client.coordinator()
        self.client.coordinator(name, 1)
        fields = {"transactional_id": name, "transaction_timeout": timeout_ms}
        reported = self.client.ask("init_producer_id", 1, **fields)
        assert reported.error_code == Errors.NONE
        self.names: dict[str, Any] = {
            "transactional_id": name,
            "producer_id": reported.producer_id,
            "producer_epoch": reported.producer_epoch,
        }
        self.id_and_epoch: tuple[int, int] = (reported.producer_id, reported.producer_epoch)
        self.sequence = 0

    def add(self, version: int = 1, **others: Any) -> Any:
        """Announce a group."""
        fields = self.names | {"group_id": "g"} | others
        return self.client.ask("add_offsets_to_txn", version, **fields).error_code

    def add_partitions(self, *partitions: int) -> list[int]:
        """Announce partitions of `orders`, by default the first."""
        old = {f"v3_and_below_{name}": value for name, value in self.names.items()}
        topics = ({"name": "orders", "partitions": partitions or (0,)},)
        answer = self.client.ask("add_partitions_to_txn", 3, v3_and_below_topics=topics, **old)
        (reported,) = answer.results_by_topic_v3_and_below
        return [each.partition_error_code for each in reported.results_by_partition]

    def write(
        self, value: bytes, *, partition: int = 0, time_ms: int = 0, version: int = PRODUCE_VERSION
    ) -> Written:
        """Write one record in the transaction."""
        records = batch(
            value,
            producer=self.id_and_epoch,
            sequence=self.sequence,
            timestamps=(time_ms,),
            is_transactional=True,
        )
        self.sequence += 1
        fields = {"transactional_id": self.names["transactional_id"], "version": version}
        return TopicConnection(self.client).produce(records, partition=partition, **fields)

    def commit(self, version: int = 2, *, offset: int = 42, **others: Any) -> list[int]:
        """Commit an offset in the transaction."""
        partition = {"partition_index": 0, "committed_offset": offset, "committed_metadata": ""}
        topics = ({"name": "orders", "partitions": (partition,)},)
        fields = self.names | {"group_id": "g", "topics": topics} | others
        answer = self.client.ask("txn_offset_commit", version, **fields)
        return [each.error_code for topic in answer.topics for each in topic.partitions]

    def end(self, version: int = 1, *, committed: bool = True, **others: Any) -> int:
        """Decide the transaction."""
        fields = self.names | {"committed": committed} | others
        error: int = self.client.ask("end_txn", version, **fields).error_code
        return error

    def fetch(self) -> int:
        """Fetch what the group has committed."""
        offset, _ = self.client.committed()
        return offset

    def write_marker(self, *, topic: str = "__consumer_offsets", partition: int = 0) -> int:
        """Write the end of the transaction to a log oneself."""
        marker = {
            "producer_id": self.names["producer_id"],
            "producer_epoch": self.names["producer_epoch"],
            "transaction_result": True,
            "topics": ({"name": topic, "partition_indexes": (partition,)},),
            "coordinator_epoch": 0,
        }
        answer = self.client.ask("write_txn_markers", 1, markers=(marker,))
        error: int = answer.markers[0].topics[0].partitions[0].error_code
        return error
