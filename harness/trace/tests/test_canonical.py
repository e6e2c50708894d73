from collections.abc import Sequence
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.apis.table import APIS
from harness.tests.diff_traces import ANA_ID, BOB_ID, answers, trace
from harness.trace.canonical import (
    Canonicaliser,
    FieldValue,
    Json,
    canonical_json,
    digest,
    fields_json,
    member_prefixes,
)

MINTED = "{}-11111111-2222-3333-4444-{:012d}"


def joined(member_id: str, error_code: str = "NONE", **more: FieldValue) -> dict[str, FieldValue]:
    return {"error_code": error_code, "member_id": member_id, **more}


def conversation(actors: dict[str, str] | None = None) -> Canonicaliser:
    return Canonicaliser(groups={"kc-3f2.join.main": "main", "kc-3f2.join.main.x": "x"}, actors=actors)


def canonical(api: str, fields: dict[str, FieldValue], canon: Canonicaliser | None = None) -> Json:
    """Return the canonical form of an answer to ana."""
    return (canon or conversation()).canonical(actor="ana", api=api, fields=fields)


def test_a_member_id_is_named_after_the_actor_that_it_was_given_to() -> None:
    canon = conversation()
    canon.canonical(actor="ana", api="JoinGroup", fields=joined(ANA_ID, "MEMBER_ID_REQUIRED"))
    later = canon.canonical(actor="bob", api="JoinGroup", fields=joined(BOB_ID, leader=ANA_ID))
    assert later == {"error_code": "NONE", "member_id": "member:bob", "leader": "member:ana"}


def test_an_actors_second_id_has_a_number() -> None:
    canon = conversation()
    canon.canonical(actor="ana", api="JoinGroup", fields=joined("one"))
    again = canon.canonical(actor="ana", api="JoinGroup", fields=joined("two"))
    assert again == {"error_code": "NONE", "member_id": "member:ana#2"}
    assert canon.text("one") == "member:ana"


def test_an_error_that_echoes_a_made_up_id_names_nobody() -> None:
    canon = conversation()
    refused = canon.canonical(actor="ana", api="JoinGroup", fields=joined("nobody", "UNKNOWN_MEMBER_ID"))
    assert refused == {"error_code": "UNKNOWN_MEMBER_ID", "member_id": "nobody"}
    canon.canonical(actor="ana", api="JoinGroup", fields=joined(ANA_ID))
    assert canon.text(ANA_ID) == "member:ana"


def test_an_id_that_comes_before_its_owner_was_given_is_recognised_by_its_prefix() -> None:
    canon = conversation(actors={"bob": "bob"})
    fields = joined(ANA_ID, members=[{"member_id": ANA_ID}, {"member_id": BOB_ID}])
    named = canon.canonical(actor="ana", api="JoinGroup", fields=fields)
    assert named == joined("member:ana", members=[{"member_id": "member:ana"}, {"member_id": "member:bob"}])
    assert canon.canonical(actor="bob", api="JoinGroup", fields=joined(BOB_ID)) == joined("member:bob")


def test_an_answer_that_was_not_given_names_nobody() -> None:
    canon = conversation(actors={"bob": "bob"})
    members: list[FieldValue] = [{"member_id": BOB_ID}]
    alternative = canon.alternative(members, api="JoinGroup", path="members")
    assert alternative == [{"member_id": "member:bob"}]
    assert canon.canonical(actor="bob", api="JoinGroup", fields=joined("one")) == joined("member:bob")
    assert canon.canonical(actor="bob", api="JoinGroup", fields=joined(BOB_ID)) == joined("member:bob#2")


@pytest.mark.parametrize("is_reversed", [False, True], ids=["one order", "the other order"])
def test_ids_that_cannot_be_kept_apart_get_one_name_in_whatever_order_they_come(*, is_reversed: bool) -> None:
    canon = conversation(actors={"bob": "bob"})
    ids = [MINTED.format("bob", number) for number in (1, 2)]
    members = [{"member_id": one} for one in (reversed(ids) if is_reversed else ids)]
    named = canon.canonical(actor="ana", api="JoinGroup", fields={"members": members})
    assert named == {"members": [{"member_id": "member:bob-*"}, {"member_id": "member:bob-*"}]}


