"""Which of a target's differences a starved machine accounts for: such differences accuse nobody.

A broken time bound is excused if the starvation that the witness measured is at least as long as the excess.
An answer is excused if the reference gives it when it is kept from running where the target was, but not
when it is undisturbed. The caller runs the reference in both ways and passes in its conversations. Nothing
else is excused: on a quiet machine the witness measures nothing, and every bound applies as written. A frame
that is not a response, or that answers no request, is never excused: a slow broker sends the same frames as a
fast one.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from harness.diff.against_reference import against_reference
from harness.diff.answers import answers_by_step
from harness.diff.model import Difference
from harness.scenario.script import Receive, Script, SeeClosed, Step, step_text
from harness.trace.events import Event, EventKind
from harness.trace.schema import from_json
from harness.trace.starvation import Starvation
from harness.verdict import STARVED, DifferenceClass

_NEAR_MS: Final = 100.0
"""How long a stretch still has an effect after its end: pending input was read piece by piece."""
_WORK_SHARE: Final = 0.1
"""Share of the time beyond the reference's answer that a broker may use for work in any case.

A broker that was kept from running for nearly all of a wait had no time for the work of the answer.
"""
_CLOCKS_MS: Final = 1.0
"""Precision of the conversion between the witness's clock and a session's clock."""
RunStarved = Callable[[Script, Sequence[Event], int], Iterable[Sequence[Event]]]
"""Yields possible conversations of the reference with a script, up to a step, when it is starved likewise.

