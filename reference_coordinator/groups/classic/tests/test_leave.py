"""LeaveGroup: catalogue rows LV-*, CO-14, CO-21, CO-22."""

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.tests.kit import JAVA, SCALA, Broker
from reference_coordinator.tests.requests import join, leave

UNKNOWN = Errors.UNKNOWN_MEMBER_ID


def test_a_member_that_leaves_starts_a_rebalance(broker: Broker) -> None:
    ana, bob = broker.stable_group(join(), join())

    assert broker.leave(bob).leave_errors == [Errors.NONE]
    assert broker.heartbeat(ana).error is Errors.REBALANCE_IN_PROGRESS
    assert broker.heartbeat(bob).error is UNKNOWN


def test_the_last_member_that_leaves_empties_the_group_at_once(broker: Broker) -> None:
    (ana,) = broker.stable_group(join())

    assert broker.leave(ana).leave_errors == [Errors.NONE]
    assert broker.state() == "Empty"


def test_in_an_unknown_group_everybody_is_unknown(profile: str) -> None:
    answer = Broker(profile).send(leave("a", ("b", "i"))).leave

    assert answer.error_code is Errors.NONE
    assert [each.error_code for each in answer.members] == [UNKNOWN, UNKNOWN]
    assert answer.members[1].group_instance_id == "i"


def test_nobody_leaving_is_fine(broker: Broker) -> None:
    (ana,) = broker.stable_group(join())

    assert broker.leave().leave.members == ()
    assert broker.leave(group="other").leave.error_code is Errors.NONE
    assert broker.heartbeat(ana).error is Errors.NONE


def test_an_administrator_names_the_instance_id_alone(broker: Broker) -> None:
    broker.stable_group(join(instance="i"))

    answer = broker.leave(("", "i")).leave

    assert (answer.members[0].member_id, answer.members[0].error_code) == ("", Errors.NONE)
    assert broker.state() == "Empty"


def test_each_leaver_is_judged_by_itself(broker: Broker) -> None:
    ana, bob, eve = broker.stable_group(join(instance="i"), join(), join(instance="j"))
    pending = broker.join().join.member_id

    left = broker.leave("bogus", ("bogus", "i"), ("", "k"), ("bogus", "k"), "", pending, bob, bob, (eve, "j"))

    assert left.leave_errors == [
        UNKNOWN,
        Errors.FENCED_INSTANCE_ID,
        UNKNOWN,
        UNKNOWN,
        UNKNOWN,
        Errors.NONE,
        Errors.NONE,
        UNKNOWN,
        Errors.NONE,
    ]
    assert [each.member_id for each in broker.describe().members] == [ana]


def test_a_pending_member_may_name_an_instance_id(broker: Broker) -> None:
    broker.stable_group(join(instance="i"))
    pending = [broker.join().join.member_id for _ in range(2)]

    left = broker.leave((pending[0], "nosuch"), (pending[1], "i"))

    assert left.leave_errors == [Errors.NONE, Errors.NONE]
    assert left.leave.members[0].group_instance_id == "nosuch"
    assert broker.join(pending[0]).error is UNKNOWN


def test_until_3_0_a_pending_member_with_an_instance_id_breaks_the_batch() -> None:
    broker = Broker("2.8.2")
    ana, bob = broker.stable_group(join(instance="i"), join())
    pending = broker.join().join.member_id

    assert broker.leave((pending, "i")).leave_errors == [Errors.FENCED_INSTANCE_ID]
    broken = broker.leave(bob, (pending, "nosuch"), ana).leave

    assert (broken.error_code, broken.members) == (Errors.UNKNOWN_SERVER_ERROR, ())
    assert [each.member_id for each in broker.describe().members] == [ana]


def test_the_parked_join_of_who_leaves_is_answered(broker: Broker) -> None:
    ana, _ = broker.stable_group(join(), join())
    rejoining = broker.join(ana)

    broker.leave(ana)

    assert (rejoining.join.error_code, rejoining.join.member_id) == (UNKNOWN, "")


@pytest.mark.parametrize(("profile", "answered"), [(SCALA, True), (JAVA, False)])
def test_a_batch_rebalances_after_each_leaver_on_scala_only(broker: Broker, *, answered: bool) -> None:
    _, bob, eve = broker.joined_members(join(), join(), join())
    of_bob, of_eve = broker.sync(bob), broker.sync(eve)

    broker.leave(bob, eve)

    assert of_bob.is_parked
    assert of_eve.is_parked is not answered
    if answered:
        assert of_eve.error is Errors.REBALANCE_IN_PROGRESS


def test_leaving_ends_no_initial_delay(broker: Broker) -> None:
    first, second = broker.parked_members(join(), join())
    bob = broker.describe().members[1].member_id

    broker.leave(bob)

    assert second.error is UNKNOWN
    assert first.is_parked


def test_a_leaver_leaves_no_session_behind(broker: Broker) -> None:
    (ana,) = broker.stable_group(join())
    broker.leave(ana)
    generation_written = len(broker.log)

    broker.elapse(60_000)

    assert len(broker.log) == generation_written
