"""How long a rebalance takes: catalogue rows RB-*, JG-23."""

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.tests.kit import INITIAL_DELAY_MS, JAVA, SCALA, Broker
from reference_coordinator.tests.requests import REBALANCE_MS, SESSION_MS, join, leave


def test_a_second_member_extends_the_initial_delay_once(broker: Broker) -> None:
    (first,) = broker.parked_members(join())
    broker.elapse(2_000)
    (second,) = broker.parked_members(join())

    broker.elapse(3_999)
    assert first.is_parked
    assert second.is_parked
    broker.elapse(1)
    assert (first.join.generation_id, second.join.generation_id) == (1, 1)


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


@pytest.mark.parametrize("rebalance_ms", [0, -1])
def test_a_rebalance_timeout_of_nothing_waits_the_delay_and_expels_at_once(
    broker: Broker, rebalance_ms: int
) -> None:
    (call,) = broker.parked_members(join(rebalance_ms=rebalance_ms))

    broker.elapse(INITIAL_DELAY_MS)

    assert call.join.generation_id == 1
    assert broker.sync(call.join.member_id).error is Errors.UNKNOWN_MEMBER_ID
    assert broker.state() == "Empty"


def test_a_static_replacement_does_not_extend_the_initial_delay(broker: Broker) -> None:
    broker.parked_members(join(instance="i"))
    broker.elapse(2_000)
    (second,) = broker.parked_members(join(instance="i"))

    broker.elapse(1_000)

    assert second.join.generation_id == 1


def test_a_group_emptied_in_its_initial_delay_still_counts_a_generation(broker: Broker) -> None:
    (call,) = broker.parked_members(join())
    member_id = broker.describe().members[0].member_id

    broker.leave(member_id)

    assert (call.join.error_code, call.join.member_id) == (Errors.UNKNOWN_MEMBER_ID, "")
    assert broker.state() == "PreparingRebalance"
    broker.elapse(INITIAL_DELAY_MS)
    assert broker.state() == "Empty"
    (again,) = broker.parked_members(join())
    broker.elapse(INITIAL_DELAY_MS)
    assert again.join.generation_id == 2


@pytest.mark.parametrize(("profile", "early"), [(SCALA, False), (JAVA, True)])
def test_an_expired_pending_id_ends_the_initial_delay_on_java(profile: str, *, early: bool) -> None:
    broker = Broker(profile, {"group.initial.rebalance.delay.ms": "30000"})
    broker.join(session_ms=6_000)
    (call,) = broker.parked_members(join())

    broker.elapse(6_000)

    assert call.is_parked is not early


def test_the_deadline_is_the_longest_rebalance_timeout_at_the_start(broker: Broker) -> None:
    ana, _ = broker.stable_group(join(rebalance_ms=1_200), join(rebalance_ms=500, session_ms=60_000))
    rejoining = broker.join(ana, rebalance_ms=1_200)
    broker.elapse(600)
    broker.send(join(rebalance_ms=9_000), version=3)

    broker.elapse(599)
    assert rejoining.is_parked
    broker.elapse(1)
    assert rejoining.join.generation_id == 2


@pytest.mark.parametrize("how", ["misses the deadline", "falls silent", "leaves"])
def test_a_rebalance_ends_without_a_dynamic_member_that(broker: Broker, how: str) -> None:
    ana, bob = broker.stable_group(join(), join(session_ms=SESSION_MS if how == "falls silent" else 60_000))
    rejoining = broker.join(ana)

    if how == "leaves":
        broker.leave(bob)
    else:
        broker.elapse(REBALANCE_MS if how == "misses the deadline" else SESSION_MS)

    assert rejoining.join.generation_id == 2
    assert [each.member_id for each in rejoining.join.members] == [ana]
    assert broker.heartbeat(bob, 2).error is Errors.UNKNOWN_MEMBER_ID


def test_static_members_that_do_not_rejoin_are_kept_while_their_session_lives(
    broker: Broker,
) -> None:
    ana, bob = broker.stable_group(join(), join(instance="i", session_ms=60_000))
    rejoining = broker.join(ana)

    broker.elapse(REBALANCE_MS)

    assert {each.member_id for each in rejoining.join.members} == {ana, bob}
    assert broker.heartbeat(bob, 1).error is Errors.ILLEGAL_GENERATION
    assert broker.heartbeat(bob, 2).error is Errors.NONE
    assert broker.sync(bob, 2).is_parked


