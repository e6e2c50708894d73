"""ListOffsets, OffsetForLeaderEpoch, DeleteRecords and CreatePartitions."""

from typing import Any

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.log import codecs
from reference_coordinator.tests.wire_broker import WireBroker
from reference_coordinator.tests.wire_topic_client import TopicClient, batch


@pytest.fixture
def client() -> TopicClient:
    client = TopicClient(WireBroker())
    client.produce(batch(b"a", b"b", timestamps=(100, 200)))
    client.produce(batch(b"c", b"d", b"e", timestamps=(300, 500, 400), codec=codecs.GZIP))
    return client


@pytest.mark.parametrize(
    ("timestamp", "offset", "found_ms"),
    [
        (-2, 0, -1),
        (-1, 5, -1),
        (0, 0, 100),
        (101, 1, 200),
        (200, 1, 200),
        (301, 3, 500),
        (500, 3, 500),
        (501, -1, -1),
        (-3, 3, 500),
    ],
)
def test_a_time_leads_to_the_first_record_that_is_not_older(
    client: TopicClient, timestamp: int, offset: int, found_ms: int
) -> None:
    answer = client.list_offset(timestamp)

    assert (answer.error_code, answer.offset, answer.timestamp) == (Errors.NONE, offset, found_ms)


def test_an_empty_log_has_ends_and_nothing_between(client: TopicClient) -> None:
    found = [client.list_offset(each, partition=1) for each in (-2, -1, 0, -3)]

    assert [(each.offset, each.leader_epoch) for each in found] == [(0, 0), (0, 0), (-1, -1), (-1, -1)]


@pytest.mark.parametrize(("version", "error"), [(6, Errors.UNSUPPORTED_VERSION), (7, Errors.NONE)])
def test_a_name_of_a_time_is_known_since_a_version(client: TopicClient, version: int, error: Errors) -> None:
    assert client.list_offset(-3, version=version).error_code == error


def test_who_asks_for_a_partition_twice_or_for_none_gets_that_answer(client: TopicClient) -> None:
    wanted = {"partition_index": 0, "current_leader_epoch": -1, "timestamp": -1}
    topics = ({"name": "orders", "partitions": (wanted, wanted)},)

    answer = client.client.ask("list_offsets", 7, replica_id=-1, topics=topics)

    assert [each.error_code for each in answer.topics[0].partitions] == [Errors.INVALID_REQUEST] * 2
    assert client.list_offset(-1, topic="none").error_code == Errors.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize(
    ("epoch", "current", "expected"),
    [
        (0, -1, (Errors.NONE, 0, 5)),
        (0, 0, (Errors.NONE, 0, 5)),
        (1, -1, (Errors.NONE, -1, -1)),
        (-1, -1, (Errors.NONE, -1, -1)),
        (0, 1, (Errors.UNKNOWN_LEADER_EPOCH, -1, -1)),
    ],
)
def test_an_epoch_ends_where_the_log_does(
    client: TopicClient, epoch: int, current: int, expected: tuple[Errors, int, int]
) -> None:
    wanted = {"partition": 0, "current_leader_epoch": current, "leader_epoch": epoch}

    answer = client.client.ask(
        "offset_for_leader_epoch", 3, topics=({"topic": "orders", "partitions": (wanted,)},)
    )

    found = answer.topics[0].partitions[0]
    assert (found.error_code, found.leader_epoch, found.end_offset) == expected


def delete_records(client: TopicClient, offset: int, topic: str = "orders") -> tuple[int, int]:
    wanted = {"partition_index": 0, "offset": offset}
    answer = client.client.ask("delete_records", 1, topics=({"name": topic, "partitions": (wanted,)},))
    found = answer.topics[0].partitions[0]
    return found.error_code, found.low_watermark


def test_records_that_are_deleted_are_no_more(client: TopicClient) -> None:
    assert delete_records(client, 3) == (Errors.NONE, 3)
    assert delete_records(client, 2) == (Errors.NONE, 3)
    assert client.fetch(2).error_code == Errors.OFFSET_OUT_OF_RANGE
    assert client.values(3) == [b"c", b"d", b"e"]
    assert client.list_offset(-2).offset == 3
    assert delete_records(client, -1) == (Errors.NONE, 5)
    assert client.values(5) == []
    assert client.produce(batch(b"f")).base_offset == 5


def test_what_is_not_there_cannot_be_deleted(client: TopicClient) -> None:
    client.broker.elect()

    assert delete_records(client, 6)[0] == Errors.OFFSET_OUT_OF_RANGE
    assert delete_records(client, 0, "none")[0] == Errors.UNKNOWN_TOPIC_OR_PARTITION
    assert delete_records(client, 0, "__consumer_offsets")[0] == Errors.INVALID_TOPIC_EXCEPTION


def create_partitions(client: TopicClient, *topics: dict[str, Any], validate_only: bool = False) -> list[int]:
    wanted = tuple({"assignments": None, "name": "orders"} | topic for topic in topics)
    answer = client.client.ask("create_partitions", 1, topics=wanted, validate_only=validate_only)
    return [each.error_code for each in answer.results]


def test_partitions_can_be_added(client: TopicClient) -> None:
    assert create_partitions(client, {"count": 5}, validate_only=True) == [Errors.NONE]
    assert client.produce(batch(b"a"), partition=4).error is Errors.UNKNOWN_TOPIC_OR_PARTITION
    assert create_partitions(client, {"count": 5}) == [Errors.NONE]
    assert client.produce(batch(b"a"), partition=4).error is Errors.NONE
    assert client.list_offset(-1).offset == 5


def test_partitions_cannot_be_taken_away(client: TopicClient) -> None:
    client.broker.elect()

    assert create_partitions(client, {"count": 3}) == [Errors.INVALID_PARTITIONS]
    assert create_partitions(client, {"count": 2}) == [Errors.INVALID_PARTITIONS]
    assert create_partitions(client, {"count": 4}, {"count": 5}) == [Errors.INVALID_REQUEST]
    assert create_partitions(client, {"name": "none", "count": 4}) == [Errors.UNKNOWN_TOPIC_OR_PARTITION]
    assert create_partitions(client, {"name": "__consumer_offsets", "count": 99}) == [Errors.POLICY_VIOLATION]


def test_brokers_of_new_partitions_may_be_named(client: TopicClient) -> None:
    def wanted(*broker_ids: tuple[int, ...]) -> list[int]:
        assignments = tuple({"broker_ids": each} for each in broker_ids)
        return create_partitions(client, {"count": 5, "assignments": assignments}, validate_only=True)

    assert wanted((1,), (1,)) == [Errors.NONE]
    for refused in [(), ((1,),), ((1,), ()), ((1,), (2,)), ((1, 1), (1,))]:
        assert wanted(*refused) == [Errors.INVALID_REPLICA_ASSIGNMENT]


def test_a_cluster_describes_its_brokers(client: TopicClient) -> None:
    reported = client.client.ask("describe_cluster", 1, endpoint_type=1)
    other = client.client.ask("describe_cluster", 1, endpoint_type=2)

    assert [(each.broker_id, each.host, each.port) for each in reported.brokers] == [(1, "localhost", 9092)]
    assert (reported.error_code, reported.controller_id) == (Errors.NONE, 1)
    assert (other.error_code, other.brokers) == (Errors.MISMATCHED_ENDPOINT_TYPE, ())
