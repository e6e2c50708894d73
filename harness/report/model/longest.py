"""Each target's longest conversation, which is a lower bound for the duration of its run."""

from dataclasses import dataclass

from harness.diff.model import Judgement
from harness.diff.target_pattern import is_reference
from harness.report.model.run_data import Run
from harness.spark.rows import TargetSummary
from harness.verdict import Outcome

_NOT_RUN = frozenset((Outcome.NOT_APPLICABLE, Outcome.HARNESS_ERROR))


@dataclass(frozen=True, slots=True, kw_only=True)
class Longest:
    """A target's longest conversation."""

    target: str
    scenario_id: str
    duration_ms: float
    """On the broker session's clock; the in-process reference skips the time that other targets wait."""
    is_virtual: bool
    drive_ms: float | None
    """The time of all conversations; None if the run was cut short."""

    def __str__(self) -> str:
        taken = f"{self.scenario_id}, {self.duration_ms:.0f} ms"
        if self.is_virtual:
            return f"{taken} of virtual time"
        return taken if self.drive_ms is None else f"{taken} of {self.drive_ms:.0f} ms"


def longest_scenarios(run: Run) -> tuple[Longest, ...]:
    """Return each target's longest conversation, in the order of targets; none if nothing took any time."""
    return tuple(
        _longest(summary, max(judgements, key=lambda each: each.duration_ms))
        for summary in run.targets
        if (judgements := _judgements_of_runs(run, summary.target))
    )


def _judgements_of_runs(run: Run, target: str) -> list[Judgement]:
    return [
        each
        for each in run.judgements
        if each.target == target and each.outcome not in _NOT_RUN and each.duration_ms > 0
    ]


def _longest(summary: TargetSummary, judgement: Judgement) -> Longest:
    return Longest(
        target=summary.target,
        scenario_id=judgement.scenario_id,
        duration_ms=judgement.duration_ms,
        is_virtual=is_reference(summary.spec),
        drive_ms=summary.drive_ms,
    )
