"""Compare a target's answers with those of the reference at the same steps of the same script.

Only canonical answers are compared, so that ids, hosts and accidental orders are not differences. Where
Kafka's answer depends on chance, the reference declares the correct values, and any of them is accepted.
"""

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from harness.diff.alignment import aligned
from harness.diff.answers import kind_words
from harness.diff.lenient import is_unread
from harness.diff.paths import ABSENT, Leaf, unequal_leaves, value_at
from harness.diff.raw_difference import RawDifference, field_class, leaf_text
from harness.trace.canonical import Json, canonical_json
from harness.trace.events import Event, EventKind
from harness.trace.schema import parsed_json
from harness.verdict import DifferenceClass

_KEPT: Final = 4
"""Number of cached comparisons. A starved target's answer, which may be megabytes long, is compared with
dozens of courses of the reference, whose answers are mostly equal.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Permitted:
    """The correct values for a field, as declared by the reference."""

    place: re.Pattern[str]
    any_of: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unequal:
    """A field in which two answers differ."""

    path: str
    difference_class: DifferenceClass
    expected: str
    actual: str
    is_lenient: bool


def against_reference(events: Sequence[Event], oracle_events: Sequence[Event]) -> tuple[RawDifference, ...]:
    """Return all differences from the reference, up to the end of the shorter conversation."""
    return tuple(
        seen
        for pair in aligned(events, oracle_events)
        if pair.answer is not None and pair.event is not None and pair.other is not None
        for seen in _compared(pair.event, pair.other)
    )


def _compared(event: Event, oracle_event: Event) -> Iterator[RawDifference]:
    if event.kind != oracle_event.kind:
        expected, actual = kind_words(oracle_event.kind), kind_words(event.kind)
        kind = _kind_class(event.kind, oracle_event.kind)
        yield RawDifference.at(event, kind, expected=expected, actual=actual)
    elif event.kind == EventKind.RESPONSE and event.digest != oracle_event.digest:
        for found in _unequal(event.api, event.canonical, oracle_event.canonical, oracle_event.permitted):
            yield RawDifference.at(
                event,
                found.difference_class,
                field=found.path,
                expected=found.expected,
                actual=found.actual,
                is_lenient=found.is_lenient,
            )


def _kind_class(kind: str, oracle_kind: str) -> DifferenceClass:
    if kind == EventKind.MALFORMED:
        return DifferenceClass.ENCODING
    waited_in_vain = oracle_kind in (EventKind.SILENCE, EventKind.NO_ANSWER)
    if kind == EventKind.RESPONSE and waited_in_vain:
        return DifferenceClass.ORDERING
    return DifferenceClass.LIVENESS


@functools.lru_cache(maxsize=_KEPT)
def _unequal(
    api: str | None, canonical: str | None, oracle_canonical: str | None, permitted: str | None
) -> tuple[_Unequal, ...]:
    """Return the fields in which two canonical answers differ."""
    actual, expected = _read(canonical), _read(oracle_canonical)
    entries = _read_permitted(permitted)
    return tuple(
        _Unequal(
            path=path,
            difference_class=field_class(path, presence_differs=_has_nothing(due) != _has_nothing(came)),
            expected=(expected_text := leaf_text(due)),
            actual=(actual_text := leaf_text(came)),
            is_lenient=is_unread(api, path, expected_text, actual_text, actual),
        )
        for path, due, came in unequal_leaves(expected, actual)
        if not any(_accepts(entry, actual, path) for entry in entries)
    )


def _has_nothing(value: Leaf) -> bool:
    return value is None or value is ABSENT


def _read(text: str | None) -> Json:
    value: Json = parsed_json(text, where="`canonical`") if text else {}
    return value


def _read_permitted(text: str | None) -> tuple[_Permitted, ...]:
    return tuple(
        _Permitted(
            place=_place(entry["field"]),
            any_of=tuple(canonical_json(value) for value in entry["any_of"]),
        )
        for entry in (parsed_json(text, where="`permitted`") if text else ())
    )


def _place(field: str) -> re.Pattern[str]:
    """Compile a field's path to a pattern, in which `[]` matches every item of a list."""
    return re.compile(re.escape(field).replace(r"\[\]", r"\[\d+\]") + r"(?=[.\[]|$)")


def _accepts(entry: _Permitted, actual: Json, path: str) -> bool:
    """Return whether the value at the declared place, on or above a path, is one of the correct values."""
    found = entry.place.match(path)
    if found is None:
        return False
    value = value_at(actual, found.group())
    return value is not ABSENT and leaf_text(value) in entry.any_of
