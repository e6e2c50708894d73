"""A broker that shuts down: who is told, and what ends without a word."""

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.tests.wire_broker import INITIAL_DELAY_MS, elected


@pytest.mark.parametrize("profile", ["3.3.2", "3.9", "3.9-java", "4.4"])
def test_a_parked_join_is_answered_before_its_connection_closes(profile: str) -> None:
    broker = elected(profile)
    broker.connect().is_member()
    newcomer = broker.connect()
    newcomer.join()

    broker.take(broker.listener.shut_down(now_ms=broker.now_ms))

    assert newcomer.take("join_group", 3).error_code == Errors.NOT_COORDINATOR
    assert newcomer.close_reason() == "the broker ended"


@pytest.mark.parametrize("profile", ["3.3.2", "3.9", "3.9-java", "4.4"])
def test_a_parked_sync_is_answered_before_its_connection_closes(profile: str) -> None:
    broker = elected(profile)
    first, second = broker.connect(), broker.connect()
    first.join()
    second.join()
    broker.elapse(INITIAL_DELAY_MS * 2)
    first.take("join_group", 3)
    joined = second.take("join_group", 3)
    second.send("sync_group", 0, group_id="g", generation_id=1, member_id=joined.member_id)

    broker.restart()

    assert second.take("sync_group", 0).error_code == Errors.NOT_COORDINATOR


@pytest.mark.parametrize("profile", ["2.4.1", "2.8.2"])
def test_a_broker_beside_zookeeper_closes_without_a_word(profile: str) -> None:
    broker = elected(profile)
    client = broker.connect()
    client.join()

    broker.restart()

    assert (client.frames(), client.close_reason()) == ([], "the broker ended")


def test_what_waits_behind_a_parked_request_is_not_taken_in() -> None:
    broker = elected("3.9")
    client = broker.connect()
    client.join()
    client.send("heartbeat", 0, group_id="g")

    broker.restart()

    client.take("join_group", 3)
    assert client.frames() == []


def test_a_fetch_that_waits_is_reported_that_nobody_leads() -> None:
    broker = elected("3.9")
    client = broker.connect()
    partition = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1_000}
    topics = ({"topic": "orders", "partitions": (partition,)},)
    client.send("fetch", 4, max_wait=60_000, min_bytes=1, topics=topics)
    assert client.frames() == []

    broker.restart()

    (topic,) = client.take("fetch", 4).responses
    assert topic.partitions[0].error_code == Errors.NOT_LEADER_OR_FOLLOWER


def test_a_broker_that_was_stopped_already_tells_nobody() -> None:
    broker = elected("3.9")
    client = broker.connect()
    client.join()
    broker.take(broker.listener.stop())

    broker.restart()

    assert client.frames() == []
