"""All data that a report shows of one run, read from its record; counts and times among them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Final, Self, TypeAlias, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from harness.diff.alignment import AlignedEvents, aligned
from harness.diff.model import Attempt, Difference, Judgement
from harness.diff.target_pattern import is_reference
from harness.report.model.clients import client_repetition
from harness.report.model.phrases import (
    disagreement,
    entry_text,
    repetition,
    shortened,
    stands_for_reference,
)
from harness.results.client_impact import impact_of
from harness.results.client_results import (
    ClientResult,
    ClientsRun,
    StoredScript,
    clients_folder,
    column_name,
    load_clients,
)
from harness.results.status import FORESEEABLE, ResultStatus, status_of
from harness.results.stored_data import AddedProperties, ReportError, added_properties, is_clients_folder
from harness.scenario.crossings import Crossing
from harness.targets.base.limits import PAGE_BYTES
from harness.trace.canonical import Json, error_codes_in
from harness.trace.clause import Clause
from harness.trace.embedded import canonical_fields, drive_times
from harness.trace.events import Event, EventKind, RunFooter, RunHeader, TraceHeader
from harness.trace.files import RunFolder, attempt_name, read_events, read_records
from harness.trace.schema import TraceError
from harness.verdict import Outcome

AnsweredCode: TypeAlias = tuple[str, int, str, str]
"""An API, its version, an error code, and the target that answered with it."""


def error_code_counts(events: Iterable[Event]) -> Counter[AnsweredCode]:
    """Count error codes: those of whole answers, or else each distinct one within an answer."""
    counts: Counter[AnsweredCode] = Counter()
    for each in events:
        if each.kind == EventKind.RESPONSE and each.api is not None and each.canonical is not None:
            try:
                fields = canonical_fields(each.canonical)
            except TraceError:
                continue  # A page shows all that can be read.
            own = fields.get("error_code")
            for code in (own,) if isinstance(own, str) else dict.fromkeys(error_codes_in(fields)):
                counts[each.api, each.api_version or 0, code, each.target] += 1
    return counts


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetSummary(TraceHeader):
    """A target, as its first broker tells of it, and its results. Grain: run, target."""

    drive_ms: float | None
    """None if the run was cut short."""
    counts: Counter[str]
    """Of each outcome, of each expectation, and of `flaky` results, which did not occur again."""


def applicable_count(summary: TargetSummary) -> int:
    """Return how many scenarios were applicable to a target and did not end in a harness error."""
    left_out = (Outcome.NOT_APPLICABLE, Outcome.HARNESS_ERROR)
    return sum(summary.counts[each] for each in Outcome if each not in left_out)


def summary_of(header: TraceHeader, judgements: Iterable[Judgement], drive_ms: float | None) -> TargetSummary:
    """Return the summary of a target's results."""
    theirs = [each for each in judgements if each.target == header.target]
    counts = Counter(name for each in theirs for name in (each.outcome, each.expectation))
    counts[ResultStatus.FLAKY] = sum(status_of(each) is ResultStatus.FLAKY for each in theirs)
    return TargetSummary(**asdict(header), drive_ms=drive_ms, counts=counts)


def client_columns(run: ClientsRun) -> tuple[TargetSummary, ...]:
    """Return the targets with libraries that have results: targets in their order, each with libraries."""
    found: dict[str, list[ClientResult]] = defaultdict(list)
    for each in run.results:
        found[each.target].append(each)
    headers = {column_name(each.name, library): each for each in run.targets for library in run.libraries}
    return tuple(
        summary_of(replace(header, target=name), found[name], sum(each.duration_ms for each in found[name]))
        for name, header in headers.items()
        if name in found
    )


_Events: TypeAlias = Mapping[str, Sequence[Event]]
"""By scenario id, in sequence."""


