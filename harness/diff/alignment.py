"""Which events of two conversations stand side by side: the one place that aligns them.

Both come from one script, so they are aligned step by step. Within a step, the answers of both stand side by
side in their order, whatever else either did there. A poll is left out, and the request that it answers:
their number is chance. What the sampler of starvation saw, and what nobody asked for, meets its like.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypeAlias

from harness.diff.model import Alignment
from harness.trace.events import ANSWER_KINDS, Event, EventKind

_ANSWER: Final = "answer"
_Key: TypeAlias = tuple[str, int, str | None, str | None]
"""With what an event is paired, its number among these, actor and connection; equal keys make a pair."""
AnswerPosition: TypeAlias = tuple[int, int, str | None, str | None]
"""Step, from 0 which of its answers, actor and connection; answers at equal positions make a pair."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignedEvents:
    """Two events side by side, or one that has no counterpart."""

    step: int
    occurrence: int
    """From 0, in the order of the step's events, those of both conversations taken together."""
    answer: int | None
    """From 0, which of the step's answers they are; None of what is no answer."""
    event: Event | None
    other: Event | None
    """Of the conversation that the first one is compared with."""

    @property
    def position(self) -> AnswerPosition:
        """Of an answer."""
        found = self.event or self.other
        assert found is not None, "one of them is there"
        assert self.answer is not None, "it is an answer"
        return self.step, self.answer, found.actor, found.connection

    @property
    def is_equal(self) -> bool:
        """Whether both are there and say the same; a request is compared by its content alone."""
        if self.event is None or self.other is None or self.event.kind != self.other.kind:
            return False
        if self.event.kind == EventKind.REQUEST:
            return self.event.canonical == self.other.canonical
        return self.event.digest == self.other.digest


def aligned(events: Sequence[Event], others: Sequence[Event]) -> Iterator[AlignedEvents]:
    """Lay two conversations side by side, in the order of steps and of what happened within them."""
    ours, theirs = _by_step(events), _by_step(others)
    for step in sorted(ours.keys() | theirs.keys()):
        yield from _step_aligned(step, _keyed(ours.get(step, ())), _keyed(theirs.get(step, ())))


def answers_by_position(events: Sequence[Event]) -> dict[AnswerPosition, Event]:
    """Return what was answered in a conversation, by where it is paired with another's."""
    return {
        (step, number, actor, connection): event
        for step, members in _by_step(events).items()
        for (kind, number, actor, connection), event in _keyed(members).items()
        if kind == _ANSWER
    }


def alignment(
    events: Sequence[Event], oracle_events: Sequence[Event], *, target: str, oracle: str | None
) -> Alignment | None:
    """Return the record of an alignment; None where neither side has any event.

    Args:
        events: of the target.
        oracle_events: of its oracle; none where there is no oracle.
        target: the target's name.
        oracle: the oracle's.
    """
    named = next(iter((*events, *oracle_events)), None)
    if named is None:
        return None
    rows = [
        [
            each.step,
            each.occurrence,
            each.answer,
            None if each.event is None else each.event.sequence,
            None if each.other is None else each.other.sequence,
            int(oracle is not None and not _is_starved(each.event) and not each.is_equal),
        ]
        for each in aligned(events, oracle_events)
    ]
    return Alignment(
        run_id=named.run_id,
        target=target,
        oracle=oracle,
        scenario_id=named.scenario_id,
        rows=json.dumps(rows, separators=(",", ":")),
    )


def _by_step(events: Sequence[Event]) -> Mapping[int, Sequence[Event]]:
    by_step: dict[int, list[Event]] = {}
    for event in events:
        by_step.setdefault(event.step, []).append(event)
    return by_step


def _keyed(events: Sequence[Event]) -> dict[_Key, Event]:
    """Give each event of a step its key."""
    compared = [one for one, following in pairwise((*events, None)) if one and not _is_polled(one, following)]
    counts: Counter[str] = Counter()
    keyed: dict[_Key, Event] = {}
    for event in compared:
        kind = _kind(event)
        keyed[kind, counts[kind], event.actor, event.connection] = event
        counts[kind] += 1
    return keyed


def _is_polled(event: Event, following: Event | None) -> bool:
    asks = event.kind == EventKind.REQUEST and following is not None and following.kind == EventKind.POLL
    return asks or event.kind == EventKind.POLL


def _is_starved(event: Event | None) -> bool:
    return event is not None and event.kind == EventKind.STARVED


def _kind(event: Event) -> str:
    """Say with what an event is paired: answers with answers, and so on."""
    if event.kind in ANSWER_KINDS:
        return _ANSWER
    return event.kind if event.kind in (EventKind.STARVED, EventKind.UNSOLICITED) else "other"


def _step_aligned(
    step: int, ours: Mapping[_Key, Event], theirs: Mapping[_Key, Event]
) -> Iterator[AlignedEvents]:
    """Pair the events of a step; what the sampler of starvation saw comes last."""
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
    """Return all keys, each once; what only the latter has comes as late as the order of both lets it."""
    places = {key: place for place, key in enumerate(theirs)}
    merged: dict[_Key, None] = {}
    taken = 0
    for key in ours:
        until = places.get(key, -1) + 1
        merged |= dict.fromkeys(theirs[taken : until - 1] if until else ())
        taken = max(taken, until)
        merged[key] = None
    return [*(merged | dict.fromkeys(theirs[taken:]))]
