"""Ids are opaque: a broker that behaves like the reference conforms, whatever its ids look like."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.diff.compare import differences
from harness.diff.raw_difference import read_fields
from harness.diff.trace_resolution import groups_of
from harness.runner.placing import group_ids, num_partitions
from harness.scenario.script import Script
from harness.targets.reference.target import ReferenceTarget
from harness.tests.completed_runs import catalogue
from harness.tests.diff_traces import answers, reference_trace, trace
from harness.tests.diff_traces import script as diff_script
from harness.tests.stages import interpreted
from harness.trace.canonical import (
    Canonicaliser,
    FieldValue,
    Observed,
    canonical_json,
    digest,
    fields_json,
    is_prose,
    member_prefixes,
)
from harness.trace.events import Event, EventKind
from harness.trace.ids import MEMBER, PRODUCER, IdKey, id_in

ANSWERED = (EventKind.RESPONSE, EventKind.POLL)
SCENARIOS = (
    "classic/join/each-first-step-mints-another-id",
    "classic/join/first-step-mints-an-id",
    "classic/join/one-step-before-v4",
    "classic/join/second-step-waits-for-all-members",
    "classic/join/stranger-in-a-stable-group",
    "consumer_groups/static/takes-anothers-instance",
    "consumer_groups/reconciliation/handover",
    "static_membership/fencing/heartbeat-ladder",
    "static_membership/identity/no-member-id-required",
    "static_membership/rebalance/nobody-rejoined",
    "static_membership/rebalance/restart-in-initial-delay",
    "static_membership/restart/inherits-assignment",
    "static_membership/successor/falls-silent",
    "transactions/delete/pending-offset",
)
NewId = Callable[[int, IdKey], str | int]
"""Returns another id for the one with this number."""


@cache
def recorded(scenario_id: str) -> tuple[Script, tuple[Event, ...]]:
    """Return a scenario and its conversation with the reference."""
    script = catalogue()[scenario_id]
    return script, asyncio.run(conversed(script))


async def conversed(script: Script) -> tuple[Event, ...]:
    """Run a script on the reference."""
    broker = await ReferenceTarget("4.4").start(
        broker_config=script.broker_config, directory=Path(), progress=lambda _: None
    )
    partitions = num_partitions(broker.description)
    groups = group_ids(script, run_id="r", partitions=partitions)
    events = await interpreted(script, broker.open_session(script.id), groups, partitions=partitions)
    await broker.stop()
    return tuple(events)


def identifiers(value: object) -> Iterator[IdKey]:
    """Yield the ids in a message, in their order."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            key = id_in(name, item)
            yield from identifiers(item) if key is None else (key,)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from identifiers(item)


def drawn(events: Sequence[Event]) -> list[IdKey]:
    """Return the ids that the coordinator chose, in the order in which answers showed them."""
    made_up: set[IdKey] = set()
    found: dict[IdKey, None] = {}
    for event in events:
        keys = [*identifiers(read_fields(event.fields))] if event.fields else []
        if event.kind == EventKind.REQUEST:
            made_up.update(key for key in keys if key not in found)
        elif event.kind in ANSWERED:
            found |= dict.fromkeys(key for key in keys if key not in made_up)
    return [*found]


def with_ids(value: FieldValue, ids: Mapping[IdKey, str | int], name: str = "") -> FieldValue:
    """Return a message with other ids."""
    key = id_in(name, value)
    if key is not None:
        return ids.get(key, key[1])
    if isinstance(value, Mapping):
        return {each: with_ids(item, ids, each) for each, item in value.items()}
    if isinstance(value, list | tuple):
        return [with_ids(item, ids, name) for item in value]
    if isinstance(value, str) and is_prose(name):
        for (kind, old), new in ids.items():
            if kind == MEMBER:
                value = value.replace(str(old), str(new))
    return value


