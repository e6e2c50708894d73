"""Names on a broker of others: unique, recognisable by themselves, and taken back in traces."""

from datetime import UTC, datetime

import pytest

from harness.targets.base.interface import TargetError
from harness.targets.base.java_hash import partition_of, string_hash
from harness.targets.base.layout import GROUP_ALONE, Coordinated, Endpoint, Layout
from harness.targets.external.namespace import MARK, Namespace, TopicNames, made, run_part
from harness.wire.codec import Fields

AT = datetime(2026, 11, 22, 17, 0, 5, tzinfo=UTC)


def test_two_runs_of_one_name_share_no_name() -> None:
    assert Namespace.new("gate", now=AT) != Namespace.new("gate", now=AT)


@pytest.mark.parametrize("run_id", ["gate", "20261122T170005-ab12", "a.b", "a..b", "x" * 120, "ends."])
def test_a_name_tells_its_run_and_time(run_id: str) -> None:
    found = made(f"{Namespace.new(run_id, now=AT).prefix}classic.join.main")
    assert found is not None
    assert found.run_part == run_part(run_id)
    assert found.at == AT


@pytest.mark.parametrize("run_id", ["x" * 120, "gate"])
def test_a_topic_of_a_run_has_a_name_that_kafka_takes(run_id: str) -> None:
    longest = "regressions.unsayable-answers.of-the-longest-scenario-there-may-be.topic"
    assert len(Namespace.new(run_id).topic(longest)) <= 249


@pytest.mark.parametrize("run_id", ["gate", "20261122T170005-ab12", "x" * 120])
def test_topics_of_a_run_hash_as_those_of_the_scenario_do(run_id: str) -> None:
    namespace = Namespace.new(run_id)
    assert string_hash(namespace.topic("orders")) == string_hash("orders") == -1008770331 % 2**32
    assert string_hash(namespace.topic("payments")) == string_hash("payments")


def test_long_runs_that_begin_alike_are_kept_apart() -> None:
    assert run_part("x" * 120) != run_part("x" * 119)


@pytest.mark.parametrize(
    "name", ["payroll", MARK, f"{MARK}backup", f"{MARK}20261399T990000Z-00000000.gate..x", f"x{MARK}"]
)
def test_what_the_harness_did_not_make_is_not_recognised(name: str) -> None:
    assert made(name) is None


def test_topics_are_the_runs_own_on_the_wire_and_the_scenarios_in_traces() -> None:
    namespace = Namespace.new("run")
    names = TopicNames(namespace, ("orders",))
    group = f"{namespace.prefix}main"
    subscription = b"\0\0\0\0\0\x01\0\x06orders\xff\xff\xff\xff"
    said: Fields = {
        "group_id": group,
        "topics": [{"name": "orders", "partitions": [0]}, {"name": ""}, {"name": "__consumer_offsets"}],
        "protocols": [{"name": "range", "metadata": subscription}],
    }
    sent = names.outgoing(said)
    assert sent["group_id"] == group
    assert [row["name"] for row in sent["topics"]] == [  # type: ignore[union-attr,index,call-overload] # rows
        f"{namespace.prefix}orders",
        "",
        "__consumer_offsets",
    ]
    assert namespace.prefix.encode() in str(sent["protocols"]).encode()
    assert "'orders'" not in str(sent)
    assert names.incoming(sent) == said
    assert names.incoming({"error_message": f"no topic {namespace.prefix}orders"}) == {
        "error_message": "no topic orders"
    }


def test_an_answer_may_name_any_topic_that_a_request_named() -> None:
    namespace = Namespace.new("run")
    names = TopicNames(namespace, ("orders",))
    group = f"{namespace.prefix}main"
    sent = names.outgoing({"subscribed_topic_names": ["missing"], "topics": [{"name": "unknown"}]})
    assert sent["subscribed_topic_names"] == [f"{namespace.prefix}missing"]

    answer: Fields = {"group_id": group, "topics": ["missing", "unknown"]}
    real = ["missing", "unknown"]
    assert names.incoming({**answer, "topics": [f"{namespace.prefix}{each}" for each in real]}) == answer


