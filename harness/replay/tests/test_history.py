"""What a replay makes of recordings that begin late, overlap, end early, or lose their coordinator."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from harness.cli.judge import exit_code
from harness.replay import Replayed
from harness.results.status import ExitCode
from harness.tests.replayed import (
    GROUP,
    TOPIC,
    Fields,
    Recording,
    beat,
    commit,
    enters,
    fetch,
    join,
    one_member,
    says,
    says_of_partition,
    two_members,
)
from harness.trace.events import Event, EventKind


def from_position(conversation: Recording, position: int) -> list[Event]:
    """Return what a tap has that begins at some event: no answer whose request it did not hear."""
    kept = conversation.events[position:]
    asked = {(each.connection, each.correlation_id) for each in kept if each.kind == EventKind.REQUEST}
    return [each for each in kept if (each.connection, each.correlation_id) in asked]


def test_a_tap_that_begins_late_compares_from_when_the_group_is_known() -> None:
    conversation = two_members()
    late = from_position(conversation, conversation.position("JoinGroup", 3) + 1)

    replayed = conversation.replayed(late, is_whole=False)

    assert replayed.findings == ()
    assert replayed.compared > 0
    assert replayed.not_compared["before the group was known"] > 0


def test_whenever_a_tap_begins_no_answer_is_called_wrong_for_it() -> None:
    conversation = two_members()

    for begin in range(len(conversation.events)):
        replayed = conversation.replayed(from_position(conversation, begin), is_whole=False)

        assert replayed.findings == (), begin


def test_a_lie_after_the_group_is_known_is_found_though_the_tap_began_late() -> None:
    conversation = two_members()
    position = conversation.position("Heartbeat", -1)
    reported = conversation.with_lie(position, says(error_code="UNKNOWN_MEMBER_ID"))
    begun = conversation.position("JoinGroup", 3) + 1

    late = [each for each in from_position(conversation, begun) if each.sequence != position]
    found = conversation.replayed(
        sorted([*late, reported[position]], key=lambda each: each.sequence), is_whole=False
    )

    assert [each.position for each in found.findings] == [position]


def test_a_group_that_never_becomes_known_compares_nothing_and_ends_as_such() -> None:
    conversation = two_members()
    beats = [each for each in conversation.events if each.api == "Heartbeat"]

    replayed = conversation.replayed(beats, is_whole=False)

    assert (replayed.compared, replayed.findings) == (0, ())
    assert replayed.not_compared["before the group was known"] == len(beats) // 2
    assert exit_code([replayed]) is ExitCode.NOTHING_RAN


def test_a_first_generation_tells_that_a_group_was_not_there_before() -> None:
    conversation = two_members()

    conversation.is_whole(conversation.replayed(is_whole=False))


def test_a_member_beyond_the_tap_leaves_its_group_out() -> None:
    conversation = two_members()
    without_bob = [each for each in conversation.events if each.actor != "bob"]

    replayed = conversation.replayed(without_bob, is_whole=False)

    assert replayed.compared == 0
    assert any("was not recorded" in why for why in replayed.not_compared)


@pytest.mark.parametrize("profile", ["3.9", "4.4"])
def test_a_new_coordinator_goes_on_with_what_the_old_one_wrote(profile: str) -> None:
    conversation = restarted(profile)

    conversation.is_whole(conversation.replayed())


@pytest.mark.parametrize("profile", ["3.9", "4.4"])
def test_a_commit_that_a_new_coordinator_has_lost_is_found(profile: str) -> None:
    conversation = restarted(profile)

    conversation.finds_only(conversation.position("OffsetFetch", -1), says_of_partition(committed_offset=-1))


def test_a_heartbeat_that_a_loading_coordinator_answered_unseen_is_not_called_wrong() -> None:
    conversation, ana = one_member()
    conversation.restarts()
    beat(conversation, "ana", ana, 7)
    unseen = conversation.position("Heartbeat", -1)
    fetch(conversation, "ana")
    beat(conversation, "ana", ana, 7)
    seen = conversation.position("Heartbeat", -1)

    replayed = conversation.replayed(conversation.with_lie(unseen, says(error_code="NONE")))
    assert replayed.findings == ()
    assert replayed.not_compared == {"while the coordinator may have been loading": 1}
    conversation.finds_only(seen, says(error_code="NONE"))


def restarted(profile: str) -> Recording:
    """Return a group whose only member commits, and goes on after its coordinator's restart."""
    conversation, ana = one_member(profile)
    commit(conversation, "ana", ana, 1, 42)
    conversation.restarts()
    beat(conversation, "ana", ana, 1)
    fetch(conversation, "ana")
    commit(conversation, "ana", ana, 1, 43)
    fetch(conversation, "ana")
    return conversation


