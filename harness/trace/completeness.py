"""Whether all that a run had recorded is still there."""

from collections.abc import Iterator

from harness.trace.files import RunFolder, count_events, ends_within_a_line
from harness.trace.schema import TraceError, json_object


def refuse_cut_short(folder: RunFolder) -> None:
    """Refuse a run of which a part is missing: what it does not tell would pass for what did not happen.

    A run that somebody interrupted in order is whole.

    Raises:
        TraceError: it has no footer, or a trace has lost events.
    """
    if (lost := next(_losses(folder), None)) is not None:
        raise TraceError(f"{folder.path}: {lost}")


def _losses(folder: RunFolder) -> Iterator[str]:
    footer = folder.read_footer()
    if footer is None:
        yield "it has no footer: whoever recorded it was stopped before its end"
        return
    counts = json_object(footer.event_counts, where=f"{folder.footer_json}: `event_counts`")
    for target, count in sorted(counts.items()):
        found = count_events(folder.events(target))
        if found != count:
            yield f"the trace of {target} has {found} of its {count} events"
    for target in folder.targets():
        if ends_within_a_line(folder.events(target)):
            yield f"the trace of {target} ends within a line"
