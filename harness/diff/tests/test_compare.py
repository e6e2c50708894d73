import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from harness.diff.compare import differences
from harness.diff.model import Difference
from harness.diff.raw_difference import is_within, unequal_leaves, unindexed, value_at
from harness.scenario import ask, expect
from harness.scenario.conversation import Conversation
from harness.scenario.script import Script
from harness.scenario.values import containing, one_of, starting_with, tied
from harness.tests.diff_traces import (
    ANA_ID,
    BOB_ID,
    answers,
    reference_trace,
    script,
    spoilt,
    trace,
    with_event,
)
from harness.tests.made_events import BARE_SCRIPT
from harness.trace.canonical import FieldValue
from harness.trace.events import Event, EventKind
from harness.verdict import DifferenceClass

ID_REQUIRED, PARKED, ANA_JOINS, BOB_JOINS, HEARTBEAT, RUNG, LEAVE = 1, 5, 7, 8, 10, 12, 14


def found(events: Sequence[Event], oracle: Sequence[Event] | None = None) -> tuple[Difference, ...]:
    return differences(script(), events, reference_trace() if oracle is None else oracle)


def put(name: str, value: FieldValue, step: int) -> tuple[Event, ...]:
    return spoilt(trace(), step, lambda fields: fields.update({name: value}))


def test_conversations_that_differ_in_ids_groups_and_map_order_have_no_difference() -> None:
    assert found(trace(answers(members=(BOB_ID, ANA_ID)))) == ()


def test_another_error_code_is_an_error_code_difference_reported_once() -> None:
    (finding,) = found(put("error_code", "NONE", HEARTBEAT))
    assert (finding.difference_class, finding.field) == (DifferenceClass.ERROR_CODE, "error_code")
    assert (finding.step, finding.api, finding.api_version) == (10, "Heartbeat", 4)
    assert (finding.expected, finding.actual) == ('"REBALANCE_IN_PROGRESS"', '"NONE"')
    assert (finding.against, finding.ordinal, finding.is_consequence) == ("expectation", 0, False)


def test_a_difference_names_the_event_that_it_is_about() -> None:
    for events in (put("error_code", "NONE", HEARTBEAT), put("generation_id", 2, ANA_JOINS)):
        (finding,) = found(events)
        (event,) = (each for each in events if each.sequence == finding.event_sequence)
        assert (event.step, event.kind) == (finding.step, EventKind.RESPONSE)


def without_protocol(fields: dict[str, FieldValue]) -> None:
    del fields["protocol_name"]


def with_other_bytes(fields: dict[str, FieldValue]) -> None:
    members = fields["members"]
    assert isinstance(members, list)
    members[1]["metadata"] = b"\x00\x02"


STRAY = replace(trace()[-1], kind=EventKind.UNSOLICITED, step=HEARTBEAT, fields=None, canonical=None)
EARLY = {"kind": EventKind.RESPONSE, "fields": "{}", "canonical": "{}", "digest": "x"}


@pytest.mark.parametrize(
    ("events", "finding"),
    [
        (
            put("error_code", "UNKNOWN_MEMBER_ID", RUNG),
            {"difference_class": DifferenceClass.ERROR_PRECEDENCE},
        ),
        (put("protocol_name", None, ANA_JOINS), {"difference_class": DifferenceClass.FIELD_PRESENCE}),
        (
            spoilt(trace(), ANA_JOINS, without_protocol),
            {"difference_class": DifferenceClass.FIELD_PRESENCE, "actual": "absent"},
        ),
        (
            put("generation_id", 2, ANA_JOINS),
            {
                "difference_class": DifferenceClass.FIELD_VALUE,
                "against": "reference",
                "field": "generation_id",
                "expected": "1",
                "actual": "2",
            },
        ),
        (put("leader", ANA_ID.upper(), BOB_JOINS), {"field": "leader", "expected": '"member:ana"'}),
        (put("member_id", BOB_ID[:-1], BOB_JOINS), {"field": "member_id", "actual": '"member:bob#2"'}),
        (put("leader", BOB_ID, BOB_JOINS), {"expected": '"member:ana"', "actual": '"member:bob"'}),
        (trace(answers(members=(ANA_ID,))), {"field": "members", "step": ANA_JOINS}),
        (
            spoilt(trace(), ANA_JOINS, with_other_bytes),
            {"field": "members[1].metadata", "actual": '{"$bytes":"0002"}'},
        ),
        (with_event(trace(), PARKED, **EARLY), {"difference_class": DifferenceClass.ORDERING}),
        ((*trace(), STRAY), {"difference_class": DifferenceClass.ENCODING}),
        (
            with_event(trace(), HEARTBEAT, reencodes=False),
            {"difference_class": DifferenceClass.ENCODING, "step": HEARTBEAT},
        ),
        (
            with_event(trace(), ANA_JOINS, elapsed_ms=99.0),
            {"difference_class": DifferenceClass.TIMING, "actual": "earlier than 100 ms"},
        ),
        (
            with_event(trace(), ANA_JOINS, elapsed_ms=3001.0),
            {"difference_class": DifferenceClass.TIMING, "actual": "later than 3000 ms"},
        ),
    ],
    ids=[
        "another error code on a ladder",
        "a null where a value is due",
        "a missing field",
        "what no script pins",
        "a misspelt leader",
        "a misspelt id",
        "a follower's name where the leader's is due",
        "a member too few",
        "other bytes",
        "an answer before its time",
        "a frame that answers nothing",
        "bytes that do not reencode",
        "too early",
        "too late",
    ],
)
def test_what_is_not_as_it_should_be_is_one_difference_with_its_class_and_values(
    events: Sequence[Event], finding: dict[str, object]
) -> None:
    (one,) = found(events)
    assert {name: getattr(one, name) for name in finding} == finding


