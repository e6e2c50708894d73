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


def shown(text: str, canon: Canonicaliser) -> Json:
    """Return the canonical form of a text for people."""
    return canon.value(text, path="error_message")


def test_an_actors_second_id_has_a_number() -> None:
    canon = conversation()
    canon.canonical(actor="ana", api="JoinGroup", fields=joined("one"))
    again = canon.canonical(actor="ana", api="JoinGroup", fields=joined("two"))
    assert again == {"error_code": "NONE", "member_id": "member:ana#2"}
    assert canon.value("one", path="leader") == "member:ana"


def test_an_error_that_echoes_a_made_up_id_names_nobody() -> None:
    canon = conversation()
    canon.asked(actor="ana", api="JoinGroup", fields={"member_id": "nobody"})
    refused = canon.canonical(actor="ana", api="JoinGroup", fields=joined("nobody", "UNKNOWN_MEMBER_ID"))
    assert refused == {"error_code": "UNKNOWN_MEMBER_ID", "member_id": "nobody"}
    canon.canonical(actor="ana", api="JoinGroup", fields=joined("7"))
    assert canon.value("7", path="member_id") == "member:ana"


def test_an_error_that_brings_an_id_assigns_it() -> None:
    canon = conversation()
    canon.asked(actor="bob", api="JoinGroup", fields={"member_id": ""})
    fenced = canon.canonical(actor="bob", api="JoinGroup", fields=joined("7", "FENCED_INSTANCE_ID"))
    assert fenced == joined("member:bob", "FENCED_INSTANCE_ID")


def test_an_id_that_a_script_made_up_is_its_senders_once_it_is_accepted() -> None:
    canon = conversation()
    canon.asked(actor="ana", api="ShareGroupHeartbeat", fields={"member_id": "made-up"})
    refused = canon.observe(
        actor="ana", api="ShareGroupHeartbeat", fields=joined("made-up", "GROUP_MAX_SIZE")
    )
    accepted = canon.observe(actor="ana", api="ShareGroupHeartbeat", fields=joined("made-up"))
    assert [canon.form(each) for each in (refused, accepted)] == [
        joined("made-up", "GROUP_MAX_SIZE"),
        joined("member:ana"),
    ]


def listing(*rows: dict[str, FieldValue], member_id: str = "1") -> dict[str, FieldValue]:
    """Return a leader's answer."""
    return joined(member_id, leader=member_id, members=[{"member_id": member_id}, *rows])


def test_an_id_that_an_answer_shows_before_its_owner_has_it_gets_its_name_later() -> None:
    canon = conversation()
    to_ana = canon.observe(actor="ana", api="JoinGroup", fields=listing({"member_id": "2"}))
    assert not canon.is_settled(to_ana)

    canon.observe(actor="bob", api="JoinGroup", fields=joined("2"))

    assert canon.is_settled(to_ana)
    members = [{"member_id": "member:ana"}, {"member_id": "member:bob"}]
    assert canon.form(to_ana) == joined("member:ana", leader="member:ana", members=members)


@pytest.mark.parametrize("ids", [("2", "3"), ("3", "2")])
def test_ids_that_nobody_receives_belong_to_those_who_were_not_answered(ids: Sequence[str]) -> None:
    canon = conversation()
    for actor, metadata in (("ana", b"a"), ("bob", b"b"), ("cleo", b"c")):
        protocols = [{"name": "range", "metadata": metadata}]
        fields = {"group_id": "g", "member_id": "", "protocols": protocols}
        canon.asked(actor=actor, api="JoinGroup", fields=fields)
    rows: list[dict[str, FieldValue]] = [
        {"member_id": each, "metadata": metadata} for each, metadata in zip(ids, (b"b", b"c"), strict=True)
    ]
    to_ana = canon.observe(actor="ana", api="JoinGroup", fields=listing(*rows))

    canon.settle()

    assert [canon.value(each, path="member_id") for each in ids] == ["member:bob", "member:cleo"]
    assert canon.form(to_ana) is not None


def test_an_id_that_nobody_can_own_is_nobodys() -> None:
    canon = conversation()
    canon.asked(actor="ana", api="JoinGroup", fields={"group_id": "g", "member_id": ""})
    to_ana = canon.observe(actor="ana", api="JoinGroup", fields=listing({"member_id": "2"}))
    canon.settle()
    members = [{"member_id": "member:ana"}, {"member_id": "member:?"}]
    assert canon.form(to_ana) == joined("member:ana", leader="member:ana", members=members)


@pytest.mark.parametrize("beside", ["client_id", "group_instance_id", "instance_id"])
def test_an_id_belongs_to_the_actor_whose_client_or_instance_id_is_beside_it(beside: str) -> None:
    canon = conversation(actors={"bob": "bob"})
    to_ana = canon.canonical(
        actor="ana", api="JoinGroup", fields={"members": [{"member_id": "2", beside: "bob"}]}
    )
    assert to_ana == {"members": [{"member_id": "member:bob", beside: "bob"}]}
    assert canon.canonical(actor="bob", api="JoinGroup", fields=joined("2")) == joined("member:bob")


