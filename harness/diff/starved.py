"""Late answers and starved machines: what may account for a difference, which then accuses nobody.

While a conversation awaits a late answer, its members send nothing, and a timer of theirs may run out: a
session, a rebalance, a transaction. The reference answers at once, so that it saw none of that. From then on
no difference counts, except that the answer was late.

A machine that keeps a broker or the harness from running moves deadlines and changes orders, and nobody can
say afterwards which answers it changed. So a difference after such a stretch is an open question. Another
attempt answers it, for all results of the same cause: what shows while the machine is calm is the target's.
A frame that is not a response, or that answers no request, is never excused: a slow broker sends the same
frames as a fast one.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from harness.diff.model import Difference
from harness.diff.raw_difference import read_fields
from harness.scenario.script import Receive, Repeat, Script, SeeClosed, Step, step_text
from harness.trace.events import LATE, Event, EventKind
from harness.trace.schema import from_json
from harness.trace.starvation import Starvation
from harness.verdict import STARVED, DifferenceClass

_TIMERS: Final = {
    "session_timeout_ms": "session",
    "rebalance_timeout_ms": "rebalance timeout",
    "transaction_timeout_ms": "transaction",
}
"""The timers that a request starts, by the field that says how long they run."""
_GROUP_HEARTBEATS: Final = frozenset(
    ("ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "StreamsGroupHeartbeat")
)
_SESSION_MS: Final = 45_000
"""Of such a member by default. Source: GroupCoordinatorConfig (4.3.1)."""
_CONFIGURED: Final = re.compile(r"session\.timeout\.ms\D{1,40}?(\d+)")
"""A session timeout in a request that configures a group."""


_Timers: TypeAlias = dict[tuple[str, str], tuple[float, float]]
"""By actor and timer: when it began, and how long it runs, in milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RanOut:
    """A timer that ran out while an answer was late."""

    step: int
    """The step that awaited the answer."""
    words: str


def is_late(event: Event) -> bool:
    """Return whether an answer came after its time."""
    return (event.note or "").startswith(LATE)


def timer_run_out(script: Script, events: Sequence[Event]) -> RanOut | None:
    """Return the first timer that ran out only because a conversation awaited a late answer."""
    if not any(map(is_late, events)):
        return None
    timers: _Timers = {}
    waits: list[tuple[float, float]] = []
    configured = [
        int(value) for name, value in script.broker_config.items() if name.endswith("session.timeout.ms")
    ]
    session_ms, before_ms = min([_SESSION_MS, *configured]), 0.0
    for event in events:
        if event.kind == EventKind.REQUEST and event.actor is not None:
            session_ms = min([session_ms, *map(int, _CONFIGURED.findall(event.fields or ""))])
            _start(timers, event, session_ms)
        elif is_late(event):
            waits.append((before_ms, event.at_ms))
            for (actor, name), (begin_ms, limit_ms) in timers.items():
                ran_ms = event.at_ms - begin_ms
                waited_ms = sum(max(0.0, end - max(begin, begin_ms)) for begin, end in waits)
                if ran_ms - waited_ms < limit_ms <= ran_ms:
                    words = f"{actor}'s {name} of {limit_ms / 1000:g} s"
                    return RanOut(step=event.step, words=words)
        if event.kind != EventKind.STARVED:
            before_ms = event.at_ms
    return None


def _start(timers: _Timers, event: Event, session_ms: float) -> None:
    assert event.actor is not None
    fields = read_fields(event.fields)
    limits = {words: fields[name] for name, words in _TIMERS.items() if name in fields}
    if event.api in _GROUP_HEARTBEATS:
        limits["session"] = session_ms
    if (running := timers.get((event.actor, "session"))) is not None:
        limits.setdefault("session", running[1])
    for words, limit_ms in limits.items():
        if isinstance(limit_ms, int | float) and limit_ms > 0:
            timers[event.actor, words] = event.at_ms, limit_ms


def without_consequences_of_waits(
    script: Script, seen: Sequence[Difference], events: Sequence[Event]
) -> Sequence[Difference]:
    """Return differences without those that may only follow from the wait for a late answer."""
    over = timer_run_out(script, events)
    if over is None:
        return seen
    late = {event.sequence for event in events if is_late(event)}
    return [one for one in seen if one.step < over.step or (one.field is None and one.event_sequence in late)]


_CALM_MS: Final = 50.0
"""A machine that keeps a conversation from running for less than this in all is calm."""
_OF_A_SILENCE: Final = 0.5
"""A machine that takes a smaller share of a wait leaves enough of it for the answer."""


def _starved_until(events: Iterable[Event], end_ms: float) -> Iterator[Starvation]:
    """Yield what the witness recorded in a conversation, limited to what can have been before a time."""
    for event in (each for each in events if each.kind == EventKind.STARVED):
        figures = from_json(Starvation, event.fields or "", where=f"event {event.sequence}")
        begin_ms = event.at_ms - (event.elapsed_ms or 0.0)
        if begin_ms < end_ms:
            most_ms = max(0.0, min(event.at_ms, end_ms) - begin_ms)
            starved_ms, harness_ms = min(figures.starved_ms, most_ms), min(figures.harness_ms, most_ms)
            yield replace(figures, starved_ms=starved_ms, harness_ms=harness_ms)


def starved_before(script: Script, events: Sequence[Event], difference: Difference) -> str | None:
    """Return how the machine kept a conversation from running before a difference; None if it was calm."""
    step = script.steps[difference.step] if 0 <= difference.step < len(script.steps) else None
    # Where a connection was to be closed, any frame counts as unsolicited, even a late answer.
    if difference.difference_class == DifferenceClass.ENCODING and not isinstance(step, SeeClosed):
        return None
    at_step = [each for each in events if each.step == difference.step and each.kind != EventKind.STARVED]
    end_ms = max((each.at_ms for each in at_step), default=0.0)
    parts = list(_starved_until(events, end_ms))
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
    is_measured = any(each.stopped_ms is not None or each.run_queue_ms is not None for each in kept)
    unknown = "" if is_measured else " (the broker cannot be measured from here)"
    return f"the machine kept {', '.join(reported) or 'nobody from running'}{unknown}"
