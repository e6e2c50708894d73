"""What the process says when it ends, for scripts that read nothing else."""

from collections.abc import Iterable
from enum import IntEnum
from typing import Final

from harness.diff.model import Judgement
from harness.results.status import ResultStatus, status_of
from harness.trace.events import TARGET_LOST, RunFooter
from harness.verdict import Delta, Outcome


class ExitCode(IntEnum):
    """Exit codes; those from 64 on say that there is no verdict to rely on (sysexits' numbers)."""

    EXPECTED = 0
    """Every result was expected, and at least one scenario was run."""
    UNEXPECTED = 1
    """A target differs in a way that no expectation entry foresees."""
    INDETERMINATE = 2
    """More scenarios than allowed ended before what they are about could be seen."""
    STALE = 3
    """Only expectation entries that no longer fire, or have expired."""
    NOTHING_RAN = 4
    """No scenario was run on any target, or one of the baseline is gone."""
    USAGE = 64
    """The command line makes no sense."""
    BAD_DATA = 65
    """Stored input is damaged or cut short."""
    NO_INPUT = 66
    """A run or a baseline that was named is not there."""
    UNAVAILABLE = 69
    """A target could not be had, never became ready, or was lost."""
    HARNESS_ERROR = 70
    """We failed."""
    TEMPORARY_FAILURE = 75
    """Something around us failed; trying again is safe."""
    CONFIGURATION = 78
    """A configuration or expectation file is wrong."""
    INTERRUPTED = 130
    """Someone asked the run to stop; what was recorded is written."""


PRIORITY: Final = (
    ExitCode.HARNESS_ERROR,
    ExitCode.INTERRUPTED,
    ExitCode.CONFIGURATION,
    ExitCode.BAD_DATA,
    ExitCode.NO_INPUT,
    ExitCode.UNAVAILABLE,
    ExitCode.TEMPORARY_FAILURE,
    ExitCode.UNEXPECTED,
    ExitCode.NOTHING_RAN,
    ExitCode.INDETERMINATE,
    ExitCode.STALE,
    ExitCode.EXPECTED,
)
"""Which code wins when several apply, first to last; `USAGE` ends a process before others can apply."""

ENDED_COMPLETE: Final = "complete"
ENDED_INTERRUPTED: Final = "interrupted"
"""How `RunFooter.ended` begins, each."""


def exit_code(
    judgements: Iterable[Judgement], footer: RunFooter | None, *, indeterminate_max: int = 0
) -> ExitCode:
    """Say how a run that was judged ends; no footer means that it was cut short.

    `indeterminate_max` is how many unexpected indeterminate results are let pass.
    """
    results = tuple(judgements)
    standings = [status_of(each) for each in results]
    applying = {ExitCode.EXPECTED, *_by_ending(footer)}
    if ResultStatus.ERROR in standings:
        applying.add(ExitCode.HARNESS_ERROR)
    if ResultStatus.FAILED in standings:
        applying.add(ExitCode.UNEXPECTED)
    if ResultStatus.STALE in standings:
        applying.add(ExitCode.STALE)
    if standings.count(ResultStatus.INDETERMINATE) > indeterminate_max:
        applying.add(ExitCode.INDETERMINATE)
    if _nothing_ran(results) or any(each.delta == Delta.REMOVED for each in results):
        applying.add(ExitCode.NOTHING_RAN)
    return worst(applying)


def worst(codes: Iterable[ExitCode]) -> ExitCode:
    """Return the one that wins."""
    return min(codes, key=PRIORITY.index, default=ExitCode.EXPECTED)


def _nothing_ran(judgements: tuple[Judgement, ...]) -> bool:
    return all(each.outcome == Outcome.NOT_APPLICABLE for each in judgements)


def _by_ending(footer: RunFooter | None) -> tuple[ExitCode, ...]:
    if footer is None:
        return (ExitCode.BAD_DATA,)
    if footer.ended == ENDED_COMPLETE:
        return ()
    if footer.ended.startswith(ENDED_INTERRUPTED):
        return (ExitCode.INTERRUPTED,)
    if footer.ended.startswith(TARGET_LOST):
        return (ExitCode.UNAVAILABLE,)
    return (ExitCode.BAD_DATA,)