class StepTable:
    """The events of a run, aligned with those of the oracles."""

    def __init__(self, folder: RunFolder, judgements: Iterable[Judgement]) -> None:
        """Take a run's folder; nothing is read before it is asked for."""
        self._folder = folder
        self._attempts = {
            (each.target, each.scenario_id): each.attempt for each in judgements if each.attempt > 1
        }
        self._traces: dict[str, _Events] = {}
        self.damage: dict[Path, str] = {}
        """Why a file of the record could not be read, by its path; what it has is left out."""

    def read_all(self) -> None:
        """Read all traces, unless they have been read."""
        if not self._traces:
            later = {attempt_name(target, number) for (target, _), number in self._attempts.items()}
            self._traces = {name: self._read(name) for name in (*self._folder.targets(), *later)}

    def of_scenario(self, scenario_id: str) -> dict[str, tuple[AlignedEvents, ...]]:
        """Return a scenario's events by target, in order; events outside the script's steps come last."""
        limit, found = PageLimit(), {}
        for target, oracle in self._oracles.items():
            events = self.ruling(target, scenario_id)
            others = () if oracle is None else self._first(oracle, scenario_id)
            if events or others:
                rows = limit.within(aligned(events, others))
                found[target] = tuple(sorted(rows, key=lambda row: (row.step < 0, row.step, row.occurrence)))
        return found

    def events(self) -> Iterator[Event]:
        """Yield the events of the attempts that results come from."""
        self.read_all()
        for target in self._folder.targets():
            for scenario_id in self._traces[target]:
                yield from self.ruling(target, scenario_id)

    @cached_property
    def _oracles(self) -> Mapping[str, str | None]:
        return {name: self._folder.read_headers(name)[0].oracle for name in self._folder.targets()}

    def ruling(self, target: str, scenario_id: str) -> Sequence[Event]:
        """Return a scenario's events of the attempt that its result is from."""
        number = self._attempts.get((target, scenario_id))
        return self._first(attempt_name(target, number) if number else target, scenario_id)

    def _first(self, trace: str, scenario_id: str) -> Sequence[Event]:
        self.read_all()
        return self._traces.get(trace, {}).get(scenario_id, ())

    def _read(self, trace: str) -> _Events:
        """Read a trace if it is there; if it is damaged, a report has all that the other files have."""
        found: dict[str, list[Event]] = defaultdict(list)
        path = self._folder.events(trace)
        try:
            if path.exists():
                for event in read_events(path):
                    found[event.scenario_id].append(event)
        except TraceError as error:
            self.damage[path] = str(error)
        return {name: sorted(events, key=lambda each: each.sequence) for name, events in found.items()}


_PAYLOADS: Final = ("raw", "fields", "canonical")
_TEXT_MAX: Final = 1 << 14
"""The number of characters that a finding shows of an expected or actual value."""


PlacedT = TypeVar("PlacedT", Difference, Attempt)


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


def for_page(difference: Difference) -> Difference:
    """Return a difference with both values short enough for a page."""
    expected, actual = (shortened(each, _TEXT_MAX) for each in (difference.expected, difference.actual))
    return replace(difference, expected=expected, actual=actual)


class ScriptPage(StoredScript):
    """The static description of a scenario."""

    clauses: tuple[str, ...]
    needs: tuple[str, ...]
    broker_config: Mapping[str, str | int | float | bool]


