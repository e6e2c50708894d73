"""A large answer that is compared with many courses of the reference is read once."""

import json
from dataclasses import replace
from typing import Final

import pytest

from harness.diff import compare as comparing
from harness.diff.compare import against_reference
from harness.tests.diff_traces import reference_trace, with_event
from harness.trace.events import EventKind
from harness.trace.schema import parsed_json

COURSES: Final = 40


def test_courses_in_which_the_reference_answers_alike_are_compared_as_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    due = reference_trace()
    answer = next(each for each in due if each.kind == EventKind.RESPONSE)
    other = json.dumps(json.loads(answer.canonical or "{}") | {"error_code": "UNKNOWN_SERVER_ERROR"})
    came = with_event(due, answer.step, canonical=other, digest="another")
    read: list[str] = []

    def reading(text: str, *, where: str) -> object:
        read.append(text)
        return parsed_json(text, where=where)

    comparing._unequal.cache_clear()
    monkeypatch.setattr(comparing, "parsed_json", reading)
    found = [against_reference(came, [replace(each) for each in due]) for _ in range(COURSES)]

    assert len(read) == 2
    assert {len(each) for each in found} == {1}
    assert (found[0][0].field, found[0][0].actual) == ("error_code", '"UNKNOWN_SERVER_ERROR"')
    assert found[-1] == found[0]
