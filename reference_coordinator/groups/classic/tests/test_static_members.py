"""Static members that restart: catalogue rows ST-*."""

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.tests.kit import JAVA, SCALA, Broker
from reference_coordinator.tests.requests import REBALANCE_MS, SESSION_MS, join


@pytest.mark.parametrize(
    ("profile", "parked"),
    [("2.4.1", False), ("2.6.0", False), ("2.6.1", True), (SCALA, True), (JAVA, True)],
)
def test_a_restart_that_changes_the_selected_protocol_rebalances_from_2_6_1(
    broker: Broker, *, parked: bool
) -> None:
    broker.stable_group(join(names=("a", "b")), join(instance="i", names=("a", "b")))

    call = broker.join(instance="i", names=("b",))

    assert call.is_parked is parked


@pytest.mark.parametrize(("profile", "survives"), [("2.6.0", False), (SCALA, True), (JAVA, True)])
def test_the_new_id_survives_the_coordinator_from_2_6_1(broker: Broker, *, survives: bool) -> None:
    (old,) = broker.stable_group(join(instance="i"))
    new = broker.join(instance="i").join.member_id

    broker.restart()

    alive, dead = (new, old) if survives else (old, new)
    assert broker.heartbeat(alive).error is Errors.NONE
    assert broker.heartbeat(dead).error is Errors.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("profile", "parked"), [("2.4.1", False), ("2.5", True), (SCALA, True), (JAVA, True)]
)
def test_a_restart_before_the_sync_rebalances_from_2_5(broker: Broker, *, parked: bool) -> None:
    _, bob, eve = broker.joined_members(join(), join(instance="i"), join())
    of_bob, of_eve = broker.sync(bob, instance="i"), broker.sync(eve)

    back = broker.send(join(instance="i"), version=5)

    assert of_bob.error is Errors.FENCED_INSTANCE_ID
    assert back.is_parked is parked
    assert of_eve.is_parked is not parked
    if parked:
        assert of_eve.error is Errors.REBALANCE_IN_PROGRESS


@pytest.mark.parametrize(
    ("profile", "expires"), [("2.4.1", False), ("2.8.2", True), (SCALA, True), (JAVA, False)]
)
def test_who_replaces_a_new_member_may_be_new_itself(broker: Broker, *, expires: bool) -> None:
    broker.stable_group(join(session_ms=300_000, rebalance_ms=300_000))
    broker.parked_members(join(instance="i"))
    (second,) = broker.parked_members(join(instance="i"))

    broker.elapse(SESSION_MS)

    assert second.is_parked is not expires


@pytest.mark.parametrize(
    ("profile", "error"),
    [
        ("2.7.2", Errors.NONE),
        ("2.8.2", Errors.NONE),
        ("3.3.2", Errors.REBALANCE_IN_PROGRESS),
        (JAVA, Errors.REBALANCE_IN_PROGRESS),
    ],
)
def test_a_restart_before_the_sync_is_waited_for_under_the_old_id(broker: Broker, error: Errors) -> None:
    """Nobody can sync for an id that is no more: the deadline brings a rebalance, or fails in 2.8."""
    ana, _ = broker.joined_members(join(session_ms=60_000), join(instance="i", session_ms=60_000))
    assert broker.sync(ana).error is Errors.NONE
    back = broker.join(instance="i", session_ms=60_000).join.member_id
    assert broker.sync(back, instance="i").error is Errors.NONE

    broker.elapse(REBALANCE_MS - 1)
    assert broker.heartbeat(ana).error is Errors.NONE
    broker.elapse(1)

    assert [broker.heartbeat(each).error for each in (ana, back)] == [error, error]


@pytest.mark.parametrize(
    ("profile", "reported"),
    [
        ("2.8.2", Errors.NONE),
        ("3.0", Errors.UNKNOWN_MEMBER_ID),
        (SCALA, Errors.UNKNOWN_MEMBER_ID),
        (JAVA, Errors.UNKNOWN_MEMBER_ID),
    ],
)
def test_an_unknown_instance_id_of_a_dynamic_member_is_refused_from_3_0(
    broker: Broker, reported: Errors
) -> None:
    (ana,) = broker.stable_group(join())

    assert broker.heartbeat(ana, instance="nosuch").error is reported
    assert broker.sync(ana, instance="nosuch").error is reported
    assert broker.commit({0: 1}, member_id=ana, generation=1, instance="nosuch").partition_errors == [
        reported
    ]
    assert broker.leave((ana, "nosuch")).leave_errors == [reported]


@pytest.mark.parametrize(("profile", "applied"), [("3.3.1", False), (SCALA, True), (JAVA, True)])
def test_a_restart_brings_new_timeouts_from_3_3_2(broker: Broker, *, applied: bool) -> None:
    broker.stable_group(join(instance="i"))
    new = broker.join(instance="i", session_ms=60_000).join.member_id
    broker.elapse(1)
    broker.heartbeat(new)

    broker.elapse(2 * SESSION_MS)

    expected = Errors.NONE if applied else Errors.UNKNOWN_MEMBER_ID
    assert broker.heartbeat(new).error is expected
