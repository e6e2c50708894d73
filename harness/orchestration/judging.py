"""The judgement of a run: from its traces and scripts to results on file, and from those to today's."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from enum import StrEnum
from pathlib import Path
from typing import Final, TypeAlias

from harness.diff.check import (
    CheckedRun,
    Precedents,
    TargetTrace,
    judge_attempts,
    set_against,
    stored_against,
)
from harness.diff.compare import Departures
from harness.diff.expectations import SourcedEntry, check_scenarios, load_expectations
from harness.diff.judge import EXTERNAL, TargetInfo
from harness.diff.model import Attempt, Difference, Judgement
from harness.diff.repeats import Repeated
from harness.results.baseline import BY_OPTION, BaselineData, keep_baseline, results_against
from harness.results.status import ExitCode, exit_code, worst
from harness.results.stored_data import ReportError, open_folder
from harness.runner.recorder import note_alone
from harness.scenario.errors import ScenarioError
from harness.scenario.fitting import fitted
from harness.scenario.script import Script, script_from_json
from harness.targets.external.settings import read_assumed
from harness.trace.completeness import refuse_lost_events
from harness.trace.events import Event, EventKind, RunFooter, RunKind
from harness.trace.files import RunFolder, read_events, read_records, write_records
from harness.trace.schema import TraceError, json_object
from harness.verdict import Confirmation, Delta, DifferenceClass, Expectation, Outcome
from harness.workers import workers

JudgedTargets: TypeAlias = Mapping[str, Sequence[Repeated]]
"""By target, in the run's order: its scenarios, each with all attempts."""
_SHARED_BYTES: Final = 3 * 1024 * 1024
"""The size of compressed traces below which starting more processes takes longer than it saves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a run is judged with in addition to its records."""

    expectation_files: Sequence[Path] = ()
    catalogue: frozenset[str]
    """The ids of all scenarios."""
    baseline: Path | None = None
    """An earlier run's folder, or None."""
    today: date = field(default_factory=lambda: datetime.now(UTC).date())

    def read(self) -> Precedents:
        """Read the expectation files and the baseline.

        Raises:
            ExpectationError: an expectation file is wrong.
            ReportError: the baseline is not a judged run.
            TraceError: the baseline is damaged.
        """
        entries = read_expectations(self.expectation_files, self.catalogue)
        return Precedents(entries=entries, baseline=read_baseline(self.baseline), today=self.today)


def judge_run(
    folder: RunFolder, given: Given, *, checked: CheckedRun | None = None, is_from_traces: bool = False
) -> CheckedRun:
    """Judge a recorded run, and write the results beside its traces.

    Results with the same expectations and baseline are taken as they are: no trace was added since.

    Raises:
        TraceError: a file of the run is damaged.
        ExpectationError: an expectation file is wrong.
        ReportError: the baseline is not a judged run.
    """
    precedents = given.read()
    if checked is None:
        checked = check_folder(folder, precedents, is_from_traces=is_from_traces)
    write_records(folder.differences, checked.differences)
    if checked.attempts or folder.attempts.exists():
        write_records(folder.attempts, checked.attempts)
    write_records(folder.judgements, checked.judgements)  # the last, since they stand for all
    ran = None
    if given.baseline is not None:
        before = precedents.baseline or ()
        ran = BaselineData(
            run_id=before[0].run_id if before else given.baseline.resolve().name,
            named_by=BY_OPTION,
            results=results_against(checked.judgements, checked.removed, before),
        )
    keep_baseline(folder.path, ran)
    return checked


def check_folder(folder: RunFolder, precedents: Precedents, *, is_from_traces: bool = False) -> CheckedRun:
    """Apply expectations and a baseline to the results that a run stored, without changing its folder.

    A run that was stopped before its results were stored is judged by its traces, as is any if that is asked
    for.

    Raises:
        TraceError: a file of the run is damaged.
    """
    stored = None if is_from_traces else stored_judgements(folder)
    if stored is not None:
        infos = {name: target_info(folder, name) for name in folder.targets()}
        return stored_against(stored, infos, precedents)
    return check_judged(folder, judge_folder(folder), precedents)


def judge_folder(folder: RunFolder) -> JudgedTargets:
    """Judge every attempt at every scenario of a recorded run; `check_judged` does the rest.

    Raises:
        TraceError: a file of the run is damaged.
    """
    names = folder.targets()
    shares = _shares(folder, names)
    traces = (path for name in names if (path := folder.events(name)).exists())
    if len(shares) == 1 or sum(path.stat().st_size for path in traces) < _SHARED_BYTES:
        return _judge_share(folder, names)
    by_target: dict[str, list[Repeated]] = {}
    with workers(len(shares)) as pool:
        for found in pool.map(_judge_share, [folder] * len(shares), shares):
            by_target |= found
    return {name: by_target[name] for name in names}


def check_judged(folder: RunFolder, judged: JudgedTargets, precedents: Precedents) -> CheckedRun:
    """Compare a run's judged attempts with the expectations and with the results of an earlier run."""
    attempts = [each for of_target in judged.values() for each in of_target]
    return set_against(attempts, {name: target_info(folder, name) for name in judged}, precedents)


