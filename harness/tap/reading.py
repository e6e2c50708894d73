"""Conversion of a journal to the events of a trace: frames are cut, decoded and paired."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from harness.invariants.exchange import LOOKED_AT, Exchange, Waiting
from harness.results.status import ENDED_INTERRUPTED
from harness.tap.frames import (
    FrameCutter,
    KeptFrame,
    read_request,
    read_response,
    request_cutter,
    request_head,
    response_cutter,
)
from harness.tap.journal import (
    Closing,
    Endpoint,
    Entry,
    Kind,
    Opening,
    Remark,
    next_entry,
    open_journal,
    read_journal,
    refuse_torn,
)
from harness.trace.canonical import HAVE_CANONICAL_FORM, Canonicaliser, canonical_json, digest, fields_json
from harness.trace.events import Event, EventKind, RunFooter
from harness.trace.schema import TraceError, from_json, json_object
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


@dataclass(slots=True)
class _Tapped:
    """A connection, as far as its journal has been read."""

    number: int
    opening: Opening
    requests: FrameCutter = field(default_factory=request_cutter)
    responses: FrameCutter = field(default_factory=response_cutter)
    waiting: Waiting = field(default_factory=Waiting)
    asked_count: int = 0
    remarks: dict[tuple[str, int | None], str] = field(default_factory=dict)
    client_id: str | None = None

    @property
    def name(self) -> str:
        return f"{self.number} {self.opening.broker}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Happening:
    """The data from which an event is made."""

    kind: EventKind
    exchange: Exchange | None = None
    correlation_id: int | None = None
    payload: bytes | None = None
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
        exchange, decoded, kind = happening.exchange, happening.decoded, happening.kind
        api = None if exchange is None else exchange.api or None
        version = None if exchange is None else exchange.api_version
        elapsed_ms = None
        if exchange is not None and kind is not EventKind.REQUEST:
            elapsed_ms = round(exchange.answered_ms - exchange.asked_ms, 3)
        canonical = self._canonical(scenario_id, tapped, happening)
        return Event(
            run_id=self._run_id,
            target=self._target,
            scenario_id=scenario_id,
            sequence=sequence,
            step=_NO_STEP,
            kind=kind,
            actor=tapped.client_id,
            connection=tapped.name,
            api=api,
            api_version=version,
            correlation_id=happening.correlation_id,
            at_ms=round(at_ms, 3),
            elapsed_ms=elapsed_ms,
            raw=None if happening.payload is None else happening.payload.hex(),
            fields=None if decoded is None else fields_json(decoded.fields),
            canonical=canonical,
            digest=digest(kind, api, version, canonical),
            reencodes=None if decoded is None else decoded.reencodes,
            permitted=None,
            note="; ".join(note for note in happening.notes if note) or None,
        )

    def _canonical(self, scenario_id: str, tapped: _Tapped, happening: _Happening) -> str | None:
        api = None if happening.exchange is None else happening.exchange.api
        if happening.decoded is None or self._only is not None or api not in HAVE_CANONICAL_FORM:
            return None
        canonicaliser = self._canonicalisers.setdefault(scenario_id, Canonicaliser(groups={}))
        actor, fields = tapped.client_id or tapped.name, happening.decoded.fields
        if happening.kind is EventKind.REQUEST:
            canonicaliser.asked(actor=actor, api=api, fields=fields)
        if happening.kind is not EventKind.RESPONSE:
            return None
        return canonical_json(canonicaliser.canonical(actor=actor, api=api, fields=fields))


def _happenings(tapped: _Tapped, entry: Entry, only: frozenset[str] | None) -> Iterator[_Happening]:
    match entry.kind:
        case Kind.REQUEST_BYTES:
            yield from _requests(tapped, entry, only, tapped.requests.take(entry.content))
        case Kind.REQUEST_BYTES_LEFT_OUT:
            yield from _requests(
                tapped, entry, only, tapped.requests.take(b"", left_out=entry.left_out_bytes)
            )
        case Kind.RESPONSE_BYTES:
            yield from _responses(tapped, entry, only, tapped.responses.take(entry.content))
        case Kind.RESPONSE_BYTES_LEFT_OUT:
            yield from _responses(
                tapped, entry, only, tapped.responses.take(b"", left_out=entry.left_out_bytes)
            )
        case Kind.REMARK:
            remark = from_json(Remark, entry.content, where="a journal")
            tapped.remarks[remark.side, remark.correlation_id] = remark.text
        case Kind.CLOSED:
            yield from _closing(tapped, from_json(Closing, entry.content, where="a journal"))
        case Kind.BEGUN | Kind.OPENED:
            pass


def _requests(
    tapped: _Tapped, entry: Entry, only: frozenset[str] | None, frames: Iterable[KeptFrame]
) -> Iterator[_Happening]:
    for frame in frames:
        head = request_head(frame.payload)
        tapped.client_id = head.client_id or tapped.client_id
        exchange = Exchange(
            api=head.api or "",
            api_version=head.version,
            actor=tapped.client_id,
            request={},
            asked_ms=entry.at_ms,
            asked_at=tapped.asked_count,
        )
        tapped.asked_count += 1
        tapped.waiting.ask(exchange, head.correlation_id)
        decoded, fault = _attempted(read_request, exchange, frame, only)
        yield _Happening(
            kind=EventKind.REQUEST,
            exchange=exchange,
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
        exchange = tapped.waiting.answer(correlation_id, at_ms=entry.at_ms, at=tapped.asked_count)
        if exchange is None:
            yield _Happening(kind=EventKind.UNSOLICITED, correlation_id=correlation_id, payload=frame.payload)
            continue
        decoded, fault = _attempted(read_response, exchange, frame, only)
        yield _Happening(
            kind=EventKind.MALFORMED if fault else EventKind.RESPONSE,
            exchange=exchange,
            correlation_id=correlation_id,
            payload=frame.payload,
            decoded=decoded,
            notes=(tapped.remarks.pop((Endpoint.BROKER, correlation_id), None), fault),
        )
    yield from _given_up(tapped, Endpoint.BROKER, tapped.responses)


def _attempted(
    read: Callable[[str, int, KeptFrame], Decoded],
    exchange: Exchange,
    frame: KeptFrame,
    only: frozenset[str] | None,
) -> tuple[Decoded | None, str | None]:
    if only is not None and exchange.api not in only:
        return None, None
    try:
        return read(exchange.api, exchange.api_version, frame), None
    except WireError as error:
        return None, str(error)


def _given_up(tapped: _Tapped, side: Endpoint, stream: FrameCutter) -> Iterator[_Happening]:
    """Report once that a stream is not one of frames, with its first bytes; the journal has the rest."""
    if stream.announced is not None and stream.buffer:
        yield _Happening(
            kind=EventKind.MALFORMED,
            payload=bytes(stream.buffer[:_UNREAD_BYTES_SHOWN]),
            notes=(f"from the {side}", tapped.remarks.pop((side, None), None)),
        )
        stream.buffer.clear()


def _closing(tapped: _Tapped, closing: Closing) -> Iterator[_Happening]:
    for side, stream in ((Endpoint.CLIENT, tapped.requests), (Endpoint.BROKER, tapped.responses)):
        if stream.buffer:
            yield _Happening(
                kind=EventKind.MALFORMED,
                payload=bytes(stream.buffer[:_UNREAD_BYTES_SHOWN]),
                notes=(f"from the {side}: {len(stream.buffer)} bytes of a frame that is not whole",),
            )
            stream.buffer.clear()
    kind = EventKind.DISCONNECTED if closing.side == Endpoint.CLIENT else EventKind.CLOSED
    yield _Happening(kind=kind, notes=(f"by the {closing.side}: {closing.how}",))


_ENTRIES_AT_ONCE: Final = 20_000
"""After so many entries, control returns to the caller before more are read."""


class Follower:
    """Reads a journal from where it left off; it decodes only the fields that invariants need."""

    def __init__(self, path: Path, *, run_id: str, target: str) -> None:
        self._path = path
        self._file = open_journal(path)
        self._reader = TraceReader(run_id=run_id, target=target, only=LOOKED_AT)

    def events(self) -> Iterator[Event]:
        """Yield the events that were recorded since the last call."""
        return self._reader.events(self._entries())

    def _entries(self) -> Iterator[Entry]:
        for _ in range(_ENTRIES_AT_ONCE):
            entry = next_entry(self._file, self._path)
            if entry is None:
                return
            yield entry

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def refuse_cut_short(journal: Path, run: Path, target: str, footer: RunFooter | None) -> None:
    """Refuse a journal that has lost its end, unless the run's footer records that.

    Args:
        journal: the journal of one target.
        run: the folder of the run, for the message.
        target: the target's name.
        footer: the footer of the run; None if the tap was killed.

    Raises:
        TraceError: the journal is missing, or lacks entries.
    """
    if footer is None:
        try:
            refuse_torn(journal)
        except TraceError as error:
            raise TraceError(
                f"{error}; `kafka-conformance tap --finish {run}` takes what there is"
            ) from error
        return
    if not footer.ended.startswith(ENDED_INTERRUPTED):
        refuse_torn(journal)
    kept = json_object(footer.event_counts, where=f"`event_counts` of {run}").get(target, 0)
    found = sum(1 for _ in events_of_journal(journal, run_id=footer.run_id, target=target))
    if found != kept:
        raise TraceError(f"{journal}: it has {found} of the {kept} events that were in it when the tap ended")
