"""What a replay makes of recordings that begin late, overlap, end early, or lose their coordinator."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from harness.cli.replay import exit_code
from harness.replay import Replayed
from harness.report.exit_code import ExitCode
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
    sync,
    two_members,
)
from harness.trace.events import Event, EventKind


def from_position(talk: Recording, position: int) -> list[Event]:
    """Return what a tap has that begins at some event: no answer whose request it did not hear."""
    kept = talk.events[position:]
    asked = {(each.connection, each.correlation_id) for each in kept if each.kind == EventKind.REQUEST}
    return [each for each in kept if (each.connection, each.correlation_id) in asked]


def test_a_tap_that_begins_late_compares_from_when_the_group_is_known() -> None:
    talk = two_members()
    late = from_position(talk, talk.position("JoinGroup", 3) + 1)

    replayed = talk.replayed(late, is_whole=False)

    assert replayed.findings == ()
    assert replayed.compared > 0
    assert replayed.not_compared["before the group was known"] > 0


def test_a_lie_after_the_group_is_known_is_found_though_the_tap_began_late() -> None:
    talk = two_members()
    position = talk.position("Heartbeat", -1)
    told = talk.with_lie(position, lambda fields: fields.update(error_code="UNKNOWN_MEMBER_ID"))
    begun = talk.position("JoinGroup", 3) + 1

    late = [each for each in from_position(talk, begun) if each.sequence != position]
    found = talk.replayed(sorted([*late, told[position]], key=lambda each: each.sequence), is_whole=False)

    assert [each.position for each in found.findings] == [position]


def test_a_group_that_never_becomes_known_compares_nothing_and_ends_as_such() -> None:
    talk = two_members()
    beats = [each for each in talk.events if each.api == "Heartbeat"]

    replayed = talk.replayed(beats, is_whole=False)

    assert (replayed.compared, replayed.findings) == (0, ())
    assert replayed.not_compared["before the group was known"] == len(beats) // 2
    assert exit_code([replayed]) is ExitCode.NOTHING_RAN


def test_a_first_generation_tells_that_a_group_was_not_there_before() -> None:
    replayed = two_members().replayed(is_whole=False)

    assert replayed.findings == ()
    assert dict(replayed.not_compared) == {}


def test_a_member_beyond_the_tap_leaves_its_group_out() -> None:
    talk = two_members()
    without_bob = [each for each in talk.events if each.actor != "bob"]

    replayed = talk.replayed(without_bob, is_whole=False)

    assert replayed.compared == 0
    assert any("was not recorded" in why for why in replayed.not_compared)


@pytest.mark.parametrize("profile", ["3.9", "4.4"])
def test_a_new_coordinator_goes_on_with_what_the_old_one_wrote(profile: str) -> None:
    talk = restarted(profile)

    replayed = talk.replayed()

    assert replayed.findings == ()
    assert replayed.compared == sum(each.kind == EventKind.RESPONSE for each in talk.events)


@pytest.mark.parametrize("profile", ["3.9", "4.4"])
def test_a_commit_that_a_new_coordinator_has_lost_is_found(profile: str) -> None:
    talk = restarted(profile)
    position = talk.position("OffsetFetch", -1)

    def lose(fields: dict[str, object]) -> None:
        topics = fields["topics"]
        assert isinstance(topics, list)
        topics[0]["partitions"][0]["committed_offset"] = -1

    found = talk.replayed(talk.with_lie(position, lose)).findings

    assert [each.position for each in found] == [position]


def restarted(profile: str) -> Recording:
    """Return a group whose only member commits, and goes on after its coordinator's restart."""
    talk = Recording(profile)
    ana = enters(talk, "ana")
    sync(talk, "ana", ana, 1, {ana: b"all"})
    commit(talk, "ana", ana, 1, 42)
    talk.restarts()
    beat(talk, "ana", ana, 1)
    fetch(talk, "ana")
    commit(talk, "ana", ana, 1, 43)
    fetch(talk, "ana")
    return talk


