"""Where in the offsets topic groups are, and ids that are where a script wants them."""

from dataclasses import replace

import pytest

from harness.runner.placing import group_ids, num_partitions, why_not_placeable
from harness.scenario import (
    Breakpoint,
    Capability,
    Conversation,
    ScenarioError,
    Script,
    ask,
    offset_record,
    record,
    scenario,
)
from harness.scenario.script import script_from_json, script_to_json
from harness.targets.base.interface import BrokerDescription
from harness.targets.base.java_hash import partition_of
from harness.tests.made_events import BARE_BROKER

NEEDS = (Capability.RESTART, Capability.WRITE_LOG, Capability.PAUSE_AT_LOADING)


def script(*, is_placed: bool = True) -> Script:
    def conversations(conversation: Conversation) -> None:
        """A group is here, another there."""
        main, three = conversation.group("main"), conversation.group("three")
        if is_placed:
            three = conversation.group("three", partition=3)
            conversation.group("near", beside=three)
            conversation.group("far", apart_from=main)
        heartbeat = ask.heartbeat(group_id=three, member_id="m", generation_id=1)
        conversation.actor("ana").asks(heartbeat, error_code="NONE")

    return record(scenario("a/b/c", source="A#b", needs=NEEDS)(conversations))


def description(**properties: str) -> BrokerDescription:
    config = {name.replace("_", "."): value for name, value in properties.items()}
    return replace(BARE_BROKER, broker_config=config)


@pytest.mark.parametrize(
    ("group_id", "partition"),
    [
        ("", 0),
        ("a", 47),
        ("test", 48),
        ("my-group", 12),
        ("group", 47),
        ("é", 33),
        ("😀", 49),
        ("polygenelubricants", 0),
    ],
)
def test_a_group_is_where_kafka_has_it(group_id: str, partition: int) -> None:
    assert partition_of(group_id, 50) == partition


@pytest.mark.parametrize("partitions", [5, 50])
def test_ids_are_where_the_script_wants_them(partitions: int) -> None:
    ids = group_ids(script(), run_id="run", partitions=partitions)
    places = {name: partition_of(group_id, partitions) for name, group_id in ids.items()}
    assert places["three"] == places["near"] == 3
    assert places["far"] != places["main"]
    assert len(set(ids.values())) == 4
    assert all(group_id.startswith(f"0.run.a.b.c.{name}") for name, group_id in ids.items())


@pytest.mark.parametrize(("run_id", "prefix"), [("zeta", ""), ("", "kafka-conformance.20261122..")])
def test_groups_come_before_topics_whatever_the_run_is_called(run_id: str, prefix: str) -> None:
    ids = group_ids(script(is_placed=False), run_id=run_id, partitions=50, prefix=prefix)
    assert all(group_id < f"{prefix}a-topic" for group_id in ids.values())


def test_a_group_that_is_not_placed_has_the_id_that_it_always_had() -> None:
    ids = group_ids(script(is_placed=False), run_id="run", partitions=50)
    assert ids == {"main": "0.run.a.b.c.main", "three": "0.run.a.b.c.three"}


def test_a_script_says_nothing_of_places_where_it_does_not_mind() -> None:
    assert "placements" not in script_to_json(script(is_placed=False))


def test_places_outlive_the_script_file() -> None:
    placed = script()
    assert len(placed.placements) == 3
    assert script_from_json(script_to_json(placed)) == placed


def test_a_group_is_placed_once() -> None:
    def conversations(conversation: Conversation) -> None:
        """A group is here and there."""
        conversation.group("three", partition=3)
        conversation.group("three", partition=4)

    with pytest.raises(ScenarioError, match="'three' is placed twice"):
        record(scenario("a/b/c", source="A#b")(conversations))


def test_a_group_is_placed_before_those_that_are_placed_by_it() -> None:
    def conversations(conversation: Conversation) -> None:
        """A group is beside one that is yet to be placed."""
        conversation.group("near", beside=conversation.group("three"))
        conversation.group("three", partition=3)

    with pytest.raises(ScenarioError, match="'three' is placed after 'near', which is by it"):
        record(scenario("a/b/c", source="A#b")(conversations))


@pytest.mark.parametrize(
    ("partitions", "reason"),
    [
        ("1", "has only 1 partitions"),
        ("3", "has only 3 partitions"),
        ("many", "does not report offsets.topic.num.partitions"),
    ],
)
def test_a_script_that_minds_is_not_run_where_its_groups_cannot_be(partitions: str, reason: str) -> None:
    reported = why_not_placeable(script(), description(offsets_topic_num_partitions=partitions))
    assert reported is not None
    assert reason in reported


def test_a_group_cannot_be_apart_where_there_is_one_partition() -> None:
    def conversations(conversation: Conversation) -> None:
        """A group is elsewhere."""
        far = conversation.group("far", apart_from=conversation.group("main"))
        heartbeat = ask.heartbeat(group_id=far, member_id="m", generation_id=1)
        conversation.actor("ana").asks(heartbeat, error_code="NONE")

    apart = record(scenario("a/b/c", source="A#b")(conversations))
    assert "all groups in one partition" in str(
        why_not_placeable(apart, description(offsets_topic_num_partitions="1"))
    )
    assert why_not_placeable(apart, description(offsets_topic_num_partitions="2")) is None


def test_whoever_does_not_mind_runs_anywhere() -> None:
    assert why_not_placeable(script(is_placed=False), description()) is None
    assert num_partitions(description()) is None


@pytest.mark.parametrize("minds", ["appends", "pauses"])
def test_whoever_names_a_partition_by_a_group_has_to_know_how_many_there_are(minds: str) -> None:
    def conversations(conversation: Conversation) -> None:
        """Something is done to a group's partition."""
        if minds == "appends":
            conversation.appends(offset_record("orders", 0, 1))
        else:
            conversation.pauses_at(Breakpoint.LOADING, of=conversation.group("main"))
        conversation.restarts_coordinator()
        conversation.actor("ana").asks(ask.heartbeat(member_id="m", generation_id=1), error_code="NONE")

    named = record(scenario("a/b/c", source="A#b", needs=NEEDS)(conversations))
    assert why_not_placeable(named, description()) is not None
    assert why_not_placeable(named, description(offsets_topic_num_partitions="1")) is None
