"""A transactional producer on a broker in this process, for tests."""

from typing import Any

from reference_coordinator.core.errors import Errors
from reference_coordinator.tests.wire_broker import WireBroker, WireClient


class Producer:
    """A client with a transactional id."""

    def __init__(self, broker: WireBroker) -> None:
        self.client: WireClient = broker.connect()
        broker.elect()
        self.client.ask("find_coordinator", 1, key="x", key_type=1)
        reported = self.client.ask("init_producer_id", 1, transactional_id="x", transaction_timeout=60_000)
        assert reported.error_code == Errors.NONE
        self.names: dict[str, Any] = {
            "transactional_id": "x",
            "producer_id": reported.producer_id,
            "producer_epoch": reported.producer_epoch,
        }

    def add(self, version: int = 1, **others: Any) -> Any:
        fields = self.names | {"group_id": "g"} | others
        return self.client.ask("add_offsets_to_txn", version, **fields).error_code

    def commit(self, version: int = 2, *, offset: int = 42, **others: Any) -> list[int]:
        partition = {"partition_index": 0, "committed_offset": offset, "committed_metadata": ""}
        topics = ({"name": "orders", "partitions": (partition,)},)
        fields = self.names | {"group_id": "g", "topics": topics} | others
        answer = self.client.ask("txn_offset_commit", version, **fields)
        return [each.error_code for topic in answer.topics for each in topic.partitions]

    def end(self, version: int = 1, *, committed: bool = True, **others: Any) -> Any:
        fields = self.names | {"committed": committed} | others
        return self.client.ask("end_txn", version, **fields)

    def fetch(self) -> int:
        topics = ({"name": "orders", "partition_indexes": (0,)},)
        answer = self.client.ask("offset_fetch", 5, group_id="g", topics=topics)
        offset: int = answer.topics[0].partitions[0].committed_offset
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
