"""SyncGroup: catalogue rows SG-*, OR-01 to OR-03."""

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.records import GroupMetadataRecord
from reference_coordinator.tests.kit import JAVA, SCALA, Broker
from reference_coordinator.tests.requests import REBALANCE_MS, SESSION_MS, join, sync


def test_followers_wait_for_the_leader(broker: Broker) -> None:
    ana, bob = broker.joined_members(join(), join())

    of_bob = broker.sync(bob)
    assert of_bob.is_parked
    of_ana = broker.sync(ana, assignments={ana: b"A", bob: b"B"})

    assert (of_ana.sync.assignment, of_bob.sync.assignment) == (b"A", b"B")
    assert (of_ana.sync.protocol_type, of_ana.sync.protocol_name) == ("consumer", "range")
    assert broker.state() == "Stable"


def test_in_stable_everybody_gets_its_assignment_at_once(broker: Broker) -> None:
    ana, bob = broker.stable_group(join(), join())

    assert broker.sync(bob).sync.assignment == bob.encode()
    assert broker.sync(ana, assignments={bob: b"other"}).sync.assignment == ana.encode()


def test_who_the_leader_leaves_out_gets_nothing(broker: Broker) -> None:
    ana, bob = broker.joined_members(join(), join())
    of_bob = broker.sync(bob, assignments={bob: b"its own idea"})

    of_ana = broker.sync(ana, assignments={ana: b"A"})

    assert (of_ana.sync.assignment, of_bob.sync.assignment) == (b"A", b"")
    assert of_bob.error is Errors.NONE


def test_the_group_is_stable_when_the_assignment_is_written(broker: Broker) -> None:
    (ana,) = broker.joined_members(join())
    broker.delays_appends = True

    call = broker.sync(ana)

    assert call.is_parked
    assert broker.state() == "CompletingRebalance"
    broker.release()
    assert call.error is Errors.NONE
    assert broker.state() == "Stable"


def test_a_rebalance_overtakes_an_assignment_that_is_being_written(broker: Broker) -> None:
    (ana,) = broker.joined_members(join())
    broker.delays_appends = True
    call = broker.sync(ana)
    broker.parked_members(join())
    assert call.error is Errors.REBALANCE_IN_PROGRESS

    broker.release()

    assert broker.state() == "PreparingRebalance"


def test_the_assignment_of_a_past_generation_comes_too_late(broker: Broker) -> None:
    (ana,) = broker.joined_members(join())
    broker.delays_appends = True
    broker.sync(ana, assignments={ana: b"past"})
    assert broker.join(ana, metadata=b"x").join.generation_id == 2

    broker.release()

    assert broker.state() == "CompletingRebalance"
    assert broker.sync(ana, 2).sync.assignment == b""


@pytest.mark.parametrize(
    ("failure", "reported"),
    [
        (Errors.NOT_ENOUGH_REPLICAS, Errors.COORDINATOR_NOT_AVAILABLE),
        (Errors.UNKNOWN_TOPIC_OR_PARTITION, Errors.COORDINATOR_NOT_AVAILABLE),
        (Errors.NOT_LEADER_OR_FOLLOWER, Errors.NOT_COORDINATOR),
        (Errors.KAFKA_STORAGE_ERROR, Errors.NOT_COORDINATOR),
        (Errors.MESSAGE_TOO_LARGE, Errors.UNKNOWN_SERVER_ERROR),
        (Errors.RECORD_LIST_TOO_LARGE, Errors.UNKNOWN_SERVER_ERROR),
    ],
)
def test_an_assignment_that_cannot_be_written_sends_everybody_back(
    broker: Broker, failure: Errors, reported: Errors
) -> None:
    ana, bob = broker.joined_members(join(), join())
    of_bob = broker.sync(bob)
    broker.append_error = failure

    of_ana = broker.sync(ana)

    assert (of_ana.error, of_bob.error) == (reported, reported)
    assert broker.state() == "PreparingRebalance"


@pytest.mark.parametrize(
    ("profile", "reported"),
    [(SCALA, Errors.REBALANCE_IN_PROGRESS), (JAVA, Errors.COORDINATOR_NOT_AVAILABLE)],
)
def test_a_write_that_timed_out_is_reported_by_family(broker: Broker, reported: Errors) -> None:
    (ana,) = broker.joined_members(join())
    broker.append_error = Errors.REQUEST_TIMED_OUT

    assert broker.sync(ana).error is reported


def test_checks_come_in_kafkas_order(broker: Broker) -> None:
    (ana,) = broker.joined_members(join(instance="i"))

    for request, error in [
        (sync("bogus", 7, instance="i", kind="connect"), Errors.FENCED_INSTANCE_ID),
        (sync("bogus", 7, kind="connect"), Errors.UNKNOWN_MEMBER_ID),
        (sync(ana, 7, kind="connect", name="sticky"), Errors.ILLEGAL_GENERATION),
        (sync(ana, 1, kind="connect", name="range"), Errors.INCONSISTENT_GROUP_PROTOCOL),
        (sync(ana, 1, kind="consumer", name="sticky"), Errors.INCONSISTENT_GROUP_PROTOCOL),
        (sync(ana, 1, kind="consumer", name="range"), Errors.NONE),
    ]:
        assert broker.send(request).error is error


