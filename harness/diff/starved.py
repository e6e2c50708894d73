"""Whether the machine may account for a difference: then it accuses nobody until it shows again in calm.

A machine that keeps a broker or the harness from running moves deadlines and changes orders, and nobody can
say afterwards which answers it changed. So a difference after such a stretch is an open question. Another
attempt answers it, for all results of the same cause: what shows while the machine is calm is the target's.

A frame that is not a response, or that answers no request, is never excused: a slow broker sends the same
frames as a fast one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from harness.diff.late import is_late
from harness.diff.model import Difference
from harness.scenario.script import Receive, Repeat, Script, SeeClosed, Step, step_text
from harness.trace.events import Event, EventKind
from harness.trace.schema import from_json
from harness.trace.starvation import Starvation
from harness.verdict import STARVED, DifferenceClass

_CALM_MS: Final = 50.0
"""A machine that keeps a conversation from running for less than this in all is calm."""
_OF_A_SILENCE: Final = 0.5
"""A machine that takes a smaller share of a wait leaves enough of it for the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StarvedStretch:
    """A stretch of a conversation in which the machine kept somebody from running; on the session's clock."""

    begin_ms: float
    end_ms: float
    figures: Starvation

    def until(self, end_ms: float) -> Starvation:
        """Return the figures, limited to what can have been before a time."""
        overlap_ms = max(0.0, min(self.end_ms, end_ms) - self.begin_ms)
        return replace(
            self.figures,
            starved_ms=min(self.figures.starved_ms, overlap_ms),
            harness_ms=min(self.figures.harness_ms, overlap_ms),
        )


def starved_stretches(events: Iterable[Event]) -> tuple[StarvedStretch, ...]:
    """Return the stretches that the witness recorded in a conversation, in the order of time."""
    return tuple(
        StarvedStretch(
            begin_ms=event.at_ms - (event.elapsed_ms or 0.0),
            end_ms=event.at_ms,
            figures=from_json(Starvation, event.fields or "", where=f"event {event.sequence}"),
        )
        for event in events
        if event.kind == EventKind.STARVED
    )


def starved_before(script: Script, events: Sequence[Event], difference: Difference) -> str | None:
    """Return how the machine kept a conversation from running before a difference; None if it was calm."""
    step = script.steps[difference.step] if 0 <= difference.step < len(script.steps) else None
    # Where a connection was to be closed, any frame counts as unsolicited, even a late answer.
    if difference.difference_class == DifferenceClass.ENCODING and not isinstance(step, SeeClosed):
        return None
    at_step = [each for each in events if each.step == difference.step and each.kind != EventKind.STARVED]
    end_ms = max((each.at_ms for each in at_step), default=0.0)
    parts = [each.until(end_ms) for each in starved_stretches(events) if each.begin_ms < end_ms]
    starved_ms = sum(each.starved_ms for each in parts)
    if starved_ms < max(_CALM_MS, _least_ms(step, at_step, difference)):
        return None
    what = f"{difference.field} is {difference.actual}" if difference.field else difference.actual
    at = f"step {difference.step}" + ("" if step is None else f" ({step_text(step)})")
    return f"{STARVED}{at}: {what}, expected {difference.expected}; {_figures(parts)}"


def _least_ms(step: Step | None, events: Sequence[Event], difference: Difference) -> float:
    """Return how much starvation it takes at least for an answer to be off by that, or not to come."""
    if isinstance(step, Repeat):
        times_ms = [each.at_ms for each in events]
        return (max(times_ms) - min(times_ms)) * _OF_A_SILENCE if times_ms else 0.0
    answer = next((each for each in events if each.sequence == difference.event_sequence), None)
    if not isinstance(step, Receive) or answer is None or answer.elapsed_ms is None:
        return 0.0
    if difference.difference_class == DifferenceClass.TIMING:
        bounds_ms = (step.not_before_ms, step.within_ms if is_late(answer) else step.not_after_ms)
        by_ms = (abs(answer.elapsed_ms - each) for each in bounds_ms if each is not None)
        return min(by_ms, default=0.0)
    return answer.elapsed_ms * _OF_A_SILENCE if answer.kind == EventKind.NO_ANSWER else 0.0


def _figures(parts: Sequence[Starvation]) -> str:
    """Describe who was kept from running by the machine, and for how long."""
    kept = [each for each in parts if each.starved_ms]
    broker_ms = sum(min(each.broker_ms, each.starved_ms) for each in kept)
    sides = (("broker", broker_ms), ("harness", sum(each.harness_ms for each in kept)))
    known = [(who, figure) for who, figure in sides if figure >= 1]
    reported = [
        f"the {who}{'' if place else ' from running'} for {figure:.0f} ms"
        for place, (who, figure) in enumerate(known)
    ]
    unknown = "" if any(_is_measured(each) for each in kept) else " (the broker cannot be measured from here)"
    return f"the machine kept {', '.join(reported) or 'nobody from running'}{unknown}"


def _is_measured(figures: Starvation) -> bool:
    return figures.stopped_ms is not None or figures.run_queue_ms is not None