def _shares(folder: RunFolder, names: Sequence[str]) -> list[tuple[str, ...]]:
    """Divide targets into shares to judge together: each oracle goes with the first target that needs it."""
    left = dict.fromkeys(names)
    shares: list[tuple[str, ...]] = []
    for name in names:
        oracle = target_info(folder, name).oracle
        if oracle is not None and name in left:
            share = tuple(each for each in (oracle, name) if each in left)
            shares.append(share)
            left = {each: None for each in left if each not in share}
    return [*shares, *((name,) for name in left)]


def _judge_share(folder: RunFolder, share: Sequence[str]) -> dict[str, list[Repeated]]:
    scripts = tuple(read_scripts(folder).values())
    is_cut_short = folder.read_footer() is None
    traces: dict[str, TargetTrace] = {}

    def trace_of(name: str) -> TargetTrace:
        if name not in traces:
            read = _read_trace(folder, name)
            traces[name] = _cut_short(read, scripts) if is_cut_short else read
        return traces[name]

    departures = Departures()
    known = frozenset(folder.targets())
    judged: dict[str, list[Repeated]] = {}
    for name in share:
        trace = trace_of(name)
        oracle = trace_of(trace.info.oracle) if trace.info.oracle in known else None
        driven = as_driven(folder, name, scripts)
        judged[name] = [judge_attempts(script, trace, oracle, departures) for script in driven]
    return judged


def as_driven(folder: RunFolder, name: str, scripts: Sequence[Script]) -> Sequence[Script]:
    """Return scripts as a target ran them; an external broker and its reference ran them fitted to it."""
    for other in folder.targets():
        header = folder.read_headers(other)[0]
        is_alone = header.oracle is not None and header.oracle.endswith(f"-as-{other}")
        if header.spec.startswith(EXTERNAL) and is_alone and name in (other, header.oracle):
            settings = broker_settings(folder, other)
            return [fitted(script, settings) for script in scripts]
    return scripts


def broker_settings(folder: RunFolder, target: str) -> Mapping[str, str]:
    """Return the settings of a target's first broker.

    Raises:
        TraceError: its record is damaged.
    """
    where = f"`broker_config` of {folder.headers_json(target)}"
    found = json_object(folder.read_headers(target)[0].broker_config, where=where)
    return {name: str(value) for name, value in found.items()}


def read_expectations(paths: Sequence[Path], catalogue: frozenset[str]) -> tuple[SourcedEntry, ...]:
    """Read expectation files, and refuse entries that match no scenario.

    Raises:
        ExpectationError: a file or an entry is wrong.
    """
    entries = load_expectations(paths)
    check_scenarios(entries, sorted(catalogue))
    return entries


def read_baseline(folder: Path | None) -> tuple[Judgement, ...] | None:
    """Read the judgements of an earlier run to compare with, if there is one.

    Raises:
        ReportError: the folder has no judgements.
        TraceError: the judgements are damaged.
    """
    if folder is None:
        return None
    run = open_folder(folder, RunKind.SUITES)
    if not run.judgements.is_file():
        raise ReportError(f"{folder} cannot be the baseline: its run was not judged")
    run.read_run()
    found = read_records(Judgement, run.judgements)
    refuse_unjudged(run, found)
    return found


def judge_run_again(folder: RunFolder, given: Given, *, is_from_traces: bool = False) -> ExitCode:
    """Apply today's expectations to a stored run, and return the exit code of a process that ran it.

    Raises:
        TraceError: the run ended in order but has lost events since, or a file is damaged.
    """
    folder.read_run()
    refuse_lost_events(folder)
    checked = judge_run(folder, given, is_from_traces=is_from_traces)
    return ending(checked, catalogue=given.catalogue, footer=folder.read_footer())


def ending(checked: CheckedRun, *, catalogue: frozenset[str], footer: RunFooter | None) -> ExitCode:
    """Return the exit code of a judged run; it fails if a scenario of the baseline no longer exists.

    A scenario of the baseline that was merely not chosen this time does not matter.
    """
    code = exit_code(checked.judgements, footer)
    is_gone = any(each.scenario_id not in catalogue for each in checked.removed)
    return worst((code, ExitCode.NOTHING_RAN)) if is_gone else code


def read_scripts(folder: RunFolder) -> Mapping[str, Script]:
    """Read the scripts of a run, by scenario id.

    Raises:
        TraceError: one of them is not a valid script.
    """
    scripts: dict[str, Script] = {}
    for name, data in folder.read_scripts().items():
        try:
            scripts[name] = script_from_json(data)  # type: ignore[arg-type] # JSON data by its reader
        except ScenarioError as error:
            raise TraceError(f"{folder.scripts_json}: {name!r}: {error}") from error
    return scripts


def read_first_attempts(folder: RunFolder, target: str, scenario_ids: Collection[str]) -> TargetTrace:
    """Read the events of the first attempts at some scenarios with a target."""
    events = _by_scenario(folder, target, scenario_ids)
    return TargetTrace(info=target_info(folder, target), events=events)


