"""Find where a target's conversation first differs from another's, judged as in a run."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from harness.diff.compare import against_reference
from harness.diff.judge import TargetInfo, judge
from harness.diff.model import Difference
from harness.scenario.script import Script
from harness.search.moves import ALL_SHEETS
from harness.trace.events import ANSWER_KINDS, Event, EventKind
from harness.verdict import Outcome

_UNBOUND: Final = "no answer brought "
_UNANSWERED: Final = "no answer brought a value that a later request names"
_BROKEN_OFF = (EventKind.ABANDONED, EventKind.HARNESS_ERROR, EventKind.NOT_APPLICABLE)
Answer = tuple[int, str, str | None]
"""The step at which an answer came, its kind, and the digest of its content."""
Compare = Callable[[Script, Sequence[Event], Sequence[Event]], Difference | None]
"""Returns the first difference of a target's conversation from the one that it is compared with."""


def answers(events: Sequence[Event]) -> list[Answer]:
    """Return what was answered at each step; conversations with equal answers are equal."""
    return [(each.step, each.kind, each.digest) for each in events if each.kind in ANSWER_KINDS]


def _at(step: int, events: Sequence[Event]) -> list[Answer]:
    return answers([each for each in events if each.step == step])


def reason_of_end(note: str) -> str:
    """Return why conversations broke off, without what is different in each."""
    return _UNANSWERED if note.startswith(_UNBOUND) else note


def broke_off(events: Sequence[Event]) -> str | None:
    """Return why a conversation did not come to its end; None if it did."""
    return next((each.note or each.kind for each in events if each.kind in _BROKEN_OFF), None)


def as_run_judges(target: str, profile: str, *, in_calm: bool) -> Compare:
    """Return a comparison with the reference as in a run.

    Args:
        target: the name of the target.
        profile: the profile of the reference.
        in_calm: whether a difference counts only if the machine was calm before it.
    """
    info = TargetInfo(run_id="search", target=target, spec=target, profile=profile, oracle="the reference")

    def compare(script: Script, events: Sequence[Event], others: Sequence[Event]) -> Difference | None:
        if answers(events) == answers(others):
            return None
        judged = judge(replace(script, actors=ALL_SHEETS), info, events, others)
        if judged.judgement.outcome != Outcome.DIVERGES or (in_calm and judged.starved):
            return None
        # A made script expects answers at another pace, so the reference itself may differ from it.
        found = (each for each in judged.differences if _at(each.step, events) != _at(each.step, others))
        return next(found, None)

    return compare


def between_targets(script: Script, events: Sequence[Event], others: Sequence[Event]) -> Difference | None:
    """Return the first difference between two targets; neither of them counts as right."""
    del script
    if answers(events) == answers(others) or broke_off(events) or broke_off(others):
        return None
    found = [each for each in against_reference(events, others) if not each.is_lenient]
    return min(found, key=lambda each: each.step, default=None)
