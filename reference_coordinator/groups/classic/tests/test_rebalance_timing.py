"""How long a rebalance takes: catalogue rows RB-*, JG-23."""

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.tests.kit import INITIAL_DELAY_MS, JAVA, SCALA, Broker
from reference_coordinator.tests.requests import SESSION_MS, join, leave


@pytest.mark.parametrize(("profile", "extended"), [(SCALA, False), (JAVA, True)])
def test_a_group_that_was_emptied_extends_its_delay_only_on_java(broker: Broker, *, extended: bool) -> None:
    (ana,) = broker.stable_group(join())
    broker.leave(ana)
    (first,) = broker.parked_members(join())
    broker.elapse(1_000)
    broker.parked_members(join())

    broker.elapse(2_000)
    assert first.is_parked is extended
    broker.elapse(INITIAL_DELAY_MS)
    assert first.join.generation_id == 3


def test_the_initial_delay_never_exceeds_the_rebalance_timeout(profile: str) -> None:
    broker = Broker(profile, {"group.initial.rebalance.delay.ms": "1000"})
    calls = broker.parked_members(join(rebalance_ms=1_500))
    for _ in range(2):
        broker.elapse(600)
        calls += broker.parked_members(join(rebalance_ms=1_500))

    broker.elapse(299)
    assert all(call.is_parked for call in calls)
    broker.elapse(1)
    assert all(call.join.generation_id == 1 for call in calls)


@pytest.mark.parametrize(("profile", "early"), [(SCALA, False), (JAVA, True)])
def test_an_expired_pending_id_ends_the_initial_delay_on_java(profile: str, *, early: bool) -> None:
    broker = Broker(profile, {"group.initial.rebalance.delay.ms": "30000"})
    broker.join(session_ms=6_000)
    (call,) = broker.parked_members(join())

    broker.elapse(6_000)

    assert call.is_parked is not early


def test_a_rebalance_timeout_of_nothing_waits_for_static_sessions_too() -> None:
    broker = Broker("2.8.0")
    ana, bob = broker.stable_group(join(instance="i", rebalance_ms=0), join(instance="j", rebalance_ms=0))
    broker.send(leave((bob, "j")), version=4)

    broker.elapse(SESSION_MS - 1)
    assert broker.heartbeat(ana).error is Errors.REBALANCE_IN_PROGRESS
    broker.elapse(SESSION_MS)

    assert broker.state() == "Empty"


def test_no_initial_delay_still_answers_by_the_timer(profile: str) -> None:
    broker = Broker(profile, {"group.initial.rebalance.delay.ms": "0"})
    broker.delays_appends = True
    (call,) = broker.parked_members(join())

    assert call.is_parked
    assert broker.coordinator.next_deadline() == broker.now_ms
    broker.elapse(0)
    assert call.join.generation_id == 1
