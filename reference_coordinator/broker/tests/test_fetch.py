"""Fetch: what is read, how much of it, and how long one waits for it."""

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.tests.wire_broker import WireBroker
from reference_coordinator.tests.wire_topic_client import (
    TopicClient,
    batch,
    values_of,
)


@pytest.fixture
def client() -> TopicClient:
    return TopicClient(WireBroker())


@pytest.mark.parametrize(
    ("topic", "epoch", "error"),
    [
        ("none", -1, Errors.UNKNOWN_TOPIC_OR_PARTITION),
        ("orders", 1, Errors.UNKNOWN_LEADER_EPOCH),
        ("__transaction_state", -1, Errors.TOPIC_AUTHORIZATION_FAILED),
    ],
)
def test_what_is_not_to_be_read_is_refused_without_waiting(
    client: TopicClient, topic: str, epoch: int, error: Errors
) -> None:
    client.client.ask("find_coordinator", 1, key="x", key_type=1)

    assert client.fetch(topic=topic, current_leader_epoch=epoch, max_wait=1000).error_code == error


def test_a_limit_ends_before_a_batch_but_never_before_the_first(client: TopicClient) -> None:
    for value in (b"a", b"b", b"c"):
        client.produce(batch(value))
    size = len(batch(b"a"))

    assert client.values(max_bytes=2 * size) == [b"a", b"b"]
    assert client.values(max_bytes=2 * size - 1) == [b"a"]
    assert client.values(max_bytes=1) == [b"a"]


def test_the_first_batch_is_only_the_first_of_all_partitions(client: TopicClient) -> None:
    client.produce(batch(b"a"))
    client.produce(batch(b"b"), partition=1)
    wanted = tuple(
        {"partition": index, "fetch_offset": 0, "partition_max_bytes": 1, "current_leader_epoch": -1}
        for index in (0, 1)
    )

    client.send_fetch(topics=({"topic": "orders", "partitions": wanted},))

    answer = client.client.take("fetch", 11).responses[0].partitions
    assert [values_of(each.records) for each in answer] == [[b"a"], []]


def test_enough_is_as_much_as_was_asked_for(client: TopicClient) -> None:
    producer = TopicClient(client.broker)
    client.send_fetch(max_wait=500, min_bytes=2 * len(batch(b"a")))

    producer.produce(batch(b"a"))
    assert client.client.frames() == []
    producer.produce(batch(b"b"))

    assert values_of(client.fetched().records) == [b"a", b"b"]


def test_who_waits_for_a_topic_hears_of_its_end(client: TopicClient) -> None:
    client.send_fetch(max_wait=500)

    client.broker.connect().ask("delete_topics", 5, topic_names=("orders",))

    assert client.fetched().error_code == Errors.UNKNOWN_TOPIC_OR_PARTITION


def test_there_are_no_sessions(client: TopicClient) -> None:
    client.produce(batch(b"a"))
    client.send_fetch(session_id=0, session_epoch=0)
    begun = client.client.take("fetch", 11)
    client.send_fetch(session_id=5, session_epoch=1)
    continued = client.client.take("fetch", 11)

    assert (begun.error_code, begun.session_id) == (Errors.NONE, 0)
    assert values_of(begun.responses[0].partitions[0].records) == [b"a"]
    assert (continued.error_code, continued.responses) == (Errors.FETCH_SESSION_ID_NOT_FOUND, ())


def test_a_topic_is_named_by_its_id_from_v13_on(client: TopicClient) -> None:
    client.produce(batch(b"a"))
    topic_id = client.client.topic_id()
    wanted = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1}

    for named, error in ((topic_id, Errors.NONE), (type(topic_id)(int=1), Errors.UNKNOWN_TOPIC_ID)):
        topics = ({"topic_id": named, "partitions": (wanted,)},)
        (answer,) = client.client.ask("fetch", 13, topics=topics).responses
        assert (answer.topic_id, answer.partitions[0].error_code) == (named, error)
