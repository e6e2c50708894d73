"""All differences of a recorded conversation from its script and from the reference.

Both traces come from the same script, so they are aligned by step. A script pins the answers that its
scenario is about, and takes precedence over the reference; the reference covers everything that is not
pinned. One difference is reported once. The gravest one is the finding; others may only follow from it.

Only canonical answers are compared, so that ids, hosts and accidental orders are not differences. Where
Kafka's answer depends on chance, the reference declares the correct values, and any of them is accepted.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from harness.diff.alignment import BROKER_ENDED_WORDS, aligned, answers_by_step, awaits, kind_words
from harness.diff.gravity import ranked
from harness.diff.lenient import is_unread
from harness.diff.model import Difference
from harness.diff.raw_difference import (
    ABSENT,
    Against,
    Leaf,
    difference_at,
    field_class,
    is_within,
    leaf_text,
    unequal_leaves,
    value_at,
)
from harness.diff.starved import is_late, without_consequences_of_waits
from harness.diff.trace_resolution import TraceResolution
from harness.scenario.matching import MISSING, mismatches
from harness.scenario.script import Receive, Repeat, Script, SeeClosed, Send, SendBytes, StayParked, Step
from harness.scenario.values import Pattern, Tied
from harness.trace.canonical import Json, canonical_json
from harness.trace.events import BROKER_ENDED, Event, EventKind
from harness.trace.schema import parsed_json
from harness.verdict import DifferenceClass


def against_script(script: Script, events: Sequence[Event]) -> tuple[Difference, ...]:
    """Return everything that differs from the script's expectations, in the order of events.

    Steps after the end of the trace are not judged; answers that are missing before it are.
    """
    return (*_seen_in_events(script, events), *_holes(script, events))


def _seen_in_events(script: Script, events: Sequence[Event]) -> Iterator[Difference]:
    resolution = TraceResolution(script, events)
    answered_unasked: set[int] = set()
    for event in events:
        if event.kind == EventKind.UNSOLICITED:
            if event.step in answered_unasked:
                continue  # A target that answers without end differs once, not ten thousand times.
            answered_unasked.add(event.step)
        if 0 <= event.step < len(script.steps):
            yield from _seen(script.steps[event.step], event, resolution)
        resolution.learn(event)


def _seen(step: Step, event: Event, resolution: TraceResolution) -> Iterator[Difference]:
    match event.kind:
        case EventKind.RESPONSE:
            yield from _response_seen(step, event, resolution)
        case EventKind.MALFORMED:
            yield _noted(
                event, DifferenceClass.ENCODING, "a response of that API and version", kind_words(event.kind)
            )
        case EventKind.UNSOLICITED:
            yield _noted(event, DifferenceClass.ENCODING, "answers to what was asked", "an answer to nothing")
        case EventKind.NO_ANSWER | EventKind.SILENCE | EventKind.CLOSED:
            yield from _nothing_seen(step, event)
        case _:
            pass


def _response_seen(step: Step, event: Event, resolution: TraceResolution) -> Iterator[Difference]:
    match step:
        case Receive():
            yield from _field_mismatches(event, resolution, step.fields, on_a_ladder=step.rung is not None)
            yield from _late(step, event)
            yield from _out_of_time(step, event)
        case Repeat():
            resolution.learn(event)
            yield from _field_mismatches(event, resolution, step.until, on_a_ladder=False)
            yield from _late(step, event)
        case StayParked():
            yield _noted(event, DifferenceClass.ORDERING, kind_words(EventKind.SILENCE), "an answer")
        case SeeClosed():
            yield _noted(event, DifferenceClass.LIVENESS, kind_words(EventKind.CLOSED), "an answer")
        case _:
            pass
    if event.reencodes is False:
        yield _noted(
            event,
            DifferenceClass.ENCODING,
            "bytes that re-encode to themselves",
            "another encoding of the fields",
        )


def _nothing_seen(step: Step, event: Event) -> Iterator[Difference]:
    if (event.note or "").startswith(BROKER_ENDED):
        yield _noted(event, DifferenceClass.LIVENESS, "a broker that goes on", BROKER_ENDED_WORDS)
        return
    if isinstance(step, Receive) and step.is_optional:
        return
    expected = _expected_words(step)
    if expected is not None and expected != kind_words(event.kind):
        yield _noted(event, DifferenceClass.LIVENESS, expected, kind_words(event.kind))


def _expected_words(step: Step) -> str | None:
    match step:
        case Receive() | Repeat():
            return kind_words(EventKind.RESPONSE)
        case StayParked():
            return kind_words(EventKind.SILENCE)
        case SeeClosed():
            return kind_words(EventKind.CLOSED)
        case Send() | SendBytes():
            return "an open connection"
        case _:
            return None


def _field_mismatches(
    event: Event, resolution: TraceResolution, expected: Mapping[str, Pattern], *, on_a_ladder: bool
) -> Iterator[Difference]:
    assert event.api is not None
    resolved = resolution.resolved(expected, event)
    arranged = resolution.arranged(resolved, api=event.api)
    answer = resolution.answered(event)
    for mismatch in mismatches(arranged, answer):
        due, came = resolution.expected_text(mismatch), resolution.actual_text(mismatch, api=event.api)
        presence_differs = mismatch.actual is MISSING or (mismatch.expected is None) != (
            mismatch.actual is None
        )
        yield difference_at(
            event,
            field_class(mismatch.path, presence_differs=presence_differs, on_a_ladder=on_a_ladder),
            field=mismatch.path,
            expected=due,
            actual=came,
            against=Against.EXPECTATION,
            is_lenient=is_unread(event.api, mismatch.path, due, came, answer),
        )


def _late(step: Receive | Repeat, event: Event) -> Iterator[Difference]:
    if is_late(event):
        due = f"{kind_words(EventKind.RESPONSE)} within {step.within_ms} ms"
        yield _noted(event, DifferenceClass.TIMING, due, "a later answer")


def _out_of_time(step: Receive, event: Event) -> Iterator[Difference]:
    """Check an answer's time against its bounds. The measured time varies, so it is not reported."""
    took_ms = event.elapsed_ms
    if took_ms is None:
        return
    if step.not_before_ms is not None and took_ms < step.not_before_ms:
        bound = f"{step.not_before_ms} ms"
        yield _noted(event, DifferenceClass.TIMING, f"not before {bound}", f"earlier than {bound}")
    if step.not_after_ms is not None and took_ms > step.not_after_ms and not is_late(event):
        bound = f"{step.not_after_ms} ms"
        yield _noted(event, DifferenceClass.TIMING, f"not after {bound}", f"later than {bound}")


