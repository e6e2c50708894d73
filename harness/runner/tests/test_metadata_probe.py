"""Waiting until a coordinator has seen all metadata: what is asked, what is recorded, and how it may end."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace

import pytest

from harness.diff.alignment import aligned
from harness.runner.tests.test_interpreter import kinds, script_of
from harness.scenario import Conversation, ask, script_from_json, script_to_json, step_text
from harness.scenario.script import AwaitMetadata, Script
from harness.tests.stages import MemorySession, Responder, interpreted
from harness.trace.events import Event, EventKind
from harness.wire.codec import FieldValue, decode_request, encode_response
from harness.wire.schema import API_NAMES

IN_VAIN = 10_000


class LaggingBroker:
    """A broker that takes configurations and shows each change only after some further questions."""

    def __init__(self, *, lag: int) -> None:
        self.asked: list[str] = []
        self._lag = lag
        self._left = 0
        self._taken, self._shown = "5000", "5000"

    def __call__(self, payload: bytes) -> bytes:
        key, version = (int.from_bytes(payload[at : at + 2]) for at in (0, 2))
        api = API_NAMES[key]
        self.asked.append(api)
        request = decode_request(api, version, payload)
        fields = self._altered(request.fields) if "Alter" in api else self._described()
        return encode_response(api, version, correlation_id=request.correlation_id, fields=fields)

    def _altered(self, fields: Mapping[str, FieldValue]) -> Mapping[str, FieldValue]:
        match fields["resources"]:
            case [{"resource_name": "g-probe", "configs": [{"value": str(value)}]}]:
                assert self._shown == self._taken, "the change before is to be seen first"
                assert value != self._taken, "the same value again would be no change"
                self._taken, self._left = value, self._lag
            case other:
                raise AssertionError(other)
        return {"responses": [{"error_code": "NONE", "resource_type": 32, "resource_name": "g-probe"}]}

    def _described(self) -> Mapping[str, FieldValue]:
        if not self._left:
            self._shown = self._taken
        self._left -= 1
        config: Mapping[str, FieldValue] = {"name": "consumer.heartbeat.interval.ms", "value": self._shown}
        return {"results": [{"resource_type": 32, "resource_name": "g-probe", "configs": [config]}]}


def waits(conversation: Conversation) -> None:
    """A member waits until the coordinator has seen what was changed."""
    ana = conversation.actor("ana")
    ana.awaits_metadata()
    ana.asks(ask.heartbeat(member_id="m", generation_id=1), error_code="NONE")


@pytest.fixture(name="script")
def script_that_waits() -> Script:
    return script_of(waits)


def waiting(script: Script, broker: Responder, *, may_configure: bool = True) -> list[Event]:
    """Run the first step alone, and return what was recorded."""
    first = replace(script, steps=script.steps[:1])
    groups = {"main": "g", "metadata-probe": "g-probe"}
    return asyncio.run(interpreted(first, MemorySession(broker), groups, may_configure=may_configure))


def test_two_changes_are_awaited_one_after_the_other(script: Script) -> None:
    broker = LaggingBroker(lag=2)

    events = waiting(script, broker)

    alters, describes = "IncrementalAlterConfigs", "DescribeConfigs"
    assert broker.asked == [alters, *[describes] * 3] * 2
    assert kinds(events) == [EventKind.REQUEST, EventKind.POLL] * 8 + [EventKind.ELAPSED]
    assert events[-1].elapsed_ms == 80


def test_a_wait_in_the_same_conversation_changes_the_configuration_again(script: Script) -> None:
    broker = LaggingBroker(lag=0)

    waiting(script, broker)
    events = waiting(script, broker)

    assert events[-1].kind == EventKind.ELAPSED
    assert len(broker.asked) == 8


def test_how_long_it_took_makes_no_difference(script: Script) -> None:
    slow, quick = (waiting(script, LaggingBroker(lag=lag)) for lag in (5, 0))

    pairs = list(aligned(slow, quick))
    assert [(pair.event and pair.event.kind, pair.is_equal) for pair in pairs] == [(EventKind.ELAPSED, True)]


def test_a_change_that_is_never_seen_ends_the_conversation(script: Script) -> None:
    events = waiting(script, LaggingBroker(lag=IN_VAIN))

    assert events[-1].kind == EventKind.ABANDONED
    assert events[-1].note == "DescribeConfigs did not show a change of metadata within 10000 ms"
    assert not any(event.kind == EventKind.RESPONSE for event in events)


def test_a_broker_that_does_not_answer_ends_the_conversation(script: Script) -> None:
    events = waiting(script, lambda _: None)

    assert kinds(events) == [EventKind.REQUEST, EventKind.NO_ANSWER, EventKind.ABANDONED]


def test_nothing_is_configured_where_it_may_not_be(script: Script) -> None:
    broker = LaggingBroker(lag=0)

    events = waiting(script, broker, may_configure=False)

    assert not broker.asked
    assert [(event.kind, event.elapsed_ms) for event in events] == [(EventKind.ELAPSED, 500)]


def test_the_step_is_data_and_says_what_it_waits_for(script: Script) -> None:
    assert isinstance(script.steps[0], AwaitMetadata)
    assert script_from_json(script_to_json(script)) == script
    assert step_text(script.steps[0]) == "ana waits until the coordinator has seen all changes of metadata"
