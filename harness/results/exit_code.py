"""What the process says when it ends, for scripts that read nothing else."""

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Final, Protocol

from harness.results.status import Judged, ResultStatus, status_of
from harness.trace.events import TARGET_LOST
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


class Counted(Judged, Protocol):
    """What an exit code follows from: results of scenarios and of client scripts alike."""

    @property
    def delta(self) -> str:
        """A `harness.verdict.Delta`."""


class Ended(Protocol):
    """What is on file of the end of a run."""

    @property
    def ended(self) -> str:
        """`complete`, or why it is not."""


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


def exit_code(results: Sequence[Counted], footer: Ended | None, *, indeterminate_max: int = 0) -> ExitCode:
    """Say how a run ends whose scenarios or client scripts were judged.

    Args:
        results: all of them.
        footer: what is on file of its end; None where nothing is, for it was cut short.
        indeterminate_max: how many unexpected indeterminate results are let pass.
    """
    standings = [status_of(each) for each in results]
    applying = {ExitCode.EXPECTED, *_by_ending(None if footer is None else footer.ended)}
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


def _nothing_ran(results: Sequence[Counted]) -> bool:
    return all(each.outcome == Outcome.NOT_APPLICABLE for each in results)


def _by_ending(ended: str | None) -> tuple[ExitCode, ...]:
    if ended is None:
        return (ExitCode.BAD_DATA,)
    if ended == ENDED_COMPLETE:
        return ()
    if ended.startswith(ENDED_INTERRUPTED):
        return (ExitCode.INTERRUPTED,)
    if ended.startswith(TARGET_LOST):
        return (ExitCode.UNAVAILABLE,)
    return (ExitCode.BAD_DATA,)