def test_a_static_leader_that_does_not_rejoin_loses_the_lead_only(broker: Broker) -> None:
    ana, bob = broker.stable_group(join(instance="i", session_ms=60_000), join())
    rejoining = broker.join(bob, metadata=b"x")

    broker.elapse(REBALANCE_MS)

    assert rejoining.join.leader == bob
    assert {each.member_id for each in rejoining.join.members} == {ana, bob}


def test_a_rebalance_that_nobody_rejoins_waits_for_the_static_members(broker: Broker) -> None:
    _, bob = broker.stable_group(join(instance="i", session_ms=60_000), join())
    broker.leave(bob)

    broker.elapse(REBALANCE_MS + 1)
    assert broker.state() == "PreparingRebalance"
    back = broker.join(instance="i", session_ms=60_000)

    assert (back.join.generation_id, back.join.leader) == (2, back.join.member_id)


def test_a_rebalance_that_nobody_rejoins_ends_with_the_static_sessions(broker: Broker) -> None:
    _, bob = broker.stable_group(join(instance="i", session_ms=60_000), join())
    broker.leave(bob)

    broker.elapse(60_000)

    assert broker.state() == "Empty"


def test_a_rebalance_timeout_of_nothing_waits_for_static_sessions_too() -> None:
    broker = Broker("2.8.0")
    ana, bob = broker.stable_group(join(instance="i", rebalance_ms=0), join(instance="j", rebalance_ms=0))
    broker.send(leave((bob, "j")), version=4)

    broker.elapse(SESSION_MS - 1)
    assert broker.heartbeat(ana).error is Errors.REBALANCE_IN_PROGRESS
    broker.elapse(SESSION_MS)

    assert broker.state() == "Empty"


def test_a_pending_member_delays_a_rebalance(broker: Broker) -> None:
    (ana,) = broker.stable_group(join())
    pending = broker.join().join.member_id

    rejoining = broker.join(ana)
    assert rejoining.is_parked
    joining = broker.join(pending)
    assert (rejoining.join.generation_id, joining.join.generation_id) == (2, 2)


@pytest.mark.parametrize("how", ["leaves", "expires"])
def test_a_pending_member_that_goes_away_lets_a_rebalance_end(broker: Broker, how: str) -> None:
    (ana,) = broker.stable_group(join())
    pending = broker.join().join.member_id
    rejoining = broker.join(ana)

    if how == "leaves":
        broker.leave(pending)
    else:
        broker.elapse(SESSION_MS)

    assert rejoining.join.generation_id == 2


def test_a_pending_member_outlives_the_rebalance_it_delayed(broker: Broker) -> None:
    (ana,) = broker.stable_group(join(rebalance_ms=1_000))
    pending = broker.join(session_ms=60_000).join.member_id
    rejoining = broker.join(ana, rebalance_ms=1_000)

    broker.elapse(1_000)

    assert rejoining.join.generation_id == 2
    assert broker.join(pending).is_parked


def test_heartbeats_keep_who_is_missing_alive_until_the_deadline(broker: Broker) -> None:
    ana, bob = broker.stable_group(join(), join())
    rejoining = broker.join(ana)
    for _ in range(3):
        broker.elapse(SESSION_MS // 2)
        assert broker.heartbeat(bob).error is Errors.REBALANCE_IN_PROGRESS
    assert rejoining.is_parked

    broker.elapse(SESSION_MS // 2)

    assert rejoining.join.generation_id == 2
    assert broker.heartbeat(bob, 2).error is Errors.UNKNOWN_MEMBER_ID


def test_no_initial_delay_still_answers_by_the_timer(profile: str) -> None:
    broker = Broker(profile, {"group.initial.rebalance.delay.ms": "0"})
    broker.delays_appends = True
    (call,) = broker.parked_members(join())

    assert call.is_parked
    assert broker.coordinator.next_deadline() == broker.now_ms
    broker.elapse(0)
    assert call.join.generation_id == 1
