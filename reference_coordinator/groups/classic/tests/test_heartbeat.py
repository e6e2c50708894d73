"""Heartbeat: catalogue rows HB-*."""

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.tests.kit import JAVA, SCALA, Broker
from reference_coordinator.tests.requests import SESSION_MS, heartbeat, join


def test_a_heartbeat_begins_the_session_anew(broker: Broker) -> None:
    (ana,) = broker.stable_group(join())
    for _ in range(4):
        broker.elapse(SESSION_MS - 1)
        assert broker.heartbeat(ana).error is Errors.NONE


def test_silence_for_a_session_ends_the_membership(broker: Broker) -> None:
    ana, bob = broker.stable_group(join(), join(session_ms=60_000))

    broker.elapse(SESSION_MS)

    assert broker.heartbeat(ana).error is Errors.UNKNOWN_MEMBER_ID
    assert broker.heartbeat(bob).error is Errors.REBALANCE_IN_PROGRESS


def test_the_last_member_that_falls_silent_empties_the_group(broker: Broker) -> None:
    broker.stable_group(join())

    broker.elapse(SESSION_MS)

    assert broker.state() == "Empty"
    (call,) = broker.parked_members(join())
    broker.elapse(3_000)
    assert call.join.generation_id == 3


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


def test_checks_come_in_kafkas_order(broker: Broker) -> None:
    (ana,) = broker.stable_group(join(instance="i"))

    for request, error in [
        (heartbeat("bogus", 7, instance="i", group=""), Errors.INVALID_GROUP_ID),
        (heartbeat("bogus", 7, instance="i", group="other"), Errors.UNKNOWN_MEMBER_ID),
        (heartbeat("bogus", 7, instance="i"), Errors.FENCED_INSTANCE_ID),
        (heartbeat("", 7, instance="i"), Errors.FENCED_INSTANCE_ID),
        (heartbeat("bogus", 7), Errors.UNKNOWN_MEMBER_ID),
        (heartbeat(ana, 7, instance="i"), Errors.ILLEGAL_GENERATION),
        (heartbeat(ana, 1, instance="i"), Errors.NONE),
        (heartbeat(ana, 1), Errors.NONE),
    ]:
        assert broker.send(request).error is error


def test_a_heartbeat_of_another_generation_does_not_keep_the_session(broker: Broker) -> None:
    (ana,) = broker.stable_group(join())
    broker.elapse(SESSION_MS - 1)
    assert broker.heartbeat(ana, 2).error is Errors.ILLEGAL_GENERATION

    broker.elapse(1)

    assert broker.heartbeat(ana).error is Errors.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("generation", "reported"),
    [
        (0, Errors.REBALANCE_IN_PROGRESS),
        (-1, Errors.ILLEGAL_GENERATION),
        (1, Errors.ILLEGAL_GENERATION),
    ],
)
def test_a_parked_member_is_of_generation_0_at_first(
    broker: Broker, generation: int, reported: Errors
) -> None:
    broker.parked_members(join())
    member_id = broker.describe().members[0].member_id

    assert broker.heartbeat(member_id, generation).error is reported


def test_a_commit_counts_as_a_heartbeat(broker: Broker) -> None:
    (ana,) = broker.stable_group(join())
    broker.elapse(SESSION_MS - 1)
    broker.commit({0: 1}, member_id=ana, generation=1)

    broker.elapse(SESSION_MS - 1)

    assert broker.heartbeat(ana).error is Errors.NONE