def read_traces(folder: RunFolder, targets: Iterable[str] | None = None) -> Mapping[str, TargetTrace]:
    """Read the traces of some targets, or of all, with their events grouped by scenario."""
    names = folder.targets() if targets is None else targets
    return {target: _read_trace(folder, target) for target in names}


def _cut_short(trace: TargetTrace, scripts: Sequence[Script]) -> TargetTrace:
    """Note for each scenario without an event that the run was cut short: this is not a harness error."""
    missing: list[Event] = []
    for script in scripts:
        if script.id not in trace.events:
            note_alone(
                script,
                EventKind.ABANDONED,
                "the run was cut short before",
                run_id=trace.info.run_id,
                target=trace.info.target,
                write=missing.append,
            )
    return replace(trace, events={**trace.events, **{event.scenario_id: (event,) for event in missing}})


def target_info(folder: RunFolder, target: str) -> TargetInfo:
    """Return what the run recorded about a target itself."""
    header = folder.read_headers(target)[0]
    return TargetInfo(
        run_id=header.run_id,
        target=target,
        spec=header.spec,
        profile=header.profile,
        oracle=header.oracle,
        assumed=read_assumed(header.notes),
    )


def _read_trace(folder: RunFolder, target: str) -> TargetTrace:
    repeats: dict[str, list[Sequence[Event]]] = {}
    for name in folder.repeats(target).values():
        for scenario_id, events in _by_scenario(folder, name).items():
            repeats.setdefault(scenario_id, []).append(events)
    return TargetTrace(info=target_info(folder, target), events=_by_scenario(folder, target), repeats=repeats)


def _by_scenario(
    folder: RunFolder, trace: str, scenario_ids: Collection[str] | None = None
) -> Mapping[str, tuple[Event, ...]]:
    by_scenario: dict[str, list[Event]] = {}
    for event in read_events(folder.events(trace), scenario_ids):
        by_scenario.setdefault(event.scenario_id, []).append(event)
    return {name: tuple(events) for name, events in by_scenario.items()}


_VALUES: Final[Mapping[str, type[StrEnum]]] = {
    "outcome": Outcome,
    "expectation": Expectation,
    "delta": Delta,
    "confirmation": Confirmation,
    "difference_class": DifferenceClass,
}
"""Fields of records whose values are few."""


def stored_judgements(folder: RunFolder) -> CheckedRun | None:
    """Read the results that a run stored; None if it was stopped before it was judged.

    Raises:
        TraceError: a file of the results is missing, damaged or incomplete.
    """
    if not folder.judgements.is_file():
        return None
    judgements = read_records(Judgement, folder.judgements)
    differences = read_records(Difference, folder.differences)
    attempts = read_records(Attempt, folder.attempts) if folder.attempts.is_file() else ()
    refuse_unjudged(folder, judgements)
    if (gap := next(_gaps(folder, judgements, differences, attempts), None)) is not None:
        raise TraceError(f"{gap}; {_remedy(folder)}")
    return CheckedRun(
        judgements=judgements, differences=differences, stale_entries=(), removed=(), attempts=attempts
    )


def _place(record: Judgement | Difference | Attempt) -> tuple[str, str]:
    return record.target, record.scenario_id


def refuse_unjudged(folder: RunFolder, judgements: Sequence[Judgement]) -> None:
    """Refuse results of which one is missing: there is one for each scenario with each target.

    Raises:
        TraceError: says how many are missing.
    """
    if not folder.scripts_json.is_file():
        return
    judged = frozenset(map(_place, judgements))
    recorded = {(target, name) for target in folder.targets() for name in folder.read_scripts()}
    if missing := recorded - judged:
        raise TraceError(
            f"{folder.judgements}: {len(missing)} of {len(recorded)} judgements are missing that "
            f"{folder.scripts_json.name} wants; {_remedy(folder)}"
        )
    if strange := judged - recorded:
        target, name = min(strange)
        raise TraceError(
            f"{folder.judgements}: the run has no {name!r} on {target!r}, which is judged; {_remedy(folder)}"
        )


def _gaps(
    folder: RunFolder,
    judgements: Sequence[Judgement],
    differences: Sequence[Difference],
    attempts: Sequence[Attempt],
) -> Iterator[str]:
    records: tuple[Judgement | Difference | Attempt, ...] = (*judgements, *differences, *attempts)
    for record in records:
        for name, values in _VALUES.items():
            value = getattr(record, name, None)
            if value is not None and value not in list(values):
                yield f"{folder.path}: {record.scenario_id} on {record.target}: {name} {value!r:.80} is none"
    due = Counter({_place(each): each.difference_count for each in judgements})
    if +Counter(map(_place, differences)) != +due:
        yield f"{folder.differences}: not the differences of the judgements"
    ran = Counter(_place(each) for each in attempts if each.was_run)
    counts = {_place(each): each.attempt_count for each in judgements}
    repeated = {place for place, count in counts.items() if count > 1} | set(map(_place, attempts))
    if any(ran[place] != counts.get(place) for place in repeated):
        yield f"{folder.attempts}: not the attempts of the judgements"


def _remedy(folder: RunFolder) -> str:
    return f"`kafka-conformance report --judge {folder.path}` judges the run again"