def test_topics_of_a_topology_are_the_runs_own_on_the_wire() -> None:
    namespace = Namespace.new("run")
    names = TopicNames(namespace, ())
    subtopology: Fields = {
        "source_topics": ["orders", "..", "__consumer_offsets"],
        "repartition_sink_topics": ["sink"],
        "repartition_source_topics": [{"name": "sink", "partitions": 2}],
        "state_changelog_topics": [{"name": "log", "topic_configs": [{"key": "k", "value": "log"}]}],
        "copartition_groups": [{"source_topics": [0], "repartition_source_topics": [0]}],
    }
    said: Fields = {"topology": {"epoch": 0, "subtopologies": [subtopology]}}

    sent = names.outgoing(said)

    assert str(sent).count(namespace.prefix) == 4
    assert "'..', '__consumer_offsets'" in str(sent)
    assert names.incoming(sent) == said


def test_all_names_of_a_scenario_are_coordinated_by_its_home() -> None:
    nodes = {each: Endpoint(node_id=each, host="h", port=each) for each in (1, 2, 3)}
    layout = Layout(nodes=nodes, offsets=(1, 2, 3) * 16, transactions=(3, 1, 2, 2) * 12)
    homes = {layout.home_of(f"a/b/{number}").node_id for number in range(50)}
    assert homes == {1, 2, 3}
    name = layout.name_at(2, "group")
    assert layout.offsets[partition_of(name, 48)] == layout.transactions[partition_of(name, 48)] == 2


def layout_of(offsets: tuple[int, ...], transactions: tuple[int, ...], **more: object) -> Layout:
    nodes = {each: Endpoint(node_id=each, host="h", port=each) for each in (1, 2, 3)}
    return Layout(nodes=nodes, offsets=offsets, transactions=transactions, **more)  # type: ignore[arg-type] # epochs


BOTH = frozenset(Coordinated)
APART = layout_of((1, 2, 3) * 16, (2, 3, 1) * 16)
"""No partition of the two topics is led by the same broker."""


def test_where_no_name_is_both_groups_and_producers_have_names_of_their_own() -> None:
    assert APART.homes == (1, 2, 3)
    assert not APART.can_coordinate(1, BOTH)
    with pytest.raises(TargetError, match="broker 1 coordinates no group that is also a producer"):
        APART.name_at(1, "both", BOTH)
    group = APART.name_at(1, "group")
    producer = APART.name_at(1, "producer", {Coordinated.PRODUCER})
    assert APART.offsets[partition_of(group, 48)] == APART.transactions[partition_of(producer, 48)] == 1


def test_a_name_of_both_kinds_is_found_over_topics_of_other_sizes() -> None:
    layout = layout_of((2, 2, 1, 2), (3, 1, 3, 3, 3, 3))
    assert not layout.can_coordinate(1, BOTH)
    layout = layout_of((2, 2, 1, 2), (3, 3, 1, 3, 3, 3))
    name = layout.name_at(1, "both", BOTH)
    assert (partition_of(name, 4), partition_of(name, 6)) == (2, 2)


@pytest.mark.parametrize(
    ("later", "moved"),
    [
        (layout_of((1, 1), (2, 2), epochs={Coordinated.GROUP: (5, 5), Coordinated.PRODUCER: (0, 0)}), False),
        (layout_of((1, 1), (2, 2), epochs={Coordinated.GROUP: (6, 6), Coordinated.PRODUCER: (0, 0)}), True),
        (layout_of((3, 3), (2, 2), epochs={Coordinated.GROUP: (6, 6), Coordinated.PRODUCER: (0, 0)}), True),
        (layout_of((1, 1), (3, 3), epochs={Coordinated.GROUP: (5, 5), Coordinated.PRODUCER: (1, 1)}), False),
    ],
    ids=["nothing", "away and back", "away", "a producer's coordinator"],
)
def test_a_coordinator_that_was_elected_anew_is_found(later: Layout, *, moved: bool) -> None:
    epochs = {Coordinated.GROUP: (5, 5), Coordinated.PRODUCER: (0, 0)}
    before = layout_of((1, 1), (2, 2), epochs=epochs)
    assert before.has_moved(later, {"a-group": GROUP_ALONE}) is moved
