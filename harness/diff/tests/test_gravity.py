"""Which difference heads a result, what follows from it, and which differences have one cause."""

from dataclasses import replace

import pytest

from harness.diff.alignment import BROKER_ENDED_WORDS
from harness.diff.gravity import headed, ranked
from harness.diff.model import Difference
from harness.diff.raw_difference import cause_of, difference_at, field_class
from harness.tests.made_events import ANSWER
from harness.tests.report_run import JAVA, difference, judgement
from harness.verdict import DifferenceClass


def made(step: int, field: str | None, expected: str, actual: str, *, api: str = "Heartbeat") -> Difference:
    presence_differs = "absent" in (expected, actual)
    kind = (
        DifferenceClass.LIVENESS if field is None else field_class(field, presence_differs=presence_differs)
    )
    event = replace(ANSWER, step=step, sequence=step, api=api, api_version=4)
    is_lenient = field == "error_message"
    return difference_at(event, kind, field=field, expected=expected, actual=actual, is_lenient=is_lenient)


def in_join(field: str | None, expected: str, actual: str) -> str:
    return cause_of("JoinGroup", "field value", field, expected, actual)


PROSE = made(1, "error_message", '"a"', '"b"')
COSMETIC = made(2, "heartbeat_interval_ms", "0", "5000")
GENERATION = made(3, "generation_id", "1", "0", api="JoinGroup")
OTHER_ERROR = made(4, "error_code", '"UNKNOWN_MEMBER_ID"', '"GROUP_ID_NOT_FOUND"')
BESIDE_IT = made(4, "member_id", '""', '"x"')
ACCEPTED = made(5, "topics[0].partitions[0].error_code", '"ILLEGAL_GENERATION"', '"NONE"', api="OffsetCommit")
NO_ANSWER = made(6, None, "an answer", "no answer in time", api="SyncGroup")
ENDED = made(6, None, "a broker that goes on", BROKER_ENDED_WORDS, api="SyncGroup")
LATER = made(7, "error_code", '"NONE"', '"UNKNOWN_MEMBER_ID"')


@pytest.mark.parametrize(
    ("seen", "finding", "following"),
    [
        ((PROSE, COSMETIC), COSMETIC, ()),
        ((COSMETIC, GENERATION), GENERATION, ()),
        ((GENERATION, made(5, "leader", '"a"', '"b"')), made(5, "leader", '"a"', '"b"'), ()),
        ((GENERATION, OTHER_ERROR), OTHER_ERROR, ()),
        ((OTHER_ERROR, BESIDE_IT), OTHER_ERROR, (BESIDE_IT,)),
        ((GENERATION, ACCEPTED), ACCEPTED, ()),
        ((OTHER_ERROR, LATER), OTHER_ERROR, ()),
        ((ACCEPTED, LATER), ACCEPTED, (LATER,)),
        ((COSMETIC, OTHER_ERROR, NO_ANSWER, LATER), NO_ANSWER, (LATER,)),
        ((ACCEPTED, NO_ANSWER), ACCEPTED, (NO_ANSWER,)),
        ((ACCEPTED, ENDED, LATER), ENDED, (LATER,)),
    ],
)
def test_the_gravest_difference_that_follows_from_no_other_heads_a_result(
    seen: tuple[Difference, ...], finding: Difference, following: tuple[Difference, ...]
) -> None:
    found = ranked(seen)
    assert found[0] == (finding, False)
    assert tuple(one for one, follows in found if follows) == following
    assert sorted(one.step for one, _ in found) == [one.step for one in seen]


def test_what_is_known_stands_below_what_is_new() -> None:
    old, new = difference("a/b", JAVA), difference("a/b", JAVA, step=9, field="generation_id", ordinal=1)
    result = judgement("a/b", JAVA, "diverges", reason="step 3: old", causes=(old.cause, new.cause))
    under_new, found = headed(result, (old, new), {old.cause})
    assert [(each.step, each.ordinal) for each in found] == [(9, 0), (3, 1)]
    assert under_new.reason == f"step 9: {new.cause}; known beside it: step 3: old"
    assert (under_new.first_step, under_new.causes) == (9, (new.cause, old.cause))
    again, _ = headed(under_new, found, ())
    assert (again.observed, again.causes) == (result.observed, result.causes)


@pytest.mark.parametrize(
    ("field", "one", "other"),
    [
        ("members[0].member_id", ('"member:ana"', '"member:bob"'), ('"member:cid"', '"member:eve-*"')),
        ("generation_id", ("1", "0"), ("7", "6")),
        ("topics[2].partitions[0].committed_offset", ("42", "7"), ("9", "3")),
        ("error_message", ('"no group:main here"', "null"), ('"no group:other here"', "null")),
        ("topics", ("[1]", "[]"), ("[2, 3]", "[]")),
        (None, ("not before 3000 ms", "earlier than 3000 ms"), ("not before 5 ms", "earlier than 5 ms")),
    ],
)
def test_a_cause_is_the_same_wherever_it_shows(
    field: str | None, one: tuple[str, str], other: tuple[str, str]
) -> None:
    assert cause_of("JoinGroup", "field value", field, *one) == cause_of(
        "JoinGroup", "field value", field, *other
    )


@pytest.mark.parametrize(
    ("field", "one", "other"),
    [
        ("generation_id", ("1", "0"), ("1", "2")),
        ("generation_id", ("1", "0"), ("1", "-1")),
        ("error_code", ('"NONE"', '"UNKNOWN_MEMBER_ID"'), ('"NONE"', '"ILLEGAL_GENERATION"')),
        ("member_id", ('"member:ana"', '""'), ('"member:ana"', '"member:bob"')),
        ("topics", ("[1]", "[]"), ("[1]", "[1, 2]")),
        ("protocol_name", ('"range"', "null"), ('"range"', '"roundrobin"')),
        ("is_stable", ("true", "false"), ("false", "true")),
        ("max_version", ("5", "4"), ("9", "8")),
    ],
)
def test_what_is_not_the_same_has_another_cause(
    field: str, one: tuple[str, str], other: tuple[str, str]
) -> None:
    assert cause_of("JoinGroup", "field value", field, *one) != cause_of(
        "JoinGroup", "field value", field, *other
    )


def test_a_cause_is_a_sentence() -> None:
    cause = in_join("members[1].member_id", '"member:ana"', '"member:bob"')
    assert cause == "JoinGroup members[].member_id: expected a member id, got another member id"
