"""Writes that fail, where a family answers for itself: catalogue rows FI-03 to FI-06."""

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.messages import JoinGroupRequest, OffsetCommitRequest
from reference_coordinator.tests.kit import INITIAL_DELAY_MS, JAVA, SCALA, Broker
from reference_coordinator.tests.requests import REBALANCE_MS, commit, join


def failing(profile: str) -> Broker:
    broker = Broker(profile)
    broker.append_error = Errors.MESSAGE_TOO_LARGE
    return broker


@pytest.mark.parametrize(("profile", "works"), [(SCALA, True), (JAVA, False)])
def test_an_id_of_a_group_that_could_not_be_written_works_on_scala_only(profile: str, *, works: bool) -> None:
    broker = failing(profile)
    first = broker.join().join
    assert first.error_code is Errors.MEMBER_ID_REQUIRED
    assert broker.state() == ("Empty" if works else "Dead")

    broker.append_error = Errors.NONE
    second = broker.join(first.member_id)

    assert second.is_parked is works
    if not works:
        assert second.error is Errors.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("instance", [None, "i"])
def test_on_java_a_first_member_is_reported_that_its_group_could_not_be_written(
    instance: str | None,
) -> None:
    broker = failing(JAVA)

    (call,) = broker.parked_members(join(instance=instance))

    assert (call.join.error_code, call.join.member_id) == (Errors.UNKNOWN_SERVER_ERROR, "")
    assert broker.state() == "Dead"
    broker.elapse(60_000)


def test_on_scala_a_first_join_writes_nothing() -> None:
    broker = failing(SCALA)

    (call,) = broker.parked_members(join())
    broker.elapse(3_000)

    assert call.join.generation_id == 1


def test_a_group_empties_even_if_that_cannot_be_written(broker: Broker, profile: str) -> None:
    (ana,) = broker.stable_group(join())
    broker.append_error = Errors.MESSAGE_TOO_LARGE

    answer = broker.leave(ana).leave

    if profile == SCALA:
        assert [each.error_code for each in answer.members] == [Errors.NONE]
    else:
        assert (answer.error_code, answer.members) == (Errors.UNKNOWN_SERVER_ERROR, ())
    assert broker.state() == "Empty"
    assert broker.heartbeat(ana).error is Errors.UNKNOWN_MEMBER_ID
    broker.append_error = Errors.NONE
    (call,) = broker.parked_members(join())
    broker.elapse(3_000)
    assert call.join.generation_id == 3


@pytest.mark.parametrize(("profile", "waits"), [(SCALA, False), (JAVA, True)])
def test_the_leaver_that_empties_a_group_waits_for_the_write_on_java(broker: Broker, *, waits: bool) -> None:
    ana, bob = broker.stable_group(join(), join())
    assert broker.leave(bob).leave_errors == [Errors.NONE]
    broker.delays_appends = True

    call = broker.leave(ana)

    assert call.is_parked is waits
    broker.release()
    assert call.leave_errors == [Errors.NONE]


def test_who_joined_meanwhile_goes_down_with_the_group_on_java() -> None:
    broker = Broker(JAVA)
    broker.delays_appends = True
    first, second = broker.parked_members(join(), join())

    broker.release(Errors.NOT_ENOUGH_REPLICAS)

    assert first.error is Errors.COORDINATOR_NOT_AVAILABLE
    assert second.is_parked
    assert broker.state() == "Dead"


def unwritten_group(broker: Broker, *, is_complete: bool) -> None:
    """Let a group be made and fail, in its initial delay or while members are missing."""
    broker.delays_appends = True
    (_,) = broker.parked_members(join())
    if is_complete:
        broker.elapse(INITIAL_DELAY_MS)
        broker.parked_members(join())
    broker.release(Errors.NOT_ENOUGH_REPLICAS)
    assert broker.state() == "Dead"


@pytest.mark.parametrize("is_complete", [False, True])
@pytest.mark.parametrize("request_", [join(), commit({0: 1})], ids=["join", "commit"])
def test_on_java_a_deadline_of_an_unwritten_group_counts_up_the_next_of_its_id(
    request_: JoinGroupRequest | OffsetCommitRequest, *, is_complete: bool
) -> None:
    """The timer knows a group by its id: the next one is Empty and cannot become so, but has counted."""
    broker = Broker(JAVA)
    unwritten_group(broker, is_complete=is_complete)
    broker.send(request_)
    assert broker.state() == "Empty"

    broker.elapse(REBALANCE_MS)

    assert broker.state() == "Empty"
    (call,) = broker.parked_members(join())
    broker.elapse(INITIAL_DELAY_MS)
    assert call.join.generation_id == 2


def test_on_java_the_next_group_of_an_id_sets_the_deadline_anew() -> None:
    broker = Broker(JAVA)
    unwritten_group(broker, is_complete=False)
    broker.elapse(INITIAL_DELAY_MS - 1)
    (call,) = broker.parked_members(join())

    broker.elapse(INITIAL_DELAY_MS - 1)
    assert call.is_parked

    broker.elapse(1)
    assert call.join.generation_id == 1
