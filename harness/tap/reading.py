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
                yield from self._events_of(tapped, entry)

    def _events_of(self, tapped: _Tapped, entry: Entry) -> Iterator[Event]:
        if (piece := entry.piece) is not None:
            side, data, left_out = piece
            is_client = side is Endpoint.CLIENT
            cutter, read = (
                (tapped.requests if is_client else tapped.responses),
                self._request if is_client else self._response,
            )
            for frame in cutter.take(data, left_out=left_out):
                yield read(tapped, entry.at_ms, frame)
            if cutter.announced is not None:
                remark = tapped.remarks.pop((side, None), None)
                yield from self._unread(tapped, entry.at_ms, cutter, f"from the {side}", remark)
        elif entry.kind is Kind.REMARK:
            remarked = from_json(Remark, entry.content, where="a journal")
            tapped.remarks[remarked.side, remarked.correlation_id] = remarked.text
        elif entry.kind is Kind.CLOSED:
            closing = from_json(Closing, entry.content, where="a journal")
            for side, cutter in ((Endpoint.CLIENT, tapped.requests), (Endpoint.BROKER, tapped.responses)):
                what = f"from the {side}: {len(cutter.buffer)} bytes of a frame that is not whole"
                yield from self._unread(tapped, entry.at_ms, cutter, what)
            kind = EventKind.DISCONNECTED if closing.side == Endpoint.CLIENT else EventKind.CLOSED
            yield self._event(tapped, entry.at_ms, kind, notes=(f"by the {closing.side}: {closing.how}",))

    def _request(self, tapped: _Tapped, at_ms: float, frame: KeptFrame) -> Event:
        head = request_head(frame.payload)
        tapped.client_id = head.client_id or tapped.client_id
        exchange = Exchange(
            api=head.api or "",
            api_version=head.version,
            actor=tapped.client_id,
            request={},
            asked_ms=at_ms,
            asked_at=tapped.asked_count,
        )
        tapped.asked_count += 1
        tapped.waiting.ask(exchange, head.correlation_id)
        decoded, fault = self._attempted(read_request, exchange, frame)
        remark = tapped.remarks.pop((Endpoint.CLIENT, head.correlation_id), None)
        found = exchange, head.correlation_id, frame.payload, decoded
        return self._event(tapped, at_ms, EventKind.REQUEST, *found, notes=(remark, fault))

    def _response(self, tapped: _Tapped, at_ms: float, frame: KeptFrame) -> Event:
        correlation_id = int.from_bytes(frame.payload[_CORRELATION_ID], "big", signed=True)
        exchange = tapped.waiting.answer(correlation_id, at_ms=at_ms, at=tapped.asked_count)
        if exchange is None:
            return self._event(tapped, at_ms, EventKind.UNSOLICITED, None, correlation_id, frame.payload)
        decoded, fault = self._attempted(read_response, exchange, frame)
        remark = tapped.remarks.pop((Endpoint.BROKER, correlation_id), None)
        kind = EventKind.MALFORMED if fault else EventKind.RESPONSE
        found = exchange, correlation_id, frame.payload, decoded
        return self._event(tapped, at_ms, kind, *found, notes=(remark, fault))

    def _unread(
        self, tapped: _Tapped, at_ms: float, cutter: FrameCutter, *notes: str | None
    ) -> Iterator[Event]:
        """Report once the first bytes of what is no frame; the journal has the rest."""
        if cutter.buffer:
            payload = bytes(cutter.buffer[:_UNREAD_BYTES_SHOWN])
            cutter.buffer.clear()
            yield self._event(tapped, at_ms, EventKind.MALFORMED, payload=payload, notes=notes)

    def _attempted(
        self, read: Callable[[str, int, KeptFrame], Decoded], exchange: Exchange, frame: KeptFrame
    ) -> tuple[Decoded | None, str | None]:
        if self._only is not None and exchange.api not in self._only:
            return None, None
        try:
            return read(exchange.api, exchange.api_version, frame), None
        except WireError as error:
            return None, str(error)

    def _event(
        self,
        tapped: _Tapped,
        at_ms: float,
        kind: EventKind,
        exchange: Exchange | None = None,
        correlation_id: int | None = None,
        payload: bytes | None = None,
        decoded: Decoded | None = None,
        notes: tuple[str | None, ...] = (),
    ) -> Event:
        scenario_id = tapped.opening.conversation
        sequence = self._sequences.get(scenario_id, 0)
        self._sequences[scenario_id] = sequence + 1
        api = None if exchange is None else exchange.api or None
        version = None if exchange is None else exchange.api_version
        elapsed_ms = None
        if exchange is not None and kind is not EventKind.REQUEST:
            elapsed_ms = round(exchange.answered_ms - exchange.asked_ms, 3)
        canonical = None if decoded is None else self._canonical(tapped, kind, api, decoded)
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
            correlation_id=correlation_id,
            at_ms=round(at_ms, 3),
            elapsed_ms=elapsed_ms,
            raw=None if payload is None else payload.hex(),
            fields=None if decoded is None else fields_json(decoded.fields),
            canonical=canonical,
            digest=digest(kind, api, version, canonical),
            reencodes=None if decoded is None else decoded.reencodes,
            permitted=None,
            note="; ".join(note for note in notes if note) or None,
        )

    def _canonical(self, tapped: _Tapped, kind: EventKind, api: str | None, decoded: Decoded) -> str | None:
        if self._only is not None or api not in HAVE_CANONICAL_FORM:
            return None
        name = tapped.opening.conversation
        canonicaliser = self._canonicalisers.setdefault(name, Canonicaliser(groups={}))
        actor, fields = tapped.client_id or tapped.name, decoded.fields
        if kind is EventKind.REQUEST:
            canonicaliser.asked(actor=actor, api=api, fields=fields)
        if kind is not EventKind.RESPONSE:
            return None
        return canonical_json(canonicaliser.canonical(actor=actor, api=api, fields=fields))


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