def test_in_a_rebalance_a_valid_sync_gets_that_answer(broker: Broker) -> None:
    ana, bob = broker.stable_group(join(), join())
    broker.join(ana)

    assert broker.sync(bob).error is Errors.REBALANCE_IN_PROGRESS
    assert broker.sync(bob, name="sticky").error is Errors.INCONSISTENT_GROUP_PROTOCOL


def test_an_empty_group_knows_nobody(broker: Broker) -> None:
    broker.join()

    assert broker.sync("", 0).error is Errors.UNKNOWN_MEMBER_ID
    assert broker.heartbeat("bogus", 0).error is Errors.UNKNOWN_MEMBER_ID
    assert broker.sync("bogus", group="other").error is Errors.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("profile", "reported"),
    [(SCALA, Errors.INCONSISTENT_GROUP_PROTOCOL), (JAVA, Errors.REBALANCE_IN_PROGRESS)],
)
def test_before_any_protocol_is_selected_only_java_minds_none(broker: Broker, reported: Errors) -> None:
    broker.parked_members(join())
    member_id = broker.describe().members[0].member_id

    assert broker.sync(member_id, 0, kind="consumer", name="range").error is reported
    assert broker.sync(member_id, 0).error is Errors.REBALANCE_IN_PROGRESS


def test_an_instance_id_without_a_member_id_is_fenced(broker: Broker) -> None:
    broker.stable_group(join(instance="i"))

    assert broker.sync("", instance="i").error is Errors.FENCED_INSTANCE_ID


@pytest.mark.parametrize(("profile", "lives"), [(SCALA, True), (JAVA, False)])
def test_syncing_alone_keeps_a_session_alive_on_scala_only(broker: Broker, *, lives: bool) -> None:
    (ana,) = broker.stable_group(join())
    answers = []
    for _ in range(3):
        broker.elapse(SESSION_MS // 2)
        answers.append(broker.sync(ana).error)

    assert answers[-1] is (Errors.NONE if lives else Errors.UNKNOWN_MEMBER_ID)


def test_a_follower_that_waits_does_not_expire(broker: Broker) -> None:
    ana, bob = broker.joined_members(join(session_ms=60_000), join(session_ms=6_000))
    of_bob = broker.sync(bob)

    broker.elapse(6_000)
    broker.sync(ana)

    assert of_bob.error is Errors.NONE
    broker.elapse(5_999)
    assert broker.heartbeat(bob).error is Errors.NONE


@pytest.mark.parametrize(
    ("profile", "expires"),
    [("2.8.0", False), ("2.8.1", True), ("3.0", True), (SCALA, True), (JAVA, True)],
)
def test_who_does_not_sync_in_time_is_dropped_from_2_8_1(broker: Broker, *, expires: bool) -> None:
    ana, bob = broker.joined_members(join(session_ms=60_000), join(session_ms=60_000))
    broker.sync(ana)

    broker.elapse(REBALANCE_MS)

    expected = Errors.UNKNOWN_MEMBER_ID if expires else Errors.NONE
    assert broker.heartbeat(bob).error is expected
    expected = Errors.REBALANCE_IN_PROGRESS if expires else Errors.NONE
    assert broker.heartbeat(ana).error is expected


def test_a_leader_that_does_not_sync_in_time_sends_the_followers_back(broker: Broker) -> None:
    ana, bob = broker.joined_members(join(session_ms=60_000), join())
    of_bob = broker.sync(bob)

    broker.elapse(REBALANCE_MS)

    assert of_bob.error is Errors.REBALANCE_IN_PROGRESS
    assert broker.heartbeat(ana).error is Errors.UNKNOWN_MEMBER_ID


def test_if_nobody_syncs_in_time_the_group_is_empty(broker: Broker) -> None:
    broker.joined_members(join(session_ms=60_000), join(session_ms=60_000))

    broker.elapse(REBALANCE_MS)

    assert broker.state() == "Empty"
    last = broker.log[-1]
    assert isinstance(last, GroupMetadataRecord)
    assert last.group_id == "g"


@pytest.mark.parametrize(
    ("profile", "hangs"), [("2.4.1", True), ("2.5", False), (SCALA, False), (JAVA, False)]
)
def test_a_leader_that_never_heartbeats_is_timed_from_its_join_from_2_5(
    broker: Broker, *, hangs: bool
) -> None:
    _, bob = broker.joined_members(join(), join())
    of_bob = broker.sync(bob)

    broker.elapse(SESSION_MS)

    assert of_bob.is_parked is hangs
    if not hangs:
        assert of_bob.error is Errors.REBALANCE_IN_PROGRESS


def test_of_two_joins_of_one_member_the_first_is_never_answered(broker: Broker) -> None:
    ana, bob = broker.stable_group(join(), join())
    first, second = broker.join(ana), broker.join(ana)

    broker.join(bob)

    assert first.is_parked
    assert second.join.generation_id == 2
    broker.elapse(600_000)
    assert first.is_parked


def test_of_two_syncs_of_one_member_the_first_is_never_answered(broker: Broker) -> None:
    ana, bob = broker.joined_members(join(), join())
    first, second = broker.sync(bob), broker.sync(bob)

    broker.sync(ana)

    assert first.is_parked
    assert second.error is Errors.NONE


def test_the_sync_of_a_member_that_leaves_is_never_answered(broker: Broker) -> None:
    _, bob = broker.joined_members(join(), join())
    call = broker.sync(bob)

    broker.leave(bob)
    broker.elapse(600_000)

    assert call.is_parked
