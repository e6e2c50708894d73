"""Stored runs, complete or with the reason why they are not, and the comparison of two of their targets.

A comparison has two sides: two runs, two targets of one run, or one target each of two runs.

RUN             every target of a run
RUN@TARGET      one target of a run, by name or spec
TARGET          one target of the run that `--run` names, e.g. `kafka:3.9.2`
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from os.path import lexists
from pathlib import Path
from typing import Final

from harness.diff.judge import TargetInfo
from harness.diff.target_pattern import named_target
from harness.orchestration.attributing import Cause, causes_of, seen_in, unequal_places
from harness.orchestration.judging import read_baseline, read_scripts, target_info
from harness.orchestration.plan import PlanError
from harness.report.model.comparison import (
    ClientChange,
    ComparedTarget,
    Comparison,
    change_of,
    changes,
)
from harness.report.model.run_data import Run
from harness.results.client_results import ClientsRun, clients_folder, load_clients
from harness.results.status import ENDED_COMPLETE
from harness.results.stored_data import ReportError, open_folder
from harness.suggestions import close_to
from harness.targets.reference.variants import behaviour_source
from harness.trace.completeness import lost_events
from harness.trace.events import TARGET_LOST, RunFooter, RunHeader, RunKind
from harness.trace.files import RunFolder
from harness.trace.schema import TraceError


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """A run's folder with its header, footer and targets, and its client scripts if it has any."""

    folder: RunFolder
    header: RunHeader
    footer: RunFooter | None
    infos: Mapping[str, TargetInfo]
    """By the targets' names, including oracles."""
    clients: ClientsRun | None = None

    @property
    def is_alone(self) -> bool:
        """Whether it is one of client scripts, and has no scenarios."""
        return self.header.kind != RunKind.SUITES

    @property
    def path(self) -> Path:
        """The path of the run's folder."""
        return self.folder.path


OF_SCENARIOS: Final = (RunKind.SUITES,)
OF_CLIENTS_TOO: Final = (RunKind.SUITES, RunKind.CLIENTS)


def open_run(path: Path, kinds: Sequence[RunKind] = OF_SCENARIOS) -> StoredRun:
    """Open a run's folder.

    Raises:
        ReportError: it is not a run's folder, or it is of another kind.
        TraceError: its header, footer or targets' headers are damaged.
    """
    folder = open_folder(path, *kinds)
    header = folder.read_run()
    clients = clients_folder(folder.path) if header.kind == RunKind.SUITES else folder.path
    # Without a header, a run was cut short before the target's first broker was ready.
    begun = [name for name in folder.targets() if folder.headers_json(name).is_file()]
    return StoredRun(
        folder=folder,
        header=header,
        footer=folder.read_footer(),
        infos={name: target_info(folder, name) for name in begun},
        clients=None if clients is None else load_clients(clients),
    )


def cut_short(run: StoredRun) -> tuple[str, ...]:
    """Return what is missing if a run did not complete, or lost part of its records.

    A lost target does not count as missing, because it is on record, scenario by scenario.
    """
    if run.footer is None:
        return ("it has no footer: the run was stopped before its end",)
    ended = run.footer.ended
    if ended != ENDED_COMPLETE and not ended.startswith(TARGET_LOST):
        return (f"its footer says {ended!r}",)
    if run.is_alone:
        return () if run.clients is None or ended != ENDED_COMPLETE else tuple(_gaps(run.clients))
    missing = [each for each in run.header.targets if each not in run.infos]
    return (*(f"the trace of {each} is missing" for each in missing), *lost_events(run.folder, run.footer))


def _gaps(run: ClientsRun) -> Iterator[str]:
    wanted = {(script_id, library) for script_id in run.scripts for library in run.libraries}
    for record in run.targets:
        there = {(each.scenario_id, each.library) for each in run.results if each.spec == record.spec}
        if missing := len(wanted - there):
            yield f"{missing} of the {len(wanted)} results of {record.name} are not there"


def find_steps(texts: Sequence[str], *, run: Path) -> tuple[tuple[ComparedTarget, ComparedTarget], ...]:
    """Return the pairs of targets to compare: each side with the one named before it.

    The module's docstring describes the forms of a side; `run` is where targets without a run are looked for.

    Raises:
        PlanError: nothing on one side matches the other.
        ReportError: there is no such run, or it was not judged.
        TraceError: a run was cut short, or is damaged.
    """
    loaded: dict[Path, Run] = {}
    return tuple(pair for one, other in pairwise(texts) for pair in _pairs(one, other, run, loaded))


