"""What is forgotten in time: catalogue rows EX-*."""

from dataclasses import replace

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.records import GroupMetadataTombstone
from reference_coordinator.tests.kit import JAVA, SCALA, Broker
from reference_coordinator.tests.requests import commit, join, subscription

MINUTE_MS = 60_000
CHECK_MS = 1_000
SHORT = {
    "offsets.retention.minutes": "1",
    "offsets.retention.check.interval.ms": str(CHECK_MS),
}


@pytest.fixture(name="broker")
def forgetful_broker(profile: str) -> Broker:
    return Broker(profile, dict(SHORT))


def test_a_simple_groups_offsets_expire_by_their_own_commit(broker: Broker) -> None:
    broker.commit({0: 1})
    broker.elapse(MINUTE_MS // 2)
    broker.commit({1: 2})

    broker.elapse(MINUTE_MS // 2)
    assert [offset for offset, _ in broker.fetch(0, 1)] == [-1, 2]
    broker.elapse(MINUTE_MS // 2)
    assert broker.state() == "Dead"


def test_an_emptied_groups_offsets_expire_by_when_it_became_empty(broker: Broker) -> None:
    (ana,) = broker.stable_group(join(session_ms=600_000))
    broker.commit({0: 1}, member_id=ana, generation=1)
    broker.elapse(MINUTE_MS)
    broker.leave(ana)

    broker.elapse(MINUTE_MS - CHECK_MS)
    assert broker.fetch(0) == [(1, Errors.NONE)]
    broker.elapse(CHECK_MS)
    assert broker.state() == "Dead"
    assert isinstance(broker.log[-1], GroupMetadataTombstone)


def test_a_stable_groups_offsets_expire_where_nobody_reads(broker: Broker) -> None:
    (ana,) = broker.stable_group(join(metadata=subscription("read"), session_ms=600_000))
    for topic in ("read", "unread"):
        broker.commit({0: 1}, member_id=ana, generation=1, topic=topic)

    broker.elapse(MINUTE_MS)

    assert broker.fetch(0, topic="read") == [(1, Errors.NONE)]
    assert broker.fetch(0, topic="unread") == [(-1, Errors.NONE)]


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


def test_groups_of_others_than_consumers_lose_nothing(broker: Broker) -> None:
    (worker,) = broker.stable_group(join(kind="connect", session_ms=600_000))
    broker.commit({0: 1}, member_id=worker, generation=1)

    broker.elapse(2 * MINUTE_MS)

    assert broker.fetch(0) == [(1, Errors.NONE)]


def test_a_commits_own_retention_wins(broker: Broker) -> None:
    broker.send(commit({0: 1}, retention_ms=5_000), version=4)
    broker.send(commit({1: 2}, retention_ms=3 * MINUTE_MS), version=4)

    broker.elapse(4_999)
    assert broker.fetch(0) == [(1, Errors.NONE)]
    broker.elapse(CHECK_MS)
    assert broker.fetch(0) == [(-1, Errors.NONE)]
    broker.elapse(2 * MINUTE_MS)
    assert broker.fetch(1) == [(2, Errors.NONE)]


def test_a_retention_of_nothing_lasts_until_the_next_look(broker: Broker) -> None:
    broker.send(commit({0: 1}, retention_ms=0), version=4)
    assert broker.fetch(0) == [(1, Errors.NONE)]

    broker.elapse(CHECK_MS)

    assert broker.state() == "Dead"


def test_an_empty_group_without_offsets_goes_with_its_pending_members(broker: Broker) -> None:
    pending = broker.join().join.member_id

    broker.elapse(CHECK_MS)

    assert broker.state() == "Dead"
    assert broker.join(pending).error is Errors.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("profile", [JAVA])
def test_java_forgets_an_emptied_group_at_the_next_look(broker: Broker) -> None:
    broker.commit({0: 1})
    broker.offset_delete(0)
    assert broker.state() == "Empty"

    broker.elapse(CHECK_MS)

    assert broker.state() == "Dead"


def test_a_group_with_members_is_never_forgotten(broker: Broker) -> None:
    (ana,) = broker.stable_group(join(session_ms=600_000))

    broker.elapse(5 * MINUTE_MS)

    assert broker.heartbeat(ana).error is Errors.NONE


def test_what_expired_is_gone_after_a_restart(broker: Broker) -> None:
    (ana,) = broker.stable_group(join())
    broker.leave(ana)
    broker.commit({0: 1})
    broker.elapse(MINUTE_MS)
    assert broker.state() == "Dead"

    broker.restart()

    assert broker.state() == "Dead"
    assert broker.fetch(0) == [(-1, Errors.NONE)]


@pytest.mark.parametrize("profile", [SCALA])
def test_on_scala_an_offset_being_written_does_not_expire(broker: Broker) -> None:
    broker.send(commit({0: 1}, retention_ms=0), version=4)
    broker.delays_appends = True
    broker.send(commit({0: 2}, retention_ms=0), version=4)

    broker.elapse(CHECK_MS)

    assert broker.fetch(0) == [(1, Errors.NONE)]


@pytest.mark.parametrize("retention_ms", [2**63 - 1, -2])
def test_a_retention_that_ends_beyond_time_or_before_it_has_ended(broker: Broker, retention_ms: int) -> None:
    broker.elapse(1)
    broker.send(commit({0: 1}, retention_ms=retention_ms), version=4)

    broker.elapse(CHECK_MS)

    assert broker.fetch(0) == [(-1, Errors.NONE)]
