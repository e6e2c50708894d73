"""A whole run, checked: the one place where outcome, expectation and delta are set."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from harness.diff.baseline import compared_with
from harness.diff.compare import Departures
from harness.diff.expectations import SourcedEntry, StaleEntry, apply_expectations
from harness.diff.judge import Judged, TargetInfo, judge
from harness.diff.model import Difference, Judgement
from harness.scenario.script import Script
from harness.trace.events import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetTrace:
    """What is on record of one target."""

    info: TargetInfo
    events: Mapping[str, Sequence[Event]]
    """By scenario id, each in sequence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedRun:
    """All that the checker has to say of a run."""

    judgements: tuple[Judgement, ...]
    """One for every script and target, in the order of the targets and then of the scripts."""
    differences: tuple[Difference, ...]
    stale_entries: tuple[StaleEntry, ...]
    removed: tuple[Judgement, ...]
    """What the baseline judged and this run did not."""


def check_run(
    scripts: Sequence[Script],
    traces: Mapping[str, TargetTrace],
    entries: Sequence[SourcedEntry],
    baseline: Sequence[Judgement] | None,
    today: date,
) -> CheckedRun:
    """Judge every script with every target.

    Args:
        scripts: all that were to be held; one without events is an error of the harness, not a pass.
        traces: by the targets' names, oracles included.
        entries: the known differences.
        baseline: an earlier run's judgements, or None.
        today: on which expiry is judged.
    """
    departures = Departures()
    judged = [
        each
        for trace in traces.values()
        for each in judge_target(scripts, trace, traces.get(trace.info.oracle or ""), departures)
    ]
    infos = {name: trace.info for name, trace in traces.items()}
    return set_against(judged, infos, entries=entries, baseline=baseline, today=today)


def judge_target(
    scripts: Sequence[Script], trace: TargetTrace, oracle: TargetTrace | None, departures: Departures
) -> list[Judged]:
    """Judge every script with one target; expectations and a baseline are for `set_against`."""
    return [_judged(script, trace, oracle, departures) for script in scripts]


def set_against(
    judged: Sequence[Judged],
    infos: Mapping[str, TargetInfo],
    *,
    entries: Sequence[SourcedEntry],
    baseline: Sequence[Judgement] | None,
    today: date,
) -> CheckedRun:
    """Set what was judged against what was foreseen and what an earlier run came to.

    Args:
        judged: in the order of the targets and then of the scripts.
        infos: by the targets' names.
        entries: the known differences.
        baseline: an earlier run's judgements, or None.
        today: on which expiry is judged.
    """
    applied = apply_expectations([one.judgement for one in judged], infos, entries, today)
    compared = compared_with(applied.judgements, baseline)
    return CheckedRun(
        judgements=compared.judgements,
        differences=tuple(difference for one in judged for difference in one.differences),
        stale_entries=applied.stale_entries,
        removed=compared.removed,
    )


def _judged(script: Script, trace: TargetTrace, oracle: TargetTrace | None, departures: Departures) -> Judged:
    oracle_events = None if oracle is None else oracle.events.get(script.id, ())
    return judge(script, trace.info, trace.events.get(script.id, ()), oracle_events, departures)
