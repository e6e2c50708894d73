"""The two sides of a comparison: two runs, two targets of one run, or one target each of two runs.

RUN             every target of a run
RUN@TARGET      one target of a run, by name or spec
TARGET          one target of the run that `--run` names, e.g. `kafka:3.9.2`
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from os.path import lexists
from pathlib import Path

from harness.diff.check import reported_by
from harness.diff.target_pattern import named_target
from harness.gate.stored import cut_short, open_run
from harness.orchestration.judging import read_baseline, read_scripts, read_traces
from harness.orchestration.plan import PlanError
from harness.report.model.comparison import ComparedTarget, LoadedRun
from harness.results.stored_data import ReportError
from harness.suggestions import close_to
from harness.trace.files import RunFolder
from harness.trace.schema import TraceError


def find_steps(texts: Sequence[str], *, run: Path) -> tuple[tuple[ComparedTarget, ComparedTarget], ...]:
    """Return the pairs of targets to compare: each side with the one named before it.

    Args:
        texts: sides, each in a form that the module's docstring describes.
        run: the run in which to look for targets that are named without a run.

    Raises:
        PlanError: nothing on one side matches the other.
        ReportError: there is no such run, or it was not judged.
        TraceError: a run was cut short, or is damaged.
    """
    loaded: dict[Path, LoadedRun] = {}
    return tuple(pair for one, other in pairwise(texts) for pair in _pairs(one, other, run, loaded))


def _pairs(
    before: str, after: str, run: Path, loaded: dict[Path, LoadedRun]
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


def _named(text: str, run: Path, loaded: dict[Path, LoadedRun]) -> Mapping[str, ComparedTarget]:
    """Return the targets that a text denotes, by name."""
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
    names = [name for name in found.header.targets if name in found.traces]
    if target is not None:
        named = named_target(target, {name: trace.info.spec for name, trace in found.traces.items()})
        names = [] if named is None else [named]
    if not names:
        raise PlanError(_unknown(target, found))
    return {name: ComparedTarget(loaded=found, target=name) for name in names}


def _parted(text: str, run: Path) -> tuple[Path, str | None]:
    if Path(text).is_dir():
        return Path(text), None
    folder, at, target = text.rpartition("@")
    if at and (Path(folder).is_dir() or _is_path(folder)):
        return Path(folder), target
    return (Path(text), None) if _is_path(text) else (run, text)


def _is_path(text: str) -> bool:
    """Return whether a text is a path and not a target, which has its kind and a colon before any slash."""
    head, slash, _ = text.partition("/")
    return bool(slash) and ":" not in head


def _unknown(target: str | None, found: LoadedRun) -> str:
    names = [*found.traces, *(trace.info.spec for trace in found.traces.values())]
    there = close_to(target or "", names, otherwise=f"it has {', '.join(found.traces)}")
    return f"{target!r} is not a folder, and not a target of {found.folder.path}; {there}"


def _loaded(folder: Path) -> LoadedRun:
    run = open_run(folder)
    reasons = cut_short(run)
    if reasons:
        raise TraceError(f"{folder}: nothing can be concluded from it: {'; '.join(reasons)}")
    judged = read_baseline(folder) or ()
    return LoadedRun(
        folder=run.folder,
        header=run.header,
        scripts=read_scripts(run.folder),
        traces={name: reported_by(trace, judged) for name, trace in read_traces(run.folder).items()},
        judgements={(each.target, each.scenario_id): each for each in judged},
    )
