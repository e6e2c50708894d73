"""The judgement of a run: its traces and scripts in, judgements and differences on file."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path

from harness.diff.check import CheckedRun, TargetTrace, check_run
from harness.diff.expectations import SourcedEntry, check_scenarios, load_expectations
from harness.diff.judge import TargetInfo
from harness.diff.model import Judgement
from harness.report.exit_code import ExitCode, exit_code
from harness.scenario.script import Script, script_from_json
from harness.trace.events import Event
from harness.trace.files import RunFolder, read_events, read_records, write_records


def judge_run(
    folder: RunFolder,
    *,
    expectation_files: Sequence[Path],
    catalogue: frozenset[str],
    baseline: Path | None,
    today: date,
) -> CheckedRun:
    """Judge a recorded run, and keep what was found beside its traces.

    Raises:
        TraceError: a file of the run is damaged.
        ExpectationError: an expectation file is.
    """
    entries = read_expectations(expectation_files, catalogue)
    earlier = None if baseline is None else read_records(Judgement, RunFolder(baseline).judgements)
    checked = check_run(
        scripts=tuple(read_scripts(folder).values()),
        traces=read_traces(folder),
        entries=entries,
        baseline=earlier,
        today=today,
    )
    write_records(folder.judgements, checked.judgements)
    write_records(folder.differences, checked.differences)
    return checked


def read_expectations(paths: Sequence[Path], catalogue: frozenset[str]) -> tuple[SourcedEntry, ...]:
    """Read expectation files, and refuse entries that speak of no scenario.

    Raises:
        ExpectationError: a file or an entry is wrong.
    """
    entries = load_expectations(paths)
    check_scenarios(entries, sorted(catalogue))
    return entries


def judge_run_again(
    folder: RunFolder,
    *,
    expectation_files: Sequence[Path],
    catalogue: frozenset[str],
    baseline: Path | None,
) -> ExitCode:
    """Judge a stored run with today's expectations, and say how a process that ran it would end."""
    checked = judge_run(
        folder,
        expectation_files=expectation_files,
        catalogue=catalogue,
        baseline=baseline,
        today=datetime.now(UTC).date(),
    )
    return exit_code(checked.judgements, folder.read_footer())


def read_scripts(folder: RunFolder) -> Mapping[str, Script]:
    """Read the scripts that a run held, by scenario id."""
    return {name: script_from_json(data) for name, data in folder.read_scripts().items()}  # type: ignore[arg-type] # JSON data by its reader


def read_traces(folder: RunFolder) -> Mapping[str, TargetTrace]:
    """Read every target's trace, its events gathered by scenario."""
    return {target: _read_trace(folder, target) for target in folder.targets()}


def _read_trace(folder: RunFolder, target: str) -> TargetTrace:
    header = folder.read_headers(target)[0]
    by_scenario: dict[str, list[Event]] = {}
    for event in read_events(folder.events(target)).events:
        by_scenario.setdefault(event.scenario_id, []).append(event)
    return TargetTrace(
        info=TargetInfo(
            run_id=header.run_id,
            target=target,
            spec=header.spec,
            profile=header.profile,
            oracle=header.oracle,
        ),
        events={name: tuple(events) for name, events in by_scenario.items()},
    )