If the events report no starvation, the first conversation is that of an undisturbed reference.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StarvedStretch:
    """A stretch of a conversation in which the machine kept somebody from running; on the session's clock."""

    begin_ms: float
    end_ms: float
    figures: Starvation

    def within(self, begin_ms: float, end_ms: float) -> Starvation:
        """Return the figures, limited to what can have been within a part of the conversation."""
        overlap_ms = max(0.0, min(self.end_ms, end_ms) - max(self.begin_ms, begin_ms))
        return replace(
            self.figures,
            starved_ms=min(self.figures.starved_ms, overlap_ms),
            harness_ms=min(self.figures.harness_ms, overlap_ms),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Excused:
    """What remains of a target's differences without those that the machine accounts for."""

    reason: str | None
    """Why the machine accounts for the first such difference; None if it accounts for none."""
    left: tuple[Difference, ...]
    """Differences that it does not account for, the finding first; empty where no accusation is left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Breach:
    """A time bound that was broken."""

    begin_ms: float
    """When the period began that the bound limits."""
    end_ms: float
    by_ms: float
    text: str

    def machine(self, stretches: Iterable[StarvedStretch], events: Sequence[Event]) -> tuple[Starvation, ...]:
        """Return the starvation that accounts for the breach."""
        return accounted(stretches, events, begin_ms=self.begin_ms, end_ms=self.end_ms)


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


def starved_ms(stretches: Iterable[StarvedStretch], *, begin_ms: float, end_ms: float) -> float:
    """Return how long the machine can have kept somebody from running in a part of a conversation."""
    return sum(each.within(begin_ms, end_ms).starved_ms for each in stretches)


def accounted(
    stretches: Iterable[StarvedStretch], events: Sequence[Event], *, begin_ms: float, end_ms: float
) -> tuple[Starvation, ...]:
    """Return the starvation that can have delayed an answer awaited in a part of a conversation.

    A harness that only waits for the answer delays nothing when it is late. Its lateness counts where it was
    about to send, or had something to read.
    """
    moments = [each.at_ms for each in events if each.kind != EventKind.STARVED and each.at_ms >= begin_ms]
    found = []
    for stretch in stretches:
        figures = stretch.within(begin_ms, end_ms)
        acted = any(
            stretch.begin_ms <= at_ms <= stretch.end_ms + _NEAR_MS for at_ms in moments if at_ms <= end_ms
        )
        if not acted:
            waited_ms = min(figures.starved_ms, figures.broker_ms)
            figures = replace(figures, starved_ms=waited_ms, harness_ms=0.0)
        if figures.starved_ms:
            found.append(figures)
    return tuple(found)


def excused(
    script: Script,
    events: Sequence[Event],
    oracle_events: Sequence[Event] | None,
    differences: Sequence[Difference],
    run_starved: RunStarved | None,
) -> Excused:
    """Separate a target's differences into those that the machine accounts for and the rest.

    Args:
        script: the script of the conversation.
        events: the target's.
        oracle_events: the reference's, where it can be compared with.
        differences: the target's, the finding first and the others in the order of steps.
        run_starved: yields conversations of the starved reference; None where it cannot be run.
    """
    stretches = starved_stretches(events)
    finding = next((each for each in differences if not each.is_lenient), None)
    if not stretches or finding is None:
        return Excused(reason=None, left=tuple(differences))
    reasons: list[str] = []
    late_steps: set[int] = set()
    is_another_course = False
    weighed: set[tuple[int, str, str | None, str, str]] = set()
    for difference in sorted(differences, key=lambda each: each.step):
        said = (difference.difference_class, difference.field, difference.expected, difference.actual)
        bound = (difference.step, *said)
        if difference.is_lenient or bound in weighed:
            # A target that answers without end has ten thousand equal differences at one step.
            continue
        weighed.add(bound)
        if not _is_weighable(script, difference):
            return Excused(reason=next(iter(reasons), None), left=_led_by(difference, differences))
        if is_another_course:
            # Differences after an answer that starvation changed are consequences of it.
            continue
        breach = _breach(script, events, oracle_events, difference)
        machine = () if breach is None else breach.machine(stretches, events)
        if breach is not None and breach.by_ms <= _CLOCKS_MS + sum(each.starved_ms for each in machine):
            late_steps.add(difference.step)
            reasons.append(f"{STARVED}{_at(script, difference)}: {breach.text}; {_figures(machine)}")
        elif _is_explained_by_starvation(script, events, difference, late_steps, run_starved):
            reasons.append(_starved_reason(script, events, difference, stretches))
            is_another_course = True
        else:
            return Excused(reason=next(iter(reasons), None), left=_led_by(difference, differences))
    return Excused(reason=reasons[0], left=())


def _is_weighable(script: Script, difference: Difference) -> bool:
    """Return whether starvation may account for a difference at all.

    Where a connection was to be closed, any frame counts as unsolicited, even a late answer.
    """
    was_to_close = isinstance(_step(script, difference), SeeClosed)
    return difference.difference_class != DifferenceClass.ENCODING or was_to_close


def _step(script: Script, difference: Difference) -> Step | None:
    return script.steps[difference.step] if 0 <= difference.step < len(script.steps) else None


def _led_by(finding: Difference, differences: Sequence[Difference]) -> tuple[Difference, ...]:
    """Put the first difference that nothing accounts for at the front."""
    others = sorted((each for each in differences if each is not finding), key=lambda each: each.step)
    return tuple(
        replace(each, ordinal=ordinal, is_consequence=ordinal > 0)
        for ordinal, each in enumerate((finding, *others))
    )


def _breach(
    script: Script, events: Sequence[Event], oracle_events: Sequence[Event] | None, difference: Difference
) -> _Breach | None:
    """Return the breach of a time bound; None if there is none, or if the answer was too early."""
    step = _step(script, difference)
    if not isinstance(step, Receive) or difference.field is not None:
        return None
    answer = _answer(events, difference.step)
    if answer is None:
        return None
    if difference.difference_class == DifferenceClass.TIMING:
        return _lateness(step, events, answer)
    if answer.kind == EventKind.NO_ANSWER:
        return _absence(step, events, answer, oracle_events)
    return None


def _lateness(step: Receive, events: Sequence[Event], answer: Event) -> _Breach | None:
    bound_ms, took_ms = step.not_after_ms, answer.elapsed_ms
    begin_ms = _sent_ms(events, step, answer)
    if bound_ms is None or took_ms is None or begin_ms is None or took_ms <= bound_ms:
        return None
    by_ms = took_ms - bound_ms
    text = f"the answer came {by_ms:.0f} ms past its bound of {bound_ms} ms"
    # The event is written a moment after the answer was read, and the wait ends with the event.
    end_ms = max(begin_ms + took_ms, answer.at_ms)
    return _Breach(begin_ms=begin_ms, end_ms=end_ms, by_ms=by_ms, text=text)


def _absence(
    step: Receive, events: Sequence[Event], answer: Event, oracle_events: Sequence[Event] | None
) -> _Breach | None:
    """Return how far the wait for a missing answer exceeds the reference's time and the share for work."""
    begin_ms = _sent_ms(events, step, answer)
    due = _answer(oracle_events or (), answer.step)
    if begin_ms is None or due is None or due.kind != EventKind.RESPONSE or due.elapsed_ms is None:
        return None
    waited_ms = answer.at_ms - begin_ms
    work_ms = _WORK_SHARE * max(0.0, step.within_ms - due.elapsed_ms)
    by_ms = waited_ms - due.elapsed_ms - work_ms
    if by_ms <= 0:
        return None
    text = f"no answer within {waited_ms:.0f} ms; the reference gives it after {due.elapsed_ms:.0f} ms"
    return _Breach(begin_ms=begin_ms, end_ms=answer.at_ms, by_ms=by_ms, text=text)


def _sent_ms(events: Sequence[Event], step: Receive, answer: Event) -> float | None:
    """Return when the request of an answer was sent."""
    requests = [each for each in events if each.kind == EventKind.REQUEST and each.step == step.sent_at]
    own = [each for each in requests if each.correlation_id == answer.correlation_id] or requests
    return own[-1].at_ms if own else None


def _answer(events: Sequence[Event], step: int) -> Event | None:
    return next(iter(answers_by_step(events).get(step, ())), None)


def _is_explained_by_starvation(
    script: Script,
    events: Sequence[Event],
    difference: Difference,
    late_steps: set[int],
    run_starved: RunStarved | None,
) -> bool:
    """Return whether the reference reaches the same answer in the same way only if it is starved likewise.

    An answer that it also gives undisturbed differs from what a script expects, whatever the machine did.
    """
    if run_starved is None:
        return False
    until = [each for each in events if each.step <= difference.step]
    undisturbed = [each for each in events if each.kind != EventKind.STARVED]
    first = next(iter(run_starved(script, undisturbed, difference.step)), None)
    if first is not None and _agrees(script, until, first, difference, late_steps):
        return False
    starved_runs = run_starved(script, events, difference.step)
    return any(_agrees(script, until, rerun, difference, late_steps) for rerun in starved_runs)


def _agrees(
    script: Script,
    events: Sequence[Event],
    rerun: Sequence[Event],
    difference: Difference,
    late_steps: set[int],
) -> bool:
    answer = _answer(rerun, difference.step)
    if answer is None:
        return False
    seen = against_reference(events, rerun)
    if any(not each.is_lenient and each.step not in late_steps for each in seen):
        return False
    if difference.difference_class == DifferenceClass.ENCODING:
        return any(each.kind == EventKind.UNSOLICITED and each.step == difference.step for each in rerun)
    step = script.steps[difference.step]
    if difference.difference_class == DifferenceClass.TIMING and isinstance(step, Receive):
        observed = _answer(events, difference.step)
        return observed is not None and _breaks_as_much(step, answer, observed)
    return True


def _breaks_as_much(step: Receive, answer: Event, observed: Event) -> bool:
    """Return whether the starved reference's answer breaks the same bound by as much as the target's."""
    took_ms, observed_ms = answer.elapsed_ms or 0.0, observed.elapsed_ms or 0.0
    if step.not_before_ms is not None and observed_ms < step.not_before_ms:
        return took_ms < step.not_before_ms and took_ms <= observed_ms + _NEAR_MS
    return step.not_after_ms is not None and step.not_after_ms < took_ms >= observed_ms - _NEAR_MS


def _starved_reason(
    script: Script, events: Sequence[Event], difference: Difference, stretches: Sequence[StarvedStretch]
) -> str:
    end_ms = max((each.at_ms for each in events if each.step == difference.step), default=0.0)
    what = f"{difference.field} is {difference.actual}" if difference.field else difference.actual
    figures = _figures([each.within(0.0, end_ms) for each in stretches])
    return (
        f"{STARVED}{_at(script, difference)}: {what}, expected {difference.expected}; {figures}, "
        "and kept from it likewise the reference gives the same answer"
    )


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


def _at(script: Script, difference: Difference) -> str:
    return f"step {difference.step} ({step_text(script.steps[difference.step])})"