def test_reordered_leaving_members_are_a_difference() -> None:
    members: list[FieldValue] = [{"member_id": name, "error_code": "NONE"} for name in (ANA_ID, BOB_ID)]
    ours = put("members", list(reversed(members)), LEAVE)
    theirs = put("members", members, LEAVE)
    assert {one.field for one in found(ours, theirs)} == {"members[0].member_id", "members[1].member_id"}


@pytest.mark.parametrize(
    ("kind", "expected_class"),
    [
        (EventKind.NO_ANSWER, DifferenceClass.LIVENESS),
        (EventKind.CLOSED, DifferenceClass.LIVENESS),
        (EventKind.MALFORMED, DifferenceClass.ENCODING),
    ],
)
def test_no_readable_answer_is_reported_once(kind: EventKind, expected_class: DifferenceClass) -> None:
    (finding,) = found(
        with_event(trace(), HEARTBEAT, kind=kind, fields=None, canonical=None, note="by chance")
    )
    assert (finding.difference_class, finding.field) == (expected_class, None)
    assert "chance" not in finding.actual


def test_an_answer_that_is_on_no_record_is_one_of_liveness_and_names_no_event() -> None:
    (finding,) = found([event for event in trace() if event.step != HEARTBEAT])
    assert (finding.difference_class, finding.step) == (DifferenceClass.LIVENESS, HEARTBEAT)
    assert (finding.api, finding.event_sequence) == ("Heartbeat", -1)


def test_frames_without_an_end_that_answer_nothing_are_one_difference_a_step() -> None:
    assert found((*trace(), *[STRAY] * 1000)) == found((*trace(), STRAY))


def test_polls_are_never_compared() -> None:
    poll = replace(trace()[-1], kind=EventKind.POLL, canonical='{"error_code":"X"}', digest="x")
    assert found((*trace(), poll)) == ()


def test_the_first_difference_is_the_finding_and_what_follows_is_consequence() -> None:
    late = put("error_code", "NONE", RUNG)
    both = spoilt(late, HEARTBEAT, lambda fields: fields.update(error_code="NONE"))
    assert [(one.step, one.ordinal, one.is_consequence) for one in found(both)] == [
        (HEARTBEAT, 0, False),
        (RUNG, 1, True),
    ]


def test_the_wording_of_a_message_is_lenient_and_never_the_finding_beside_another() -> None:
    def worded(events: tuple[Event, ...], text: str) -> tuple[Event, ...]:
        return spoilt(events, ID_REQUIRED, lambda fields: fields.update(error_message=text))

    theirs = worded(reference_trace(), "You shall not pass")
    (only,) = found(worded(trace(), "Go away"), theirs)
    assert only.is_lenient
    also = spoilt(worded(trace(), "Go away"), HEARTBEAT, lambda fields: fields.update(error_code="NONE"))
    assert [(one.step, one.is_lenient) for one in found(also, theirs)] == [
        (HEARTBEAT, False),
        (ID_REQUIRED, True),
    ]


def permitting(field: str, *any_of: object) -> tuple[Event, ...]:
    entry = {"field": field, "any_of": list(any_of), "reason": "map order"}
    return with_event(reference_trace(), LEAVE, permitted=json.dumps([entry]))


def test_a_permitted_value_is_no_difference_and_any_other_is() -> None:
    other = put("throttle_time_ms", 5, LEAVE)
    assert found(other, permitting("throttle_time_ms", 0, 5)) == ()
    assert len(found(other, permitting("throttle_time_ms", 0, 6))) == 1


