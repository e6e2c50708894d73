"""Turns what happens in one conversation into events.

An answer that shows an id before its owner has it is written when its owner does, with the events after it.
"""

import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache

from harness.runner.witness import WitnessedStretch
from harness.scenario.script import Script
from harness.targets.base.interface import BrokerDescription, PermittedValue
from harness.trace.canonical import (
    Canonicaliser,
    Observed,
    canonical_json,
    digest,
    fields_json,
    member_prefixes,
)
from harness.trace.events import Event, EventKind, TraceHeader
from harness.trace.formats import config_digest
from harness.trace.schema import to_json
from harness.trace.starvation import Starvation, rounded
from harness.wire.codec import Decoded, decode_response
from harness.wire.schema import API_NAMES


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPosition:
    """Where in a conversation something happens."""

    step: int
    actor: str | None = None
    connection: str | None = None
    api: str | None = None
    api_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Permitted:
    """The correct values of a field of an answer."""

    field: str
    any_of: Sequence[Observed]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Named:
    """The parts of an event that contain names of ids."""

    answer: Observed
    permitted: Sequence[_Permitted]

    @property
    def parts(self) -> tuple[Observed, ...]:
        """The answer, and everything that it may be."""
        return (self.answer, *(value for each in self.permitted for value in each.any_of))


@dataclass(slots=True, kw_only=True)
class Recorder:
    """Writes the events of one scenario with one target, each as soon as it is known, the last at `end`."""

    run_id: str
    target: str
    script: Script
    canonicaliser: Canonicaliser
    write: Callable[[Event], None]
    now_ms: Callable[[], float]
    _sequence: int = field(default=0, init=False)
    _waiting: deque[tuple[Event, _Named | None]] = field(default_factory=deque, init=False)

    def request(
        self, place: EventPosition, payload: bytes, *, correlation_id: int, fields: Mapping[str, object]
    ) -> None:
        """Record that a request was sent, with the values that its references had."""
        assert place.actor is not None
        assert place.api is not None
        self.canonicaliser.asked(actor=place.actor, api=place.api, fields=fields)
        self._event(
            EventKind.REQUEST,
            place,
            correlation_id=correlation_id,
            payload=payload,
            fields=fields_json(fields),  # type: ignore[arg-type] # resolved fields are plain values
        )

    def response(
        self,
        kind: EventKind,
        place: EventPosition,
        decoded: Decoded,
        *,
        payload: bytes,
        elapsed_ms: float,
        permitted: tuple[PermittedValue, ...] = (),
        note: str | None = None,
    ) -> None:
        """Record a response that could be decoded: RESPONSE, or POLL for one that did not match yet."""
        self._event(
            kind,
            place,
            correlation_id=decoded.correlation_id,
            elapsed_ms=elapsed_ms,
            payload=payload,
            fields=fields_json(decoded.fields),
            reencodes=decoded.reencodes,
            named=_Named(answer=self.observe(place, decoded), permitted=self._permitted(place, permitted)),
            note=note,
        )

    def observe(self, place: EventPosition, decoded: Decoded) -> Observed:
        """Learn the ids in a response's content."""
        assert place.actor is not None
        assert place.api is not None
        return self.canonicaliser.observe(actor=place.actor, api=place.api, fields=decoded.fields)

    def end(self) -> None:
        """Write what waits for ids that nobody received: the conversation is over. Idempotent."""
        self.canonicaliser.settle()
        while self._waiting:
            self.write(self._complete(*self._waiting.popleft()))

    def note(
        self,
        kind: EventKind,
        place: EventPosition,
        note: str | None = None,
        *,
        payload: bytes | None = None,
        correlation_id: int | None = None,
        elapsed_ms: float | None = None,
    ) -> None:
        """Record anything that carries no readable response."""
        self._event(
            kind, place, note=note, payload=payload, correlation_id=correlation_id, elapsed_ms=elapsed_ms
        )

    def starved(self, place: EventPosition, reported: WitnessedStretch) -> None:
        """Record that the machine kept the harness or the broker from running."""
        fields, note = _said(reported.starvation)
        self._event(
            EventKind.STARVED,
            place,
            at_ms=reported.end_ms,
            elapsed_ms=reported.end_ms - reported.begin_ms,
            fields=fields,
            note=note,
        )

    def _event(
        self,
        kind: EventKind,
        place: EventPosition,
        *,
        at_ms: float | None = None,
        correlation_id: int | None = None,
        elapsed_ms: float | None = None,
        payload: bytes | None = None,
        fields: str | None = None,
        reencodes: bool | None = None,
        note: str | None = None,
        named: _Named | None = None,
    ) -> None:
        event = Event(
            run_id=self.run_id,
            target=self.target,
            scenario_id=self.script.id,
            sequence=self._sequence,
            step=place.step,
            kind=kind.value,
            actor=place.actor,
            connection=place.connection,
            api=place.api,
            api_version=place.api_version,
            correlation_id=correlation_id,
            at_ms=round(self.now_ms() if at_ms is None else at_ms, 3),
            elapsed_ms=None if elapsed_ms is None else round(elapsed_ms, 3),
            raw=None if payload is None else payload.hex(),
            fields=fields,
            canonical=None,
            digest=digest(kind.value, place.api, place.api_version, None),
            reencodes=reencodes,
            permitted=None,
            note=note,
        )
        self._sequence += 1
        self._waiting.append((event, named))
        while self._waiting and self._is_settled(self._waiting[0][1]):
            self.write(self._complete(*self._waiting.popleft()))

    def _is_settled(self, named: _Named | None) -> bool:
        return named is None or all(map(self.canonicaliser.is_settled, named.parts))

    def _complete(self, event: Event, named: _Named | None) -> Event:
        """Return an event with its canonical form."""
        if named is None:
            return event
        canonical = canonical_json(self.canonicaliser.form(named.answer))
        choices = [
            {
                "field": each.field,
                "any_of": [self.canonicaliser.form(value) for value in each.any_of],
                "reason": each.reason,
            }
            for each in named.permitted
        ]
        return replace(
            event,
            canonical=canonical,
            digest=digest(event.kind, event.api, event.api_version, canonical),
            permitted=canonical_json(choices) if choices else None,
        )

    def _permitted(self, place: EventPosition, permitted: Sequence[PermittedValue]) -> list[_Permitted]:
        choices = []
        for value in permitted:
            assert place.api is not None
            assert place.api_version is not None
            decoded = [decode_response(place.api, place.api_version, payload) for payload in value.payloads]
            alternatives = [
                self.canonicaliser.alternative(each.fields[value.field], api=place.api, path=value.field)
                for each in decoded
                if value.field in each.fields
            ]
            if alternatives:
                choices.append(_Permitted(field=value.field, any_of=alternatives, reason=value.reason))
        return choices


