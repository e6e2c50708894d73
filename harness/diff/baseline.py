"""Compare the judgements of a run with those of an earlier one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from harness.diff.model import Judgement
from harness.verdict import Confirmation, Delta, Expectation, Outcome, is_as_before

GOOD: Final = frozenset((Outcome.CONFORMS, Outcome.LENIENT, Outcome.NOT_APPLICABLE))
"""Outcomes that need no attention."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Judgements with their deltas."""

    judgements: tuple[Judgement, ...]
    removed: tuple[Judgement, ...]
    """The baseline's judgements that this run lacks, of this run's targets."""


def compared_with(judgements: Sequence[Judgement], baseline: Sequence[Judgement] | None) -> Compared:
    """Set the delta of every judgement, from the baseline's judgement of the same scenario and target."""
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
    """Return how a judgement differs from the baseline's."""
    if before is None:
        return Delta.ADDED
    if now.outcome in GOOD and before.outcome not in GOOD:
        return Delta.NEWLY_CONFORMING
    # A difference that was flaky in the baseline does not excuse one that is there every time.
    if now.outcome not in GOOD and (before.outcome in GOOD or (_is_flaky(before) and not _is_flaky(now))):
        return Delta.NEWLY_DIVERGING
    if is_as_before((now.outcome, now.signature), (before.outcome, before.signature)):
        return Delta.SAME
    return Delta.CHANGED_SIGNATURE


def _is_flaky(judgement: Judgement) -> bool:
    is_unexpected = judgement.expectation == Expectation.UNEXPECTED
    return is_unexpected and judgement.confirmation == Confirmation.FLAKY
