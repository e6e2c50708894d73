"""Members that join again, heartbeat and leave: catalogue rows JG-30 to JG-48, HB-*, LV-*, CO-14 to CO-22."""

from dataclasses import replace

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.messages import JoinGroupRequestProtocol
from reference_coordinator.tests.kit import JAVA, SCALA, Broker
from reference_coordinator.tests.requests import SESSION_MS, join, leave


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