@lru_cache(maxsize=256)
def _said(starvation: Starvation) -> tuple[str, str]:
    """Return figures as JSON and in words; all conversations with a broker report the same ones."""
    figures = rounded(starvation)
    return to_json(figures), figures.words()


def recorder_of(
    script: Script, *, run_id: str, target: str, groups: Mapping[str, str], write: Callable[[Event], None]
) -> Recorder:
    """Return a recorder for a conversation that has not begun; it records time 0 until it gets a clock.

    Args:
        script: the script of the conversation.
        run_id: the run's id.
        target: the target's name.
        groups: the real ids of the script's groups, by name.
        write: receives the events.
    """
    prefixes = member_prefixes(
        (sheet.name, prefix)
        for sheet in script.actors
        for prefix in (sheet.client_id, sheet.group_instance_id)
    )
    named = {real: name for name, real in groups.items()}
    return Recorder(
        run_id=run_id,
        target=target,
        script=script,
        canonicaliser=Canonicaliser(groups=named, actors=prefixes),
        write=write,
        now_ms=lambda: 0.0,
    )


def note_alone(
    script: Script, kind: EventKind, note: str, *, run_id: str, target: str, write: Callable[[Event], None]
) -> None:
    """Record a note as the only event of a script that is not run."""
    recorder = recorder_of(script, run_id=run_id, target=target, groups={}, write=write)
    recorder.note(kind, EventPosition(step=-1), note)


def header_of(run_id: str, name: str, description: BrokerDescription, start_ms: float) -> TraceHeader:
    """Return the header that describes a broker of a target.

    Args:
        run_id: the run's id.
        name: the target's name.
        description: what the broker says of itself.
        start_ms: how long it took to become ready.
    """
    ranges = {
        API_NAMES.get(item.api_key, f"API {item.api_key}"): [item.min_version, item.max_version]
        for item in description.api_ranges
    }
    return TraceHeader(
        run_id=run_id,
        target=name,
        spec=description.spec,
        version=description.version,
        image=description.image,
        profile=description.profile,
        implementation=description.implementation,
        bootstrap=description.bootstrap,
        broker_config=(broker_config := json.dumps(dict(description.broker_config), sort_keys=True)),
        config_digest=config_digest(broker_config),
        api_ranges=json.dumps(ranges),
        notes=description.notes,
        oracle=None,
        started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        start_ms=start_ms,
    )