@pytest.mark.parametrize("is_reversed", [False, True], ids=["one order", "the other order"])
def test_an_actors_two_new_ids_are_numbered_alike_in_whatever_order_they_come(*, is_reversed: bool) -> None:
    canon = conversation(actors={"bob": "bob", "seat-2": "bob"})
    ids = [MINTED.format(prefix, 1) for prefix in ("bob", "seat-2")]
    members: list[FieldValue] = [
        {"member_id": one, "client_id": one[:4]} for one in (reversed(ids) if is_reversed else ids)
    ]
    named = canon.canonical(actor="ana", api="JoinGroup", fields={"members": members})
    assert named == {
        "members": [
            {"member_id": "member:bob", "client_id": "bob-"},
            {"member_id": "member:bob#2", "client_id": "seat"},
        ]
    }


def test_ids_within_a_message_are_named_and_longer_words_are_left_alone() -> None:
    canon = conversation()
    canon.canonical(actor="ana", api="JoinGroup", fields=joined(ANA_ID))
    said = canon.text(f"Member {ANA_ID} of kc-3f2.join.main is gone, x{ANA_ID} and {BOB_ID}, too")
    assert said == "Member member:ana of group:main is gone, member:xana-* and member:bob-*, too"


def test_of_two_groups_the_longer_id_is_not_taken_for_the_shorter() -> None:
    assert conversation().text("kc-3f2.join.main.x") == "group:x"
    assert conversation().text("Group kc-3f2.join.main.x not found") == "Group group:x not found"


def test_hosts_ports_and_nodes_become_constants_and_none_stays_none() -> None:
    found: dict[str, FieldValue] = {"node_id": 7, "host": "10.1.2.3", "port": 41234, "error_code": "NONE"}
    none: dict[str, FieldValue] = {"node_id": -1, "host": "", "port": -1, "error_code": "NONE"}
    constant = {"node_id": 0, "host": "coordinator", "port": 0, "error_code": "NONE"}
    assert canonical("FindCoordinator", found) == constant
    assert canonical("FindCoordinator", none) == none


def test_counters_and_throttle_times_stay() -> None:
    fields: dict[str, FieldValue] = {"throttle_time_ms": 30, "generation_id": 4, "assignment": b"\x01"}
    assert canonical("SyncGroup", fields) == {**fields, "assignment": {"$bytes": "01"}}


def test_leaving_members_stay_in_the_order_of_the_request() -> None:
    members = [{"member_id": "z"}, {"member_id": "a"}]
    assert canonical("LeaveGroup", {"members": members}) == {"members": members}


def test_partitions_are_sorted_by_number_and_not_by_text() -> None:
    partitions = [{"partition_index": index} for index in (10, 9, 100)]
    topics: FieldValue = [{"name": "z", "partitions": []}, {"name": "a", "partitions": partitions}]
    text = canonical_json(canonical("OffsetCommit", {"topics": topics}))
    assert text.index('"a"') < text.index('"z"')
    assert '{"partition_index":9},{"partition_index":10},{"partition_index":100}' in text


def test_groups_of_others_are_no_part_of_the_conversation() -> None:
    groups = [{"group_id": "somebody-elses"}, {"group_id": "kc-3f2.join.main"}]
    assert canonical("ListGroups", {"groups": groups}) == {"groups": [{"group_id": "group:main"}]}


def test_topic_ids_are_named_after_the_topic_that_metadata_tells() -> None:
    canon, topic_id = conversation(), str(UUID(int=7))
    canonical("Metadata", {"topics": [{"name": "orders", "topic_id": topic_id}]}, canon)
    named = canonical("OffsetFetch", {"topics": [{"topic_id": topic_id}]}, canon)
    assert named == {"topics": [{"topic_id": "topic:orders"}]}


def test_permitted_values_are_named_without_being_learnt() -> None:
    canon = conversation()
    canon.canonical(actor="ana", api="JoinGroup", fields=joined(ANA_ID))
    assert canon.value(ANA_ID, api="JoinGroup", path="leader") == "member:ana"
    assert canon.value(BOB_ID, api="JoinGroup", path="member_id") == "member:bob-*"