def test_an_answer_that_never_came_leaves_its_request_either_way() -> None:
    talk = Recording()
    ana = enters(talk, "ana")
    sync(talk, "ana", ana, 1, {ana: b"all"})
    talk.sends("bob", "JoinGroup", 3, join())
    talk.passes(1_000)
    beat(talk, "ana", ana, 1)
    talk.passes(7_000)
    talk.sends("ana", "JoinGroup", 5, join(ana))

    unanswered = [each for each in talk.events if each.actor != "bob" or each.kind == EventKind.REQUEST]
    assert talk.replayed(unanswered).findings == ()

    never_heard = [each for each in talk.events if each.actor != "bob"]
    found = talk.replayed(never_heard).findings
    assert found
    assert found[0].api == "Heartbeat"


def test_requests_that_overlap_may_have_come_in_any_order_and_others_may_not() -> None:
    talk = Recording()
    ana = enters(talk, "ana")
    sync(talk, "ana", ana, 1, {ana: b"all"})
    commit(talk, "ana", ana, 1, 1)
    commit(talk, "eve", ana, 1, 2)
    fetch(talk, "ana")

    swapped = list(swapped_commits(talk.events, overlap=True))
    assert talk.replayed(swapped).findings == ()

    apart = list(swapped_commits(talk.events, overlap=False))
    (found,) = talk.replayed(apart).findings
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
    talk = Recording()
    ana = enters(talk, "ana")
    sync(talk, "ana", ana, 1, {ana: b"all"})
    talk.sends("bob", "JoinGroup", 5, join())
    bob = str(talk.last("JoinGroup", "bob")["member_id"])
    talk.sends("bob", "JoinGroup", 5, join(bob))
    beat(talk, "ana", ana, 1)
    talk.sends("ana", "JoinGroup", 5, join(ana))

    assert talk.replayed(read_late(talk)).findings == ()


def read_late(talk: Recording) -> list[Event]:
    """Let ana's last two requests be sent at once, and the first one's answer be read after bob's join's."""
    begin = talk.position("Heartbeat", -1) - 1
    asked, beaten, joins, *joined = talk.events[begin:]
    now_ms = asked.at_ms
    assert [each.actor for each in (joins, *joined)].count("bob") == 1
    read_ms = {"bob": now_ms + 0.5, "ana": now_ms + 0.53}
    late = [
        replace(beaten, at_ms=now_ms + 0.52),
        replace(joins, at_ms=now_ms),
        *(replace(each, at_ms=read_ms[str(each.actor)]) for each in joined),
    ]
    return sorted([*talk.events[: begin + 1], *late], key=lambda each: each.at_ms)


def test_a_request_behind_a_parked_one_is_not_looked_at_before_that_is_answered() -> None:
    talk = Recording()
    ana = enters(talk, "ana")
    sync(talk, "ana", ana, 1, {ana: b"all"})
    commit(talk, "ana", ana, 1, 41)
    talk.sends("bob", "JoinGroup", 5, join())
    bob = str(talk.last("JoinGroup", "bob")["member_id"])
    talk.sends("bob", "JoinGroup", 5, join(bob))
    fetch(talk, "bob")
    talk.passes(1_000)
    commit(talk, "ana", ana, 1, 42)
    talk.sends("ana", "JoinGroup", 5, join(ana))

    assert talk.replayed().findings == ()

    def too_early(fields: dict[str, object]) -> None:
        topics = fields["topics"]
        assert isinstance(topics, list)
        topics[0]["partitions"][0]["committed_offset"] = 41

    found = talk.replayed(talk.with_lie(talk.position("OffsetFetch"), too_early)).findings
    assert [(each.expected, each.actual) for each in found] == [("42", "41")]


