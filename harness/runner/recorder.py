"""Turns what happens in one conversation into events."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from harness.runner.witness import WitnessedStretch
from harness.scenario.script import Script
from harness.targets.base.interface import PermittedValue
from harness.trace.canonical import Canonicaliser, canonical_json, digest, fields_json, member_prefixes
from harness.trace.events import Event, EventKind
from harness.trace.schema import to_json
from harness.trace.starvation import Starvation, rounded
from harness.wire.codec import Decoded, decode_response


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPosition:
    """Where in a conversation something happens."""

    step: int
    actor: str | None = None
    connection: str | None = None
    api: str | None = None
    api_version: int | None = None


@dataclass(slots=True, kw_only=True)
class Recorder:
    """Writes the events of one scenario with one target, each as soon as it is known."""

    run_id: str
    target: str
    script: Script
    canonicaliser: Canonicaliser
    write: Callable[[Event], None]
    now_ms: Callable[[], float]
    _sequence: int = field(default=0, init=False)

    def request(
        self, place: EventPosition, payload: bytes, *, correlation_id: int, fields: Mapping[str, object]
    ) -> None:
        """Record that a request was sent, with the values that its references had."""
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
    ) -> None:
        """Record a response that could be decoded: RESPONSE, or POLL for one that did not match yet."""
        self._event(
            kind,
            place,
            correlation_id=decoded.correlation_id,
            elapsed_ms=elapsed_ms,
            payload=payload,
            fields=fields_json(decoded.fields),
            canonical=self.canonical(place, decoded),
            reencodes=decoded.reencodes,
            permitted=self._permitted_json(place, permitted),
        )

    def canonical(self, place: EventPosition, decoded: Decoded) -> str:
        """Return the canonical form of a response's content."""
        assert place.actor is not None
        assert place.api is not None
        return canonical_json(
            self.canonicaliser.canonical(actor=place.actor, api=place.api, fields=decoded.fields)
        )

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
        canonical: str | None = None,
        reencodes: bool | None = None,
        permitted: str | None = None,
        note: str | None = None,
    ) -> None:
        self.write(
            Event(
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
                canonical=canonical,
                digest=digest(kind.value, place.api, place.api_version, canonical),
                reencodes=reencodes,
                permitted=permitted,
                note=note,
            )
        )
        self._sequence += 1

    def _permitted_json(self, place: EventPosition, permitted: tuple[PermittedValue, ...]) -> str | None:
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
                choices.append({"field": value.field, "any_of": alternatives, "reason": value.reason})
        return canonical_json(choices) if choices else None


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