def test_a_permission_speaks_of_its_own_field_and_not_of_one_that_begins_alike() -> None:
    other = spoilt(trace(), LEAVE, lambda fields: fields.update(throttle=0, throttle_time_ms=5))
    theirs = spoilt(reference_trace(), LEAVE, lambda fields: fields.update(throttle=0))
    entry = {"field": "throttle", "any_of": [0], "reason": "chance"}
    (finding,) = found(other, with_event(theirs, LEAVE, permitted=json.dumps([entry])))
    assert finding.field == "throttle_time_ms"


def test_a_permitted_whole_covers_what_is_in_it_and_permits_no_mixture() -> None:
    members = [{"member_id": "member:bob", "group_instance_id": None, "error_code": "UNKNOWN_MEMBER_ID"}]
    real: FieldValue = [{**members[0], "member_id": BOB_ID}]
    other = put("members", real, LEAVE)
    assert found(other, permitting("members", members)) == ()
    assert found(other, permitting("members[].error_code", "UNKNOWN_MEMBER_ID")) == ()
    assert len(found(other, permitting("members", []))) == 1


def test_a_script_outranks_a_reference_that_departs_from_it() -> None:
    astray = spoilt(reference_trace(), HEARTBEAT, lambda fields: fields.update(error_code="NONE"))
    assert found(trace(), astray) == ()


def test_without_a_reference_only_the_script_is_compared_with() -> None:
    assert differences(script(), put("generation_id", 2, ANA_JOINS), None) == ()
    assert len(differences(script(), put("error_code", "NONE", HEARTBEAT), None)) == 1


def test_signatures_are_the_same_in_every_run() -> None:
    ids = ("ana-00000000-0000-4000-8000-00000000000a", "bob-00000000-0000-4000-8000-00000000000b")

    def spoil(fields: dict[str, FieldValue]) -> None:
        fields["leader"] = fields["member_id"]

    one = spoilt(trace(), BOB_JOINS, spoil)
    other = spoilt(trace(answers(*ids), group_id="another.run"), BOB_JOINS, spoil)
    other = with_event(tuple(replace(event, run_id="run-2", at_ms=7.5) for event in other), 3, elapsed_ms=3.0)
    assert [d.signature for d in found(one)] == [d.signature for d in found(other)]
    assert len({d.signature for d in (*found(one), *found(put("leader", "x", BOB_JOINS)))}) == 2


def test_signatures_tell_scenario_and_expectation_apart() -> None:
    elsewhere = script("classic/join/another")
    given = list(answers())
    given[5] = {"throttle_time_ms": 0, "error_code": "NONE"}
    (here,) = differences(script(), trace(given), None)
    (there,) = differences(elsewhere, trace(given, of=elsewhere), None)
    assert here.signature != there.signature
    theirs = put("generation_id", 9, ANA_JOINS)
    assert found(put("generation_id", 2, ANA_JOINS))[0].signature != (
        found(put("generation_id", 2, ANA_JOINS), theirs)[0].signature
    )


def test_a_reference_means_what_was_known_before_the_answer() -> None:
    conversation = Conversation()
    ana = conversation.actor("ana")
    for _ in range(2):
        ana.asks(ask.join_group(member_id=""), expect.join_group(member_id=ana.member_id))
    reported = scripted(conversation)
    same: dict[str, FieldValue] = {"error_code": "NONE", "member_id": ANA_ID}
    assert differences(reported, trace([same, same], of=reported), None) == ()
    (finding,) = differences(reported, trace([same, {**same, "member_id": BOB_ID}], of=reported), None)
    assert (finding.step, finding.expected, finding.actual) == (3, '"member:ana"', '"member:ana#2"')


def scripted(conversation: Conversation) -> Script:
    actors, steps = tuple(conversation.sheets.values()), tuple(conversation.steps)
    return replace(BARE_SCRIPT, actors=actors, steps=steps)


def committed(*partitions: tuple[int, str]) -> dict[str, FieldValue]:
    items: FieldValue = [{"partition_index": index, "error_code": error} for index, error in partitions]
    return {"topics": [{"name": "orders", "partitions": items}]}


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["as asked", "map order"])
def test_partitions_are_expected_in_whatever_order_and_a_wrong_one_is_named(order: tuple[int, int]) -> None:
    conversation = Conversation()
    ana = conversation.actor("ana")
    ana.sends(ask.offset_commit(topics={"orders": {0: 1, 1: 1}}, generation_id=-1, member_id=""))
    ana.receives(expect.offset_commit({"orders": {0: "NONE", 1: "NONE"}}))
    reported = scripted(conversation)
    right = trace([committed(*((index, "NONE") for index in order))], of=reported)
    assert differences(reported, right, None) == ()
    errors = {0: "NONE", 1: "INVALID_COMMIT_OFFSET_SIZE"}
    wrong = trace([committed(*((index, errors[index]) for index in order))], of=reported)
    (finding,) = differences(reported, wrong, None)
    assert finding.field == "topics[0].partitions[1].error_code"
    assert finding.difference_class == DifferenceClass.ERROR_CODE


