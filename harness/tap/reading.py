"""Conversion of a journal to the events of a trace: frames are cut, decoded and paired."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from harness.invariants.exchange import Exchange
from harness.results.status import ENDED_INTERRUPTED
from harness.tap.frames import FrameCutter, KeptFrame, Line, read_request, read_response
from harness.tap.journal import Closing, Endpoint, Entry, Kind, Opening, Remark, read_journal, refuse_torn
from harness.trace.canonical import HAVE_CANONICAL_FORM, Canonicaliser, canonical_json, digest, fields_json
from harness.trace.events import Event, EventKind, RunFooter
from harness.trace.schema import TraceError, from_json, json_object
from harness.wire.codec import Decoded
from harness.wire.errors import WireError

_ID_OF_REQUEST: Final = slice(4, 8)
_ID_OF_RESPONSE: Final = slice(0, 4)
_UNREAD_BYTES_SHOWN: Final = 1024
_NO_STEP: Final = -1


def events_of_journal(path: Path, *, run_id: str, target: str) -> Iterator[Event]:
    """Decode a journal, which may be cut short anywhere.

    Raises:
        TraceError: the file is missing or not a journal.
    """
    return TraceReader(run_id=run_id, target=target).events(read_journal(path))


@dataclass(slots=True)
class _Tapped(Line):
    """A connection, as far as its journal has been read."""

    number: int
    opening: Opening
    remarks: dict[tuple[str, int | None], str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.number} {self.opening.broker}"


@dataclass(slots=True, kw_only=True)
class TraceReader:
    """Converts entries to events, each as soon as its last byte has been read."""

    run_id: str
    target: str
    only: frozenset[str] | None = None
    """APIs whose fields are decoded, without canonical forms; None for everything."""
    _open: dict[int, _Tapped] = field(default_factory=dict)
    _sequences: dict[str, int] = field(default_factory=dict)
    _canonicalisers: dict[str, Canonicaliser] = field(default_factory=dict)

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
            cutter = tapped.cutters[side]
            read = self._request if side is Endpoint.CLIENT else self._response
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
            for side, cutter in tapped.cutters.items():
                what = f"from the {side}: {len(cutter.buffer)} bytes of a frame that is not whole"
                yield from self._unread(tapped, entry.at_ms, cutter, what)
            kind = EventKind.DISCONNECTED if closing.side == Endpoint.CLIENT else EventKind.CLOSED
            yield self._event(tapped, entry.at_ms, kind, notes=(f"by the {closing.side}: {closing.how}",))

    def _request(self, tapped: _Tapped, at_ms: float, frame: KeptFrame) -> Event:
        exchange = tapped.ask(frame, at_ms)
        correlation_id = int.from_bytes(frame.payload[_ID_OF_REQUEST], "big", signed=True)
        decoded, fault = self._attempted(read_request, exchange, frame)
        remark = tapped.remarks.pop((Endpoint.CLIENT, correlation_id), None)
        found = exchange, correlation_id, frame.payload, decoded
        return self._event(tapped, at_ms, EventKind.REQUEST, *found, notes=(remark, fault))

    def _response(self, tapped: _Tapped, at_ms: float, frame: KeptFrame) -> Event:
        correlation_id = int.from_bytes(frame.payload[_ID_OF_RESPONSE], "big", signed=True)
        exchange = tapped.answer(frame, at_ms)
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
        if self.only is not None and exchange.api not in self.only:
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
            run_id=self.run_id,
            target=self.target,
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
        if self.only is not None or api not in HAVE_CANONICAL_FORM:
            return None
        name = tapped.opening.conversation
        canonicaliser = self._canonicalisers.setdefault(name, Canonicaliser(groups={}))
        actor, fields = tapped.client_id or tapped.name, decoded.fields
        if kind is EventKind.REQUEST:
            canonicaliser.asked(actor=actor, api=api, fields=fields)
        if kind is not EventKind.RESPONSE:
            return None
        return canonical_json(canonicaliser.canonical(actor=actor, api=api, fields=fields))


def refuse_cut_short(journal: Path, run: Path, target: str, footer: RunFooter | None) -> None:
    """Refuse a journal that has lost its end, unless the run's footer records that; a killed tap wrote none.

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