def test_an_answer_that_never_came_leaves_its_request_either_way() -> None:
    conversation, ana = one_member()
    conversation.sends("bob", "JoinGroup", 3, join())
    conversation.passes(1_000)
    beat(conversation, "ana", ana, 1)
    conversation.passes(7_000)
    conversation.sends("ana", "JoinGroup", 5, join(ana))

    unanswered = [
        each for each in conversation.events if each.actor != "bob" or each.kind == EventKind.REQUEST
    ]
    assert conversation.replayed(unanswered).findings == ()

    never_heard = [each for each in conversation.events if each.actor != "bob"]
    found = conversation.replayed(never_heard).findings
    assert found
    assert found[0].api == "Heartbeat"


def test_requests_that_overlap_may_have_come_in_any_order_and_others_may_not() -> None:
    conversation, ana = one_member()
    commit(conversation, "ana", ana, 1, 1)
    commit(conversation, "eve", ana, 1, 2)
    fetch(conversation, "ana")

    swapped = list(swapped_commits(conversation.events, overlap=True))
    assert conversation.replayed(swapped).findings == ()

    apart = list(swapped_commits(conversation.events, overlap=False))
    (found,) = conversation.replayed(apart).findings
    assert (found.api, found.expected, found.actual) == ("OffsetFetch", "1", "2")


def swapped_commits(events: list[Event], *, overlap: bool) -> Iterator[Event]:
    """Let eve's commit, which was the last, be sent before ana's, and be answered after it or before."""
    first = next(each for each in events if each.api == "OffsetCommit" and each.actor == "ana")
    for each in events:
        if each.api != "OffsetCommit" or each.actor != "eve":
            yield each
        elif each.kind == EventKind.REQUEST:
            yield replace(each, at_ms=first.at_ms - 0.2)
        else:
            yield each if overlap else replace(each, at_ms=first.at_ms - 0.1)


def test_a_request_is_looked_at_as_soon_as_the_one_before_it_whenever_that_answer_was_read() -> None:
    conversation, ana = one_member()
    enters(conversation, "bob")
    beat(conversation, "ana", ana, 1)
    conversation.sends("ana", "JoinGroup", 5, join(ana))

    assert conversation.replayed(read_late(conversation)).findings == ()


def read_late(conversation: Recording) -> list[Event]:
    """Let ana's last two requests be sent at once, and the first one's answer be read after bob's join's."""
    begin = conversation.position("Heartbeat", -1) - 1
    asked, beaten, joins, *joined = conversation.events[begin:]
    now_ms = asked.at_ms
    assert [each.actor for each in (joins, *joined)].count("bob") == 1
    read_ms = {"bob": now_ms + 0.5, "ana": now_ms + 0.53}
    late = [
        replace(beaten, at_ms=now_ms + 0.52),
        replace(joins, at_ms=now_ms),
        *(replace(each, at_ms=read_ms[str(each.actor)]) for each in joined),
    ]
    return sorted([*conversation.events[: begin + 1], *late], key=lambda each: each.at_ms)


def test_a_request_behind_a_parked_one_is_not_looked_at_before_that_is_answered() -> None:
    conversation, ana = one_member()
    commit(conversation, "ana", ana, 1, 41)
    enters(conversation, "bob")
    fetch(conversation, "bob")
    conversation.passes(1_000)
    commit(conversation, "ana", ana, 1, 42)
    conversation.sends("ana", "JoinGroup", 5, join(ana))

    assert conversation.replayed().findings == ()

    too_early = conversation.with_lie(
        conversation.position("OffsetFetch"), says_of_partition(committed_offset=41)
    )
    found = conversation.replayed(too_early).findings
    assert [(each.expected, each.actual) for each in found] == [("42", "41")]