def renamed(script: Script, events: Sequence[Event], ids: Mapping[IdKey, str | int]) -> tuple[Event, ...]:
    """Return a conversation as a broker has it that differs only in its ids."""
    anew = [
        replace(event, fields=fields_json(with_ids(read_fields(event.fields), ids)))  # type: ignore[arg-type] # fields
        if event.fields and event.kind in (EventKind.REQUEST, *ANSWERED)
        else event
        for event in events
    ]
    groups = {real: name for name, real in groups_of(script, anew).items()}
    sheets = (
        (each.name, prefix) for each in script.actors for prefix in (each.client_id, each.group_instance_id)
    )
    canonicaliser = Canonicaliser(groups=groups, actors=member_prefixes(sheets))
    observed: dict[int, Observed] = {}
    for event in anew:
        if event.fields is None or event.actor is None or event.api is None:
            continue
        fields = read_fields(event.fields)
        if event.kind == EventKind.REQUEST:
            canonicaliser.asked(actor=event.actor, api=event.api, fields=fields)
        elif event.kind in ANSWERED:
            observed[event.sequence] = canonicaliser.observe(actor=event.actor, api=event.api, fields=fields)
    canonicaliser.settle()
    return tuple(
        written(event, canonical_json(canonicaliser.form(observed[event.sequence])))
        if event.sequence in observed
        else event
        for event in anew
    )


def written(event: Event, canonical: str) -> Event:
    """Return an answer with its canonical form."""
    named = digest(event.kind, event.api, event.api_version, canonical)
    return replace(event, canonical=canonical, digest=named, permitted=None)


LETTERS = "abcdefghijklmnopqrstuvwxyz"
FORMS: Mapping[str, NewId] = {
    "numbers": lambda place, _: str(place),
    "hex": lambda place, _: f"{place:032x}",
    "UUIDs": lambda place, _: str(UUID(int=place + 1)),
    "of one character": lambda place, _: LETTERS[place],
    "one the beginning of the next": lambda place, _: "id" * (place + 1),
    "UUIDs behind another actor's name": lambda place, _: f"bob-{UUID(int=place)}",
    "blanks and slashes": lambda place, _: f"a member / {place}",
}


def other_ids(script: Script, events: Sequence[Event], form: NewId) -> dict[IdKey, str | int]:
    """Return other ids for all that the coordinator drew."""
    return {
        key: 90_000 + 7 * place if key[0] == PRODUCER else form(place, key)
        for place, key in enumerate(drawn(events))
    }


def found(script: Script, events: Sequence[Event], others: Sequence[Event]) -> list[tuple[object, ...]]:
    """Return the differences of a conversation from another."""
    return [
        (each.step, each.field, each.expected, each.actual) for each in differences(script, events, others)
    ]


@pytest.mark.parametrize("scenario_id", SCENARIOS)
def test_a_recorder_writes_what_the_whole_conversation_shows(scenario_id: str) -> None:
    script, events = recorded(scenario_id)
    assert [each.canonical for each in renamed(script, events, {})] == [each.canonical for each in events]


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("scenario_id", SCENARIOS)
def test_a_broker_whose_ids_look_otherwise_has_the_same_canonical_form(scenario_id: str, form: NewId) -> None:
    script, events = recorded(scenario_id)
    theirs = renamed(script, events, other_ids(script, events, form))
    assert found(script, theirs, events) == found(script, events, events)
    assert [each.canonical for each in theirs] == [each.canonical for each in events]


@settings(max_examples=30)
@given(data=st.data())
def test_ids_may_be_any_texts(data: st.DataObject) -> None:
    script, events = recorded(data.draw(st.sampled_from(SCENARIOS)))
    keys = drawn(events)
    names = [each.name for each in script.actors] + [
        *groups_of(script, events),
        *groups_of(script, events).values(),
    ]
    texts = st.sampled_from(names) | st.text(min_size=1) | st.text(alphabet="-0a", min_size=1)
    anything = data.draw(st.lists(texts, min_size=len(keys), max_size=len(keys), unique=True))
    theirs = renamed(script, events, dict(other_ids(script, events, lambda place, _: anything[place])))
    assert found(script, theirs, events) == found(script, events, events)


