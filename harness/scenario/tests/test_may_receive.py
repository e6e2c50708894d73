"""An answer that some releases never give: recorded, told, and compared with the reference alone."""

from dataclasses import replace

import pytest

from harness.diff.compare import against_script
from harness.scenario import Conversation, ask, expect, record, scenario
from harness.scenario.script import Receive, Script, script_from_json, script_to_json, step_text
from harness.tests.made_events import ANSWER
from harness.trace.canonical import SPOKEN_VERSIONS
from harness.trace.events import Event, EventKind
from harness.wire.schema import API_NAMES, has_version


@scenario("classic/heartbeat/perhaps", source="KIP-848")
def perhaps(conversation: Conversation) -> None:
    """It may be answered."""
    ana = conversation.actor("ana")
    ana.sends(ask.heartbeat(generation_id=1, member_id="nobody"))
    ana.may_receive(expect.heartbeat(error_code="NONE"), within_ms=700)


@scenario("classic/heartbeat/surely", source="KIP-848")
def surely(conversation: Conversation) -> None:
    """It is answered."""
    ana = conversation.actor("ana")
    ana.sends(ask.heartbeat(generation_id=1, member_id="nobody"))
    ana.receives(expect.heartbeat(error_code="NONE"), within_ms=700)


def ending(script: Script, kind: EventKind, **fields: object) -> tuple[Event, ...]:
    end = replace(ANSWER, scenario_id=script.id, sequence=1, step=1, kind=kind.value)
    request = replace(end, sequence=0, step=0, kind=EventKind.REQUEST.value, fields="{}", canonical="{}")
    return request, replace(end, **fields)  # type: ignore[arg-type] # the caller names fields


@pytest.mark.parametrize("kind", [EventKind.NO_ANSWER, EventKind.CLOSED])
def test_silence_is_as_the_script_expects_where_an_answer_is_optional(kind: EventKind) -> None:
    nothing = {"fields": None, "canonical": None, "digest": None}
    assert against_script(record(perhaps), ending(record(perhaps), kind, **nothing)) == ()
    assert len(against_script(record(surely), ending(record(surely), kind, **nothing))) == 1


def test_an_answer_that_comes_is_checked_against_what_was_pinned() -> None:
    wrong = '{"error_code":"UNKNOWN_MEMBER_ID"}'
    script = record(perhaps)
    assert against_script(script, ending(script, EventKind.RESPONSE)) == ()
    (seen,) = against_script(script, ending(script, EventKind.RESPONSE, fields=wrong, canonical=wrong))
    assert seen.field == "error_code"


def test_it_survives_json_and_is_reported_in_words() -> None:
    script = script_from_json(script_to_json(record(perhaps)))
    assert script == record(perhaps)
    step = script.steps[1]
    assert isinstance(step, Receive)
    assert (step.is_optional, step.within_ms) == (True, 700)
    assert step_text(step).startswith("ana may receive Heartbeat v4")


@pytest.mark.parametrize("api_key", SPOKEN_VERSIONS)
def test_versions_beyond_which_nothing_is_compared_are_those_of_the_codec(api_key: int) -> None:
    api, (least, most) = API_NAMES[api_key], SPOKEN_VERSIONS[api_key]
    spoken = [version for version in range(most + 2) if has_version(api, version)]
    assert spoken == list(range(least, most + 1))
