"""Static members that restart: catalogue rows ST-*."""

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.tests.kit import INITIAL_DELAY_MS, JAVA, SCALA, Broker
from reference_coordinator.tests.requests import REBALANCE_MS, SESSION_MS, join


def test_a_follower_that_restarts_takes_its_place_without_a_rebalance(broker: Broker) -> None:
    ana, bob = broker.stable_group(join(), join(instance="i"))

    back = broker.join(instance="i").join

    assert back.member_id not in {ana, bob}
    assert back.member_id.startswith("i-")
    assert (back.generation_id, back.leader, back.members) == (1, ana, ())
    assert not back.skip_assignment
    assert broker.heartbeat(ana).error is Errors.NONE
    assert broker.sync(back.member_id).sync.assignment == bob.encode()


def test_a_leader_that_restarts_is_reported_its_old_id_until_version_8_and_skips_the_assignment_since(
    broker: Broker,
) -> None:
    ana, bob = broker.stable_group(join(instance="i"), join())

    back = broker.send(join(instance="i"), version=8).join
    assert (back.leader, back.members, back.skip_assignment) == (ana, (), False)

    again = broker.send(join(instance="i"), version=9).join
    assert (again.leader, again.skip_assignment) == (again.member_id, True)
    assert {each.member_id for each in again.members} == {again.member_id, bob}


def test_the_old_id_is_fenced_with_its_instance_id_and_unknown_without(broker: Broker) -> None:
    (ana,) = broker.stable_group(join(instance="i"))
    broker.join(instance="i")

    fenced = Errors.FENCED_INSTANCE_ID
    assert broker.heartbeat(ana, instance="i").error is fenced
    assert broker.sync(ana, instance="i").error is fenced
    assert broker.join(ana, instance="i").error is fenced
    assert broker.commit({0: 1}, member_id=ana, generation=1, instance="i").partition_errors == [fenced]
    assert broker.heartbeat(ana).error is Errors.UNKNOWN_MEMBER_ID


def test_a_restart_with_other_bytes_shows_them_and_keeps_the_assignment(broker: Broker) -> None:
    (ana,) = broker.stable_group(join(instance="i", metadata=b"old"))

    broker.join(instance="i", metadata=b"new")

    (member,) = broker.describe().members
    assert (member.member_metadata, member.member_assignment) == (b"new", ana.encode())


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


def test_a_restart_in_the_initial_delay_fences_the_one_that_waits(broker: Broker) -> None:
    (first,) = broker.parked_members(join(instance="i"))
    old = broker.describe().members[0].member_id

    (second,) = broker.parked_members(join(instance="i"))

    assert (first.join.error_code, first.join.member_id) == (Errors.FENCED_INSTANCE_ID, old)
    broker.elapse(2 * INITIAL_DELAY_MS)
    assert [each.member_id for each in second.join.members] == [second.join.member_id]


def test_a_restart_counts_as_having_rejoined(broker: Broker) -> None:
    ana, _ = broker.stable_group(join(), join(instance="i"))
    rejoining = broker.join(ana)

    back = broker.join(instance="i")

    assert (rejoining.join.generation_id, back.join.generation_id) == (2, 2)


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


def test_an_expired_static_member_is_forgotten_with_its_instance_id(broker: Broker) -> None:
    (ana,) = broker.stable_group(join(instance="i"))

    broker.elapse(SESSION_MS)

    assert broker.heartbeat(ana, instance="i").error is Errors.UNKNOWN_MEMBER_ID
    (call,) = broker.parked_members(join(instance="i"))
    assert call.is_parked


def test_a_known_static_member_rejoins_as_any_other(broker: Broker) -> None:
    ana, bob = broker.stable_group(join(instance="i"), join(instance="j"))

    assert broker.join(bob, instance="j").join.generation_id == 1
    assert broker.join(bob).join.generation_id == 1
    assert broker.describe().members[1].group_instance_id == "j"
    assert broker.join(ana, instance="i").is_parked


def test_a_bogus_id_is_fenced_or_unknown_by_its_instance_id(broker: Broker) -> None:
    broker.stable_group(join(instance="i"))

    assert broker.join("bogus", instance="i").error is Errors.FENCED_INSTANCE_ID
    assert broker.join("bogus", instance="other").error is Errors.UNKNOWN_MEMBER_ID
    assert broker.join("bogus", instance="i", names=("sticky",)).error is Errors.INCONSISTENT_GROUP_PROTOCOL


def test_a_dynamic_member_cannot_take_on_an_instance_id(broker: Broker) -> None:
    (ana,) = broker.stable_group(join())

    assert broker.join(ana, instance="i").error is Errors.UNKNOWN_MEMBER_ID


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


@pytest.mark.parametrize("version", [8, 9])
def test_a_restart_that_cannot_be_written_is_taken_back(broker: Broker, version: int) -> None:
    ana, _ = broker.stable_group(join(instance="i"), join())
    broker.append_error = Errors.MESSAGE_TOO_LARGE

    refused = broker.send(join(instance="i"), version=version).join

    assert (refused.error_code, refused.member_id) == (Errors.UNKNOWN_SERVER_ERROR, "")
    assert (refused.generation_id, refused.protocol_name, refused.leader) == (1, "range", ana)
    assert broker.heartbeat(ana, instance="i").error is Errors.NONE


def test_a_restart_is_answered_when_it_is_written(broker: Broker) -> None:
    broker.stable_group(join(instance="i"))
    broker.delays_appends = True

    call = broker.join(instance="i")

    assert call.is_parked
    broker.release()
    assert call.error is Errors.NONE


def test_a_rebalance_may_overtake_a_restart_that_is_being_written(broker: Broker) -> None:
    _, bob = broker.stable_group(join(), join(instance="i"))
    broker.delays_appends = True
    call = broker.join(instance="i")
    broker.leave(("", "i"))
    assert call.error is Errors.UNKNOWN_MEMBER_ID

    broker.release(Errors.MESSAGE_TOO_LARGE)

    assert broker.heartbeat(bob).error is Errors.UNKNOWN_MEMBER_ID
