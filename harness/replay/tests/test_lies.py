"""Recordings of the reference agree with the reference, and each lie that is planted in one is found."""

from dataclasses import replace

import pytest

from harness.replay import Replayed
from harness.tests.replayed import (
    Json,
    Recording,
    beat,
    commit,
    enters,
    fetch,
    join,
    says,
    says_of_partition,
    sync,
    two_members,
)
from harness.trace.events import Event, EventKind

PROFILES = ("2.4", "3.9", "4.4")


@pytest.fixture(scope="module", params=PROFILES)
def conversation(request: pytest.FixtureRequest) -> Recording:
    return two_members(str(request.param))


def forget_a_member(fields: Json) -> None:
    members = fields["members"]
    assert isinstance(members, list)
    members.pop()


LIES = {
    "a heartbeat's error": ("Heartbeat", 0, says(error_code="NONE")),
    "the last heartbeat's error": ("Heartbeat", -1, says(error_code="UNKNOWN_MEMBER_ID")),
    "a generation": ("JoinGroup", 5, says(generation_id=4)),
    "a leader": ("JoinGroup", 4, says(leader="nobody")),
    "a member": ("JoinGroup", -1, says(error_code="UNKNOWN_MEMBER_ID")),
    "an assignment": ("SyncGroup", 1, says(assignment={"$bytes": "ff"})),
    "a sync's error": ("SyncGroup", 2, says(error_code="REBALANCE_IN_PROGRESS")),
    "a commit's error": ("OffsetCommit", 0, says_of_partition(error_code="ILLEGAL_GENERATION")),
    "no offset before a commit": ("OffsetFetch", 0, says_of_partition(committed_offset=41)),
    "a committed offset": ("OffsetFetch", 1, says_of_partition(committed_offset=41)),
    "an offset that is lost": ("OffsetFetch", -1, says_of_partition(committed_offset=-1)),
}


def test_what_the_reference_said_it_says_again(conversation: Recording) -> None:
    conversation.is_whole(conversation.replayed())


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_found_where_it_stands_and_nowhere_else(conversation: Recording, lie: str) -> None:
    api, nth, change = LIES[lie]

    conversation.finds_only(conversation.position(api, nth), change)


def test_each_of_many_lies_counts() -> None:
    conversation, lie = two_members(), says_of_partition(committed_offset=41)
    for _ in range(30):
        fetch(conversation, "ana")
        fetch(conversation, "ana")
        fetch(conversation, "ana")
        conversation.events[:] = conversation.with_lie(conversation.position("OffsetFetch", -1), lie)

    assert len(conversation.replayed().findings) == 30


def test_where_most_answers_deviate_nothing_is_compared_until_the_next_rebalance() -> None:
    conversation, lie = two_members(), says_of_partition(committed_offset=41)
    for _ in range(30):
        fetch(conversation, "ana")
        conversation.events[:] = conversation.with_lie(conversation.position("OffsetFetch", -1), lie)
    carol = enters(conversation, "carol")
    ana = str(conversation.last("JoinGroup", "ana")["member_id"])
    beat(conversation, "ana", ana, 3)
    conversation.sends("ana", "JoinGroup", 5, join(ana))
    sync(conversation, "ana", ana, 4, {ana: b"first", carol: b"second"})
    commit(conversation, "ana", ana, 4, 43)
    fetch(conversation, "ana")
    later = conversation.position("OffsetFetch", -1)

    replayed = conversation.replayed(conversation.with_lie(later, lie))
    assert len(replayed.findings) == 11
    assert replayed.findings[-1].position == later
    assert replayed.not_compared["after the group and the reference had gone different ways"] >= 20


def test_a_finding_says_what_was_said_and_what_the_reference_says(conversation: Recording) -> None:
    position = conversation.position("OffsetFetch", -1)
    lie = conversation.with_lie(position, says_of_partition(committed_offset=41))

    (found,) = conversation.replayed(lie).findings

    assert found.field == "topics[0].partitions[0].committed_offset"
    assert (found.api, found.expected, found.actual) == ("OffsetFetch", "42", "41")
    assert "Stable in generation 3" in found.state
    assert "41, where the reference says 42" in found.says


def test_a_member_that_a_leader_was_not_given_is_found(conversation: Recording) -> None:
    position = next(
        each.sequence
        for each in conversation.events
        if each.api == "JoinGroup" and (each.fields or "").count('"metadata"') > 1 and each.kind == "response"
    )

    conversation.finds_only(position, forget_a_member)


def test_an_answer_that_comes_though_the_group_waits_is_found() -> None:
    conversation = two_members()
    position = conversation.position("JoinGroup", -1, "bob")
    answer = conversation.events[position]
    asked = next(each for each in conversation.events if _asks_for(each, answer))
    early = replace(answer, at_ms=asked.at_ms + 0.5)

    found = conversation.replayed(
        [early if each is answer else each for each in conversation.events]
    ).findings

    assert [(each.position, each.expected) for each in found] == [(position, "no answer yet")]


def test_a_session_that_ends_too_late_is_found() -> None:
    conversation = two_members()
    beats = [each for each in conversation.events if each.api == "Heartbeat" and each.kind == "response"]
    reported = next(each for each in beats[1:] if "REBALANCE_IN_PROGRESS" in (each.fields or ""))

    conversation.finds_only(reported.sequence, says(error_code="NONE"))


def _asks_for(event: Event, answer: Event) -> bool:
    return event.kind == EventKind.REQUEST and event.correlation_id == answer.correlation_id


def test_nothing_compared_is_no_agreement() -> None:
    assert Replayed(conversation="tap", compared=0).reported == "0 answers compared"