def test_every_exemption_from_order_has_its_reason() -> None:
    for api, row in APIS.items():
        assert all(entry.reason for entry in row.unordered), api
        assert len({entry.path for entry in row.unordered}) == len(row.unordered), api


def test_equal_values_give_equal_texts_and_fields_keep_the_messages_order() -> None:
    assert canonical_json({"b": b"\xff", "a": [1, None]}) == '{"a":[1,null],"b":{"$bytes":"ff"}}'
    assert fields_json({"b": 1, "a": 2}) == '{"b":1,"a":2}'


def test_a_digest_tells_kind_api_version_and_fields_apart() -> None:
    ways = [
        ("response", "Heartbeat", 4, "{}"),
        ("poll", "Heartbeat", 4, "{}"),
        ("response", "SyncGroup", 4, "{}"),
        ("response", "Heartbeat", 3, "{}"),
        ("response", "Heartbeat", 4, None),
    ]
    assert len({digest(*way) for way in ways}) == len(ways)


def test_a_prefix_that_two_actors_share_tells_nothing() -> None:
    pairs = [("ana", "app"), ("bob", "app"), ("ana", "instance"), ("cleo", None), ("cleo", "")]
    assert member_prefixes(pairs) == {"instance": "ana"}


ids = st.lists(st.uuids(version=4), min_size=2, max_size=2, unique=True)


@given(one=ids, other=ids, is_reversed=st.booleans(), groups=st.lists(st.uuids(), min_size=2, max_size=2))
def test_conversations_that_differ_only_in_ids_have_equal_digests(
    *, one: Sequence[UUID], other: Sequence[UUID], is_reversed: bool, groups: Sequence[UUID]
) -> None:
    first, second = [(f"ana-{pair[0]}", f"bob-{pair[1]}") for pair in (one, other)]
    in_map_order = tuple(reversed(second)) if is_reversed else second
    left = trace(answers(*first), group_id=f"kc-{groups[0]}")
    right = trace(answers(*second, members=in_map_order), group_id=f"kc-{groups[1]}")
    assert [event.digest for event in left] == [event.digest for event in right]
    assert [event.canonical for event in left] == [event.canonical for event in right]


def test_a_producer_id_is_named_after_the_actor_that_it_was_given_to() -> None:
    canon = conversation()
    first = canonical("InitProducerId", {"producer_id": 4711, "producer_epoch": 0}, canon)
    canon.canonical(actor="bob", api="InitProducerId", fields={"producer_id": 4711, "producer_epoch": 1})
    canon.canonical(actor="ana", api="InitProducerId", fields={"producer_id": 4712, "producer_epoch": 0})
    marker: dict[str, FieldValue] = {"markers": [{"producer_id": 4712}, {"producer_id": 9}]}
    later = canon.canonical(actor="bob", api="WriteTxnMarkers", fields=marker)

    assert first == {"producer_id": "producer:ana", "producer_epoch": 0}
    assert later == {"markers": [{"producer_id": "producer:ana#2"}, {"producer_id": 9}]}


def test_no_producer_id_stays_none() -> None:
    refused: dict[str, FieldValue] = {"producer_id": -1, "producer_epoch": -1}
    assert canonical("InitProducerId", refused) == refused


def test_a_topic_of_the_scenarios_own_that_is_made_anew_is_another() -> None:
    canon = conversation()
    ids = [str(UUID(int=number)) for number in (1, 2)]
    for topic_id in ids:
        topics: list[FieldValue] = [{"name": "kc-3f2.join.main.x", "topic_id": topic_id}]
        canon.canonical(actor="ana", api="Metadata", fields={"topics": topics})

    shown = [canon.value(topic_id, api="OffsetFetch", path="topics[].topic_id") for topic_id in ids]
    assert shown == ["topic:group:x", "topic:group:x#2"]


def test_topics_of_others_that_log_directories_list_are_left_out() -> None:
    asked_for: FieldValue = {"name": "orders", "partitions": [{"partition_index": 0}]}
    topics: FieldValue = [asked_for, {"name": "of another scenario", "partitions": []}]

    described = canonical("DescribeLogDirs", {"results": [{"error_code": "NONE", "topics": topics}]})

    assert described == {"results": [{"error_code": "NONE", "topics": [asked_for]}]}
