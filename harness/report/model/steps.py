"""The events of a run beside those of their oracles, read from its traces."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

from harness.diff.alignment import AlignedEvents, aligned
from harness.diff.model import Difference, Judgement
from harness.report.model.figures import (
    ErrorCodeCount,
    error_code_counts,
    latency_quantiles,
    request_counts,
)
from harness.spark.trend_rows import LatencyQuantile
from harness.targets.base.limits import PAGE_BYTES
from harness.trace.events import Event
from harness.trace.files import RunFolder, attempt_name, read_events
from harness.trace.schema import TraceError

_Events: TypeAlias = Mapping[str, Sequence[Event]]
"""By scenario id, in sequence."""


class StepTable:
    """The aligned events of a run, read one scenario at a time, or all at once with `read_all`."""

    def __init__(self, folder: RunFolder, judgements: Iterable[Judgement]) -> None:
        """Take a run's folder; nothing is read before it is asked for."""
        self._folder = folder
        self._attempts = {
            (each.target, each.scenario_id): each.attempt for each in judgements if each.attempt > 1
        }
        self.damage: dict[Path, str] = {}
        """Why a file of the record could not be read, by its path; what it has is left out."""
        self._traces: dict[str, _Events] | None = None

    def read_all(self) -> None:
        """Read all traces, for a report of all scenarios."""
        if self._traces is None:
            later = {attempt_name(target, number) for (target, _), number in self._attempts.items()}
            self._traces = {name: self._read(name, None) for name in (*self._folder.targets(), *later)}

    def of_scenario(self, scenario_id: str) -> dict[str, tuple[AlignedEvents, ...]]:
        """Return a scenario's events by target, in order; events outside the script's steps come last."""
        limit = PageLimit()
        return {
            target: tuple(sorted(limit.within(rows), key=_happening))
            for target, rows in self._aligned(scenario_id)
        }

    def of_target(self, target: str) -> Mapping[str, Sequence[Event]]:
        """Return a target's events of the attempts that results come from, by scenario id."""
        self.read_all()
        assert self._traces is not None
        return {scenario_id: self._ruling(target, scenario_id) for scenario_id in self._traces[target]}

    def events(self) -> Iterator[Event]:
        """Yield the events of the attempts that results come from."""
        for target in self._folder.targets():
            for events in self.of_target(target).values():
                yield from events

    @cached_property
    def latencies(self) -> tuple[LatencyQuantile, ...]:
        """The answer times by target, API and version."""
        return latency_quantiles(self.events())

    @cached_property
    def error_codes(self) -> tuple[ErrorCodeCount, ...]:
        """The number of error codes by target, API and version."""
        return error_code_counts(self.events())

    @cached_property
    def requests(self) -> Mapping[str, int]:
        """The number of requests by target."""
        return request_counts(self.events())

    def _aligned(self, scenario_id: str) -> Iterator[tuple[str, Sequence[AlignedEvents]]]:
        """Yield each target with its events beside its oracle's; without those on whose side nothing is."""
        for target, oracle in self._oracles.items():
            events = self._ruling(target, scenario_id)
            others = () if oracle is None else self._first(oracle, scenario_id)
            if events or others:
                yield target, tuple(aligned(events, others))

    @cached_property
    def _oracles(self) -> Mapping[str, str | None]:
        """The oracles of the targets."""
        return {name: self._folder.read_headers(name)[0].oracle for name in self._folder.targets()}

    def _ruling(self, target: str, scenario_id: str) -> Sequence[Event]:
        number = self._attempts.get((target, scenario_id), 1)
        name = target if number == 1 else attempt_name(target, number)
        return self._first(name, scenario_id)

    def _first(self, trace: str, scenario_id: str) -> Sequence[Event]:
        traces = self._traces
        events = self._read(trace, scenario_id) if traces is None else traces.get(trace, {})
        return events.get(scenario_id, ())

    def _read(self, trace: str, scenario_id: str | None) -> _Events:
        """Read a trace if it is there; if it is damaged, a report has all that the other files have."""
        found: dict[str, list[Event]] = defaultdict(list)
        path = self._folder.events(trace)
        try:
            if path.exists():
                for event in read_events(path, scenario_ids=None if scenario_id is None else {scenario_id}):
                    found[event.scenario_id].append(event)
        except TraceError as error:
            self.damage[path] = str(error)
        return {name: sorted(events, key=lambda each: each.sequence) for name, events in found.items()}


def _happening(row: AlignedEvents) -> tuple[bool, int, int]:
    return (row.step < 0, row.step, row.occurrence)


_PAYLOADS: Final = ("raw", "fields", "canonical")
_TEXT_MAX: Final = 1 << 14
"""The number of characters that a finding shows of an expected or actual value."""


DifferenceT = TypeVar("DifferenceT", bound=Difference)


class PageLimit:
    """The space that is left on one page."""

    def __init__(self) -> None:
        self._left = PAGE_BYTES.most()

    def within(self, rows: Iterable[AlignedEvents]) -> Iterator[AlignedEvents]:
        """Yield rows with their bytes and fields if there is room for them, otherwise without."""
        for row in rows:
            sides = [each for each in (row.event, row.other) if each is not None]
            size = sum(len(getattr(each, name) or "") for each in sides for name in _PAYLOADS)
            if size <= self._left:
                self._left -= size
                yield row
            else:
                event, other = (_without_payloads(each, size) for each in (row.event, row.other))
                yield replace(row, event=event, other=other)


def _without_payloads(event: Event | None, size: int) -> Event | None:
    if event is None:
        return None
    reported = f"{size} characters are left out: {PAGE_BYTES.limit()}; the trace has them"
    note = "; ".join(filter(None, (event.note, reported)))
    return replace(event, raw=None, fields=None, canonical=None, note=note)


def shortened(difference: DifferenceT) -> DifferenceT:
    """Return a difference with both values short enough for a page."""
    return replace(difference, expected=_short(difference.expected), actual=_short(difference.actual))


def _short(text: str) -> str:
    return text if len(text) <= _TEXT_MAX else f"{text[:_TEXT_MAX]}… ({len(text)} characters)"
