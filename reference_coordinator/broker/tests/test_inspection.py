"""How large logs are, and who has the metadata, as tools are told."""

from collections import Counter

import pytest

from reference_coordinator.broker import inspection_apis
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.profile.profiles import Profile
from reference_coordinator.runtime import limits
from reference_coordinator.tests.wire_broker import WireBroker, elected
from reference_coordinator.tests.wire_connection import Client
from reference_coordinator.tests.wire_topic_client import TopicClient, batch


def _sizes(
    client: Client, version: int, topics: tuple[dict[str, object], ...] | None = None
) -> dict[tuple[str, int], int]:
    (result,) = client.ask("describe_log_dirs", version, topics=topics).results
    assert (result.error_code, result.log_dir) == (Errors.NONE, "/tmp/kafka-logs")
    return {
        (topic.name, each.partition_index): each.partition_size
        for topic in result.topics
        for each in topic.partitions
    }


@pytest.mark.parametrize(("profile", "version"), [("2.4.1", 1), ("3.9.2", 4), ("4.4.0", 5)])
def test_logs_are_as_large_as_what_was_written(profile: str, version: int) -> None:
    orders = TopicClient(WireBroker(profile))
    records = batch(b"a", b"b")
    orders.produce(records, version=8)

    assert _sizes(orders.client, version) == {
        ("orders", 0): len(records),
        ("orders", 1): 0,
        ("orders", 2): 0,
    }


def test_the_size_of_the_offsets_log_is_not_counted_anew_for_who_asks_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker = elected(offsets_topic_num_partitions="1")
    client, counted = broker.connect(), Counter[str]()

    def size_in_bytes(records: tuple[CoordinatorRecord, ...], profile: Profile) -> int:
        counted["batches"] += 1
        return limits.size_in_bytes(records, profile)

    monkeypatch.setattr(inspection_apis, "size_in_bytes", size_in_bytes)
    for number in range(5):
        client.commit(number)
        _sizes(client, 4)

    assert counted["batches"] == 5
    own = broker.listener.apis.broker
    batches = own.cluster.log.batches(0)
    assert _sizes(client, 4)["__consumer_offsets", 0] == sum(
        limits.size_in_bytes(each.records, own.profile) for each in batches
    )