@pytest.mark.parametrize("left_out", ["", "Metadata"])
def test_offsets_that_are_committed_by_topic_id_are_known_by_name_too(left_out: str) -> None:
    talk = Recording("4.4")
    ana = enters(talk, "ana")
    sync(talk, "ana", ana, 1, {ana: b"all"})
    orders = id_of(talk, TOPIC)
    partition: Fields = {"partition_index": 0, "committed_offset": 42}
    named: Fields = {"group_id": GROUP, "generation_id_or_member_epoch": 1, "member_id": ana}
    committed: tuple[Fields, ...] = ({"topic_id": orders, "partitions": (partition,)},)
    talk.sends("ana", "OffsetCommit", 10, {**named, "topics": committed})
    fetch_by_id(talk, orders)
    if not left_out:
        fetch(talk, "ana")
    talk.restarts()
    fetch_by_id(talk, orders)
    told = [each for each in talk.events if each.api != left_out]

    assert talk.replayed(told).findings == ()
    late = [each for each in told if each.sequence > talk.position("OffsetCommit")]
    assert talk.replayed(late, is_whole=False).findings == ()


def id_of(talk: Recording, name: str) -> str:
    talk.sends("ana", "Metadata", 12, {"topics": ({"name": name},)})
    topics = talk.last("Metadata")["topics"]
    assert isinstance(topics, list)
    return str(topics[0]["topic_id"])


def fetch_by_id(talk: Recording, topic_id: str) -> None:
    asked: Fields = {"topic_id": topic_id, "partition_indexes": (0,)}
    talk.sends("ana", "OffsetFetch", 10, {"groups": ({"group_id": GROUP, "topics": (asked,)},)})


def test_a_transaction_that_commits_by_topic_id_is_replayed() -> None:
    talk = Recording("4.4")
    orders = id_of(talk, TOPIC)
    talk.sends("ana", "FindCoordinator", 2, {"key": "x", "key_type": 1})
    talk.sends("ana", "InitProducerId", 4, {"transactional_id": "x", "transaction_timeout_ms": 60_000})
    producer = {
        name: int(str(talk.last("InitProducerId")[name])) for name in ("producer_id", "producer_epoch")
    }
    partition: Fields = {"partition_index": 0, "committed_offset": 42}
    committed: tuple[Fields, ...] = ({"topic_id": orders, "partitions": (partition,)},)
    names: Fields = {"transactional_id": "x", **producer}
    talk.sends("ana", "TxnOffsetCommit", 6, {**names, "group_id": GROUP, "topics": committed})
    fetch(talk, "ana")
    talk.sends("ana", "EndTxn", 5, {**names, "committed": True})
    fetch(talk, "ana")

    replayed = talk.replayed()
    assert (replayed.findings, replayed.compared) == ((), 3)

    unread = [replace(each, fields=None) if each.api == "TxnOffsetCommit" else each for each in talk.events]
    assert talk.replayed(unread).findings == ()


@pytest.mark.parametrize("lost", [EventKind.REQUEST, EventKind.RESPONSE])
def test_offsets_are_not_compared_after_a_commit_that_cannot_be_read(lost: EventKind) -> None:
    talk = Recording()
    ana = enters(talk, "ana")
    sync(talk, "ana", ana, 1, {ana: b"all"})
    fetch(talk, "ana")
    commit(talk, "ana", ana, 1, 42)
    fetch(talk, "ana")
    beat(talk, "ana", ana, 1)
    unread = [
        replace(each, fields=None) if each.api == "OffsetCommit" and each.kind >= lost else each
        for each in talk.events
    ]

    replayed = talk.replayed(unread)

    assert replayed.findings == ()
    assert replayed.compared == sum(each.kind == EventKind.RESPONSE for each in talk.events) - 2
    assert replayed.not_compared == {
        "that cannot be read whole": 1,
        "about offsets that a request which cannot be read may have written": 1,
    }


def test_a_replay_with_findings_ends_with_1_and_one_without_with_0() -> None:
    talk = two_members()
    position = talk.position("Heartbeat", -1)
    lie = talk.with_lie(position, lambda fields: fields.update(error_code="UNKNOWN_MEMBER_ID"))
    nothing = Replayed(conversation="tap", compared=0, not_compared={f"of {GROUP}": 1})

    assert exit_code([talk.replayed(lie), nothing]) is ExitCode.UNEXPECTED
    assert exit_code([talk.replayed(), nothing]) is ExitCode.EXPECTED
