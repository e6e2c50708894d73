"""How the judgements of a run stand to those of an earlier one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from harness.diff.model import Judgement
from harness.verdict import Confirmation, Delta, Expectation, Outcome

GOOD: Final = frozenset((Outcome.CONFORMS, Outcome.LENIENT, Outcome.NOT_APPLICABLE))
"""Outcomes that are no cause for concern."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Judgements with their delta."""

    judgements: tuple[Judgement, ...]
    removed: tuple[Judgement, ...]
    """What the baseline has of this run's targets and this run has not."""


def compared_with(judgements: Sequence[Judgement], baseline: Sequence[Judgement] | None) -> Compared:
    """Set the delta of every judgement against the same scenario and target of a baseline run."""
    if baseline is None:
        return Compared(judgements=tuple(judgements), removed=())
    before = {(one.scenario_id, one.target): one for one in baseline}
    judged = {(one.scenario_id, one.target) for one in judgements}
    targets = {one.target for one in judgements}
    return Compared(
        judgements=tuple(
            replace(one, delta=delta(one, before.get((one.scenario_id, one.target))).value)
            for one in judgements
        ),
        removed=tuple(
            replace(one, delta=Delta.REMOVED.value)
            for key, one in before.items()
            if key not in judged and one.target in targets
        ),
    )


def delta(now: Judgement, before: Judgement | None) -> Delta:
    """Tell how a judgement stands to that of the baseline."""
    if before is None:
        return Delta.ADDED
    if now.outcome in GOOD and before.outcome not in GOOD:
        return Delta.NEWLY_CONFORMING
    # What a baseline showed once excuses nobody who shows it every time.
    if now.outcome not in GOOD and (before.outcome in GOOD or (_is_flaky(before) and not _is_flaky(now))):
        return Delta.NEWLY_DIVERGING
    if (now.outcome, now.signature) == (before.outcome, before.signature):
        return Delta.SAME
    return Delta.CHANGED_SIGNATURE


def _is_flaky(judgement: Judgement) -> bool:
    is_unexpected = judgement.expectation == Expectation.UNEXPECTED
    return is_unexpected and judgement.confirmation == Confirmation.FLAKY