def _noted(event: Event, difference_class: DifferenceClass, expected: str, actual: str) -> Difference:
    return difference_at(
        event, difference_class, expected=expected, actual=actual, against=Against.EXPECTATION
    )


def _holes(script: Script, events: Sequence[Event]) -> Iterator[Difference]:
    """Find steps that the conversation passed without a record of the answer that they await."""
    answers = answers_by_step(events)
    last = max((event.step for event in events), default=-1)
    for index, step in enumerate(script.steps[: max(last, 0)]):
        if awaits(step) and index not in answers:
            spoken = _spoken(script, step)
            api, version = (None, None) if spoken is None else (spoken.api, spoken.api_version)
            missing = replace(events[0], step=index, sequence=-1, api=api, api_version=version)
            yield _noted(missing, DifferenceClass.LIVENESS, _expected_words(step) or "", "nothing on record")


def _spoken(script: Script, step: Step) -> Send | Receive | Repeat | None:
    if isinstance(step, StayParked):
        sent = script.steps[step.sent_at]
        return sent if isinstance(sent, Send) else None
    return step if isinstance(step, Receive | Repeat) else None


def against_reference(events: Sequence[Event], oracle_events: Sequence[Event]) -> tuple[Difference, ...]:
    """Return all differences from the reference, up to the end of the shorter conversation."""
    return tuple(
        seen
        for pair in aligned(events, oracle_events)
        if pair.answer is not None and pair.event is not None and pair.other is not None
        for seen in _compared(pair.event, pair.other)
    )


def _compared(event: Event, oracle_event: Event) -> Iterator[Difference]:
    if event.kind != oracle_event.kind:
        expected, actual = kind_words(oracle_event.kind), kind_words(event.kind)
        kind = _kind_class(event.kind, oracle_event.kind)
        yield difference_at(event, kind, expected=expected, actual=actual)
    elif event.kind == EventKind.RESPONSE and event.digest != oracle_event.digest:
        yield from _unequal_fields(event, oracle_event)


