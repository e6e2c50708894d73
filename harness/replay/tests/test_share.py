"""Replays of share groups: what the reference said it says again, and each lie is found."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from harness.tests.replayed import Json, beat, enters, says
from harness.tests.replayed_epochs import described_as_empty, one_epoch_further
from harness.tests.replayed_shares import IN_FLIGHT, OFFSETS, Sharers, shared

PROFILES = ("4.1", "4.2", "4.4")


@pytest.fixture(scope="module", params=PROFILES)
def conversation(request: pytest.FixtureRequest) -> Sharers:
    return shared(str(request.param))


def test_what_the_reference_said_it_says_again(conversation: Sharers) -> None:
    conversation.is_whole(conversation.replayed(), {OFFSETS: 2})
    conversation.is_whole(conversation.replayed(is_whole=False), {OFFSETS: 2})


def of_member(conversation: Sharers, member: str, nth: int) -> int:
    return conversation.position("ShareGroupHeartbeat", nth, member)


def a_partition_less(fields: Json) -> None:
    assignment = fields["assignment"]
    assert isinstance(assignment, dict)
    assignment["topic_partitions"][0]["partitions"].pop()


LIES: Mapping[str, tuple[Callable[[Sharers], int], Callable[[Json], None]]] = {
    "an epoch": (lambda it: of_member(it, "bob", 0), one_epoch_further),
    "a partition": (lambda it: of_member(it, "ana", 1), a_partition_less),
    "an assignment that did not come": (lambda it: of_member(it, "ana", 1), says(assignment=None)),
    "a fenced member": (lambda it: of_member(it, "ana", 3), says(error_code="FENCED_MEMBER_EPOCH")),
    "a member whose session has ended": (lambda it: of_member(it, "bob", -1), says(error_code="NONE")),
    "a description": (lambda it: it.position("ShareGroupDescribe", 1), described_as_empty),
    "offsets of a group with members": (
        lambda it: it.position("AlterShareGroupOffsets", 0),
        says(error_code="GROUP_ID_NOT_FOUND"),
    ),
    "offsets that are deleted": (lambda it: it.position("DeleteShareGroupOffsets", -1), says(responses=[])),
    "a list of groups": (lambda it: it.position("ListGroups", 0), says(groups=[])),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_found_where_it_stands_and_nowhere_else(conversation: Sharers, lie: str) -> None:
    where, change = LIES[lie]

    conversation.finds_only(where(conversation), change)


@pytest.mark.parametrize("profile", PROFILES)
def test_the_state_of_new_partitions_may_be_there_later(profile: str) -> None:
    group = Sharers(profile)
    group.looks_up("unknown")
    group.joins("bob", "unknown")
    group.joins("ana")
    asked, answered = group.events[-2:]

    # Ana joins again, and the share coordinator has not replied yet.
    again = [
        replace(each, at_ms=each.at_ms + 5_000, sequence=each.sequence + 2) for each in (asked, answered)
    ]
    replayed = group.replayed([*group.events, *again])

    assert (replayed.compared, replayed.findings) == (3, ())


@pytest.mark.parametrize("profile", PROFILES)
def test_a_new_coordinator_goes_on_with_the_group(profile: str) -> None:
    group = Sharers(profile)
    group.joins("ana")
    group.beats("ana")
    group.restarts()
    group.describes()
    group.joins("bob")
    group.beats("ana")

    group.is_whole(group.replayed())
    group.finds_only(of_member(group, "ana", -1), one_epoch_further)


def is_known_until_the_coordinator_goes(group: Sharers) -> None:
    replayed = group.replayed()

    assert replayed.findings == ()
    assert dict(replayed.not_compared) == {"before the group was known": 1}


def test_if_the_coordinator_may_have_gone_before_the_reply_nothing_is_compared_after_it() -> None:
    group = Sharers()
    group.joins("ana")
    group.restarts()
    group.beats("ana")

    is_known_until_the_coordinator_goes(group)


def test_fetches_are_counted() -> None:
    group = Sharers()
    group.joins("ana")
    position = of_member(group, "ana", 0)
    fetch = [
        replace(each, api="ShareFetch", fields=None, raw=None, sequence=each.sequence + 2)
        for each in group.events[position - 1 : position + 1]
    ]

    replayed = group.replayed([*group.events, *fetch])

    assert (replayed.compared, dict(replayed.not_compared)) == (1, {IN_FLIGHT: 1})


def test_a_share_member_does_not_come_to_a_classic_group() -> None:
    group = Sharers()
    member = enters(group, "ana")
    group.joins("bob")
    beat(group, "ana", member, 1)

    assert group.last("ShareGroupHeartbeat")["error_code"] == "GROUP_ID_NOT_FOUND"
    group.is_whole(group.replayed())


def test_a_broker_that_has_share_groups_is_not_compared_with_one_that_has_not() -> None:
    group = shared("4.1")
    group.config["group.share.enable"] = "false"

    replayed = group.replayed()

    assert replayed.findings == ()
    assert "of share groups, which the reference does not have in that release" in replayed.not_compared


def test_if_a_member_does_not_return_to_a_new_coordinator_its_session_may_have_begun_at_any_time() -> None:
    group = Sharers()
    group.joins("ana")
    group.beats("ana")
    group.restarts()
    group.passes(5_000)
    group.joins("bob")

    is_known_until_the_coordinator_goes(group)


def test_a_restart_is_seen_by_what_the_broker_refuses_if_nobody_of_the_group_is_connected() -> None:
    group = Sharers()
    group.joins("ana")
    group.beats("ana")
    group.crashes("ana")
    group.restarts(down_ms=10_000)
    # Ana's session would have ended by now if it had not begun again.
    group.passes(40_000)
    group.joins("bob")
    assert group.last("ShareGroupHeartbeat", "bob")["member_epoch"] == 4

    is_known_until_the_coordinator_goes(group)


def test_a_refused_connection_beside_one_that_is_served_is_no_restart() -> None:
    group = Sharers()
    group.joins("ana")
    group.beats("ana")
    group.is_refused()
    group.beats("ana")
    group.describes()

    group.is_whole(group.replayed())
