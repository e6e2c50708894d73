"""Conversion of a journal to the events of a trace: frames are reassembled, decoded and paired."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from harness.tap.frames import (
    Assembler,
    KeptFrame,
    RequestHead,
    read_request,
    read_response,
    request_assembler,
    request_head,
    response_assembler,
)
from harness.tap.journal import Closing, Endpoint, Entry, Kind, Opening, Remark, read_journal
from harness.trace.canonical import HAVE_CANONICAL_FORM, Canonicaliser, canonical_json, digest, fields_json
from harness.trace.events import Event, EventKind
from harness.trace.schema import from_json
from harness.wire.codec import Decoded
from harness.wire.errors import WireError

_CORRELATION_ID: Final = slice(0, 4)
_UNREAD_BYTES_SHOWN: Final = 1024
_NO_STEP: Final = -1


def events_of_journal(path: Path, *, run_id: str, target: str) -> Iterator[Event]:
    """Decode a journal, which may be cut short anywhere.

    Raises:
        TraceError: the file is missing or not a journal.
    """
    return TraceReader(run_id=run_id, target=target).events(read_journal(path))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    head: RequestHead
    at_ms: float


@dataclass(slots=True)
class _Tapped:
    """A connection, as far as its journal has been read."""

    number: int
    opening: Opening
    requests: Assembler = field(default_factory=request_assembler)
    responses: Assembler = field(default_factory=response_assembler)
    asked: dict[int, deque[_Asked]] = field(default_factory=dict)
    """Unanswered requests by correlation id, which a client may use again before the answer."""
    remarks: dict[tuple[str, int | None], str] = field(default_factory=dict)
    client_id: str | None = None

    @property
    def name(self) -> str:
        return f"{self.number} {self.opening.broker}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Happening:
    """The data from which an event is made."""

    kind: EventKind
    head: RequestHead | None = None
    correlation_id: int | None = None
    payload: bytes | None = None
    elapsed_ms: float | None = None
    decoded: Decoded | None = None
    notes: tuple[str | None, ...] = ()


class TraceReader:
    """Converts entries to events, each as soon as its last byte has been read."""

    def __init__(self, *, run_id: str, target: str, only: frozenset[str] | None = None) -> None:
        """Begin with the first entry.

        Args:
            run_id: the id of the run that the events belong to.
            target: the name of the target that was tapped.
            only: APIs whose fields are decoded, without canonical forms; None for everything.
        """
        self._only = only
        self._run_id = run_id
        self._target = target
        self._open: dict[int, _Tapped] = {}
        self._sequences: dict[str, int] = {}
        self._canonicalisers: dict[str, Canonicaliser] = {}

    def events(self, entries: Iterable[Entry]) -> Iterator[Event]:
        """Yield the events of entries that follow those read before."""
        for entry in entries:
            if entry.kind is Kind.OPENED:
                opening = from_json(Opening, entry.content, where="a journal")
                self._open[entry.connection] = _Tapped(entry.connection, opening)
                continue
            tapped = self._open.get(entry.connection)
            if tapped is not None:
                for happening in _happenings(tapped, entry, self._only):
                    yield self._event(tapped, entry.at_ms, happening)

    def _event(self, tapped: _Tapped, at_ms: float, happening: _Happening) -> Event:
        scenario_id = tapped.opening.conversation
        sequence = self._sequences.get(scenario_id, 0)
        self._sequences[scenario_id] = sequence + 1
        head, decoded = happening.head, happening.decoded
        api, version = (None, None) if head is None else (head.api, head.version)
        canonical = self._canonical(scenario_id, tapped, happening)
        return Event(
            run_id=self._run_id,
            target=self._target,
            scenario_id=scenario_id,
            sequence=sequence,
            step=_NO_STEP,
            kind=happening.kind,
            actor=tapped.client_id,
            connection=tapped.name,
            api=api,
            api_version=version,
            correlation_id=happening.correlation_id,
            at_ms=round(at_ms, 3),
            elapsed_ms=None if happening.elapsed_ms is None else round(happening.elapsed_ms, 3),
            raw=None if happening.payload is None else happening.payload.hex(),
            fields=None if decoded is None else fields_json(decoded.fields),
            canonical=canonical,
            digest=digest(happening.kind, api, version, canonical),
            reencodes=None if decoded is None else decoded.reencodes,
            permitted=None,
            note="; ".join(note for note in happening.notes if note) or None,
        )

    def _canonical(self, scenario_id: str, tapped: _Tapped, happening: _Happening) -> str | None:
        api = None if happening.head is None else happening.head.api
        if happening.kind is not EventKind.RESPONSE or happening.decoded is None:
            return None
        if self._only is not None or api not in HAVE_CANONICAL_FORM:
            return None
        canonicaliser = self._canonicalisers.setdefault(scenario_id, Canonicaliser(groups={}))
        actor = tapped.client_id or tapped.name
        return canonical_json(canonicaliser.canonical(actor=actor, api=api, fields=happening.decoded.fields))


def _happenings(tapped: _Tapped, entry: Entry, only: frozenset[str] | None) -> Iterator[_Happening]:
    match entry.kind:
        case Kind.REQUEST_BYTES:
            yield from _requests(tapped, entry, only, tapped.requests.frames(entry.content))
        case Kind.REQUEST_BYTES_LEFT_OUT:
            yield from _requests(
                tapped, entry, only, tapped.requests.frames(b"", left_out=entry.left_out_bytes)
            )
        case Kind.RESPONSE_BYTES:
            yield from _responses(tapped, entry, only, tapped.responses.frames(entry.content))
        case Kind.RESPONSE_BYTES_LEFT_OUT:
            yield from _responses(
                tapped, entry, only, tapped.responses.frames(b"", left_out=entry.left_out_bytes)
            )
        case Kind.REMARK:
            remark = from_json(Remark, entry.content, where="a journal")
            tapped.remarks[remark.side, remark.correlation_id] = remark.text
        case Kind.CLOSED:
            yield from _closing(tapped, from_json(Closing, entry.content, where="a journal"))
        case Kind.BEGUN | Kind.OPENED | Kind.GONE:
            pass


def _requests(
    tapped: _Tapped, entry: Entry, only: frozenset[str] | None, frames: Iterable[KeptFrame]
) -> Iterator[_Happening]:
    for frame in frames:
        head = request_head(frame.payload)
        tapped.client_id = head.client_id or tapped.client_id
        tapped.asked.setdefault(head.correlation_id, deque()).append(_Asked(head=head, at_ms=entry.at_ms))
        decoded, fault = _attempted(read_request, head, frame, only)
        yield _Happening(
            kind=EventKind.REQUEST,
            head=head,
            correlation_id=head.correlation_id,
            payload=frame.payload,
            decoded=decoded,
            notes=(tapped.remarks.pop((Endpoint.CLIENT, head.correlation_id), None), fault),
        )
    yield from _given_up(tapped, Endpoint.CLIENT, tapped.requests)


def _responses(
    tapped: _Tapped, entry: Entry, only: frozenset[str] | None, frames: Iterable[KeptFrame]
) -> Iterator[_Happening]:
    for frame in frames:
        correlation_id = int.from_bytes(frame.payload[_CORRELATION_ID], "big", signed=True)
        asked = _answered(tapped, correlation_id)
        if asked is None:
            yield _Happening(kind=EventKind.UNSOLICITED, correlation_id=correlation_id, payload=frame.payload)
            continue
        decoded, fault = _attempted(read_response, asked.head, frame, only)
        yield _Happening(
            kind=EventKind.MALFORMED if fault else EventKind.RESPONSE,
            head=asked.head,
            correlation_id=correlation_id,
            payload=frame.payload,
            elapsed_ms=entry.at_ms - asked.at_ms,
            decoded=decoded,
            notes=(tapped.remarks.pop((Endpoint.BROKER, correlation_id), None), fault),
        )
    yield from _given_up(tapped, Endpoint.BROKER, tapped.responses)


def _answered(tapped: _Tapped, correlation_id: int) -> _Asked | None:
    waiting = tapped.asked.get(correlation_id)
    if waiting is None:
        return None
    asked = waiting.popleft()
    if not waiting:
        del tapped.asked[correlation_id]
    return asked


def _attempted(
    read: Callable[[RequestHead, KeptFrame], Decoded],
    head: RequestHead,
    frame: KeptFrame,
    only: frozenset[str] | None,
) -> tuple[Decoded | None, str | None]:
    if only is not None and head.api not in only:
        return None, None
    try:
        return read(head, frame), None
    except WireError as error:
        return None, str(error)


def _given_up(tapped: _Tapped, side: Endpoint, stream: Assembler) -> Iterator[_Happening]:
    """Report once that a stream is not one of frames, with its first bytes; the journal has the rest."""
    if stream.announced is None:
        return
    if stream.rest and not stream.is_given_up:
        stream.is_given_up = True
        yield _Happening(
            kind=EventKind.MALFORMED,
            payload=bytes(stream.rest[:_UNREAD_BYTES_SHOWN]),
            notes=(f"from the {side}", tapped.remarks.pop((side, None), None)),
        )
    stream.rest.clear()


def _closing(tapped: _Tapped, closing: Closing) -> Iterator[_Happening]:
    for side, stream in ((Endpoint.CLIENT, tapped.requests), (Endpoint.BROKER, tapped.responses)):
        if stream.rest:
            yield _Happening(
                kind=EventKind.MALFORMED,
                payload=bytes(stream.rest[:_UNREAD_BYTES_SHOWN]),
                notes=(f"from the {side}: {len(stream.rest)} bytes of a frame that is not whole",),
            )
            stream.rest.clear()
    kind = EventKind.DISCONNECTED if closing.side == Endpoint.CLIENT else EventKind.CLOSED
    yield _Happening(kind=kind, notes=(f"by the {closing.side}: {closing.how}",))
