"""A target's answers, and which events of two conversations are counterparts: nothing else aligns them.

Both conversations come from one script, so they are aligned step by step. Within a step, the answers of both
are paired in their order, whatever other events either has there. A poll and the request that it answers are
left out: their number is chance. Starvation events and unsolicited answers are paired with events of their
kind.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

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


_ANSWER: Final = "answer"
_Key: TypeAlias = tuple[str, int, str | None, str | None]
"""Kind of event, number among events of the kind, actor, connection; events with equal keys are a pair."""
AnswerPosition: TypeAlias = tuple[int, int, str | None, str | None]
"""Step, number of the answer in the step from 0, actor, connection; answers at equal positions are a pair."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignedEvents:
    """A pair of counterparts, or one event that has no counterpart."""

    step: int
    occurrence: int
    """Number in the step from 0, counted over the events of both conversations."""
    answer: int | None
    """Number among the answers of the step, from 0; None for an event that is not an answer."""
    event: Event | None
    other: Event | None
    """The event of the conversation that the first one is compared with."""

    @property
    def known(self) -> Event:
        """The event, or else its counterpart."""
        found = self.event or self.other
        assert found is not None, "one of them is there"
        return found

    @property
    def position(self) -> AnswerPosition:
        """The position of an answer."""
        assert self.answer is not None, "it is an answer"
        return self.step, self.answer, self.known.actor, self.known.connection

    @property
    def is_equal(self) -> bool:
        """Whether both events exist and are equal; requests are compared by their canonical fields only."""
        if self.event is None or self.other is None or self.event.kind != self.other.kind:
            return False
        if self.event.kind == EventKind.REQUEST:
            return self.event.canonical == self.other.canonical
        return self.event.digest == self.other.digest


def aligned(events: Sequence[Event], others: Sequence[Event]) -> Iterator[AlignedEvents]:
    """Pair the events of two conversations, in the order of steps and of events within a step."""
    ours, theirs = _by_step(events), _by_step(others)
    for step in sorted(ours.keys() | theirs.keys()):
        yield from _step_aligned(step, _keyed(ours.get(step, ())), _keyed(theirs.get(step, ())))


def answers_by_position(events: Sequence[Event]) -> dict[AnswerPosition, Event]:
    """Return the answers of a conversation, by the position that pairs them with another conversation's."""
    return {
        (step, number, actor, connection): event
        for step, members in _by_step(events).items()
        for (kind, number, actor, connection), event in _keyed(members).items()
        if kind == _ANSWER
    }


def _by_step(events: Sequence[Event]) -> Mapping[int, Sequence[Event]]:
    by_step: dict[int, list[Event]] = {}
    for event in events:
        by_step.setdefault(event.step, []).append(event)
    return by_step


def _keyed(events: Sequence[Event]) -> dict[_Key, Event]:
    counts: Counter[str] = Counter()
    keyed: dict[_Key, Event] = {}
    for event, following in zip(events, (*events[1:], None), strict=False):
        asks = event.kind == EventKind.REQUEST and following and following.kind == EventKind.POLL
        if asks or event.kind == EventKind.POLL:
            continue
        kind = _kind(event)
        keyed[kind, counts[kind], event.actor, event.connection] = event
        counts[kind] += 1
    return keyed


def _kind(event: Event) -> str:
    """Return the kind that an event is paired by: answers pair with answers, and so on."""
    if event.kind in ANSWER_KINDS:
        return _ANSWER
    return event.kind if event.kind in (EventKind.STARVED, EventKind.UNSOLICITED) else "other"


def _step_aligned(
    step: int, ours: Mapping[_Key, Event], theirs: Mapping[_Key, Event]
) -> Iterator[AlignedEvents]:
    """Pair the events of a step; starvation events come last."""
    merged = sorted(_merged(tuple(ours), tuple(theirs)), key=lambda key: key[0] == EventKind.STARVED)
    for occurrence, key in enumerate(merged):
        kind, number, *_ = key
        yield AlignedEvents(
            step=step,
            occurrence=occurrence,
            answer=number if kind == _ANSWER else None,
            event=ours.get(key),
            other=theirs.get(key),
        )


def _merged(ours: Sequence[_Key], theirs: Sequence[_Key]) -> Sequence[_Key]:
    """Return all keys once; each key that is only in the latter comes as late as the order of both allows."""
    places = {key: place for place, key in enumerate(theirs)}
    merged: dict[_Key, None] = {}
    taken = 0
    for key in ours:
        until = places.get(key, -1) + 1
        merged |= dict.fromkeys(theirs[taken : until - 1] if until else ())
        taken = max(taken, until)
        merged[key] = None
    return [*(merged | dict.fromkeys(theirs[taken:]))]
