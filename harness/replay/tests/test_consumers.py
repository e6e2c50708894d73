"""Replays of consumer groups: what the reference said it says again, and each lie is found."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest
from typing_extensions import override

from harness.tests.replayed import GROUP, TOPIC, Fields, Json, join, says, says_of_partition
from harness.tests.replayed_epochs import EpochRecording, described_as_empty, one_epoch_further
from harness.trace.canonical import FieldValue
from harness.trace.events import Event, EventKind

INTERVAL = "group.consumer.assignment.interval.ms"
PROFILES = ("4.0", "4.2", "4.4")


class Consumers(EpochRecording):
    """Members of a consumer group, who know their epochs and what they own."""

    def __init__(self, profile: str = "4.4", *, looks: bool = True) -> None:
        super().__init__(profile, **{INTERVAL: "0"})
        self.owned: dict[str, tuple[int, ...]] = {}
        self.topic_id = ""
        if looks:
            self.looks_up()

    @override
    def looks_up(self, *names: str) -> None:
        super().looks_up(*names)
        found = self.last("Metadata")["topics"]
        assert isinstance(found, list)
        self.topic_id = str(found[0]["topic_id"])

    def joins(self, member: str, **fields: FieldValue) -> None:
        """Come to the group, by names of topics unless fields say otherwise."""
        how: Fields = {"subscribed_topic_names": (TOPIC,), **fields}
        self.beats(member, member_epoch=0, rebalance_timeout_ms=10_000, topic_partitions=(), **how)

    def beats(self, member: str, **fields: FieldValue) -> None:
        """Heartbeat, and take over the epoch and the partitions that come with the answer."""
        given: Fields = {
            "group_id": GROUP,
            "member_id": member,
            "member_epoch": self.epochs.get(member, 0),
            "topic_partitions": None,
            **fields,
        }
        self.sends(member, "ConsumerGroupHeartbeat", 1, given)
        answer = self.takes_over("ConsumerGroupHeartbeat", member)
        assignment = answer["assignment"]
        if isinstance(assignment, dict):
            parts = assignment["topic_partitions"]
            self.owned[member] = tuple(parts[0]["partitions"]) if parts else ()

    def says_what_it_owns(self, member: str) -> None:
        """Heartbeat with the partitions that it was given last."""
        part: Fields = {"topic_id": self.topic_id, "partitions": self.owned[member]}
        self.beats(member, topic_partitions=(part,) if self.owned[member] else ())

    def describes(self) -> None:
        """Ask as an administrator how the group is."""
        self.sends("admin", "ConsumerGroupDescribe", 1, {"group_ids": (GROUP,)})


def handed_over(profile: str = "4.4") -> Consumers:
    """Ana has all partitions, bob comes and gets half of them, both commit, and bob's session ends."""
    group = Consumers(profile)
    group.joins("ana")
    group.says_what_it_owns("ana")
    group.describes()
    group.joins("bob")
    group.beats("ana")
    group.beats("bob")
    group.says_what_it_owns("ana")
    group.beats("bob")
    group.says_what_it_owns("bob")
    group.describes()
    group.commits("ana", group.epochs["ana"], 42)
    group.commits("bob", group.epochs["bob"] - 1, 43)
    group.fetches("ana", group.epochs["ana"])
    for _ in range(12):
        group.passes(4_000)
        group.beats("ana")
    group.says_what_it_owns("ana")
    group.describes()
    group.beats("bob")
    group.beats("ana", member_epoch=-1)
    group.describes()
    return group


@pytest.fixture(scope="module", params=PROFILES)
def conversation(request: pytest.FixtureRequest) -> Consumers:
    return handed_over(str(request.param))


def test_what_the_reference_said_it_says_again(conversation: Consumers) -> None:
    conversation.is_whole(conversation.replayed())
    conversation.is_whole(conversation.replayed(is_whole=False))


