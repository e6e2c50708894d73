"""Compare a target's answers with the expectations of its script."""

from collections.abc import Iterator, Mapping, Sequence

from harness.diff.answers import BROKER_ENDED_WORDS, answers_by_step, awaits, kind_words
from harness.diff.late import is_late
from harness.diff.lenient import is_unread
from harness.diff.raw_difference import Against, RawDifference, field_class
from harness.diff.trace_resolution import TraceResolution
from harness.scenario.matching import MISSING, mismatches
from harness.scenario.script import Receive, Repeat, Script, SeeClosed, Send, SendBytes, StayParked, Step
from harness.scenario.values import Pattern
from harness.trace.events import BROKER_ENDED, Event, EventKind
from harness.verdict import DifferenceClass


def against_script(script: Script, events: Sequence[Event]) -> tuple[RawDifference, ...]:
    """Return everything that differs from the script's expectations, in the order of events.

    Steps after the end of the trace are not judged; answers that are missing before it are.
    """
    return (*_seen_in_events(script, events), *_holes(script, events))


def _seen_in_events(script: Script, events: Sequence[Event]) -> Iterator[RawDifference]:
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


def _seen(step: Step, event: Event, resolution: TraceResolution) -> Iterator[RawDifference]:
    match event.kind:
        case EventKind.RESPONSE:
            yield from _response_seen(step, event, resolution)
        case EventKind.MALFORMED:
            yield _noted(
                event,
                DifferenceClass.ENCODING,
                "a response of that API and version",
                kind_words(event.kind),
            )
        case EventKind.UNSOLICITED:
            yield _noted(event, DifferenceClass.ENCODING, "answers to what was asked", "an answer to nothing")
        case EventKind.NO_ANSWER | EventKind.SILENCE | EventKind.CLOSED:
            yield from _nothing_seen(step, event)
        case _:
            pass


def _response_seen(step: Step, event: Event, resolution: TraceResolution) -> Iterator[RawDifference]:
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


def _nothing_seen(step: Step, event: Event) -> Iterator[RawDifference]:
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
) -> Iterator[RawDifference]:
    assert event.api is not None
    resolved = resolution.resolved(expected, event)
    arranged = resolution.arranged(resolved, api=event.api)
    answer = resolution.answered(event)
    for mismatch in mismatches(arranged, answer):
        due, came = resolution.expected_text(mismatch), resolution.actual_text(mismatch, api=event.api)
        presence_differs = mismatch.actual is MISSING or (mismatch.expected is None) != (
            mismatch.actual is None
        )
        yield RawDifference.at(
            event,
            field_class(mismatch.path, presence_differs=presence_differs, on_a_ladder=on_a_ladder),
            field=mismatch.path,
            expected=due,
            actual=came,
            against=Against.EXPECTATION,
            is_lenient=is_unread(event.api, mismatch.path, due, came, answer),
        )


def _late(step: Receive | Repeat, event: Event) -> Iterator[RawDifference]:
    if is_late(event):
        due = f"{kind_words(EventKind.RESPONSE)} within {step.within_ms} ms"
        yield _noted(event, DifferenceClass.TIMING, due, "a later answer")


def _out_of_time(step: Receive, event: Event) -> Iterator[RawDifference]:
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


def _noted(event: Event, difference_class: DifferenceClass, expected: str, actual: str) -> RawDifference:
    return RawDifference.at(
        event, difference_class, expected=expected, actual=actual, against=Against.EXPECTATION
    )


def _holes(script: Script, events: Sequence[Event]) -> Iterator[RawDifference]:
    """Find steps that the conversation passed without a record of the answer that they await."""
    answers = answers_by_step(events)
    last = max((event.step for event in events), default=-1)
    for index, step in enumerate(script.steps[: max(last, 0)]):
        if awaits(step) and index not in answers:
            spoken = _spoken(script, step)
            yield RawDifference(
                step=index,
                event_sequence=-1,
                api=spoken.api if spoken else None,
                api_version=spoken.api_version if spoken else None,
                against=Against.EXPECTATION,
                difference_class=DifferenceClass.LIVENESS,
                field=None,
                expected=_expected_words(step) or "",
                actual="nothing on record",
            )


def _spoken(script: Script, step: Step) -> Send | Receive | Repeat | None:
    if isinstance(step, StayParked):
        sent = script.steps[step.sent_at]
        return sent if isinstance(sent, Send) else None
    return step if isinstance(step, Receive | Repeat) else None
