"""How large logs are, and who has the metadata, as tools are told."""

from collections import Counter
from typing import Any

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


def test_only_partitions_that_are_asked_for_and_there_are_reported() -> None:
    client = WireBroker().connect()
    asked: tuple[dict[str, object], ...] = (
        {"topic": "orders", "partitions": (2, 9)},
        {"topic": "missing", "partitions": (0,)},
    )

    assert list(_sizes(client, 4, asked)) == [("orders", 2)]


def test_commits_make_the_offsets_log_larger() -> None:
    broker = elected(offsets_topic_num_partitions="1")
    client = broker.connect()
    assert _sizes(client, 4)["__consumer_offsets", 0] == 0

    client.commit(1)

    assert _sizes(client, 4)["__consumer_offsets", 0] > 61


def test_nothing_is_made_for_logs_that_nobody_wrote_to() -> None:
    orders = TopicClient(WireBroker())
    orders.produce(batch(b"a"))
    logs = orders.broker.listener.apis.broker.topics.logs

    _sizes(orders.client, 4)

    assert len(logs) == 1


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


def _quorum(client: Client, topic: str = "__cluster_metadata", partition: int = 0) -> Any:  # noqa: ANN401
    partitions = ({"partition_index": partition},)
    return client.ask("describe_quorum", 2, topics=({"topic_name": topic, "partitions": partitions},))


def test_a_broker_alone_is_its_own_quorum() -> None:
    answer = _quorum(WireBroker().connect())

    ((reported,),) = (each.partitions for each in answer.topics)
    assert (reported.error_code, reported.leader_id, reported.observers) == (Errors.NONE, 1, ())
    assert [each.replica_id for each in reported.current_voters] == [1]
    assert reported.current_voters[0].log_end_offset == reported.high_watermark
    assert [(each.node_id, each.listeners[0].name) for each in answer.nodes] == [(1, "CONTROLLER")]


@pytest.mark.parametrize(("topic", "partition"), [("orders", 0), ("__cluster_metadata", 1)])
def test_only_the_metadata_has_a_quorum(topic: str, partition: int) -> None:
    answer = _quorum(WireBroker().connect(), topic, partition)

    assert answer.error_code == Errors.NONE
    assert answer.topics[0].partitions[0].error_code == Errors.UNKNOWN_TOPIC_OR_PARTITION
    assert answer.nodes == ()
