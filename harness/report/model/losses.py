"""Targets that were lost: each is reported once with its cause, and its results are not verdicts."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from harness.diff.model import Judgement
from harness.diff.target_pattern import is_reference
from harness.report.model.phrases import counted, headline
from harness.report.model.run_data import Run
from harness.results.status import NEEDS_ATTENTION, ResultStatus, status_of
from harness.trace.events import TARGET_LOST

REMEDY: Final = "Remedy: mend the cause, check that it can be reached, and run again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A target that was lost."""

    target: str
    result_count: int
    """The number of scenarios that the loss cut short."""
    cause: str

    def __str__(self) -> str:
        cut = counted(self.result_count, "scenario")
        return f"{self.target} was lost, which cut {cut} short: {self.cause}"


def is_lost(judgement: Judgement) -> bool:
    """Return whether a result only says that its target was lost."""
    return status_of(judgement) is ResultStatus.INDETERMINATE and TARGET_LOST in judgement.reason


def losses(judgements: Iterable[Judgement]) -> tuple[Loss, ...]:
    """Return the targets whose loss cut scenarios short, in the order of their first result."""
    lost: dict[str, list[Judgement]] = {}
    for each in judgements:
        if is_lost(each):
            lost.setdefault(each.target, []).append(each)
    return tuple(
        Loss(target=target, result_count=len(cut), cause=_cause(cut[0])) for target, cut in lost.items()
    )


def _cause(judgement: Judgement) -> str:
    return judgement.reason.partition(TARGET_LOST)[2].strip()


def verdict_line(run: Run) -> str:
    """Return one sentence that summarises a run; results of lost targets do not count as expected."""
    count = len(losses(run.judgements)) or int(_has_lost(run))
    lost_ids = {id(each) for each in run.judgements if is_lost(each)}
    standings = Counter(status_of(each) for each in run.results if id(each) not in lost_ids)
    if not count:
        return headline(standings)
    lost = f"{counted(count, 'target')} lost"
    if any(standings[each] for each in NEEDS_ATTENTION):
        return f"{headline(standings)}, and no verdict on others: {lost}"
    return f"no verdict: {lost}"


def _has_lost(run: Run) -> bool:
    return run.footer is not None and run.footer.ended.startswith(TARGET_LOST)


def has_verdict(run: Run) -> bool:
    """Return whether a target other than a reference has a verdict, or all targets are references."""
    others = {each.target for each in run.targets if not is_reference(each.spec)}
    return not others or any(each.target in others and not is_lost(each) for each in run.judgements)
