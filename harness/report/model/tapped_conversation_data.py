"""A tap's recorded events of a conversation as data for a page, without uninformative events."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from harness.apis.table import descriptor
from harness.report.model.conversation import StepRows, steps_without_script
from harness.report.model.page_limit import PageLimit
from harness.spark.rows import AlignedStep
from harness.trace.events import Event, EventKind
from harness.trace.schema import TraceError, parsed_json

NO_ERROR: Final = "NONE"
_UNREADABLE: Final = "unreadable"
EVENT_COUNT_MAX: Final = 3_000
"""The number of events of a conversation that a page shows; the trace has all."""


def heard(events: Iterable[Event]) -> tuple[tuple[Event, ...], str]:
    """Return the events that a page shows, and a sentence on what is left out."""
    everything = tuple(events)
    small_conversation = {
        (event.connection, event.correlation_id, event.api)
        for event in everything
        if event.kind == EventKind.RESPONSE and descriptor(event.api).is_frequent and not _has_error(event)
    }
    reported = [
        each
        for each in everything
        if (each.connection, each.correlation_id, each.api) not in small_conversation
    ]
    left_out = Counter(api for _, _, api in small_conversation)
    parts = [f"{count} {api}" for api, count in sorted(left_out.items(), key=lambda each: str(each[0]))]
    words = f"Left out, since they were answered without an error: {', '.join(parts)}." if parts else ""
    if len(reported) > EVENT_COUNT_MAX:
        words += f" The first {EVENT_COUNT_MAX} of {len(reported)} other events."
    return tuple(reported[:EVENT_COUNT_MAX]), words.strip()


def _has_error(event: Event) -> bool:
    return any(code != NO_ERROR for code in error_codes(event))


def error_codes(event: Event) -> tuple[str, ...]:
    """Return the distinct error codes of an answer, at top level and within it."""
    try:
        fields = parsed_json(event.fields or "null", where="fields")
    except TraceError:
        return (_UNREADABLE,)
    return tuple(dict.fromkeys(codes_in(fields)))


def codes_in(value: object) -> Iterator[str]:
    """Yield the error codes at any depth of decoded fields."""
    match value:
        case dict():
            if "error_code" in value:
                yield str(value["error_code"])
            for each in value.values():
                yield from codes_in(each)
        case list():
            for each in value:
                yield from codes_in(each)
        case _:
            return


def steps_of(events: Sequence[Event], step_at: Callable[[float], int]) -> tuple[StepRows, ...]:
    """Return events as steps: each event belongs to the script's step during which it occurred.

    Args:
        events: in chronological order.
        step_at: returns the step that a time of the trace belongs to; -1 for none.
    """
    rows = (_row(event, step_at(event.at_ms), place) for place, event in enumerate(events))
    return steps_without_script(list(PageLimit().within(rows)))


def _row(event: Event, step: int, occurrence: int) -> AlignedStep:
    return AlignedStep(
        run_id=event.run_id,
        target=event.target,
        oracle=None,
        scenario_id=event.scenario_id,
        step=step,
        occurrence=occurrence,
        answer=None,
        actor=event.actor,
        api=event.api,
        api_version=event.api_version,
        oracle_sequence=None,
        oracle_kind=None,
        oracle_at_ms=None,
        oracle_elapsed_ms=None,
        oracle_raw=None,
        oracle_fields=None,
        oracle_canonical=None,
        oracle_digest=None,
        oracle_note=None,
        target_sequence=event.sequence,
        target_kind=event.kind,
        target_at_ms=event.at_ms,
        target_elapsed_ms=event.elapsed_ms,
        target_raw=event.raw,
        target_fields=event.fields,
        target_canonical=event.canonical,
        target_digest=event.digest,
        target_note=event.note,
        is_different=False,
    )
