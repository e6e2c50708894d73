"""Each invariant: what breaks it, who did, and what looks like it and breaks nothing."""

from dataclasses import replace

import pytest

from harness.invariants import AtFault, Invariant, check
from harness.tests.invariant_traces import GROUP, Trace, assignment, rebalanced


@pytest.fixture
def trace() -> Trace:
    return Trace()


def test_a_group_that_rebalances_well_breaks_nothing(trace: Trace) -> None:
    rebalanced(trace, 1, ana=assignment(0, 1), bob=assignment(2))
    rebalanced(trace, 2, ana=assignment(2), bob=assignment(0, 1))
    trace.commit(5)
    trace.commit(3)
    trace.fetch(3)

    assert trace.found() == []


def test_a_leader_that_assigns_a_partition_twice_is_found(trace: Trace) -> None:
    rebalanced(trace, 1, ana=assignment(0, 1), bob=assignment(1, 2))

    (violation,) = check(trace.events)
    assert (violation.invariant, violation.party) == (Invariant.ONE_OWNER, AtFault.CLIENTS)
    assert violation.detail == "in generation 1 the leader gave orders-1 to ana and bob"
    assert trace.events[violation.sequence].api == "SyncGroup"


def test_a_member_that_the_leader_forgets_is_found(trace: Trace) -> None:
    trace.join("ana", 1)
    trace.join("bob", 1)
    trace.sync("ana", 1, assignment(0), sends={"ana": assignment(0)})
    trace.sync("bob", 1, b"")

    assert trace.found() == [(Invariant.ALL_ASSIGNED, AtFault.CLIENTS)]


def test_a_committed_offset_that_goes_back_is_found(trace: Trace) -> None:
    trace.commit(3)
    trace.commit(5)
    trace.fetch(3)

    (violation,) = check(trace.events)
    assert (violation.invariant, violation.party) == (Invariant.COMMITS_STAY, AtFault.COORDINATOR)
    assert violation.detail == "orders-0 was committed at 5 and found at 3, where nobody put it"
    assert violation.group_id == GROUP


def test_an_offset_that_is_lost_is_found_unless_it_may_have_expired(trace: Trace) -> None:
    trace.commit(3)
    trace.fetch(-1)

    assert trace.found() == [(Invariant.COMMITS_STAY, AtFault.COORDINATOR)]
    assert check(trace.events, offsets_expire=True) == ()


def test_a_commit_that_was_refused_explains_nothing(trace: Trace) -> None:
    trace.commit(5)
    trace.commit(3, error="ILLEGAL_GENERATION")
    trace.fetch(3)

    assert trace.found() == [(Invariant.COMMITS_STAY, AtFault.COORDINATOR)]


@pytest.mark.parametrize("error", ["REQUEST_TIMED_OUT", "COORDINATOR_NOT_AVAILABLE"])
def test_a_commit_whose_end_is_not_known_may_or_may_not_be_there(trace: Trace, error: str) -> None:
    trace.commit(5)
    trace.commit(3, error=error)
    trace.fetch(5)
    trace.fetch(3)

    assert trace.found() == []


def test_of_commits_that_overlap_either_may_be_the_later(trace: Trace) -> None:
    one, other = trace.commit_asked(3), trace.commit_asked(5)
    trace.commit_answered(one)
    trace.commit_answered(other)
    trace.fetch(3)

    assert trace.found() == []


def test_a_fetch_that_overlaps_a_commit_may_see_what_was_before(trace: Trace) -> None:
    trace.commit(3)
    fetch = trace.fetch_asked()
    trace.commit(5)
    trace.fetch_answered(fetch, 3)
    trace.fetch(5)

    assert trace.found() == []


def test_what_a_transaction_commits_is_there_when_it_ends_and_no_sooner(trace: Trace) -> None:
    trace.commit(3)
    partitions = [{"partition_index": 0, "committed_offset": 1}]
    topics = [{"name": "orders", "partitions": partitions}]
    trace.exchange("ana", "TxnOffsetCommit", {"topics": topics}, {"topics": []})
    trace.fetch(3)
    trace.fetch(1)

    assert trace.found() == []


def test_offsets_of_a_deleted_group_are_gone(trace: Trace) -> None:
    trace.commit(5)
    results = [{"group_id": GROUP, "error_code": "NONE"}]
    trace.exchange("ana", "DeleteGroups", {"group_id": ""}, {"results": results})
    trace.fetch(-1)

    assert trace.found() == []


def test_groups_of_different_conversations_have_nothing_to_do_with_each_other(trace: Trace) -> None:
    trace.commit(5)
    trace.fetch(3)
    elsewhere = [replace(event, scenario_id="other") for event in trace.events[2:]]

    assert check([*trace.events[:2], *elsewhere]) == ()
    assert trace.found() == [(Invariant.COMMITS_STAY, AtFault.COORDINATOR)]