@pytest.mark.parametrize("left_out", ["", "Metadata"])
def test_offsets_that_are_committed_by_topic_id_are_known_by_name_too(left_out: str) -> None:
    conversation, ana = one_member("4.4")
    orders = id_of(conversation, TOPIC)
    partition: Fields = {"partition_index": 0, "committed_offset": 42}
    named: Fields = {"group_id": GROUP, "generation_id_or_member_epoch": 1, "member_id": ana}
    committed: tuple[Fields, ...] = ({"topic_id": orders, "partitions": (partition,)},)
    conversation.sends("ana", "OffsetCommit", 10, {**named, "topics": committed})
    fetch_by_id(conversation, orders)
    if not left_out:
        fetch(conversation, "ana")
    conversation.restarts()
    fetch_by_id(conversation, orders)
    reported = [each for each in conversation.events if each.api != left_out]

    assert conversation.replayed(reported).findings == ()
    late = [each for each in reported if each.sequence > conversation.position("OffsetCommit")]
    assert conversation.replayed(late, is_whole=False).findings == ()


def id_of(conversation: Recording, name: str) -> str:
    conversation.sends("ana", "Metadata", 12, {"topics": ({"name": name},)})
    topics = conversation.last("Metadata")["topics"]
    assert isinstance(topics, list)
    return str(topics[0]["topic_id"])


def fetch_by_id(conversation: Recording, topic_id: str) -> None:
    asked: Fields = {"topic_id": topic_id, "partition_indexes": (0,)}
    conversation.sends("ana", "OffsetFetch", 10, {"groups": ({"group_id": GROUP, "topics": (asked,)},)})


def test_a_transaction_that_commits_by_topic_id_is_replayed() -> None:
    conversation = Recording("4.4")
    orders = id_of(conversation, TOPIC)
    conversation.sends("ana", "FindCoordinator", 2, {"key": "x", "key_type": 1})
    conversation.sends(
        "ana", "InitProducerId", 4, {"transactional_id": "x", "transaction_timeout_ms": 60_000}
    )
    producer = {
        name: int(str(conversation.last("InitProducerId")[name]))
        for name in ("producer_id", "producer_epoch")
    }
    partition: Fields = {"partition_index": 0, "committed_offset": 42}
    committed: tuple[Fields, ...] = ({"topic_id": orders, "partitions": (partition,)},)
    names: Fields = {"transactional_id": "x", **producer}
    conversation.sends("ana", "TxnOffsetCommit", 6, {**names, "group_id": GROUP, "topics": committed})
    fetch(conversation, "ana")
    conversation.sends("ana", "EndTxn", 5, {**names, "committed": True})
    fetch(conversation, "ana")

    replayed = conversation.replayed()
    assert (replayed.findings, replayed.compared) == ((), 3)

    unread = [
        replace(each, fields=None) if each.api == "TxnOffsetCommit" else each for each in conversation.events
    ]
    assert conversation.replayed(unread).findings == ()


@pytest.mark.parametrize("lost", [EventKind.REQUEST, EventKind.RESPONSE])
def test_offsets_are_not_compared_after_a_commit_that_cannot_be_read(lost: EventKind) -> None:
    conversation, ana = one_member()
    fetch(conversation, "ana")
    commit(conversation, "ana", ana, 1, 42)
    fetch(conversation, "ana")
    beat(conversation, "ana", ana, 1)
    unread = [
        replace(each, fields=None) if each.api == "OffsetCommit" and each.kind >= lost else each
        for each in conversation.events
    ]

    replayed = conversation.replayed(unread)

    assert replayed.findings == ()
    assert replayed.compared == sum(each.kind == EventKind.RESPONSE for each in conversation.events) - 2
    assert replayed.not_compared == {
        "that cannot be read whole": 1,
        "about offsets that a request which cannot be read may have written": 1,
    }


def test_a_replay_with_findings_ends_with_1_and_one_without_with_0() -> None:
    conversation = two_members()
    position = conversation.position("Heartbeat", -1)
    lie = conversation.with_lie(position, says(error_code="UNKNOWN_MEMBER_ID"))
    nothing = Replayed(conversation="tap", compared=0, not_compared={f"of {GROUP}": 1})

    assert exit_code([conversation.replayed(lie), nothing]) is ExitCode.UNEXPECTED
    assert exit_code([conversation.replayed(), nothing]) is ExitCode.EXPECTED
