"""Traces of a conversation with a well-behaved coordinator, to be spoilt by tests."""

import json
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Final

from harness.diff.judge import TargetInfo
from harness.diff.raw_difference import read_fields
from harness.scenario import ask, expect
from harness.scenario.bindings import Bindings
from harness.scenario.conversation import Conversation
from harness.scenario.script import Receive, Script, Send, StayParked
from harness.scenario.values import Pattern
from harness.tests.made_events import BARE
from harness.trace.canonical import (
    Canonicaliser,
    FieldValue,
    Observed,
    canonical_json,
    digest,
    fields_json,
    member_prefixes,
)
from harness.trace.events import Event, EventKind

Fields = Mapping[str, FieldValue]
SCENARIO: Final = "classic/heartbeat/follower-rejoins"
ANA_ID: Final = "ana-11111111-2222-3333-4444-555555555555"
BOB_ID: Final = "bob-99999999-8888-7777-6666-555555555555"


def script(scenario_id: str = SCENARIO) -> Script:
    """Two members join in one rebalance; then one of them leaves and the other is told."""
    conversation = Conversation()
    ana, bob = conversation.actors("ana", "bob")
    ana.sends(ask.join_group(member_id=""))
    ana.receives(expect.join_group(error_code="MEMBER_ID_REQUIRED"))
    bob.sends(ask.join_group(member_id=""))
    bob.receives(expect.join_group(error_code="MEMBER_ID_REQUIRED"))
    ana.sends(ask.join_group())
    ana.stays_parked(for_ms=100)
    bob.sends(ask.join_group())
    ana.receives(
        expect.join_group(error_code="NONE", leader=ana.member_id), not_before_ms=100, not_after_ms=3000
    )
    bob.receives(expect.join_group(error_code="NONE", leader=ana.member_id, members=()))
    ana.sends(ask.heartbeat(generation_id=ana.generation_id))
    ana.receives(expect.heartbeat(error_code="REBALANCE_IN_PROGRESS"))
    ana.climbs([(ask.heartbeat(generation_id=7), expect.heartbeat(error_code="ILLEGAL_GENERATION"))])
    bob.sends(ask.leave_group())
    bob.receives(expect.leave_group(error_code="NONE"))
    return Script(
        id=scenario_id,
        title="Two members join and one leaves.",
        source="GroupMetadataManager#classicGroupLeave",
        clauses=("JG-01",),
        needs=(),
        broker_config={},
        actors=tuple(conversation.sheets.values()),
        steps=tuple(conversation.steps),
    )


def _join_error(member_id: str) -> Fields:
    return {
        "throttle_time_ms": 0,
        "error_code": "MEMBER_ID_REQUIRED",
        "generation_id": -1,
        "protocol_name": "",
        "leader": "",
        "member_id": member_id,
        "members": [],
    }


def _joined(member_id: str, leader: str, members: Sequence[str]) -> Fields:
    return {
        "throttle_time_ms": 0,
        "error_code": "NONE",
        "generation_id": 1,
        "protocol_name": "range",
        "leader": leader,
        "member_id": member_id,
        "members": [
            {"member_id": one, "group_instance_id": None, "metadata": b"\x00\x01"} for one in members
        ],
    }


def answers(
    ana: str = ANA_ID, bob: str = BOB_ID, *, members: Sequence[str] | None = None
) -> tuple[Fields | None, ...]:
    """Return what a coordinator answers at each awaiting step; None where it keeps silent."""
    in_map_order = members or (ana, bob)
    left = {"member_id": bob, "group_instance_id": None, "error_code": "NONE"}
    return (
        _join_error(ana),
        _join_error(bob),
        None,
        _joined(ana, ana, in_map_order),
        _joined(bob, ana, ()),
        {"throttle_time_ms": 0, "error_code": "REBALANCE_IN_PROGRESS"},
        {"throttle_time_ms": 0, "error_code": "ILLEGAL_GENERATION"},
        {"throttle_time_ms": 0, "error_code": "NONE", "members": [left]},
    )