def _unequal_fields(event: Event, oracle_event: Event) -> Iterator[Difference]:
    actual, expected = _read(event.canonical), _read(oracle_event.canonical)
    permitted = _read_permitted(oracle_event.permitted)
    for path, due, came in unequal_leaves(expected, actual):
        if any(_accepts(place, any_of, actual, path) for place, any_of in permitted):
            continue
        due_text, came_text = leaf_text(due), leaf_text(came)
        yield difference_at(
            event,
            field_class(path, presence_differs=_has_nothing(due) != _has_nothing(came)),
            field=path,
            expected=due_text,
            actual=came_text,
            is_lenient=is_unread(event.api, path, due_text, came_text, actual),
        )


def _kind_class(kind: str, oracle_kind: str) -> DifferenceClass:
    if kind == EventKind.MALFORMED:
        return DifferenceClass.ENCODING
    waited_in_vain = oracle_kind in (EventKind.SILENCE, EventKind.NO_ANSWER)
    is_early = kind == EventKind.RESPONSE and waited_in_vain
    return DifferenceClass.ORDERING if is_early else DifferenceClass.LIVENESS


def _has_nothing(value: Leaf) -> bool:
    return value is None or value is ABSENT


def _read(text: str | None) -> Json:
    value: Json = parsed_json(text, where="`canonical`") if text else {}
    return value


def _read_permitted(text: str | None) -> Sequence[tuple[re.Pattern[str], Sequence[str]]]:
    """Return the places for which the reference declares correct values, with these as canonical JSON."""
    entries = parsed_json(text, where="`permitted`") if text else ()
    return [(_place(each["field"]), [canonical_json(value) for value in each["any_of"]]) for each in entries]


def _place(field: str) -> re.Pattern[str]:
    """Compile a field's path to a pattern, in which `[]` matches every item of a list."""
    return re.compile(re.escape(field).replace(r"\[\]", r"\[\d+\]") + r"(?=[.\[]|$)")


def _accepts(place: re.Pattern[str], any_of: Sequence[str], actual: Json, path: str) -> bool:
    """Return whether the value at the declared place, on or above a path, is one of the correct values."""
    found = place.match(path)
    if found is None:
        return False
    value = value_at(actual, found.group())
    return value is not ABSENT and leaf_text(value) in any_of


_INTERNAL_ERROR: Final = '"UNKNOWN_SERVER_ERROR"'


class Departures:
    """The differences of conversations from their scripts, each conversation compared once.

    An oracle's conversation is used twice for every target that is compared with it, and is judged itself.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[str, int], tuple[Sequence[Event], tuple[Difference, ...]]] = {}

    def of(self, script: Script, events: Sequence[Event]) -> tuple[Difference, ...]:
        """Return everything in which a conversation differs from its script's expectations."""
        key = (script.id, id(events))
        if key not in self._found:
            # The events are kept, so that no other conversation can get their address, which is the key.
            self._found[key] = (events, against_script(script, events))
        return self._found[key][1]


def differences(
    script: Script,
    events: Sequence[Event],
    oracle_events: Sequence[Event] | None,
    departures: Departures | None = None,
    *,
    forgives_faults: bool = False,
) -> tuple[Difference, ...]:
    """Return a target's differences, the gravest first and the others in the order of steps.

    Without the reference's events only the script is compared with. If it forgives faults, another answer
    than an internal error of Kafka is lenient, and another choice than that of Kafka's maps: nobody copies
    them.
    """
    if not events:
        return ()
    known = departures or Departures()
    expected = known.of(script, events)
    seen = list(expected)
    if oracle_events is not None:
        astray = known.of(script, oracle_events)
        reported = (*expected, *astray)
        seen += [
            other
            for other in against_reference(events, oracle_events)
            if not any(_is_same(other, one) for one in reported)
        ]
    if forgives_faults:
        seen = [
            replace(one, is_lenient=True) if one.expected == _INTERNAL_ERROR or _is_tie(script, one) else one
            for one in seen
        ]
    return tuple(
        replace(one, ordinal=ordinal, is_consequence=follows)
        for ordinal, (one, follows) in enumerate(ranked(without_consequences_of_waits(script, seen, events)))
    )


def _is_tie(script: Script, one: Difference) -> bool:
    """Return whether the reference chose otherwise where nothing but the order of a map decides."""
    step = script.steps[one.step]
    if one.against != Against.REFERENCE or one.field is None or not isinstance(step, Receive):
        return False
    return isinstance(step.fields.get(one.field), Tied)


def _is_same(one: Difference, other: Difference) -> bool:
    if one.step != other.step:
        return False
    if one.field is None or other.field is None:
        return one.field is other.field
    return is_within(one.field, other.field) or is_within(other.field, one.field)
