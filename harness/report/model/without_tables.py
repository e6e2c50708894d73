"""A run's verdict without tables, read from the checker's files."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from harness.diff.model import Attempt, Difference, Judgement
from harness.report.model.run_data import Run, by_place, grouped_attempts, in_order_of_targets, read_files
from harness.report.model.tables import StepTable
from harness.results.brokers import added_properties
from harness.results.client_results import clients_folder, load_clients
from harness.results.errors import ReportError
from harness.results.status import ResultStatus, status_of
from harness.spark.rows import ClusteredDifference, TargetSummary
from harness.trace.embedded import drive_times
from harness.trace.events import RunFooter
from harness.trace.files import RunFolder, read_records
from harness.trace.schema import TraceError, columns
from harness.verdict import Expectation, Outcome


def load_verdict(run_dir: Path) -> Run:
    """Read a judged run; data that only tables have, such as steps and clusters, is empty.

    Raises:
        ReportError: a file of the run is missing or damaged.
    """
    header, footer, scripts, sources = read_files(run_dir)
    folder = RunFolder(run_dir)
    try:
        judgements = read_records(Judgement, folder.judgements)
        differences = read_records(Difference, folder.differences)
        attempts = read_records(Attempt, folder.attempts) if folder.attempts.is_file() else ()
        found = [_summary(folder, target, judgements, footer) for target in folder.targets()]
    except TraceError as error:
        raise ReportError(f"{run_dir} cannot be summarised: {error}") from error
    summaries = in_order_of_targets(found, header)
    position = {summary.target: index for index, summary in enumerate(summaries)}
    clients = clients_folder(run_dir)
    return Run(
        directory=run_dir,
        header=header,
        footer=footer,
        targets=summaries,
        judgements=tuple(sorted(judgements, key=lambda each: (each.scenario_id, position[each.target]))),
        differences=by_place(_without_cluster(each) for each in differences),
        attempts=grouped_attempts(attempts),
        counts=(),
        clusters=(),
        latencies=(),
        error_codes=(),
        changes=(),
        scripts=scripts,
        sources=sources,
        steps=StepTable(None),
        by_target={summary.target: summary for summary in summaries},
        added=added_properties(folder, sources),
        clients=None if clients is None else load_clients(clients),
    )


def _without_cluster(difference: Difference) -> ClusteredDifference:
    values = {column.name: getattr(difference, column.name) for column in columns(Difference)}
    return ClusteredDifference(**values, cluster="")


def _summary(
    folder: RunFolder, target: str, judgements: tuple[Judgement, ...], footer: RunFooter | None
) -> TargetSummary:
    """Return the summary of a target's results; of several brokers, the first represents the target."""
    header = folder.read_headers(target)[0]
    theirs = [each for each in judgements if each.target == target]
    outcomes = Counter(each.outcome for each in theirs)
    expectations = Counter(each.expectation for each in theirs)
    return TargetSummary(
        run_id=header.run_id,
        target=target,
        spec=header.spec,
        profile=header.profile,
        implementation=header.implementation,
        oracle=header.oracle,
        bootstrap=header.bootstrap,
        broker_config=header.broker_config,
        notes=header.notes,
        start_ms=header.start_ms,
        drive_ms=_drive_ms(footer).get(target),
        scenario_count=len(theirs),
        conforms=outcomes[Outcome.CONFORMS],
        not_applicable=outcomes[Outcome.NOT_APPLICABLE],
        lenient=outcomes[Outcome.LENIENT],
        indeterminate=outcomes[Outcome.INDETERMINATE],
        diverges=outcomes[Outcome.DIVERGES],
        harness_error=outcomes[Outcome.HARNESS_ERROR],
        expected=expectations[Expectation.EXPECTED],
        unexpected=expectations[Expectation.UNEXPECTED],
        stale=expectations[Expectation.STALE],
        flaky=sum(status_of(each) is ResultStatus.FLAKY for each in theirs),
        request_count=0,
        response_count=0,
    )


def _drive_ms(footer: RunFooter | None) -> Mapping[str, float]:
    return {} if footer is None else drive_times(footer)
