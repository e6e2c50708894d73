"""What applications do with kafka-python on a broker, in a process that ends with 0 if all is well.

In the tests' own process each warning is an error, and kafka-python leaves sockets to the collector.
"""

import sys
import time
from collections.abc import Callable

from kafka import KafkaConsumer, KafkaProducer, TopicPartition  # type: ignore[import-untyped] # it has no types
from kafka.admin import KafkaAdminClient  # type: ignore[import-untyped] # it has no types
from kafka.structs import OffsetAndMetadata  # type: ignore[import-untyped] # it has no types

_GIVES_UP_AFTER_S = 30.0
_PARTITIONS = 3
_VALUES = [f"value-{at}".encode() for at in range(90)]


def _until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _GIVES_UP_AFTER_S
    while not is_so():
        assert time.monotonic() < deadline, "it does not come"


def _read(consumer: KafkaConsumer, count: int) -> list[bytes]:
    found: list[bytes] = []

    def is_enough() -> bool:
        for records in consumer.poll(timeout_ms=100).values():
            found.extend(record.value for record in records)
        return len(found) >= count

    _until(is_enough)
    return found


def records(address: str, topic: str) -> None:
    """Write with and without a producer id and gzip, and read in a group and without one."""
    for settings in ({"enable_idempotence": True, "compression_type": "gzip"}, {"acks": 1}):
        producer = KafkaProducer(bootstrap_servers=address, **settings)
        futures = [
            producer.send(topic, value=value, partition=at % _PARTITIONS) for at, value in enumerate(_VALUES)
        ]
        assert all(future.get(timeout=_GIVES_UP_AFTER_S).offset >= 0 for future in futures)
        producer.close()
    expected = sorted(_VALUES * 2)
    alone = KafkaConsumer(topic, bootstrap_servers=address, auto_offset_reset="earliest")
    assert sorted(_read(alone, len(expected))) == expected
    partition = TopicPartition(topic, 0)
    assert alone.end_offsets([partition]) == {partition: len(expected) // _PARTITIONS}
    assert alone.offsets_for_times({partition: 0})[partition].offset == 0
    alone.close()
    member = KafkaConsumer(topic, bootstrap_servers=address, group_id="readers", auto_offset_reset="earliest")
    assert sorted(_read(member, len(expected))) == expected
    member.commit()
    assert member.committed(partition) == len(expected) // _PARTITIONS
    member.close()


def transactions(address: str, topic: str) -> None:
    """Abort a transaction with offsets, and commit one."""
    producer = KafkaProducer(bootstrap_servers=address, transactional_id="of-kafka-python")
    producer.init_transactions()
    for value, offset, end in (
        (b"aborted", 3, producer.abort_transaction),
        (b"kept", 7, producer.commit_transaction),
    ):
        producer.begin_transaction()
        producer.send(topic, value=value, partition=0).get(timeout=_GIVES_UP_AFTER_S)
        offsets = {TopicPartition(topic, 0): OffsetAndMetadata(offset, "", -1)}
        producer.send_offsets_to_transaction(offsets, "of-transactions")
        end()
    producer.close()
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=address,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        group_id="of-transactions",
    )
    assert consumer.committed(TopicPartition(topic, 0)) == 7
    consumer.close()
    reader = KafkaConsumer(
        topic, bootstrap_servers=address, isolation_level="read_committed", auto_offset_reset="earliest"
    )
    assert _read(reader, 1) == [b"kept"]
    reader.close()


def administration(address: str, topic: str) -> None:
    """Administer topics, groups and offsets."""
    admin = KafkaAdminClient(bootstrap_servers=address)
    name = f"{topic}-more"
    admin.create_topics({name: {"num_partitions": 2, "replication_factor": 1}})
    assert {topic, name} <= set(admin.list_topics())
    admin.create_partitions({name: _PARTITIONS})
    offsets = {TopicPartition(name, at): OffsetAndMetadata(at, "", -1) for at in range(_PARTITIONS)}
    admin.alter_group_offsets("altered", offsets)
    listed = admin.list_group_offsets({"altered": None})["altered"]
    assert {each.partition: listed[each].offset for each in listed} == {0: 0, 1: 1, 2: 2}
    assert "altered" in {each["group_id"] for each in admin.list_groups()}
    assert admin.describe_groups(["altered"])["altered"]["group_state"] == "Empty"
    admin.delete_group_offsets("altered", [TopicPartition(name, 0)])
    assert len(admin.list_group_offsets({"altered": None})["altered"]) == _PARTITIONS - 1
    admin.delete_groups(["altered"])
    admin.delete_topics([name])
    _until(lambda: name not in admin.list_topics())
    admin.close()


if __name__ == "__main__":
    _, _what, _address, _topic = sys.argv
    {"records": records, "transactions": transactions, "administration": administration}[_what](
        _address, _topic
    )
