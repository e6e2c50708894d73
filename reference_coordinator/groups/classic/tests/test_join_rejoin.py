"""Members that join again: catalogue rows JG-30 to JG-48."""

from dataclasses import replace
from typing import Any

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.messages import JoinGroupRequestProtocol
from reference_coordinator.tests.kit import JAVA, SCALA, Broker
from reference_coordinator.tests.requests import SESSION_MS, join


def test_a_follower_that_rejoins_unchanged_is_answered_without_a_rebalance(broker: Broker) -> None:
    ana, bob = broker.stable_group(join(), join())

    again = broker.join(bob).join

    assert (again.generation_id, again.leader, again.members) == (1, ana, ())
    assert broker.heartbeat(ana).error is Errors.NONE


@pytest.mark.parametrize(
    "change",
    [{"metadata": b"x"}, {"names": ("range", "rr", "other")}, {"names": ("rr", "range")}],
    ids=["bytes", "names", "order"],
)
def test_a_follower_that_changed_rebalances(broker: Broker, change: dict[str, Any]) -> None:
    _, bob = broker.stable_group(join(), join(names=("range", "rr")))

    assert broker.join(bob, **({"names": ("range", "rr")} | change)).is_parked
    assert broker.state() == "PreparingRebalance"


def test_a_leader_that_rejoins_rebalances_even_if_unchanged(broker: Broker) -> None:
    ana, bob = broker.stable_group(join(), join())

    rejoining = broker.join(ana)

    assert rejoining.is_parked
    assert broker.heartbeat(bob).error is Errors.REBALANCE_IN_PROGRESS


def test_who_rejoins_before_syncing_gets_its_result_again(broker: Broker) -> None:
    ana, bob = broker.joined_members(join(), join())

    assert {each.member_id for each in broker.join(ana).join.members} == {ana, bob}
    assert broker.join(bob).join.members == ()


def test_a_change_before_the_sync_sends_everybody_back(broker: Broker) -> None:
    _, bob = broker.joined_members(join(), join())
    syncing = broker.sync(bob)

    assert broker.join(bob, metadata=b"x").is_parked
    assert syncing.error is Errors.REBALANCE_IN_PROGRESS
    assert syncing.sync.assignment == b""


@pytest.mark.parametrize(("profile", "parked"), [(SCALA, False), (JAVA, True)])
def test_an_unknown_tagged_field_is_a_change_to_the_java_coordinator(broker: Broker, *, parked: bool) -> None:
    _, bob = broker.stable_group(join(), join())
    tagged = JoinGroupRequestProtocol(name="range", metadata=b"", unknown_tags=((77, b"x"),))
    request = replace(join(bob), protocols=(tagged,))

    assert broker.send(request).is_parked is parked


@pytest.mark.parametrize(
    ("profile", "applied"),
    [("2.4.1", False), ("3.3.1", False), ("3.3.2", True), (SCALA, True), (JAVA, True)],
)
def test_a_rejoin_brings_new_timeouts_from_3_3_2(broker: Broker, *, applied: bool) -> None:
    (ana,) = broker.stable_group(join(session_ms=SESSION_MS))
    broker.join(ana, session_ms=4 * SESSION_MS)
    broker.sync(ana, 2)

    broker.elapse(2 * SESSION_MS)

    expected = Errors.NONE if applied else Errors.UNKNOWN_MEMBER_ID
    assert broker.heartbeat(ana, 2).error is expected


def test_an_unchanged_rejoin_keeps_neither_timeouts_nor_session(broker: Broker) -> None:
    ana, bob = broker.stable_group(join(session_ms=60_000), join())
    for _ in range(3):
        broker.elapse(SESSION_MS // 4)
        assert broker.join(bob, session_ms=60_000).error is Errors.NONE

    broker.elapse(SESSION_MS)

    assert broker.heartbeat(bob).error is Errors.UNKNOWN_MEMBER_ID
    assert broker.heartbeat(ana).error is Errors.REBALANCE_IN_PROGRESS


def test_ids_that_left_are_never_revived(broker: Broker) -> None:
    ana, bob = broker.stable_group(join(), join())
    broker.leave(bob)

    assert broker.join(bob).error is Errors.UNKNOWN_MEMBER_ID
    broker.leave(ana)
    assert broker.join(ana).error is Errors.UNKNOWN_MEMBER_ID
