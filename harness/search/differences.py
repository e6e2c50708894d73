"""The first difference between two conversations of one script, and what it is known by."""

import re
from collections.abc import Sequence
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
    """What differences are clustered by: the same place of the same API, with the same values.

    Steps, versions and numbers are no part of it: they change while a script shrinks.
    """

    api: str | None
    difference_class: DifferenceClass
    field: str | None
    expected: str
    actual: str


def first_difference(events: Sequence[Event], others: Sequence[Event]) -> RawDifference | None:
    """Return where a conversation first differs from another; None if a client could not tell them apart."""
    if _traits(events) == _traits(others):
        return None
    found = [
        each for each in (*against_reference(events, others), *_timing(events, others)) if not each.is_lenient
    ]
    found += _failures(events, others)
    return min(found, key=lambda each: each.step, default=None)


def found_difference(events: Sequence[Event], others: Sequence[Event]) -> RawDifference | None:
    """Return the first difference, or that both references fail alike, which none may."""
    found = first_difference(events, others)
    failed = _failure(events)
    if found is not None or failed is None:
        return found
    return _failed(failed, expected="an answer", actual=_failure_text(failed))


def has_failed(events: Sequence[Event]) -> bool:
    """Tell whether the reference failed in a conversation."""
    return _failure(events) is not None


def is_failure(text: str) -> bool:
    """Tell whether a side of a difference says that a reference failed."""
    return text.startswith(_FAILS)


def cause_of(difference: RawDifference) -> Cause:
    """Return what a difference is known by."""
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
    """Return the answers that are alike and came at another time, which in virtual time is no chance."""
    return [
        RawDifference(
            step=pair.step,
            event_sequence=pair.event.sequence,
            api=pair.event.api,
            api_version=pair.event.api_version,
            against=Against.REFERENCE,
            difference_class=DifferenceClass.TIMING,
            field=None,
            expected=f"after {pair.other.elapsed_ms:g} ms",
            actual=f"after {pair.event.elapsed_ms:g} ms",
        )
        for pair in aligned(events, others)
        if pair.answer is not None
        and pair.event is not None
        and pair.other is not None
        and pair.event.kind == pair.other.kind == EventKind.RESPONSE
        and pair.event.elapsed_ms is not None
        and pair.other.elapsed_ms is not None
        and pair.event.elapsed_ms != pair.other.elapsed_ms
    ]


def _failures(events: Sequence[Event], others: Sequence[Event]) -> list[RawDifference]:
    """Return that one of the references failed where the other did not."""
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
