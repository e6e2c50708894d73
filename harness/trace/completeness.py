"""Checks that all events that a run recorded are still there."""

from collections.abc import Iterator

from pydantic import TypeAdapter, ValidationError

from harness.trace.events import RunFooter
from harness.trace.files import RunFolder, count_events
from harness.trace.schema import TraceError

_COUNTS: TypeAdapter[dict[str, int]] = TypeAdapter(dict[str, int])


def refuse_cut_short(folder: RunFolder) -> None:
    """Refuse an incomplete run: missing events would look like events that did not happen.

    A run that was interrupted in order is complete.

    Raises:
        TraceError: the run has no footer, or a trace has lost events.
    """
    if folder.read_footer() is None:
        raise TraceError(f"{folder.path}: it has no footer: whoever recorded it was stopped before its end")
    refuse_lost_events(folder)


def refuse_lost_events(folder: RunFolder) -> None:
    """Refuse a run that ended in order and has lost events since; accept one that was killed.

    Raises:
        TraceError: a trace has lost events.
    """
    footer = folder.read_footer()
    if footer is not None and (lost := next(lost_events(folder, footer), None)) is not None:
        raise TraceError(f"{folder.path}: {lost}")


def lost_events(folder: RunFolder, footer: RunFooter) -> Iterator[str]:
    """Yield a sentence for each trace that has not as many events as the footer counts.

    Raises:
        TraceError: the footer counts no events, or a trace is damaged.
    """
    try:
        counts = _COUNTS.validate_json(footer.event_counts)
    except ValidationError as error:
        why = error.errors()[0]["msg"]
        raise TraceError(f"{folder.footer_json}: `event_counts` counts no events: {why}") from error
    for trace, count in sorted(counts.items()):
        found = count_events(folder.events(trace))
        if found != count:
            yield f"the trace of {trace} has {found} of its {count} events"
