"""Find the first difference between two conversations of one script, and its cause."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from harness.diff.against_reference import against_reference
from harness.diff.alignment import aligned
from harness.diff.paths import unindexed
from harness.diff.raw_difference import Against, RawDifference
from harness.trace.events import Event, EventKind
from harness.verdict import DifferenceClass

_FAILS: Final = "the reference fails: "
_NUMBER: Final = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Cause:
    """The key by which differences are clustered: the same field of the same API, with the same values.

    It leaves out steps, versions and numbers, because they change while a script shrinks.
    """

    api: str | None
    difference_class: DifferenceClass
    field: str | None
    expected: str
    actual: str


def first_difference(
    events: Sequence[Event], others: Sequence[Event], *, of_one_release: bool = False
) -> RawDifference | None:
    """Return the first difference between two conversations; None if a client could not distinguish them.

    Args:
        events: the events of one conversation.
        others: those of the other.
        of_one_release: whether both sides are the same release, so that texts for people must be alike, too,
            and so must the values that the reference permits.
    """
    if _traits(events) == _traits(others) and not (of_one_release and _permitted(events, others)):
        return None
    found = [*against_reference(events, others), *_timing(events, others), *_failures(events, others)]
    if of_one_release:
        found += _permitted(events, others)
    else:
        found = [each for each in found if not each.is_lenient]
    return min(found, key=lambda each: each.step, default=None)


def found_difference(
    events: Sequence[Event], others: Sequence[Event], *, of_one_release: bool = False
) -> RawDifference | None:
    """Return the first difference, or a failure that both references have alike, since none may fail.

    A failure of both tells nothing of a fault of one release.
    """
    found = first_difference(events, others, of_one_release=of_one_release)
    failed = None if of_one_release else _failure(events)
    if found is not None or failed is None:
        return found
    return _failed(failed, expected="an answer", actual=_failure_text(failed))


def has_failed(events: Sequence[Event]) -> bool:
    """Return whether the reference failed in a conversation."""
    return _failure(events) is not None


def is_failure(text: str) -> bool:
    """Return whether the text of one side of a difference is a failure of a reference."""
    return text.startswith(_FAILS)


def cause_of(difference: RawDifference) -> Cause:
    """Return the cause of a difference."""
    return Cause(
        api=difference.api,
        difference_class=difference.difference_class,
        field=None if difference.field is None else unindexed(difference.field),
        expected=_NUMBER.sub("#", difference.expected),
        actual=_NUMBER.sub("#", difference.actual),
    )


def _traits(events: Sequence[Event]) -> list[tuple[object, ...]]:
    return [(each.step, each.kind, each.digest, each.elapsed_ms) for each in events]


def _timing(events: Sequence[Event], others: Sequence[Event]) -> list[RawDifference]:
    """Return the equal answers that came at different times, which in virtual time is not by chance."""
    return [
        RawDifference(
            step=event.step,
            event_sequence=event.sequence,
            api=event.api,
            api_version=event.api_version,
            against=Against.REFERENCE,
            difference_class=DifferenceClass.TIMING,
            field=None,
            expected=f"after {other.elapsed_ms:g} ms",
            actual=f"after {event.elapsed_ms:g} ms",
        )
        for event, other in _both_answered(events, others)
        if event.elapsed_ms is not None
        and other.elapsed_ms is not None
        and event.elapsed_ms != other.elapsed_ms
    ]


def _permitted(events: Sequence[Event], others: Sequence[Event]) -> list[RawDifference]:
    """Return the answers to which the two sides permit different values."""
    return [
        RawDifference(
            step=event.step,
            event_sequence=event.sequence,
            api=event.api,
            api_version=event.api_version,
            against=Against.REFERENCE,
            difference_class=DifferenceClass.FIELD_VALUE,
            field=None,
            expected=f"permitted: {other.permitted}",
            actual=f"permitted: {event.permitted}",
        )
        for event, other in _both_answered(events, others)
        if event.permitted != other.permitted
    ]


def _both_answered(events: Sequence[Event], others: Sequence[Event]) -> Iterator[tuple[Event, Event]]:
    """Yield the responses of both sides to the same request."""
    for pair in aligned(events, others):
        event, other = pair.event, pair.other
        if event is not None and other is not None and event.kind == other.kind == EventKind.RESPONSE:
            yield event, other


def _failures(events: Sequence[Event], others: Sequence[Event]) -> list[RawDifference]:
    """Return a difference if only one reference failed, or both failed differently."""
    ours, theirs = _failure(events), _failure(others)
    failed = ours or theirs
    if failed is None or (ours is not None and theirs is not None and ours.note == theirs.note):
        return []
    return [_failed(failed, expected=_failure_text(theirs), actual=_failure_text(ours))]


def _failed(event: Event, *, expected: str, actual: str) -> RawDifference:
    return RawDifference(
        step=event.step,
        event_sequence=-1,
        api=event.api,
        api_version=None,
        against=Against.REFERENCE,
        difference_class=DifferenceClass.LIVENESS,
        field=None,
        expected=expected,
        actual=actual,
    )


def _failure(events: Sequence[Event]) -> Event | None:
    return next((each for each in events if each.kind == EventKind.HARNESS_ERROR), None)


def _failure_text(event: Event | None) -> str:
    return "an answer" if event is None else f"{_FAILS}{event.note}"
