"""The conversations of one scenario, as data that its view renders when a reader opens one.

Most conversations conform and nobody opens them, so a script renders those that are opened. What several
targets share is stored once by the site, and so is here the conversation of a reference that is the left side
of a target's.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from harness.apis.table import descriptor
from harness.diff.alignment import AlignedEvents
from harness.report.model.conversation import (
    StepRows,
    TargetSection,
    steps_without_script,
)
from harness.report.model.names import first_difference_anchor
from harness.report.model.run_data import ScriptPage
from harness.report.model.steps import PageLimit
from harness.trace.canonical import Json
from harness.trace.events import Event, EventKind
from harness.trace.schema import TraceError, parsed_json

_Data = dict[str, Json]


def conversation_data(sections: Iterable[TargetSection], script: ScriptPage | None, source: Json) -> _Data:
    """Return the conversations of a scenario, by target, for `static/site.js`.

    Args:
        sections: one section for each target.
        script: the scenario's script in words.
        source: the script itself, as stored in the run.
    """
    return {
        "script": source,
        "texts": [step.text for step in script.steps] if script else [],
        "targets": {section.judgement.target: _of_section(section) for section in sections},
    }


def _of_section(section: TargetSection) -> _Data:
    if section.lender is not None:
        return {"like": section.lender}
    return {
        "oracle": section.judgement.oracle,
        "first": first_difference_anchor(section.judgement.target),
        "before": section.before,
        "after": section.after,
    }


def lone_conversation_data(
    name: str,
    steps: Sequence[StepRows],
    *,
    texts: Sequence[str] | Mapping[int, str] = (),
    further: _Data | None = None,
) -> _Data:
    """Return one conversation for `static/site.js`, without an oracle unless `further` names one.

    Args:
        name: the conversation's key on its page.
        steps: the steps of the conversation.
        texts: the texts of the script's steps, in order or by number.
        further: further values: `seen` for `static/site.js`, `left_out` in words, the `oracle`.
    """
    return {
        "script": None,
        "texts": {str(at): text for at, text in texts.items()} if isinstance(texts, Mapping) else texts,
        "targets": {name: {"oracle": None, "first": "", "before": [], "after": steps, **(further or {})}},
    }


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


def steps_of(events: Sequence[Event], step_at: Callable[[float], int]) -> Sequence[StepRows]:
    """Return events as steps: each event belongs to the script's step during which it occurred.

    Args:
        events: in chronological order.
        step_at: returns the step that a time of the trace belongs to; -1 for none.
    """
    rows = (
        AlignedEvents(step=step_at(event.at_ms), occurrence=place, answer=None, event=event, other=None)
        for place, event in enumerate(events)
    )
    return steps_without_script(list(PageLimit().within(rows)))
