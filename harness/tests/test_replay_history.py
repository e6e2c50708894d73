"""What a replay makes of recordings that begin late, overlap, end early, or lose their coordinator."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from harness.cli.replay import exit_code
from harness.replay import Replayed
from harness.report.exit_code import ExitCode
from harness.tests.replayed import (
    GROUP,
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


def test_a_replay_with_findings_ends_with_1_and_one_without_with_0() -> None:
    talk = two_members()
    position = talk.position("Heartbeat", -1)
    lie = talk.with_lie(position, lambda fields: fields.update(error_code="UNKNOWN_MEMBER_ID"))
    nothing = Replayed(conversation="tap", compared=0, not_compared={f"of {GROUP}": 1})

    assert exit_code([talk.replayed(lie), nothing]) is ExitCode.UNEXPECTED
    assert exit_code([talk.replayed(), nothing]) is ExitCode.EXPECTED
