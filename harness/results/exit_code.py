"""The exit codes of the process, for callers that read nothing else."""

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Final, Protocol

from harness.results.status import Judged, ResultStatus, status_of
from harness.trace.events import TARGET_LOST
from harness.verdict import Delta, Outcome


class ExitCode(IntEnum):
    """Exit codes; from 64 on (sysexits' numbers), there is no verdict to rely on."""

    EXPECTED = 0
    """Every result was expected, and at least one scenario was run."""
    UNEXPECTED = 1
    """A target differs in a way that no expectation entry lists."""
    INDETERMINATE = 2
    """More scenarios than allowed ended before they reached what they test."""
    STALE = 3
    """Nothing worse than expectation entries that no longer match or have expired."""
    NOTHING_RAN = 4
    """No scenario was run on any target, or a scenario of the baseline is gone."""
    USAGE = 64
    """The command line makes no sense."""
    BAD_DATA = 65
    """Stored input is damaged or cut short."""
    NO_INPUT = 66
    """A run, a baseline or an expectation file that was named is not there."""
    UNAVAILABLE = 69
    """A target could not be obtained, never became ready, or was lost."""
    HARNESS_ERROR = 70
    """The harness failed."""
    TEMPORARY_FAILURE = 75
    """Something outside the harness failed; trying again is safe."""
    CONFIGURATION = 78
    """A configuration or expectation file is wrong."""
    INTERRUPTED = 130
    """Someone asked the run to stop; what was recorded is written."""


class Counted(Judged, Protocol):
    """A result that counts toward the exit code: of a scenario or of a client script."""

    @property
    def delta(self) -> str:
        """A `harness.verdict.Delta`."""


class Ended(Protocol):
    """The stored record of how a run ended."""

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
"""The prefixes of `RunFooter.ended`."""


def exit_code(results: Sequence[Counted], footer: Ended | None, *, indeterminate_max: int = 0) -> ExitCode:
    """Return the exit code of a run whose scenarios or client scripts were judged.

    Args:
        results: all results of the run.
        footer: the stored record of the run's end; None if the run was cut short and has none.
        indeterminate_max: how many unexpected indeterminate results are allowed.
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
    """Return the code with the highest priority."""
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
