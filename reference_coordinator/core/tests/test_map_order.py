import pytest

from reference_coordinator.core.choices import DeterministicChoices
from reference_coordinator.core.ids import MemberId
from reference_coordinator.core.map_order import (
    in_java_hash_map_order,
    in_scala_hash_map_order,
    partition_for,
    partitions_in_java_hash_map_order,
    string_hash_code,
    topic_partitions_in_scala_map_order,
    utf16_length,
)
from reference_coordinator.profile.behaviours import CoordinatorFamily


@pytest.mark.parametrize(
    ("group", "partition"),
    [
        ("", 0),
        ("a", 47),
        ("test", 48),
        ("my-group", 12),
        ("group", 47),
        ("grp", 29),
        ("é", 33),
        ("😀", 49),
        ("polygenelubricants", 0),
    ],
)
def test_a_groups_partition_is_where_kafka_keeps_it(group: str, partition: int) -> None:
    assert partition_for(group, 50) == partition


def test_the_most_negative_hash_is_its_own_absolute_value_no_more() -> None:
    assert string_hash_code("polygenelubricants") == 0x80000000


def test_strings_are_as_long_as_java_says() -> None:
    assert utf16_length("é" * 10) == 10
    assert utf16_length("😀") == 2


@pytest.mark.parametrize(
    ("tied", "java", "scala"),
    [
        (["range", "roundrobin"], "range", "roundrobin"),
        (["sticky", "range"], "sticky", "range"),
        (["cooperative-sticky", "range"], "range", "cooperative-sticky"),
        (["p1", "p2"], "p1", "p2"),
        (["a", "b"], "a", "a"),
        (["x", "z"], "x", "x"),
    ],
)
def test_vote_ties_are_broken_as_real_brokers_were_seen_to(tied: list[str], java: str, scala: str) -> None:
    choices = DeterministicChoices()

    for order in (tied, tied[::-1]):
        assert in_java_hash_map_order(order)[0] == java
        assert in_scala_hash_map_order(order)[0] == scala
        assert choices.protocol(order, CoordinatorFamily.JAVA) == java
        assert choices.protocol(order, CoordinatorFamily.SCALA) == scala


def test_partitions_come_once_each_whatever_their_order() -> None:
    ordered = partitions_in_java_hash_map_order([3, 1, 3, 2])

    assert sorted(ordered) == [1, 2, 3]
    assert ordered == partitions_in_java_hash_map_order([2, 3, 1])


def test_more_keys_than_the_table_has_room_for_enlarge_it() -> None:
    keys = [f"key-{number}" for number in range(13)]

    assert sorted(in_java_hash_map_order(keys)) == sorted(keys)
    assert in_java_hash_map_order(keys) != in_java_hash_map_order(keys[:12]) + keys[12:]


def test_member_ids_repeat_for_a_seed_and_never_within_it() -> None:
    first, again, other = (DeterministicChoices(seed=seed) for seed in (1, 1, 2))
    ids = [first.member_id("ana") for _ in range(1_000)]

    assert len(set(ids)) == 1_000
    assert ids[0] == again.member_id("ana")
    assert ids[0] != other.member_id("ana")


def test_a_member_id_is_prefix_dash_uuid() -> None:
    prefix, _, uuid = DeterministicChoices().member_id("ana").partition("-")

    assert prefix == "ana"
    assert [len(part) for part in uuid.split("-")] == [8, 4, 4, 4, 12]
    assert uuid[14] == "4"
    assert uuid[19] in "89ab"


def test_the_first_candidate_leads() -> None:
    candidates = [MemberId("b"), MemberId("a")]

    assert DeterministicChoices().leader(candidates) == "b"


def test_partitions_iterate_as_in_scalas_mutable_map() -> None:
    partitions = [("orders", index) for index in (2, 0, 1)]

    in_order = topic_partitions_in_scala_map_order(partitions)

    assert sorted(in_order) == sorted(partitions)
    assert in_order == topic_partitions_in_scala_map_order(reversed(partitions))
    # Seen on 2.4.1 to 3.6.1: a transaction that breaks at partition 1 has come to partition 0 (TC-18).
    assert in_order.index(("orders", 0)) < in_order.index(("orders", 1))
