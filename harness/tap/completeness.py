"""A check that everything a tap recorded is still there."""

from pathlib import Path

from harness.results.exit_code import ENDED_INTERRUPTED
from harness.tap.journal import refuse_torn
from harness.tap.reading import events_of_journal
from harness.trace.events import RunFooter
from harness.trace.schema import TraceError, json_object


def refuse_cut_short(journal: Path, run: Path, target: str, footer: RunFooter | None) -> None:
    """Refuse a journal that has lost its end, unless the run's footer records that.

    Args:
        journal: the journal of one target.
        run: the folder of the run, for the message.
        target: the target's name.
        footer: the footer of the run; None if the tap was killed.

    Raises:
        TraceError: the journal is missing, or lacks entries.
    """
    if footer is None:
        try:
            refuse_torn(journal)
        except TraceError as error:
            raise TraceError(
                f"{error}; `kafka-conformance tap --finish {run}` takes what there is"
            ) from error
        return
    if not footer.ended.startswith(ENDED_INTERRUPTED):
        refuse_torn(journal)
    kept = json_object(footer.event_counts, where=f"`event_counts` of {run}").get(target, 0)
    found = sum(1 for _ in events_of_journal(journal, run_id=footer.run_id, target=target))
    if found != kept:
        raise TraceError(f"{journal}: it has {found} of the {kept} events that were in it when the tap ended")