def _pairs(
    before: str, after: str, run: Path, loaded: dict[Path, Run]
) -> tuple[tuple[ComparedTarget, ComparedTarget], ...]:
    left, right = (_named(text, run, loaded) for text in (before, after))
    if len(left) == 1 and len(right) == 1:
        return ((next(iter(left.values())), next(iter(right.values()))),)
    common = [name for name in left if name in right]
    if not common:
        raise PlanError(
            f"nothing to compare: {before} has {', '.join(left)}, and {after} has {', '.join(right)}; "
            "name one of each: RUN@TARGET"
        )
    return tuple((left[name], right[name]) for name in common)


def _named(text: str, run: Path, loaded: dict[Path, Run]) -> Mapping[str, ComparedTarget]:
    folder, target = _parted(text, run)
    if folder is run and not lexists(RunFolder(run).run_json):
        raise ReportError(
            f"{text!r} is not a folder, so it would be a target of {run}, which is not a run's folder: "
            "name a run, or one to look in with --run"
        )
    key = folder.resolve()
    if key not in loaded:
        loaded[key] = _loaded(folder)
    found = loaded[key]
    names = [name for name in found.header.targets if name in found.by_target]
    if target is not None:
        named = named_target(target, {each.target: each.spec for each in found.targets})
        names = [] if named is None else [named]
    if not names:
        raise PlanError(_unknown(target, found))
    return {name: ComparedTarget(run=found, target=name) for name in names}


def _parted(text: str, run: Path) -> tuple[Path, str | None]:
    if Path(text).is_dir():
        return Path(text), None
    folder, at, target = text.rpartition("@")
    if at and (Path(folder).is_dir() or _is_path(folder)):
        return Path(folder), target
    return (Path(text), None) if _is_path(text) else (run, text)


def _is_path(text: str) -> bool:
    # A target has its kind and a colon before any slash.
    head, slash, _ = text.partition("/")
    return bool(slash) and ":" not in head


def _unknown(target: str | None, found: Run) -> str:
    names = [*found.by_target, *(each.spec for each in found.targets)]
    there = close_to(target or "", names, otherwise=f"it has {', '.join(found.by_target)}")
    return f"{target!r} is not a folder, and not a target of {found.directory}; {there}"


def _loaded(folder: Path) -> Run:
    run = open_run(folder)
    if reasons := cut_short(run):
        raise TraceError(f"{folder}: nothing can be concluded from it: {'; '.join(reasons)}")
    read_baseline(folder)
    read_scripts(run.folder)
    found = Run.load(run.path)
    found.steps.read_all()
    if found.damage:
        raise TraceError("; ".join(found.steps.damage.values()))
    return found


def compare(
    before: ComparedTarget, after: ComparedTarget, *, explain: bool, progress: Callable[[str], None]
) -> Comparison:
    """Compare two targets, scenario by scenario.

    To explain it, references are run, which finds the named behaviours that cause the changes.
    """
    found = changes(before, after)
    if not explain or found.is_judgement:
        return found
    named = found.changes
    if named and before.oracle and after.oracle:
        causes = causes_of(
            {change.scenario_id: _steps_that_changed(change, before, after) for change in named},
            read_scripts(RunFolder(before.run.directory)),
            (before.oracle.summary.profile, after.oracle.summary.profile),
            runs=dict.fromkeys(RunFolder(side.run.directory) for side in (before, after)),
            progress=progress,
        )
        named = tuple(_explained(each, causes[each.scenario_id], before, after) for each in named)
    return replace(found, changes=named, is_explained=True)


def _steps_that_changed(change: ClientChange, before: ComparedTarget, after: ComparedTarget) -> Sequence[int]:
    answers = [seen_in(side.events(change.scenario_id)) for side in (before, after)]
    steps = {step for step, *_ in unequal_places(*answers) if step > change.step}
    return (change.step, *sorted(steps))


def _explained(
    change: ClientChange, causes: Sequence[Cause], before: ComparedTarget, after: ComparedTarget
) -> ClientChange:
    if not causes:
        return change
    (_, behaviours), *further = causes
    later = [
        _with_cause(seen, names)
        for step, names in further
        # A flaky change has no other cause.
        if not change.is_flaky
        and (seen := change_of(before.run.scripts[change.scenario_id], before, after, since=step)) is not None
        and seen.step == step
    ]
    return replace(_with_cause(change, behaviours), also=tuple(later))


def _with_cause(change: ClientChange, names: tuple[str, ...]) -> ClientChange:
    return replace(change, behaviours=names, sources=tuple(behaviour_source(name) for name in names))
