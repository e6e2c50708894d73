"""What is forgotten in time: catalogue rows EX-*."""

from dataclasses import replace

import pytest

from reference_coordinator.core.errors import Errors
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
