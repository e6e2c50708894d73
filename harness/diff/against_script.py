"""What a target did, held against what its script expects: the expectation side of the comparison."""

from collections.abc import Iterator, Sequence

from harness.diff.answers import answers_by_step, awaits, kind_words
from harness.diff.retelling import Retelling
from harness.diff.seen import Against, Seen, field_class
from harness.scenario.matching import MISSING, Mismatch, mismatches
from harness.scenario.script import Receive, Repeat, Script, SeeClosed, Send, SendBytes, StayParked, Step
from harness.scenario.values import Pattern
from harness.trace.events import Event, EventKind
from harness.verdict import DifferenceClass


def against_script(script: Script, events: Sequence[Event]) -> tuple[Seen, ...]:
    """Return everything that is not as the script expects, in the order of happening.

    What the script awaits after the trace's end is not judged; what is missing before it is.
    """
    return (*_seen_in_events(script, events), *_holes(script, events))


def _seen_in_events(script: Script, events: Sequence[Event]) -> Iterator[Seen]:
    retelling = Retelling(script, events)
    for event in events:
        if 0 <= event.step < len(script.steps):
            yield from _seen(script.steps[event.step], event, retelling)
        retelling.learn(event)


def _seen(step: Step, event: Event, retelling: Retelling) -> Iterator[Seen]:
    match event.kind:
        case EventKind.RESPONSE:
            yield from _response_seen(step, event, retelling)
        case EventKind.MALFORMED:
            yield whole_answer(event, DifferenceClass.ENCODING, "a response of that API and version")
        case EventKind.UNSOLICITED:
            yield _noted(event, DifferenceClass.ENCODING, "answers to what was asked", "an answer to nothing")
        case EventKind.NO_ANSWER | EventKind.SILENCE | EventKind.CLOSED:
            yield from _nothing_seen(step, event)
        case _:
            pass


def _response_seen(step: Step, event: Event, retelling: Retelling) -> Iterator[Seen]:
    match step:
        case Receive():
            yield from _field_mismatches(event, retelling, step.fields, on_a_ladder=step.rung is not None)
            yield from _out_of_time(step, event)
        case Repeat():
            retelling.learn(event)
            yield from _field_mismatches(event, retelling, step.until, on_a_ladder=False)
        case StayParked():
            yield whole_answer(event, DifferenceClass.ORDERING, "no answer meanwhile")
        case SeeClosed():
            yield whole_answer(event, DifferenceClass.LIVENESS, "the connection closed")
        case _:
            pass
    if event.reencodes is False:
        yield _noted(
            event,
            DifferenceClass.ENCODING,
            "bytes that re-encode to themselves",
            "another encoding of the fields",
        )


def _nothing_seen(step: Step, event: Event) -> Iterator[Seen]:
    expected = _expected_words(step)
    if expected is not None and expected != kind_words(event.kind):
        yield whole_answer(event, DifferenceClass.LIVENESS, expected)


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
    event: Event, retelling: Retelling, fields: dict[str, Pattern], *, on_a_ladder: bool
) -> Iterator[Seen]:
    """Compare field by field.

    A reference means what was known before this answer; only what no earlier answer brought (an actor's
    first id in its first answer) may come from the answer itself.
    """
    assert event.api is not None
    answered = retelling.answered(event)
    for name, pattern in retelling.resolved(fields, with_answer=event).items():
        arranged = retelling.arranged({name: pattern}, api=event.api)
        for mismatch in mismatches(arranged, answered):
            yield _mismatched(event, retelling, mismatch, on_a_ladder=on_a_ladder)