def test_patterns_are_matched_on_what_came_and_reported_by_name() -> None:
    conversation = Conversation()
    ana = conversation.actor("ana")
    ana.sends(ask.join_group(member_id=""))
    ana.receives(expect.join_group(member_id=starting_with("ana-"), protocol_name=one_of("range", "x")))
    reported = scripted(conversation)
    fields: dict[str, FieldValue] = {"error_code": "NONE", "member_id": ANA_ID, "protocol_name": "range"}
    assert differences(reported, trace([fields], of=reported), None) == ()
    wrong = trace([{**fields, "member_id": BOB_ID, "protocol_name": None}], of=reported)
    assert [(one.field, one.expected, one.actual) for one in differences(reported, wrong, None)] == [
        ("protocol_name", "'range' or 'x'", "null"),
        ("member_id", "'ana-…'", '"member:ana"'),
    ]


@pytest.mark.parametrize(("came", "leniencies"), [("range", []), ("x", [True]), ("y", [False])])
def test_a_broker_that_need_not_be_kafka_may_choose_otherwise_where_a_map_decides(
    came: str, leniencies: list[bool]
) -> None:
    conversation = Conversation()
    ana = conversation.actor("ana")
    ana.asks(ask.join_group(member_id=""), expect.join_group(protocol_name=tied("range", "x")))
    reported = scripted(conversation)
    fields: dict[str, FieldValue] = {"error_code": "NONE", "member_id": ANA_ID, "protocol_name": "range"}
    of_kafka = trace([fields], of=reported)
    answered = trace([{**fields, "protocol_name": came}], of=reported)
    of_others = differences(reported, answered, of_kafka, forgives_faults=True)
    assert [each.is_lenient for each in of_others] == leniencies
    assert [each.is_lenient for each in differences(reported, answered, of_kafka)] == [False] * len(of_others)


def test_a_reference_to_what_was_never_given_is_a_difference_and_no_crash() -> None:
    conversation = Conversation()
    ana, bob = conversation.actors("ana", "bob")
    ana.asks(ask.join_group(member_id=""), expect.join_group(leader=bob.member_id))
    reported = scripted(conversation)
    fields: dict[str, FieldValue] = {"error_code": "NONE", "member_id": ANA_ID, "leader": ANA_ID}
    (finding,) = differences(reported, trace([fields], of=reported), None)
    assert finding.expected == "bob.member_id"


def test_a_group_that_others_made_is_not_expected_away() -> None:
    conversation = Conversation()
    ana = conversation.actor("ana")
    ana.asks(ask.join_group(member_id=""), error_code="NONE")
    listed = expect.list_groups(groups=containing({"group_id": conversation.group("main")}))
    ana.asks(ask.list_groups(), listed)
    reported = scripted(conversation)
    join: dict[str, FieldValue] = {"error_code": "NONE", "member_id": ANA_ID}
    groups: FieldValue = [{"group_id": "other"}, {"group_id": "kc-1.main"}]
    mine: dict[str, FieldValue] = {"error_code": "NONE", "groups": groups}
    assert differences(reported, trace([join, mine], of=reported), None) == ()
    (finding,) = differences(reported, trace([join, {**mine, "groups": []}], of=reported), None)
    assert "group:main" in finding.expected


def test_paths_lead_to_values() -> None:
    value = {"members": [{"id": 1}, {"id": 2}]}
    assert value_at(value, "members[1].id") == 2
    assert str(value_at(value, "members[2].id")) == "absent"
    assert unequal_leaves(value, {"members": [{"id": 1}, {"id": 3}]}) == (("members[1].id", 2, 3),)
    assert unindexed("a[0].b[12]") == "a[].b[]"
    assert is_within("members[0].id", "members")
    assert not is_within("membership", "members")


def test_a_broker_that_need_not_be_kafka_copies_none_of_its_internal_errors() -> None:
    def failing(fields: dict[str, FieldValue]) -> None:
        fields["error_code"] = "UNKNOWN_SERVER_ERROR"

    reference = spoilt(reference_trace(), LEAVE, failing)
    of_kafka = differences(script(), trace(), reference)
    of_others = differences(script(), trace(), reference, forgives_faults=True)
    assert [each.is_lenient for each in of_kafka] == [False] * len(of_kafka)
    assert {each.is_lenient for each in of_others if "UNKNOWN_SERVER_ERROR" in each.expected} <= {True}
    assert len(of_others) == len(of_kafka)
