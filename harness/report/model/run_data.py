"""All data that a report shows, read once from a run folder."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, Self, TypeVar

from pydantic import TypeAdapter, ValidationError

from harness.diff.model import Attempt, Difference, Judgement
from harness.diff.target_pattern import is_reference
from harness.report.model.contrasts import Times
from harness.report.model.page_limit import shortened
from harness.report.model.phrases import contrast, repetition, stands_for_reference
from harness.report.model.tables import StepTable, read_rows, read_table
from harness.results.brokers import AddedProperties, added_properties
from harness.results.client_results import ClientsRun, clients_folder, load_clients
from harness.results.errors import ReportError
from harness.results.status import Judged
from harness.spark.rows import (
    AlignedStep,
    BehaviourChange,
    ClusteredDifference,
    DifferenceCount,
    ErrorCodeCount,
    LatencyQuantile,
    SignatureCluster,
    TargetSummary,
)
from harness.trace.events import RunFooter, RunHeader
from harness.trace.files import RunFolder
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
    """One run as its tables describe it; rows of other runs in the tables are left out."""

    directory: Path
    header: RunHeader
    footer: RunFooter | None
    targets: tuple[TargetSummary, ...]
    """References first, then the others in the order in which they were named."""
    judgements: tuple[Judgement, ...]
    """By scenario id, then in the order of targets."""
    differences: Mapping[tuple[str, str], tuple[ClusteredDifference, ...]]
    """By target and scenario id; the finding first."""
    attempts: Mapping[tuple[str, str], tuple[Attempt, ...]]
    """By target and scenario id, for what was run more than once; in the order of running."""
    counts: tuple[DifferenceCount, ...]
    clusters: tuple[SignatureCluster, ...]
    """The ones with the most findings first."""
    latencies: tuple[LatencyQuantile, ...]
    error_codes: tuple[ErrorCodeCount, ...]
    changes: tuple[BehaviourChange, ...]
    """By scenario id, then in the order of targets."""
    scripts: Mapping[str, ScriptPage]
    sources: Mapping[str, object]
    """The scripts themselves, as stored in the run."""
    steps: StepTable
    by_target: Mapping[str, TargetSummary]
    added: AddedProperties
    clients: ClientsRun | None
    """The results of client scripts, if the run has any."""

    @classmethod
    def load(cls, run_dir: Path) -> Self:
        """Read a run folder whose tables were built; raise ReportError if something is missing."""
        header, footer, scripts, sources = read_files(run_dir)
        targets = in_order_of_targets(
            _of_run(read_rows(run_dir, "target_summary", TargetSummary), header), header
        )
        position = {summary.target: index for index, summary in enumerate(targets)}
        judgements = _of_run(read_rows(run_dir, "verdict_matrix", Judgement), header)
        clients = clients_folder(run_dir)
        clusters = read_rows(run_dir, "signature_clusters", SignatureCluster)
        return cls(
            directory=run_dir,
            header=header,
            footer=footer,
            targets=targets,
            judgements=tuple(
                sorted(judgements, key=lambda each: (each.scenario_id, position.get(each.target, -1)))
            ),
            differences=by_place(_of_run(read_rows(run_dir, "differences", ClusteredDifference), header)),
            attempts=grouped_attempts(_of_run(read_rows(run_dir, "attempts", Attempt), header)),
            counts=_of_run(read_rows(run_dir, "differences_by_api_and_class", DifferenceCount), header),
            clusters=tuple(sorted(clusters, key=lambda each: (-each.finding_count, each.cluster))),
            latencies=_of_run(read_rows(run_dir, "latency_quantiles", LatencyQuantile), header),
            error_codes=_of_run(read_rows(run_dir, "error_codes", ErrorCodeCount), header),
            changes=_of_run(read_rows(run_dir, "behaviour_changes", BehaviourChange), header),
            scripts=scripts,
            sources=sources,
            steps=StepTable(read_table(run_dir, "aligned_steps", AlignedStep)),
            by_target={summary.target: summary for summary in targets},
            added=added_properties(RunFolder(run_dir), sources),
            clients=None if clients is None else load_clients(clients),
        )

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

    def repetition_of_change(self, change: BehaviourChange) -> str:
        """Return a command line that reproduces a change from one target to another."""
        return self._repetition([change.from_target, change.to_target], change.scenario_id)

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

    def first_difference(self, judgement: Judgement) -> ClusteredDifference | None:
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


def times_in(rows: Iterable[AlignedStep], difference: Difference) -> Times | None:
    """Return the times of the answer that a difference is about, if it is a difference of time."""
    if difference.difference_class != DifferenceClass.TIMING:
        return None
    row = next((each for each in rows if each.target_sequence == difference.event_sequence), None)
    if row is None or row.target_elapsed_ms is None:
        return None
    return Times(target_ms=row.target_elapsed_ms, oracle_ms=row.oracle_elapsed_ms)


class _OfRun(Protocol):
    @property
    def run_id(self) -> str: ...


RowT = TypeVar("RowT", bound=_OfRun)


def _of_run(rows: Iterable[RowT], header: RunHeader) -> tuple[RowT, ...]:
    return tuple(row for row in rows if row.run_id == header.run_id)


_SCRIPTS: Final = TypeAdapter(dict[str, ScriptPage])


def read_files(
    run_dir: Path,
) -> tuple[RunHeader, RunFooter | None, dict[str, ScriptPage], Mapping[str, object]]:
    """Read the run's header, footer and scripts, which are not in the tables."""
    folder = RunFolder(run_dir)
    try:
        sources = folder.read_scripts()
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
    differences: Iterable[ClusteredDifference],
) -> dict[tuple[str, str], tuple[ClusteredDifference, ...]]:
    """Group differences by target and scenario id, with the finding first in each group."""
    places: dict[tuple[str, str], list[ClusteredDifference]] = defaultdict(list)
    for difference in sorted(differences, key=lambda each: each.ordinal):
        places[difference.target, difference.scenario_id].append(shortened(difference))
    return {place: tuple(found) for place, found in places.items()}


def grouped_attempts(attempts: Iterable[Attempt]) -> dict[tuple[str, str], tuple[Attempt, ...]]:
    """Return attempts in their order, by target and scenario."""
    places: dict[tuple[str, str], list[Attempt]] = defaultdict(list)
    for each in sorted(attempts, key=lambda each: each.attempt):
        places[each.target, each.scenario_id].append(each)
    return {place: tuple(found) for place, found in places.items()}
