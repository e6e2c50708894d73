"""Each invariant of consumer groups: what breaks it, and what looks like it and breaks nothing."""

import pytest

from harness.invariants import AtFault, Invariant, Violation, check
from harness.scenario.ask import assignment_of
from harness.tests.invariant_traces import INTERVAL_MS, PATIENCE_MS, Trace

ALL, KEPT, FREED = {"orders": (0, 1, 2)}, {"orders": (0, 1)}, {"orders": (2,)}
TWICE = (Invariant.ONE_OWNER, AtFault.COORDINATOR)
FELL = (Invariant.EPOCHS_GROW, AtFault.COORDINATOR)


@pytest.fixture
def trace() -> Trace:
    return Trace()


def asked_to_give_up(trace: Trace) -> None:
    """Ana has everything and is to give up a partition, for which bob waits."""
    trace.beat("ana", 0, 1, ALL)
    trace.beat("bob", 0, 2, {})
    trace.beat("ana", 1, 1, KEPT)


def only(trace: Trace) -> Violation:
    (violation,) = check(trace.events)
    return violation


def test_partitions_that_are_given_up_first_break_nothing(trace: Trace) -> None:
    asked_to_give_up(trace)
    trace.beat("bob", 2, 2)
    trace.beat("ana", 1, 2, owned=KEPT)
    trace.beat("bob", 2, 2, FREED)
    trace.beat("bob", -1, -1)
    trace.beat("ana", 2, 3, ALL)
    trace.beat("cat", 0, 4, {})

    assert trace.found() == []


def test_a_partition_that_its_owner_has_yet_to_give_up_is_nobody_elses(trace: Trace) -> None:
    asked_to_give_up(trace)
    trace.beat("bob", 2, 2, FREED)

    violation = only(trace)
    assert (violation.invariant, violation.party) == TWICE
    assert violation.detail == "bob was given orders-2, which ana has not given up"
    assert violation.sequence == len(trace.events) - 1


def test_who_says_that_it_owns_a_partition_still_has_not_given_it_up(trace: Trace) -> None:
    asked_to_give_up(trace)
    trace.beat("ana", 1, 1, owned=ALL)
    trace.beat("bob", 2, 2, FREED)

    assert trace.found() == [TWICE]


def test_a_partition_that_a_member_was_never_asked_to_give_up_is_nobody_elses(trace: Trace) -> None:
    trace.beat("ana", 0, 1, ALL)
    trace.beat("bob", 0, 2, FREED)

    assert trace.found() == [TWICE]


def test_who_owns_less_for_now_than_it_was_given_may_still_take_it(trace: Trace) -> None:
    trace.beat("ana", 0, 1, ALL)
    trace.beat("ana", 1, 1, owned={})
    trace.beat("bob", 0, 2, FREED)

    assert trace.found() == [TWICE]


@pytest.mark.parametrize("error", ["FENCED_MEMBER_EPOCH", "UNKNOWN_MEMBER_ID"])
def test_whoever_is_fenced_has_given_up_everything(trace: Trace, error: str) -> None:
    trace.beat("ana", 0, 1, ALL)
    trace.beat("ana", 1, error=error)
    trace.beat("bob", 0, 2, ALL)

    assert trace.found() == []


def test_whoever_was_silent_may_have_been_removed(trace: Trace) -> None:
    trace.beat("ana", 0, 1, ALL)
    trace.passes(INTERVAL_MS)
    trace.beat("bob", 0, 2, ALL)

    assert trace.found() == []


def test_a_heartbeat_that_is_refused_keeps_nobody_in_the_group(trace: Trace) -> None:
    trace.beat("ana", 0, 1, ALL)
    trace.passes(INTERVAL_MS)
    trace.beat("ana", 1, error="NOT_COORDINATOR")
    trace.beat("bob", 0, 2, ALL)

    assert trace.found() == []


def test_whoever_is_too_slow_to_give_up_may_have_been_removed(trace: Trace) -> None:
    asked_to_give_up(trace)
    for _ in range(PATIENCE_MS // INTERVAL_MS):
        trace.passes(INTERVAL_MS - 2)
        trace.beat("ana", 1, 1, owned=ALL)
    trace.beat("bob", 2, 2, ALL)

    assert trace.found() == []


@pytest.mark.parametrize("epoch", [-1, -2])
def test_whoever_leaves_has_given_up_everything(trace: Trace, epoch: int) -> None:
    trace.beat("ana", 0, 1, ALL, instance="one")
    trace.beat("ana", epoch, epoch, instance="one")
    trace.beat("bob", 0, 1, ALL, instance="one")

    assert trace.found() == []


def test_a_successor_has_what_its_predecessor_had(trace: Trace) -> None:
    trace.beat("ana", 0, 1, ALL, instance="one")
    trace.beat("bob", 0, 1, ALL, instance="one")

    assert trace.found() == []


@pytest.mark.parametrize(
    ("api", "said"),
    [
        ("LeaveGroup", {"members": [{"member_id": "ana", "group_instance_id": None}]}),
        ("LeaveGroup", {"members": [{"member_id": "", "group_instance_id": "one"}]}),
        ("JoinGroup", {"member_id": "ana", "protocol_type": "consumer"}),
    ],
)
def test_whoever_is_removed_or_goes_over_to_the_classic_protocol_owns_nothing_more(
    trace: Trace, api: str, said: dict[str, object]
) -> None:
    trace.beat("ana", 0, 1, ALL, instance="one")
    trace.exchange("zoe", api, said, {"members": [], "generation_id": 2, "leader": ""})
    trace.beat("bob", 0, 2, ALL)

    assert trace.found() == []


def test_an_answer_that_was_overtaken_by_a_leave_gives_nothing(trace: Trace) -> None:
    joined = trace.heartbeat_asked("ana", 0)
    left = trace.heartbeat_asked("ana", -1)
    trace.beat("bob", 0, 2, ALL)
    trace.heartbeat_answered("ana", joined, 1, ALL)
    trace.heartbeat_answered("ana", left, -1)

    assert trace.found() == []


def test_a_member_epoch_that_falls_is_found(trace: Trace) -> None:
    trace.beat("ana", 0, 3, ALL)
    trace.beat("ana", 3, 2)

    assert only(trace).detail == "ana was answered epoch 2 after it had been in 3"
    assert trace.found() == [FELL]


def test_a_member_epoch_may_fall_where_it_joins_anew(trace: Trace) -> None:
    trace.beat("ana", 0, 3, ALL)
    trace.beat("ana", 0, 2, ALL)

    assert trace.found() == []


def test_an_answer_that_was_on_its_way_may_be_of_an_earlier_epoch(trace: Trace) -> None:
    trace.beat("ana", 0, 1, ALL)
    one, other = trace.heartbeat_asked("ana", 1), trace.heartbeat_asked("ana", 1)
    trace.heartbeat_answered("ana", other, 2)
    trace.heartbeat_answered("ana", one, 1)

    assert trace.found() == []


def test_classic_members_of_a_consumer_group_have_epochs_of_their_own(trace: Trace) -> None:
    trace.join("ana", 5, leader="")
    trace.join("bob", 3, leader="")
    trace.sync("bob", 3, b"what the coordinator assigned")

    assert trace.found() == []


def test_members_that_were_let_in_by_a_leader_are_no_matter_here(trace: Trace) -> None:
    trace.topics(orders="orders")
    trace.join("ana", 2)
    trace.sync("ana", 2, assignment_of(ALL), sends={"ana": b"all", "bob": b"nothing"})
    trace.beat("bob", 0, 3, ALL)

    assert TWICE not in trace.found()
