"""A target's answers, by the step of the script that awaited them."""

from collections.abc import Sequence
from typing import Final

from harness.scenario.script import Receive, Repeat, SeeClosed, StayParked, Step
from harness.trace.events import ANSWER_KINDS, Event, EventKind

BROKER_ENDED_WORDS: Final = "the broker ended"
_WORDS: Final = {
    EventKind.RESPONSE: "an answer",
    EventKind.MALFORMED: "a frame that is no such response",
    EventKind.NO_ANSWER: "no answer in time",
    EventKind.SILENCE: "no answer meanwhile",
    EventKind.CLOSED: "the connection closed",
}


def awaits(step: Step) -> bool:
    """Return whether a step ends only with an answer, its absence, or the close of the connection."""
    return isinstance(step, Receive | StayParked | SeeClosed | Repeat)


def answers_by_step(events: Sequence[Event]) -> dict[int, tuple[Event, ...]]:
    """Return the answers at each step, in the order of events."""
    answers: dict[int, tuple[Event, ...]] = {}
    for event in events:
        if event.kind in ANSWER_KINDS:
            answers[event.step] = (*answers.get(event.step, ()), event)
    return answers


def kind_words(kind: str) -> str:
    """Return the phrase for the kind of an event: an answer, or what came instead."""
    return _WORDS[EventKind(kind)]
