"""OffsetCommit, OffsetFetch, and what is forgotten in time: catalogue rows OC-*, OF-*, EX-*."""

from dataclasses import replace

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.messages import (
    OffsetCommitRequest,
)
from reference_coordinator.tests.kit import JAVA, SCALA, Broker
from reference_coordinator.tests.requests import commit, join, subscription

NONE = Errors.NONE


@pytest.mark.parametrize(
    ("profile", "version", "reported"),
    [
        (SCALA, 8, Errors.ILLEGAL_GENERATION),
        (SCALA, 9, Errors.ILLEGAL_GENERATION),
        (JAVA, 8, Errors.ILLEGAL_GENERATION),
        (JAVA, 9, Errors.GROUP_ID_NOT_FOUND),
    ],
)
@pytest.mark.parametrize("generation", [0, 5])
def test_a_generation_of_no_group_is_refused(
    broker: Broker, version: int, reported: Errors, generation: int
) -> None:
    refused = broker.send(commit({0: 7, 1: 8}, generation=generation), version=version)

    assert refused.partition_errors == [reported, reported]
    assert broker.listed() == []


@pytest.mark.parametrize(
    ("profile", "reported"),
    [
        ("2.8.2", NONE),
        ("3.0", Errors.UNKNOWN_MEMBER_ID),
        ("3.2", Errors.UNKNOWN_MEMBER_ID),
        ("3.3", NONE),
        (SCALA, NONE),
        (JAVA, NONE),
    ],
)
def test_ids_in_a_simple_commit_are_ignored_except_in_3_0_to_3_2(broker: Broker, reported: Errors) -> None:
    broker.commit({0: 1})

    assert broker.commit({0: 2}, member_id="x").partition_errors == [reported]
    assert broker.commit({0: 2}, instance="i").partition_errors == [reported]
    assert broker.commit({0: 2}).partition_errors == [NONE]


def test_metadata_is_measured_in_utf_16_units(profile: str) -> None:
    broker = Broker(profile, {"offset.metadata.max.bytes": "10"})

    assert broker.commit({0: 1}, metadata="é" * 10).partition_errors == [NONE]
    too_large = broker.commit({0: 2}, metadata="😀" * 6)
    assert too_large.partition_errors == [Errors.OFFSET_METADATA_TOO_LARGE]
    assert broker.fetch(0) == [(1, NONE)]


def twice(first: OffsetCommitRequest, second: OffsetCommitRequest) -> OffsetCommitRequest:
    return replace(first, topics=first.topics + second.topics)


def test_one_partition_too_large_does_not_delay_the_others(profile: str) -> None:
    broker = Broker(profile, {"offset.metadata.max.bytes": "1"})

    mixed = broker.send(twice(commit({0: 1}, metadata="xx"), commit({1: 2}, metadata="x")))

    assert sorted(mixed.partition_errors) == [NONE, Errors.OFFSET_METADATA_TOO_LARGE]
    assert broker.fetch(0, 1) == [(-1, NONE), (2, NONE)]


@pytest.mark.parametrize(("profile", "answers"), [(SCALA, 1), (JAVA, 2)])
def test_a_partition_named_twice_is_answered_once_on_scala(broker: Broker, answers: int) -> None:
    answer = broker.send(twice(commit({0: 1}), commit({0: 2})))

    assert answer.partition_errors == [NONE] * answers
    assert broker.fetch(0) == [(2, NONE)]
    assert len(broker.fetch(0, 0)) == answers


@pytest.mark.parametrize(("profile", "state"), [(SCALA, "Empty"), (JAVA, "Dead")])
def test_a_commit_that_stores_nothing_leaves_a_ghost(profile: str, state: str) -> None:
    broker = Broker(profile, {"offset.metadata.max.bytes": "1"})

    broker.commit({0: 1}, metadata="xx")

    assert broker.state() == state
    assert broker.log == []
    broker.restart()
    assert broker.state() == "Dead"


def test_the_next_write_shows_javas_ghost() -> None:
    broker = Broker(JAVA, {"offset.metadata.max.bytes": "1"})
    broker.commit({0: 1}, metadata="xx")

    broker.commit({0: 1})

    assert broker.state() == "Empty"