@dataclass(slots=True, kw_only=True)
class _Telling:
    script: Script
    target: str
    group_id: str
    answers: list[Fields | None]
    events: list[Event] = field(default_factory=list)
    observed: dict[int, Observed] = field(default_factory=dict)

    def tell(self) -> tuple[Event, ...]:
        bindings = Bindings(groups={"main": self.group_id})
        prefixes = [(sheet.name, sheet.client_id) for sheet in self.script.actors]
        prefixes += [(sheet.name, sheet.group_instance_id) for sheet in self.script.actors]
        canonicaliser = Canonicaliser(groups={self.group_id: "main"}, actors=member_prefixes(prefixes))
        for index, step in enumerate(self.script.steps):
            if isinstance(step, Send):
                sent: Mapping[str, Pattern] = bindings.resolve_fields(step.fields)
                canonicaliser.asked(actor=step.actor, api=step.api, fields=sent)
                self._event(index, EventKind.REQUEST, step, fields=fields_json(sent))  # type: ignore[arg-type] # resolved
            elif isinstance(step, StayParked):
                assert self.answers.pop(0) is None
                self._event(index, EventKind.SILENCE, step, elapsed_ms=float(step.for_ms))
            elif isinstance(step, Receive):
                answer = self.answers.pop(0)
                assert answer is not None
                bindings.learn(step=index, actor=step.actor, api=step.api, fields=answer)
                answered = canonicaliser.observe(actor=step.actor, api=step.api, fields=answer)
                self.observed[len(self.events)] = answered
                self._event(index, EventKind.RESPONSE, step, fields=fields_json(answer), elapsed_ms=120.0)
        canonicaliser.settle()
        return tuple(self._named(each, canonicaliser) for each in self.events)

    def _named(self, event: Event, canonicaliser: Canonicaliser) -> Event:
        if event.sequence not in self.observed:
            return event
        canonical = canonical_json(canonicaliser.form(self.observed[event.sequence]))
        named = digest(event.kind, event.api, event.api_version, canonical)
        return replace(event, canonical=canonical, digest=named)

    def _event(
        self,
        index: int,
        kind: EventKind,
        step: Send | Receive | StayParked,
        *,
        fields: str | None = None,
        elapsed_ms: float | None = None,
    ) -> None:
        spoken = None if isinstance(step, StayParked) else step
        api, version = (spoken.api, spoken.api_version) if spoken else ("JoinGroup", 6)
        self.events.append(
            replace(
                BARE,
                target=self.target,
                scenario_id=self.script.id,
                sequence=len(self.events),
                step=index,
                kind=kind.value,
                actor=step.actor,
                connection=step.connection,
                api=api,
                api_version=version,
                correlation_id=index,
                at_ms=10.0 * index,
                elapsed_ms=elapsed_ms,
                raw="00",
                fields=fields,
                canonical=None,
                digest=digest(kind.value, api, version, None),
                reencodes=True if kind == EventKind.RESPONSE else None,
            )
        )


def trace(
    given: Sequence[Fields | None] | None = None,
    *,
    of: Script | None = None,
    target: str = "kafka-3.9.2",
    group_id: str = "kc-1.main",
) -> tuple[Event, ...]:
    """Return the trace of a conversation in which a target gave these answers."""
    reported = list(answers() if given is None else given)
    return _Telling(script=of or script(), target=target, group_id=group_id, answers=reported).tell()


def reference_trace() -> tuple[Event, ...]:
    """Return the trace of a reference with ids and a group name of its own."""
    ids = ("ana-00000000-0000-0000-0000-000000000001", "bob-00000000-0000-0000-0000-000000000002")
    return trace(answers(*ids), target="reference", group_id="kc-0.main")


def spoilt(
    events: Sequence[Event], step: int, change: Callable[[dict[str, FieldValue]], None]
) -> tuple[Event, ...]:
    """Return a trace whose answer at one step was another one, told from its fields anew."""
    given: list[Fields | None] = []
    for event in events:
        if event.kind == EventKind.SILENCE:
            given.append(None)
        elif event.kind == EventKind.RESPONSE:
            fields = dict(deepcopy(read_fields(event.fields)))
            if event.step == step:
                change(fields)
            given.append(fields)
    request = json.loads(events[0].fields or "{}")
    return trace(given, target=events[0].target, group_id=request["group_id"])


def with_event(events: Sequence[Event], step: int, **changes: object) -> tuple[Event, ...]:
    """Return a trace whose answer at one step is changed as an event: its kind, its time, its note."""
    return tuple(
        replace(event, **changes) if event.step == step and event.kind != EventKind.REQUEST else event  # type: ignore[arg-type] # names of fields
        for event in events
    )


def info(
    target: str = "kafka-3.9.2", *, spec: str = "kafka:3.9.2", oracle: str | None = "reference"
) -> TargetInfo:
    """Return a target."""
    return TargetInfo(run_id="run-1", target=target, spec=spec, profile="3.9", oracle=oracle)
