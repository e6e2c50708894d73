"""Heartbeat: catalogue rows HB-*."""

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.tests.kit import JAVA, SCALA, Broker
from reference_coordinator.tests.requests import SESSION_MS, join


@pytest.mark.parametrize(
    ("profile", "reported"),
    [
        ("2.6.0", Errors.REBALANCE_IN_PROGRESS),
        ("2.6.1", Errors.NONE),
        (SCALA, Errors.NONE),
        (JAVA, Errors.NONE),
    ],
)
def test_a_heartbeat_before_the_sync_is_fine_from_2_6_1(broker: Broker, reported: Errors) -> None:
    (ana,) = broker.joined_members(join())
    broker.elapse(SESSION_MS // 2)
    assert broker.heartbeat(ana).error is reported

    broker.elapse(SESSION_MS // 2)

    lives = reported is Errors.NONE
    assert broker.state() == ("CompletingRebalance" if lives else "Empty")
