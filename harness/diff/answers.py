"""What a target answered, by the step of the script that awaited it."""

from collections.abc import Sequence
from typing import Final

from harness.scenario.script import Receive, Repeat, SeeClosed, StayParked, Step
from harness.trace.events import ANSWER_KINDS, Event, EventKind

_WORDS: Final = {
    EventKind.RESPONSE: "an answer",
    EventKind.MALFORMED: "a frame that is no such response",
    EventKind.NO_ANSWER: "no answer in time",
    EventKind.SILENCE: "no answer meanwhile",
    EventKind.CLOSED: "the connection closed",
}


def awaits(step: Step) -> bool:
    """Tell whether a step is over only when something was seen."""
    return isinstance(step, Receive | StayParked | SeeClosed | Repeat)


def answers_by_step(events: Sequence[Event]) -> dict[int, tuple[Event, ...]]:
    """Return the answers at each step, in the order of happening."""
    answers: dict[int, tuple[Event, ...]] = {}
    for event in events:
        if event.kind in ANSWER_KINDS:
            answers[event.step] = (*answers.get(event.step, ()), event)
    return answers


def kind_words(kind: str) -> str:
    """Say in words what came instead of an answer, or that one came."""
    return _WORDS[EventKind(kind)]
