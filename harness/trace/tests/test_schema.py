"""Columns and JSON Schemas that records say of themselves, and the line that each becomes."""

import json
from dataclasses import dataclass, fields, replace
from typing import get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.diff.model import Difference, Judgement
from harness.tests.made_events import ANSWER, JUDGEMENT
from harness.trace.events import Event, EventKind, RunFooter, RunHeader, TraceHeader
from harness.trace.schema import ColumnType, TraceError, columns, from_json, json_schema, to_json
from harness.trace.starvation import Starvation

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
STRATEGIES = {
    str: TEXT,
    int: st.integers(-(2**63), 2**63 - 1),
    float: NUMBERS,
    bool: st.booleans(),
    str | None: TEXT | st.none(),
    int | None: st.integers(-1, 2**31) | st.none(),
    float | None: NUMBERS | st.none(),
    bool | None: st.booleans() | st.none(),
    tuple[str, ...]: st.lists(TEXT).map(tuple),
}
RECORDS = [Event, Starvation, TraceHeader, RunHeader, RunFooter, Judgement, Difference]


@pytest.mark.parametrize("cls", RECORDS)
@given(data=st.data())
def test_a_record_survives_its_line(cls: type[Event], data: st.DataObject) -> None:
    hints = get_type_hints(cls)
    record = data.draw(st.builds(cls, **{field.name: STRATEGIES[hints[field.name]] for field in fields(cls)}))
    line = to_json(record)

    assert "\n" not in line
    assert from_json(cls, line) == record


@pytest.mark.parametrize("cls", RECORDS)
def test_the_json_schema_names_every_column_and_allows_no_other(cls: type[Event]) -> None:
    schema = json_schema(cls)

    assert schema["required"] == [column.name for column in columns(cls)]
    assert schema["additionalProperties"] is False
    assert json.loads(json.dumps(schema)) == schema


def test_a_column_is_described_by_the_string_under_its_field() -> None:
    by_name = {column.name: column for column in columns(Event)}

    assert by_name["kind"].description == "An `EventKind`."
    assert (by_name["actor"].type, by_name["actor"].nullable) == (ColumnType.STRING, True)
    assert by_name["actor"].description == ""


def test_a_record_class_describes_what_it_inherits() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Marked(Difference):
        mark: str
        """A mark."""

    described = {column.name: column.description for column in columns(Marked)}
    assert described["mark"] == "A mark."
    assert described["ordinal"].startswith("0 is the finding")


def test_a_type_that_no_schema_can_express_is_refused() -> None:
    @dataclass(frozen=True)
    class Odd:
        content: dict[str, str]

    with pytest.raises(TypeError, match="content"):
        columns(Odd)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"sequence": "0"}, "`sequence` must be integer, not '0'"),
        ({"sequence": True}, "`sequence` must be integer"),
        ({"sequence": None}, "`sequence` must be integer"),
        ({"note": 1}, "`note` must be string or null, not 1"),
        ({"reencodes": 1}, "`reencodes` must be boolean or null"),
        ({"at_ms": float("nan")}, "`at_ms` must be number"),
        ({"extra": 1}, "has unknown extra"),
    ],
)
def test_a_line_that_is_no_record_is_refused_by_name(change: dict[str, object], complaint: str) -> None:
    content = json.loads(to_json(ANSWER)) | change

    with pytest.raises(TraceError, match=rf"^events\.jsonl:17: .*{complaint}"):
        from_json(Event, json.dumps(content), where="events.jsonl:17")


def test_a_missing_key_is_refused_even_where_null_is_allowed() -> None:
    content = json.loads(to_json(ANSWER))
    del content["note"]

    with pytest.raises(TraceError, match="Event lacks note"):
        from_json(Event, json.dumps(content))


def test_a_key_that_was_added_later_may_be_missing() -> None:
    figures = Starvation(starved_ms=5.0, harness_ms=5.0, stopped_ms=None, run_queue_ms=1.0)
    content = json.loads(to_json(figures))
    del content["disk_ms"]

    assert from_json(Starvation, json.dumps(content)) == figures


@pytest.mark.parametrize("line", ["", "{", "[]", "1", b"\xff"])
def test_what_is_no_object_is_refused(line: str | bytes) -> None:
    with pytest.raises(TraceError, match=r"^here: no JSON"):
        from_json(Event, line, where="here")


def test_an_array_of_something_else_is_refused() -> None:
    content = json.loads(to_json(JUDGEMENT)) | {"apis": ["Heartbeat", 1]}

    with pytest.raises(TraceError, match="`apis` must be array of strings"):
        from_json(Judgement, json.dumps(content))


def test_a_wrong_record_is_never_written() -> None:
    with pytest.raises(TypeError, match="`step` must be integer"):
        to_json(replace(ANSWER, step=1.5))  # type: ignore[arg-type]


def test_a_member_of_an_enum_is_written_as_its_value() -> None:
    assert '"kind":"no answer"' in to_json(replace(ANSWER, kind=EventKind.NO_ANSWER))