_SCRIPTS: Final = TypeAdapter(dict[str, ScriptPage])


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One judged run."""

    directory: Path
    header: RunHeader
    footer: RunFooter | None
    targets: tuple[TargetSummary, ...] = ()
    """References first, then the others in the order in which they were named."""
    judgements: tuple[Judgement, ...] = ()
    """By scenario id, then in the order of targets."""
    differences: Mapping[tuple[str, str], tuple[Difference, ...]] = field(default_factory=dict)
    """By target and scenario id; the finding first."""
    attempts: Mapping[tuple[str, str], tuple[Attempt, ...]] = field(default_factory=dict)
    """By target and scenario id, for what was run more than once; in the order of running."""
    scripts: Mapping[str, ScriptPage] = field(default_factory=dict)
    sources: Mapping[str, Json] = field(default_factory=dict)
    """The scripts themselves, as stored in the run."""
    steps: StepTable
    by_target: Mapping[str, TargetSummary] = field(default_factory=dict)
    added: AddedProperties = field(default_factory=dict)
    clients: ClientsRun | None = None
    """The results of client scripts, if the run has any."""

    @classmethod
    def load(cls, run_dir: Path) -> Self:
        """Read a judged run; raise ReportError if a file is missing or damaged.

        A run of client scripts alone has no scenarios, and its targets are those with libraries.
        """
        if is_clients_folder(run_dir):
            run = load_clients(run_dir)
            steps = StepTable(run.files, ())
            return cls(directory=run_dir, header=run.header, footer=run.footer, steps=steps, clients=run)
        folder = RunFolder(run_dir)
        try:
            sources = cast("Mapping[str, Json]", folder.read_scripts())
            scripts = _SCRIPTS.validate_python(sources)
            header, footer = folder.read_run(), folder.read_footer()
            judgements = read_records(Judgement, folder.judgements)
            differences = read_records(Difference, folder.differences)
            attempts = read_records(Attempt, folder.attempts) if folder.attempts.is_file() else ()
            drive_ms = {} if footer is None else drive_times(footer)
            # Of several brokers, the first represents the target.
            found = [
                summary_of(folder.read_headers(target)[0], judgements, drive_ms.get(target))
                for target in folder.targets()
            ]
        except TraceError as error:
            raise ReportError(f"{run_dir} cannot be made a report of: {error}") from error
        except ValidationError as error:
            raise ReportError(f"{folder.scripts_json} contains no scripts: {error}") from error
        named = {target: index for index, target in enumerate(header.targets)}
        measures = _references(found)
        found.sort(key=lambda each: (each.target not in measures, named.get(each.target, len(named))))
        position = {summary.target: index for index, summary in enumerate(found)}
        beside = clients_folder(run_dir)
        return cls(
            directory=run_dir,
            header=header,
            footer=footer,
            targets=tuple(found),
            judgements=tuple(
                sorted(judgements, key=lambda each: (each.scenario_id, position.get(each.target, -1)))
            ),
            differences=_by_place(map(for_page, sorted(differences, key=lambda each: each.ordinal))),
            attempts=_by_place(sorted(attempts, key=lambda each: each.attempt)),
            scripts=scripts,
            sources=sources,
            steps=StepTable(folder, judgements),
            by_target={summary.target: summary for summary in found},
            added=added_properties(folder, sources),
            clients=None if beside is None else load_clients(beside),
        )

    @property
    def damage(self) -> str:
        """Which files of the record cannot be read, in a sentence; empty if none was found yet."""
        found = "; ".join(self.steps.damage.values())
        return f"{found}. Its conversations are not shown, all else is." if found else ""

    @property
    def clauses(self) -> Mapping[str, Clause]:
        """The catalogue's rows by their ids, if the run has them."""
        path = RunFolder(self.directory).clauses
        return {each.id: each for each in read_records(Clause, path)} if path.is_file() else {}

    @property
    def crossings(self) -> tuple[Crossing, ...]:
        """What scenarios show of each crossing, if the run has it."""
        path = RunFolder(self.directory).crossings
        return read_records(Crossing, path) if path.is_file() else ()

    @property
    def results(self) -> tuple[Judgement, ...]:
        """The results of scenarios and of client scripts."""
        return (*self.judgements, *(self.clients.results if self.clients else ()))

    @property
    def columns(self) -> tuple[TargetSummary, ...]:
        """The targets, and each target with a library."""
        return (*self.targets, *(client_columns(self.clients) if self.clients else ()))

    @property
    def measured_first(self) -> tuple[TargetSummary, ...]:
        """The targets in the order for figures: judged targets first, references last."""
        return tuple(sorted(self.targets, key=lambda each: each.target in self.references))

    @property
    def references(self) -> frozenset[str]:
        """Names of the targets that others are compared with, or could be."""
        return _references(self.targets)

    def repetition(self, judgement: Judgement) -> str:
        """Return a command line that repeats a scenario or client script as in this run."""
        if isinstance(judgement, ClientResult):
            assert self.clients is not None, "it has a result"
            return client_repetition(self.clients.header.command, judgement)
        name, scenario_id = judgement.target, judgement.scenario_id
        measure = self.measure_of(name)
        return repetition(
            [self.by_target[name]],
            scenario_id,
            command=self.header.command,
            added=[self.added.get((name, scenario_id), {})],
            against=None if measure is None else measure.spec,
        )

    def measure_of(self, name: str) -> TargetSummary | None:
        """Return the target that a target was compared with instead of its profile's reference, if any."""
        summary = self.by_target[name]
        measure = self.by_target.get(summary.oracle or "")
        if measure is None:
            return None
        return measure if stands_for_reference(measure.spec, self.header.command) else None

    def entry(self, judgement: Judgement) -> str:
        """Return a TOML entry that would list a result as known; empty if none can, or should."""
        if status_of(judgement) not in FORESEEABLE or disagreement(judgement):
            return ""
        return entry_text(judgement, [self.by_target[judgement.target].spec]).rstrip()

    def noticed(self, judgement: Judgement) -> str:
        """Return what a client would notice of a result's finding; empty if that is not known."""
        finding = self.first_difference(judgement)
        return impact_of(finding) if finding else ""

    def first_difference(self, judgement: Judgement) -> Difference | None:
        """Return the finding of a scenario on a target, if there is one."""
        return next(iter(self.differences.get((judgement.target, judgement.scenario_id), ())), None)


def _references(summaries: Iterable[TargetSummary]) -> frozenset[str]:
    """Return the targets that others are compared with, and references without an oracle."""
    found = tuple(summaries)
    measures = {each.oracle for each in found if each.oracle is not None}
    alone = {each.target for each in found if each.oracle is None and is_reference(each.spec)}
    return frozenset(measures | alone)


def _by_place(found: Iterable[PlacedT]) -> dict[tuple[str, str], tuple[PlacedT, ...]]:
    places: dict[tuple[str, str], list[PlacedT]] = defaultdict(list)
    for each in found:
        places[each.target, each.scenario_id].append(each)
    return {place: tuple(members) for place, members in places.items()}