def test_an_answer_that_was_not_given_names_nobody() -> None:
    canon = conversation(actors={"bob": "bob"})
    members: list[FieldValue] = [{"member_id": "2", "client_id": "bob"}]
    alternative = canon.alternative(members, api="JoinGroup", path="members")
    assert canon.form(alternative) == [{"member_id": "member:bob", "client_id": "bob"}]
    assert canon.canonical(actor="bob", api="JoinGroup", fields=joined("one")) == joined("member:bob")
    assert canon.canonical(actor="bob", api="JoinGroup", fields=joined("2")) == joined("member:bob#2")


@pytest.mark.parametrize("is_reversed", [False, True], ids=["one order", "the other order"])
def test_ids_that_cannot_be_kept_apart_get_one_name_in_whatever_order_they_come(*, is_reversed: bool) -> None:
    canon = conversation(actors={"bob": "bob"})
    members: list[FieldValue] = [{"member_id": one, "client_id": "bob"} for one in ("1", "2")]
    given: FieldValue = [*reversed(members)] if is_reversed else members
    named = canon.canonical(actor="ana", api="JoinGroup", fields={"members": given})
    assert named == {"members": [{"member_id": "member:bob-*", "client_id": "bob"}] * 2}


@pytest.mark.parametrize("is_reversed", [False, True], ids=["one order", "the other order"])
def test_an_actors_two_new_ids_are_numbered_alike_in_whatever_order_they_come(*, is_reversed: bool) -> None:
    canon = conversation(actors={"bob": "bob", "seat-2": "bob"})
    members: list[FieldValue] = [
        {"member_id": "2", "group_instance_id": None, "client_id": "bob"},
        {"member_id": "1", "group_instance_id": "seat-2", "client_id": "bob"},
    ]
    given: FieldValue = [*reversed(members)] if is_reversed else members
    named = canon.canonical(actor="ana", api="JoinGroup", fields={"members": given})
    assert named == {
        "members": [
            {"member_id": "member:bob", "group_instance_id": None, "client_id": "bob"},
            {"member_id": "member:bob#2", "group_instance_id": "seat-2", "client_id": "bob"},
        ]
    }


def test_only_fields_of_ids_contain_ids() -> None:
    canon = conversation()
    fields = joined("range", protocol_name="range", members=[{"member_id": "range", "client_id": "range"}])
    assert canon.canonical(actor="ana", api="JoinGroup", fields=fields) == joined(
        "member:ana", protocol_name="range", members=[{"member_id": "member:ana", "client_id": "range"}]
    )


def test_ids_within_a_message_are_named_and_longer_words_are_left_alone() -> None:
    canon = conversation()
    canon.canonical(actor="ana", api="JoinGroup", fields=joined(ANA_ID))
    said = shown(f"Member {ANA_ID} of kc-3f2.join.main is gone, x{ANA_ID} and {BOB_ID}, too", canon)
    assert said == f"Member member:ana of group:main is gone, x{ANA_ID} and {BOB_ID}, too"


def test_addresses_within_a_message_are_named() -> None:
    canon = conversation()
    canonical("FindCoordinator", {"error_code": "NONE", "host": "10.1.2.3", "port": 41234}, canon)
    assert shown("Ask 10.1.2.3:41234", canon) == "Ask coordinator:0"


def test_of_two_groups_the_longer_id_is_not_taken_for_the_shorter() -> None:
    assert conversation().value("kc-3f2.join.main.x") == "group:x"
    assert shown("Group kc-3f2.join.main.x not found", conversation()) == "Group group:x not found"


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
    members: list[FieldValue] = [{"member_id": "z"}, {"member_id": "a"}]
    canon = conversation()
    canon.asked(actor="ana", api="LeaveGroup", fields={"members": members})
    assert canonical("LeaveGroup", {"members": members}, canon) == {"members": members}


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
    assert later == {"markers": [{"producer_id": "producer:ana#2"}, {"producer_id": "producer:?"}]}


def test_one_producer_id_for_two_transactional_ids_is_seen() -> None:
    def shown_ids(*given: int) -> list[Json]:
        canon = conversation()
        return [
            canonical("InitProducerId", {"producer_id": each, "producer_epoch": 0}, canon) for each in given
        ]

    assert shown_ids(4711, 4712) == shown_ids(1, 0)
    assert shown_ids(4711, 4711) != shown_ids(1, 0)


def test_an_id_that_changes_is_seen() -> None:
    def shown_ids(*given: str) -> list[Json]:
        canon = conversation()
        return [
            canon.canonical(actor="ana", api="ConsumerGroupHeartbeat", fields=joined(each)) for each in given
        ]

    assert shown_ids("a", "a") == shown_ids("7", "7") != shown_ids("a", "b")


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