def anew(value: FieldValue, draw: Random, name: str = "") -> FieldValue:
    """Return a message with other texts for people, addresses and times."""
    if isinstance(value, Mapping):
        return {each: anew(item, draw, each) for each, item in value.items()}
    if isinstance(value, list | tuple):
        return [anew(item, draw, name) for item in value]
    if name in ("host", "client_host") or is_prose(name):
        return f"{name} {draw.random()}" if value is not None else None
    return draw.randrange(1024, 65_536) if name == "port" else value


def spoilt(events: Sequence[Event], draw: Random) -> tuple[Event, ...]:
    """Return a conversation in which each answer is wrong, with values that are drawn."""
    wrong: list[Event] = []
    for event in events:
        fields = dict(read_fields(event.fields))
        if event.kind in ANSWERED:
            fields = {name: anew(item, draw, name) for name, item in fields.items()}
            for name, item in fields.items():
                if isinstance(item, list):
                    fields[name] = item[:-1]
                elif name == "leader":
                    fields[name] = f"x{draw.random()}"
        wrong.append(replace(event, fields=fields_json(fields)) if event.kind in ANSWERED else event)
    return tuple(wrong)


@pytest.mark.parametrize("scenario_id", SCENARIOS)
def test_signatures_contain_nothing_that_is_drawn(scenario_id: str) -> None:
    script, events = recorded(scenario_id)
    signatures = []
    for seed in (1, 2):
        draw = Random(seed)
        ids = other_ids(script, events, lambda place, _, seed=seed: f"{place + 100 * seed:x}")  # type: ignore[misc] # bound now
        theirs = renamed(script, spoilt(events, draw), ids)
        signatures.append([each.signature for each in differences(script, theirs, events)])
    assert signatures[0] == signatures[1]
    assert signatures[0]


def with_answers(changes: Mapping[int, Mapping[str, FieldValue]]) -> tuple[Event, ...]:
    """Return a conversation of two members, 1 and 2, with changed answers."""
    given = [None if each is None else dict(each) for each in answers("1", "2")]
    for place, changed in changes.items():
        fields = given[place]
        assert fields is not None
        fields.update(changed)
    return trace(given)


def listed(*ids: str) -> FieldValue:
    return [{"member_id": each, "group_instance_id": None, "metadata": b"\x00\x01"} for each in ids]


@pytest.mark.parametrize(
    ("changes", "field", "expected", "actual"),
    [
        ({1: {"member_id": "1"}}, "member_id", "member:bob", "member:ana"),
        ({3: {"member_id": "3"}}, "member_id", "member:ana", "member:ana#2"),
        ({4: {"member_id": "3"}}, "member_id", "member:bob", "member:bob#2"),
        ({3: {"members": listed("1", "9")}}, "members[1].member_id", "member:bob", "member:?"),
        ({3: {"members": listed("1", "1")}}, "members[1].member_id", "member:bob", "member:ana"),
        ({4: {"leader": "2"}}, "leader", "member:ana", "member:bob"),
        ({4: {"leader": "9"}}, "leader", "member:ana", "member:?"),
        ({4: {"member_id": ""}}, "member_id", "member:bob", ""),
    ],
    ids=[
        "one id for two actors",
        "another id than the one promised to the leader",
        "another id than the one promised to a follower",
        "somebody else in the list",
        "one member twice",
        "another leader",
        "a leader that nobody is",
        "no id",
    ],
)
def test_which_ids_are_equal_is_compared(
    changes: Mapping[int, Mapping[str, FieldValue]], field: str, expected: str, actual: str
) -> None:
    first = differences(diff_script(), with_answers(changes), reference_trace())[0]
    assert (first.field, first.expected, first.actual) == (field, f'"{expected}"', f'"{actual}"')


def test_two_members_whose_ids_are_plain_numbers_conform() -> None:
    assert differences(diff_script(), with_answers({}), reference_trace()) == ()
