"""All data that a report shows of one run, read from its record."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self, cast

from pydantic import TypeAdapter, ValidationError

from harness.diff.alignment import AlignedEvents
from harness.diff.model import Attempt, Difference, Judgement
from harness.diff.target_pattern import is_reference
from harness.report.model.contrasts import Times
from harness.report.model.figures import (
    CauseCount,
    DifferenceCount,
    cause_counts,
    difference_counts,
)
from harness.report.model.phrases import contrast, repetition, stands_for_reference
from harness.report.model.steps import StepTable, shortened
from harness.report.model.target_summary import TargetSummary, target_summary
from harness.results.brokers import AddedProperties, added_properties
from harness.results.client_results import ClientsRun, clients_folder, load_clients
from harness.results.status import Judged
from harness.results.stored_data import ReportError
from harness.trace.canonical import Json
from harness.trace.clause import Clause
from harness.trace.events import LATE, RunFooter, RunHeader
from harness.trace.files import RunFolder, read_records
from harness.trace.schema import TraceError
from harness.verdict import DifferenceClass


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptStep:
    """One line of a script, in words."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptPage:
    """The static description of a scenario."""

    id: str
    title: str
    notes: str
    source: str
    clauses: tuple[str, ...]
    needs: tuple[str, ...]
    broker_config: Mapping[str, str | int | float | bool]
    steps: tuple[ScriptStep, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One judged run."""

    directory: Path
    header: RunHeader
    footer: RunFooter | None
    targets: tuple[TargetSummary, ...]
    """References first, then the others in the order in which they were named."""
    judgements: tuple[Judgement, ...]
    """By scenario id, then in the order of targets."""
    differences: Mapping[tuple[str, str], tuple[Difference, ...]]
    """By target and scenario id; the finding first."""
    attempts: Mapping[tuple[str, str], tuple[Attempt, ...]]
    """By target and scenario id, for what was run more than once; in the order of running."""
    scripts: Mapping[str, ScriptPage]
    sources: Mapping[str, Json]
    """The scripts themselves, as stored in the run."""
    steps: StepTable
    by_target: Mapping[str, TargetSummary]
    added: AddedProperties
    clients: ClientsRun | None
    """The results of client scripts, if the run has any."""

    @classmethod
    def load(cls, run_dir: Path) -> Self:
        """Read a judged run; raise ReportError if a file is missing or damaged."""
        header, footer, scripts, sources = read_files(run_dir)
        folder = RunFolder(run_dir)
        try:
            judgements = read_records(Judgement, folder.judgements)
            differences = read_records(Difference, folder.differences)
            attempts = read_records(Attempt, folder.attempts) if folder.attempts.is_file() else ()
            found = [target_summary(folder, target, judgements, footer) for target in folder.targets()]
        except TraceError as error:
            raise ReportError(f"{run_dir} cannot be summarised: {error}") from error
        targets = in_order_of_targets(found, header)
        position = {summary.target: index for index, summary in enumerate(targets)}
        clients = clients_folder(run_dir)
        return cls(
            directory=run_dir,
            header=header,
            footer=footer,
            targets=targets,
            judgements=tuple(
                sorted(judgements, key=lambda each: (each.scenario_id, position.get(each.target, -1)))
            ),
            differences=by_place(differences),
            attempts=grouped_attempts(attempts),
            scripts=scripts,
            sources=sources,
            steps=StepTable(folder, judgements),
            by_target={summary.target: summary for summary in targets},
            added=added_properties(folder, sources),
            clients=None if clients is None else load_clients(clients),
        )

    @property
    def damage(self) -> str:
        """Which files of the record cannot be read, in a sentence; empty if none was found yet."""
        found = "; ".join(self.steps.damage.values())
        return f"{found}. Its conversations are not shown, all else is." if found else ""

    @property
    def counts(self) -> tuple[DifferenceCount, ...]:
        """The number of differences by target, API and class."""
        return difference_counts(each for found in self.differences.values() for each in found)

    @property
    def causes(self) -> tuple[CauseCount, ...]:
        """The causes of the differences, those with the most findings first."""
        return cause_counts(each for found in self.differences.values() for each in found)

    @property
    def clauses(self) -> Mapping[str, Clause]:
        """The catalogue's rows by their ids, if the run has them."""
        path = RunFolder(self.directory).clauses
        return {each.id: each for each in read_records(Clause, path)} if path.is_file() else {}

    @property
    def results(self) -> tuple[Judged, ...]:
        """The results of scenarios and of client scripts."""
        return (*self.judgements, *(self.clients.results if self.clients else ()))

    @property
    def measured_first(self) -> tuple[TargetSummary, ...]:
        """The targets in the order for figures: judged targets first, references last."""
        return tuple(sorted(self.targets, key=lambda each: each.target in self.references))

    @property
    def references(self) -> frozenset[str]:
        """Names of the targets that others are compared with, or could be."""
        return _references(self.targets)

    def target(self, name: str) -> TargetSummary:
        """Return the summary of a target; each judgement's target has one."""
        return self.by_target[name]

    def repetition(self, judgement: Judgement) -> str:
        """Return a command line that repeats a scenario as in this run."""
        return self._repetition([judgement.target], judgement.scenario_id)

    def repetition_of_change(self, before: str, after: str, scenario_id: str) -> str:
        """Return a command line that reproduces a change from one target to another."""
        return self._repetition([before, after], scenario_id)

    def _repetition(self, names: Sequence[str], scenario_id: str) -> str:
        measures = [self.measure_of(name) for name in names]
        return repetition(
            [self.target(name) for name in names],
            scenario_id,
            command=self.header.command,
            added=[self.added.get((name, scenario_id), {}) for name in names],
            against=next((each.spec for each in measures if each is not None), None),
        )

    def measure_of(self, name: str) -> TargetSummary | None:
        """Return the target that a target was compared with instead of its profile's reference, if any."""
        summary = self.target(name)
        measure = self.by_target.get(summary.oracle or "")
        if measure is None:
            return None
        return measure if stands_for_reference(measure.spec, self.header.command) else None

    def first_difference(self, judgement: Judgement) -> Difference | None:
        """Return the finding of a scenario on a target, if there is one."""
        return next(iter(self.differences.get((judgement.target, judgement.scenario_id), ())), None)

    def times_of(self, difference: Difference) -> Times | None:
        """Return the times of an answer that came too early or too late; None for other differences."""
        if difference.difference_class != DifferenceClass.TIMING:
            return None
        rows = self.steps.of_scenario(difference.scenario_id).get(difference.target, ())
        return times_in(rows, difference)

    def contrast(self, difference: Difference) -> str:
        """Return what was expected and what came, in words."""
        return contrast(difference, self.times_of(difference))


def times_in(rows: Iterable[AlignedEvents], difference: Difference) -> Times | None:
    """Return the times of the answer that a difference is about, if it is a difference of time."""
    if difference.difference_class != DifferenceClass.TIMING:
        return None
    row = next(
        (each for each in rows if each.event and each.event.sequence == difference.event_sequence), None
    )
    if row is None or row.event is None or row.event.elapsed_ms is None:
        return None
    return Times(
        target_ms=row.event.elapsed_ms,
        oracle_ms=row.other.elapsed_ms if row.other else None,
        waits=(row.event.note or "").partition(LATE)[2],
    )


_SCRIPTS: Final = TypeAdapter(dict[str, ScriptPage])


def read_files(
    run_dir: Path,
) -> tuple[RunHeader, RunFooter | None, dict[str, ScriptPage], Mapping[str, Json]]:
    """Read the run's header, footer and scripts."""
    folder = RunFolder(run_dir)
    try:
        sources = cast("Mapping[str, Json]", folder.read_scripts())
        return folder.read_run(), folder.read_footer(), _SCRIPTS.validate_python(sources), sources
    except TraceError as error:
        raise ReportError(f"{run_dir} cannot be made a report of: {error}") from error
    except ValidationError as error:
        raise ReportError(f"{folder.scripts_json} contains no scripts: {error}") from error


def in_order_of_targets(summaries: Iterable[TargetSummary], header: RunHeader) -> tuple[TargetSummary, ...]:
    """Return references first, then the others as they were named."""
    named = {target: index for index, target in enumerate(header.targets)}
    found = tuple(summaries)
    measures = _references(found)
    return tuple(
        sorted(
            found,
            key=lambda each: (each.target not in measures, named.get(each.target, len(named)), each.target),
        )
    )


def _references(summaries: Iterable[TargetSummary]) -> frozenset[str]:
    """Return the targets that others are compared with, and references without an oracle."""
    found = tuple(summaries)
    measures = {each.oracle for each in found if each.oracle is not None}
    alone = {each.target for each in found if each.oracle is None and is_reference(each.spec)}
    return frozenset(measures | alone)


def by_place(
    differences: Iterable[Difference],
) -> dict[tuple[str, str], tuple[Difference, ...]]:
    """Group differences by target and scenario id, with the finding first in each group."""
    places: dict[tuple[str, str], list[Difference]] = defaultdict(list)
    for difference in sorted(differences, key=lambda each: each.ordinal):
        places[difference.target, difference.scenario_id].append(shortened(difference))
    return {place: tuple(found) for place, found in places.items()}


def grouped_attempts(attempts: Iterable[Attempt]) -> dict[tuple[str, str], tuple[Attempt, ...]]:
    """Return attempts in their order, by target and scenario."""
    places: dict[tuple[str, str], list[Attempt]] = defaultdict(list)
    for each in sorted(attempts, key=lambda each: each.attempt):
        places[each.target, each.scenario_id].append(each)
    return {place: tuple(found) for place, found in places.items()}
