"""Checks that all events that a run recorded are still there."""

from collections.abc import Iterator

from harness.trace.events import RunFooter
from harness.trace.files import RunFolder, count_events, ends_within_a_line
from harness.trace.schema import TraceError, json_object


def refuse_cut_short(folder: RunFolder) -> None:
    """Refuse an incomplete run: missing events would look like events that did not happen.

    A run that was interrupted in order is complete.

    Raises:
        TraceError: the run has no footer, or a trace has lost events.
    """
    if (lost := next(_losses(folder), None)) is not None:
        raise TraceError(f"{folder.path}: {lost}")


def refuse_lost_events(folder: RunFolder) -> None:
    """Refuse a run that ended in order and has lost events since; accept one that was killed.

    Raises:
        TraceError: a trace has lost events.
    """
    footer = folder.read_footer()
    for target, found, count in () if footer is None else _counts(folder, footer):
        if not isinstance(count, int) or found < count:
            raise TraceError(f"{folder.path}: {_too_few(target, found, count)}")


def _losses(folder: RunFolder) -> Iterator[str]:
    footer = folder.read_footer()
    if footer is None:
        yield "it has no footer: whoever recorded it was stopped before its end"
        return
    for target, found, count in _counts(folder, footer):
        if found != count:
            yield _too_few(target, found, count)
    for target in folder.targets():
        if ends_within_a_line(folder.events(target)):
            yield f"the trace of {target} ends within a line"


def _counts(folder: RunFolder, footer: RunFooter) -> Iterator[tuple[str, int, object]]:
    """Yield each target with the number of events in its trace, and the number that the footer contains."""
    counts = json_object(footer.event_counts, where=f"{folder.footer_json}: `event_counts`")
    for target, count in sorted(counts.items()):
        yield target, count_events(folder.events(target)), count


def _too_few(target: str, found: int, count: object) -> str:
    return f"the trace of {target} has {found} of its {count} events"
