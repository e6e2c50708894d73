"""Who is let in, and with what answer: catalogue rows CO-*, JG-01 to JG-29, MX-*."""

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.tests.calls import Call
from reference_coordinator.tests.kit import JAVA, SCALA, Broker
from reference_coordinator.tests.requests import REBALANCE_MS, SESSION_MS, join, leave


def test_kafka_2_4_never_answers_a_join_v6_that_broke() -> None:
    broker = Broker("2.4.1")
    pending = broker.join().join.member_id

    assert broker.send(join(pending, instance="i"), version=6).is_parked
    assert broker.send(join(pending, instance="i"), version=5).error is Errors.UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize(
    ("profile", "expires"), [("2.4.1", False), ("2.8.2", True), (SCALA, True), (JAVA, True)]
)
def test_a_heartbeat_shortens_how_long_a_new_member_is_parked(broker: Broker, *, expires: bool) -> None:
    (ana,) = broker.stable_group(join(session_ms=300_000, rebalance_ms=300_000))
    newcomer = broker.send(join(), version=3)
    newcomer_id = broker.describe().members[-1].member_id
    assert newcomer_id != ana

    assert broker.heartbeat(newcomer_id).error is Errors.REBALANCE_IN_PROGRESS
    broker.elapse(SESSION_MS)

    assert newcomer.is_parked is not expires
    if expires:
        assert newcomer.error is Errors.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(("profile", "prefix"), [("2.4.1", "null"), ("3.0", "null"), (SCALA, ""), (JAVA, "")])
def test_a_null_client_id_makes_a_member_id_of_its_own_kind(broker: Broker, prefix: str) -> None:
    member_id = broker.send(join(), client_id=None).join.member_id

    assert member_id[: -len("01234567-89ab-cdef-0123-456789abcdef")] == f"{prefix}-"


def test_a_stable_group_takes_no_more_than_its_maximum(profile: str) -> None:
    broker = Broker(profile, {"group.max.size": "2"})
    ana, _ = broker.stable_group(join(), join())

    for version in (3, 9):
        refused = broker.send(join(), version=version).join
        assert (refused.error_code, refused.member_id) == (Errors.GROUP_MAX_SIZE_REACHED, "")
    assert broker.heartbeat(ana).error is Errors.NONE


def test_the_maximum_is_judged_before_protocols_and_fencing(profile: str) -> None:
    broker = Broker(profile, {"group.max.size": "1"})
    broker.stable_group(join(instance="i"))

    refused = broker.join("bogus", instance="i", names=("sticky",))

    assert refused.error is Errors.GROUP_MAX_SIZE_REACHED


@pytest.mark.parametrize(("profile", "admitted"), [("2.5.1", 4), ("2.6", 2), (SCALA, 2), (JAVA, 2)])
def test_pending_members_count_towards_the_maximum_from_2_6(profile: str, admitted: int) -> None:
    broker = Broker(profile, {"group.max.size": "2"})
    pending = [broker.join().join.member_id for _ in range(4)]

    calls = [broker.join(each) for each in pending]

    assert sum(call.is_parked for call in calls) == admitted
    refused = [call.join for call in calls if not call.is_parked]
    assert all(each.error_code is Errors.GROUP_MAX_SIZE_REACHED for each in refused)
    assert all(each.member_id == "" for each in refused)


def test_in_a_rebalance_the_maximum_counts_who_has_joined(profile: str) -> None:
    broker = Broker(profile, {"group.max.size": "2"})
    ana, bob = broker.stable_group(join(), join())
    rejoined = broker.join(ana)
    newcomer = broker.send(join(), version=3)

    late = broker.join(bob)

    assert newcomer.is_parked is (profile == JAVA)
    assert rejoined.is_parked is (profile == JAVA)
    assert (late.join.error_code, late.join.member_id) == (Errors.GROUP_MAX_SIZE_REACHED, "")
    broker.elapse(REBALANCE_MS)
    assert (rejoined.join.generation_id, newcomer.join.generation_id) == (2, 2)


@pytest.mark.parametrize(
    ("profile", "keeps"), [("2.4.1", False), ("2.7", False), ("2.8.2", True), (SCALA, True)]
)
def test_a_refusal_for_size_keeps_the_instance_id_mapped_from_2_8(profile: str, *, keeps: bool) -> None:
    broker = Broker(profile, {"group.max.size": "1"})
    broker.stable_group(join(instance="i"))
    assert broker.send(join(instance="i"), version=5).error is Errors.GROUP_MAX_SIZE_REACHED

    left = broker.send(leave(("", "i")), version=4)

    assert left.leave_errors == [Errors.NONE if keeps else Errors.UNKNOWN_MEMBER_ID]


def blocked_by_a_pending_member(profile: str) -> tuple[Broker, list[Call]]:
    broker = Broker(profile, {"group.max.size": "2"})
    members = broker.stable_group(join(), join())
    broker.leave(members[1])
    pending = broker.join().join.member_id
    ana = broker.join(members[0])
    other = broker.send(join(), version=3)
    assert ana.is_parked
    assert other.is_parked
    assert broker.join(pending).error is Errors.GROUP_MAX_SIZE_REACHED
    return broker, [ana, other]


@pytest.mark.parametrize(("profile", "answered"), [("2.8.2", False), (SCALA, True), (JAVA, False)])
def test_a_pending_member_refused_for_size_may_unblock_the_others(profile: str, *, answered: bool) -> None:
    broker, calls = blocked_by_a_pending_member(profile)

    assert all(call.is_parked is not answered for call in calls)
    broker.elapse(REBALANCE_MS)
    assert not any(call.is_parked for call in calls)


def test_who_awaits_already_may_join_again_in_a_full_group(profile: str) -> None:
    broker = Broker(profile, {"group.max.size": "2"})
    broker.parked_members(join(), join())
    member_id = broker.describe().members[0].member_id

    assert broker.join(member_id).is_parked