def assigned(fields: Json) -> list[dict[str, object]]:
    assignment = fields["assignment"]
    assert isinstance(assignment, dict)
    parts = assignment["topic_partitions"]
    assert isinstance(parts, list)
    return parts


def a_partition_given_twice(fields: Json) -> None:
    (part,) = assigned(fields)
    partitions = part["partitions"]
    assert isinstance(partitions, list)
    partitions.append(next(each for each in range(4) if each not in partitions))


def described(fields: Json) -> dict[str, object]:
    groups = fields["groups"]
    assert isinstance(groups, list)
    group: dict[str, object] = groups[0]
    return group


def epoch_fell(fields: Json) -> None:
    described(fields)["group_epoch"] = 1


def owned_by_both(fields: Json) -> None:
    members = described(fields)["members"]
    assert isinstance(members, list)
    members[0]["target_assignment"] = members[1]["target_assignment"]


def of_member(conversation: Consumers, member: str, nth: int) -> int:
    return conversation.position("ConsumerGroupHeartbeat", nth, member)


LIES: Mapping[str, tuple[Callable[[Consumers], int], Callable[[Json], None]]] = {
    "an epoch": (lambda it: of_member(it, "bob", 0), one_epoch_further),
    "a partition that ana has": (lambda it: of_member(it, "bob", 2), a_partition_given_twice),
    "an assignment that did not come": (lambda it: of_member(it, "bob", 2), says(assignment=None)),
    "a fenced member": (lambda it: of_member(it, "ana", 2), says(error_code="FENCED_MEMBER_EPOCH")),
    "a member whose session has ended": (lambda it: of_member(it, "bob", -1), says(error_code="NONE")),
    "a description": (lambda it: it.position("ConsumerGroupDescribe", 1), described_as_empty),
    "an epoch of the group that fell": (lambda it: it.position("ConsumerGroupDescribe", 1), epoch_fell),
    "a target with two owners": (lambda it: it.position("ConsumerGroupDescribe", 1), owned_by_both),
    "an epoch of who leaves": (lambda it: of_member(it, "ana", -1), says(member_epoch=2)),
    "a commit with a stale epoch": (
        lambda it: it.position("OffsetCommit", 1),
        says_of_partition(error_code="NONE"),
    ),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_found_where_it_stands_and_nowhere_else(conversation: Consumers, lie: str) -> None:
    where, change = LIES[lie]

    conversation.finds_only(where(conversation), change)


def test_a_finding_says_in_which_epoch_the_group_was() -> None:
    group = handed_over()
    position = of_member(group, "bob", 2)

    (found,) = group.replayed(group.with_lie(position, a_partition_given_twice)).findings

    assert found.field.startswith("assignment.topic_partitions[0].partitions")
    assert "in epoch" in found.state
    assert "ana in" in found.state


@pytest.mark.parametrize("profile", PROFILES)
def test_a_member_that_is_named_by_the_coordinator_keeps_its_id(profile: str) -> None:
    group = Consumers(profile)
    fields: Fields = {
        "group_id": GROUP,
        "member_id": "",
        "member_epoch": 0,
        "rebalance_timeout_ms": 10_000,
        "subscribed_topic_names": (TOPIC,),
        "topic_partitions": (),
    }
    group.sends("eve", "ConsumerGroupHeartbeat", 0, fields)
    joined = group.last("ConsumerGroupHeartbeat")
    group.beats(str(joined["member_id"]), member_epoch=joined["member_epoch"])  # type: ignore[arg-type] # a number
    group.describes()

    group.is_whole(group.replayed())


@pytest.mark.parametrize("profile", PROFILES)
def test_a_regular_expression_is_resolved_a_little_later(profile: str) -> None:
    group = Consumers(profile)
    group.joins("ana", subscribed_topic_names=None, subscribed_topic_regex="ord.*")
    group.passes(5)
    group.beats("ana")
    group.says_what_it_owns("ana")
    group.describes()

    group.is_whole(group.replayed())
    group.finds_only(group.position("ConsumerGroupHeartbeat", 1), says(assignment=None))


def creates(group: Consumers, name: str, version: int = 7) -> None:
    topic: Fields = {"name": name, "num_partitions": 2, "replication_factor": 1}
    group.sends("admin", "CreateTopics", version, {"topics": (topic,), "timeout_ms": 1_000})


def test_a_topic_to_which_its_member_does_not_subscribe_is_found() -> None:
    group = Consumers()
    creates(group, "later")
    group.looks_up("later")
    later = group.topic_id
    group.looks_up()
    group.joins("ana")

    group.finds_only(
        group.position("ConsumerGroupHeartbeat", 0), lambda it: assigned(it)[0].update(topic_id=later)
    )


@pytest.mark.parametrize("version", [4, 7])  # The older one is answered without a partition count.
@pytest.mark.parametrize("looks_before", [False, True])
def test_a_topic_that_comes_to_be_is_known_from_then_on(*, looks_before: bool, version: int) -> None:
    group = Consumers()
    group.joins("ana", subscribed_topic_names=(TOPIC, "later"))
    group.says_what_it_owns("ana")
    if looks_before:
        group.looks_up("later")
    creates(group, "later", version)
    group.passes(100)
    group.sends("ana", "Metadata", 12, {"topics": ({"name": "later"},)})
    group.beats("ana")
    group.describes()

    # Without the answer to CreateTopics, two looks at the topic have its creation between them.
    unseen = [each for each in group.events if not (looks_before and each.api == "CreateTopics")]
    group.is_whole(group.replayed(unseen))


def test_a_topic_without_a_known_name_leaves_the_group_out() -> None:
    group = Consumers(looks=False)
    group.joins("ana")
    group.describes()

    replayed = group.replayed()

    assert (replayed.compared, replayed.findings) == (0, ())
    (why,) = replayed.not_compared
    assert why.startswith("of a consumer group with a topic that no Metadata answer named")


def test_once_topics_are_deleted_nothing_is_compared_of_consumer_groups() -> None:
    group = handed_over()
    position = of_member(group, "bob", 2)
    deleted = replace(group.events[0], api="DeleteTopics", fields=None, at_ms=group.events[position].at_ms)

    replayed = group.replayed(sorted([*group.events, deleted], key=lambda each: each.at_ms))

    why = "of a consumer group, after somebody deleted topics"
    assert replayed.findings == ()
    assert replayed.compared > 0
    assert dict(replayed.not_compared) == {why: group.answer_count() - replayed.compared}


@pytest.mark.parametrize("down_ms", [0, 120_000])  # The latter is longer than a session.
@pytest.mark.parametrize("profile", PROFILES)
def test_a_new_coordinator_goes_on_with_the_group(profile: str, down_ms: int) -> None:
    group = handed_over_and_restarted(profile, down_ms=down_ms)

    group.is_whole(group.replayed())
    group.finds_only(of_member(group, "ana", -1), one_epoch_further)


def test_a_topic_that_came_just_before_its_coordinator_went_is_known_to_both() -> None:
    group = Consumers()
    creates(group, "later")
    group.joins("ana", subscribed_topic_names=("later",))
    group.says_what_it_owns("ana")
    group.restarts()
    group.says_what_it_owns("ana")
    group.describes()

    group.is_whole(group.replayed())


def test_a_topic_has_its_first_partitions_before_more_are_added() -> None:
    group = Consumers()
    creates(group, "later")
    group.looks_up("later")
    group.passes(7_000)
    group.joins("ana", subscribed_topic_names=("later",))
    group.says_what_it_owns("ana")
    more: Fields = {"name": "later", "count": 4, "assignments": None}
    group.sends("admin", "CreatePartitions", 3, {"topics": (more,), "timeout_ms": 1_000})
    group.looks_up("later")
    group.beats("ana")
    assert group.owned["ana"] == (0, 1, 2, 3)

    group.is_whole(group.replayed())


@pytest.mark.parametrize(("late_ms", "is_found"), [(5_000, False), (20_000, True)])
def test_a_coordinator_may_learn_of_a_topic_later_than_clients(*, late_ms: int, is_found: bool) -> None:
    group = Consumers()
    group.joins("ana", subscribed_topic_names=("later",))
    group.passes(late_ms)
    group.beats("ana")
    joined = len(group.events)
    creates(group, "later")
    group.sends("ana", "Metadata", 12, {"topics": ({"name": "later"},)})
    seen = len(group.events)
    group.beats("ana")
    group.says_what_it_owns("ana")
    group.describes()

    # Clients see the topic just before ana joins.
    earlier = [
        replace(each, at_ms=index / 100) if joined <= index < seen else replace(each, at_ms=each.at_ms + 1)
        for index, each in enumerate(group.events)
    ]
    replayed = group.replayed(sorted(earlier, key=lambda each: each.at_ms))

    assert bool(replayed.findings) == is_found


def handed_over_and_restarted(profile: str, *, down_ms: int = 0) -> Consumers:
    group = Consumers(profile)
    group.joins("ana")
    group.joins("bob")
    group.beats("ana")
    group.says_what_it_owns("ana")
    group.beats("bob")
    group.commits("ana", group.epochs["ana"], 42)
    group.restarts(down_ms=down_ms)
    group.fetches("ana", group.epochs["ana"])
    group.describes()
    group.says_what_it_owns("bob")
    group.says_what_it_owns("ana")
    return group


def test_a_tap_that_begins_late_leaves_a_consumer_group_out() -> None:
    group = handed_over()
    begin = of_member(group, "ana", 0) + 1
    late = [each for each in group.events if each.api == "Metadata" or each.sequence >= begin]

    replayed = group.replayed(late, is_whole=False)

    assert (replayed.compared, replayed.findings) == (0, ())
    assert set(replayed.not_compared) == {"before the group was known"}


def overlapping(events: Sequence[Event], conversation: Consumers, first: int, second: int) -> list[Event]:
    """Let the request of an answer be sent before another one's, and be answered after it."""
    early = conversation.events[first]
    asked = next(
        each
        for each in events
        if each.kind == EventKind.REQUEST
        and each.correlation_id == conversation.events[second].correlation_id
    )
    return [replace(each, at_ms=early.at_ms - 0.3) if each is asked else each for each in events]


def test_heartbeats_that_overlap_may_have_come_in_any_order() -> None:
    group = handed_over()
    first, second = of_member(group, "bob", 0), of_member(group, "ana", 2)

    moved = sorted(overlapping(group.events, group, first, second), key=lambda each: each.at_ms)

    assert group.replayed(moved).findings == ()


@pytest.mark.parametrize("profile", ["4.0", "4.4"])
def test_a_classic_member_among_consumers_is_replayed(profile: str) -> None:
    group = Consumers(profile)
    group.joins("ana")
    metadata = bytes.fromhex("0001000000010006") + TOPIC.encode() + bytes.fromhex("ffffffff00000000")
    group.sends("cid", "JoinGroup", 3, join(protocols=({"name": "range", "metadata": metadata},)))
    group.beats("ana")
    group.says_what_it_owns("ana")
    group.describes()

    assert group.last("JoinGroup")["error_code"] == "NONE"
    group.is_whole(group.replayed())


def test_a_group_with_a_configuration_of_its_own_is_replayed_with_it() -> None:
    group = Consumers()
    config: Fields = {"name": "consumer.heartbeat.interval.ms", "config_operation": 0, "value": "7000"}
    resource: Fields = {"resource_type": 32, "resource_name": GROUP, "configs": (config,)}
    group.sends("admin", "IncrementalAlterConfigs", 1, {"resources": (resource,), "validate_only": False})
    group.joins("ana")

    assert group.last("ConsumerGroupHeartbeat")["heartbeat_interval_ms"] == 7_000
    group.is_whole(group.replayed())
