"""SyncGroup: catalogue rows SG-*, OR-01 to OR-03."""

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.tests.kit import JAVA, SCALA, Broker
from reference_coordinator.tests.requests import REBALANCE_MS, SESSION_MS, join


def test_the_assignment_of_a_past_generation_comes_too_late(broker: Broker) -> None:
    (ana,) = broker.joined_members(join())
    broker.delays_appends = True
    broker.sync(ana, assignments={ana: b"past"})
    assert broker.join(ana, metadata=b"x").join.generation_id == 2

    broker.release()

    assert broker.state() == "CompletingRebalance"
    assert broker.sync(ana, 2).sync.assignment == b""


@pytest.mark.parametrize(
    ("profile", "reported"),
    [(SCALA, Errors.REBALANCE_IN_PROGRESS), (JAVA, Errors.COORDINATOR_NOT_AVAILABLE)],
)
def test_a_write_that_timed_out_is_reported_by_family(broker: Broker, reported: Errors) -> None:
    (ana,) = broker.joined_members(join())
    broker.append_error = Errors.REQUEST_TIMED_OUT

    assert broker.sync(ana).error is reported


@pytest.mark.parametrize(
    ("profile", "reported"),
    [(SCALA, Errors.INCONSISTENT_GROUP_PROTOCOL), (JAVA, Errors.REBALANCE_IN_PROGRESS)],
)
def test_before_any_protocol_is_selected_only_java_minds_none(broker: Broker, reported: Errors) -> None:
    broker.parked_members(join())
    member_id = broker.describe().members[0].member_id

    assert broker.sync(member_id, 0, kind="consumer", name="range").error is reported
    assert broker.sync(member_id, 0).error is Errors.REBALANCE_IN_PROGRESS


@pytest.mark.parametrize(("profile", "lives"), [(SCALA, True), (JAVA, False)])
def test_syncing_alone_keeps_a_session_alive_on_scala_only(broker: Broker, *, lives: bool) -> None:
    (ana,) = broker.stable_group(join())
    answers = []
    for _ in range(3):
        broker.elapse(SESSION_MS // 2)
        answers.append(broker.sync(ana).error)

    assert answers[-1] is (Errors.NONE if lives else Errors.UNKNOWN_MEMBER_ID)


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
