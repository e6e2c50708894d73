"""Replays of streams groups: what the reference said it says again, and each lie is found."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from harness.invariants.exchange import Fields
from harness.replay.topics import SPREADS_MS, TopicsSeen
from harness.tests.replayed import GROUP, Json, says, says_of_partition
from harness.tests.replayed_epochs import described_as_empty, one_epoch_further
from harness.tests.replayed_streams import CHANGELOG, Streams, alone, handed_over

PROFILES = ("4.2", "4.3", "4.4")


@pytest.fixture(scope="module", params=PROFILES)
def conversation(request: pytest.FixtureRequest) -> Streams:
    return handed_over(str(request.param))


def test_what_the_reference_said_it_says_again(conversation: Streams) -> None:
    conversation.is_whole(conversation.replayed())
    conversation.is_whole(conversation.replayed(is_whole=False))


def of_member(conversation: Streams, member: str, nth: int) -> int:
    return conversation.position("StreamsGroupHeartbeat", nth, member)


def a_task_more(fields: Json) -> None:
    tasks = fields["active_tasks"]
    assert isinstance(tasks, list)
    has = tasks[0]["partitions"]
    has.append(next(each for each in range(5) if each not in has))


topics_missing = says(
    status=[{"status_code": 3, "status_detail": f"Internal topics are missing: {CHANGELOG}"}]
)


LIES: Mapping[str, tuple[Callable[[Streams], int], Callable[[Json], None]]] = {
    "topics that are missing": (lambda it: of_member(it, "ana", -2), topics_missing),
    "an epoch": (lambda it: of_member(it, "bob", 0), one_epoch_further),
    "a task": (lambda it: of_member(it, "bob", 1), a_task_more),
    "tasks that did not come": (lambda it: of_member(it, "ana", 1), says(active_tasks=None)),
    "a fenced member": (lambda it: of_member(it, "ana", 4), says(error_code="FENCED_MEMBER_EPOCH")),
    "a member whose session has ended": (lambda it: of_member(it, "bob", -1), says(error_code="NONE")),
    "a description": (lambda it: it.position("StreamsGroupDescribe", 1), described_as_empty),
    "a commit with a stale epoch": (
        lambda it: it.position("OffsetCommit", 1),
        says_of_partition(error_code="NONE"),
    ),
    "a list of groups": (lambda it: it.position("ListGroups", 0), says(groups=[])),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_found_where_it_stands_and_nowhere_else(conversation: Streams, lie: str) -> None:
    where, change = LIES[lie]

    conversation.finds_only(where(conversation), change)


def test_a_finding_says_in_which_epoch_the_group_was() -> None:
    group = handed_over()

    (found,) = group.replayed(group.with_lie(of_member(group, "bob", 1), a_task_more)).findings

    assert found.field.startswith("active_tasks")
    assert "in epoch" in found.state


@pytest.mark.parametrize("profile", PROFILES)
def test_a_group_that_waits_for_more_members_is_known_from_its_first(profile: str) -> None:
    group = Streams(profile, **{"group.streams.initial.rebalance.delay.ms": "3000"})
    group.joins("ana")
    group.looks_up(CHANGELOG)
    group.joins("bob")
    group.passes(3_100)
    group.beats("ana")
    group.beats("bob")
    group.describes()

    group.is_whole(group.replayed(is_whole=False))
    begin = of_member(group, "ana", 0)
    late = [each for each in group.events if each.api == "Metadata" or each.sequence > begin]
    replayed = group.replayed(late, is_whole=False)
    assert replayed.findings == ()
    assert set(replayed.not_compared) == {"before the group was known"}


def test_a_changelog_that_nobody_looks_at_leaves_the_group_out() -> None:
    group = alone()
    unseen = [
        each for each in group.events if each.api != "Metadata" or each.sequence < of_member(group, "ana", 0)
    ]

    replayed = group.replayed(unseen)

    assert (replayed.compared, replayed.findings) == (0, ())
    (why,) = replayed.not_compared
    assert why == f"of a streams group with a topic that no Metadata answer named: {CHANGELOG}"


def test_once_topics_are_deleted_nothing_is_compared_of_streams_groups() -> None:
    group = handed_over()
    position = of_member(group, "bob", 1)
    deleted = replace(group.events[0], api="DeleteTopics", fields=None, at_ms=group.events[position].at_ms)

    replayed = group.replayed(sorted([*group.events, deleted], key=lambda each: each.at_ms))

    assert replayed.findings == ()
    assert replayed.compared > 0
    assert set(replayed.not_compared) == {"of a streams group, after somebody deleted topics"}


@pytest.mark.parametrize("down_ms", [0, 120_000])  # The latter is longer than a session.
@pytest.mark.parametrize("profile", PROFILES)
def test_a_new_coordinator_goes_on_with_the_group(profile: str, down_ms: int) -> None:
    group = alone(profile)
    group.commits("ana", group.epochs["ana"], 42)
    group.restarts(down_ms=down_ms)
    group.fetches("ana", group.epochs["ana"])
    group.describes()
    group.says_what_it_has("ana")

    group.is_whole(group.replayed())
    group.finds_only(of_member(group, "ana", -1), one_epoch_further)


def test_a_release_without_streams_groups_is_not_compared() -> None:
    group = alone()
    group.profile = "4.1"

    replayed = group.replayed()

    assert replayed.findings == ()
    assert "in a version that the reference does not serve" in replayed.not_compared


def test_a_broker_that_has_streams_groups_is_not_compared_with_one_that_has_not() -> None:
    group = alone()
    group.config["group.coordinator.rebalance.protocols"] = "classic,consumer"

    replayed = group.replayed()

    why = "of streams groups, which the reference does not have in that release"
    assert replayed.findings == ()
    assert set(replayed.not_compared) == {why}


def test_a_coordinator_may_learn_of_internal_topics_later_than_clients() -> None:
    seen = TopicsSeen()
    changelog: Fields = {"name": CHANGELOG, "error_code": "NONE", "num_partitions": 4}
    join: Fields = {
        "group_id": GROUP,
        "topology": {"subtopologies": [{"state_changelog_topics": [changelog]}]},
    }
    waits: Fields = {"status": [{"status_code": 3, "status_detail": f"Missing are: {CHANGELOG}"}]}

    seen.see_missing(join, waits, 0.0, 10.0)
    seen.see("Metadata", changelog, 100.0, 110.0)
    seen.see_missing({"group_id": GROUP}, waits, 3_000.0, 3_010.0)

    (change,) = seen.changes()
    assert seen.at_first() == {}
    assert (change.asked_ms, change.answered_ms) == (3_000.0, 3_010.0 + SPREADS_MS)


def test_what_is_missing_once_tasks_were_given_says_nothing_of_topics() -> None:
    group = alone()

    group.finds_only(of_member(group, "ana", -1), topics_missing)