@pytest.mark.parametrize(("profile", "unstable"), [("3.7.0", True), ("3.7.1", False), (JAVA, False)])
def test_a_partition_refused_stays_unstable_until_3_7_1(profile: str, *, unstable: bool) -> None:
    broker = Broker(profile, {"offset.metadata.max.bytes": "1"})
    broker.send(twice(commit({0: 1}, metadata="xx"), commit({1: 2})))

    answer = broker.fetch(0, stable=True)

    assert answer == [(-1, Errors.UNSTABLE_OFFSET_COMMIT if unstable else NONE)]
    assert broker.fetch(0) == [(-1, NONE)]


def test_on_scala_an_offset_being_written_is_unstable() -> None:
    broker = Broker(SCALA)
    broker.commit({0: 1})
    broker.delays_appends = True
    broker.commit({0: 2})

    assert broker.fetch(0) == [(1, NONE)]
    assert broker.fetch(0, stable=True) == [(-1, Errors.UNSTABLE_OFFSET_COMMIT)]
    broker.release()
    assert broker.fetch(0, stable=True) == [(2, NONE)]


@pytest.mark.parametrize(
    ("failure", "scala", "java"),
    [
        (Errors.MESSAGE_TOO_LARGE, Errors.INVALID_COMMIT_OFFSET_SIZE, Errors.UNKNOWN_SERVER_ERROR),
        (Errors.REQUEST_TIMED_OUT, Errors.REQUEST_TIMED_OUT, Errors.COORDINATOR_NOT_AVAILABLE),
        (
            Errors.NOT_ENOUGH_REPLICAS,
            Errors.COORDINATOR_NOT_AVAILABLE,
            Errors.COORDINATOR_NOT_AVAILABLE,
        ),
        (Errors.NOT_LEADER_OR_FOLLOWER, Errors.NOT_COORDINATOR, Errors.NOT_COORDINATOR),
    ],
)
def test_a_commit_that_cannot_be_written_is_reported_by_family(
    failure: Errors, scala: Errors, java: Errors
) -> None:
    for profile, reported, state in ((SCALA, scala, "Empty"), (JAVA, java, "Dead")):
        broker = Broker(profile)
        broker.append_error = failure

        assert broker.commit({0: 1, 1: 2}).partition_errors == [reported, reported]
        assert broker.fetch(0, stable=True) == [(-1, NONE)]
        assert broker.state() == state


MINUTE_MS = 60_000
CHECK_MS = 1_000
SHORT = {
    "offsets.retention.minutes": "1",
    "offsets.retention.check.interval.ms": str(CHECK_MS),
}


@pytest.fixture(name="broker")
def forgetful_broker(profile: str) -> Broker:
    return Broker(profile, dict(SHORT))


@pytest.mark.parametrize(
    ("profile", "offset"), [("2.8.1", -1), ("2.8.2", 1), ("3.0.0", -1), (SCALA, 1), (JAVA, 1)]
)
def test_a_rebalancing_groups_offsets_are_safe_since_kafka_13636(broker: Broker, offset: int) -> None:
    metadata = subscription("read")
    rejoining = join(metadata=metadata, session_ms=600_000, rebalance_ms=600_000)
    ana, _ = broker.stable_group(rejoining, rejoining)
    broker.commit({0: 1}, member_id=ana, generation=1, topic="unread")
    broker.send(replace(rejoining, member_id=ana))

    broker.elapse(MINUTE_MS)

    assert broker.state() == "PreparingRebalance"
    assert broker.fetch(0, topic="unread") == [(offset, Errors.NONE)]


@pytest.mark.parametrize("profile", [JAVA])
def test_java_forgets_an_emptied_group_at_the_next_look(broker: Broker) -> None:
    broker.commit({0: 1})
    broker.offset_delete(0)
    assert broker.state() == "Empty"

    broker.elapse(CHECK_MS)

    assert broker.state() == "Dead"


@pytest.mark.parametrize("profile", [SCALA])
def test_on_scala_an_offset_being_written_does_not_expire(broker: Broker) -> None:
    broker.send(commit({0: 1}, retention_ms=0), version=4)
    broker.delays_appends = True
    broker.send(commit({0: 2}, retention_ms=0), version=4)

    broker.elapse(CHECK_MS)

    assert broker.fetch(0) == [(1, Errors.NONE)]
