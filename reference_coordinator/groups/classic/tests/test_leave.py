"""LeaveGroup: catalogue rows LV-*, CO-14, CO-21, CO-22."""

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.tests.kit import JAVA, SCALA, Broker
from reference_coordinator.tests.requests import join, leave

UNKNOWN = Errors.UNKNOWN_MEMBER_ID


def test_in_an_unknown_group_everybody_is_unknown(profile: str) -> None:
    answer = Broker(profile).send(leave("a", ("b", "i"))).leave

    assert answer.error_code is Errors.NONE
    assert [each.error_code for each in answer.members] == [UNKNOWN, UNKNOWN]
    assert answer.members[1].group_instance_id == "i"


def test_until_3_0_a_pending_member_with_an_instance_id_breaks_the_batch() -> None:
    broker = Broker("2.8.2")
    ana, bob = broker.stable_group(join(instance="i"), join())
    pending = broker.join().join.member_id

    assert broker.leave((pending, "i")).leave_errors == [Errors.FENCED_INSTANCE_ID]
    broken = broker.leave(bob, (pending, "nosuch"), ana).leave

    assert (broken.error_code, broken.members) == (Errors.UNKNOWN_SERVER_ERROR, ())
    assert [each.member_id for each in broker.describe().members] == [ana]


@pytest.mark.parametrize(("profile", "answered"), [(SCALA, True), (JAVA, False)])
def test_a_batch_rebalances_after_each_leaver_on_scala_only(broker: Broker, *, answered: bool) -> None:
    _, bob, eve = broker.joined_members(join(), join(), join())
    of_bob, of_eve = broker.sync(bob), broker.sync(eve)

    broker.leave(bob, eve)

    assert of_bob.is_parked
    assert of_eve.is_parked is not answered
    if answered:
        assert of_eve.error is Errors.REBALANCE_IN_PROGRESS
