"""How a result counts, and the exit codes of the process, for callers that read nothing else.

Nothing is judged anew here. Reports show outcome and expectation wherever there is room for both. Formats
with only "passed" and "failed" (JUnit, Allure, an exit code) all use the mapping from judgement to status.
"""

from collections.abc import Iterable, Sequence
from enum import IntEnum, StrEnum
from typing import Final, NamedTuple

from harness.diff.model import Judgement
from harness.trace.events import TARGET_LOST, RunFooter
from harness.verdict import Confirmation, Delta, Expectation, Outcome


class ResultStatus(StrEnum):
    """What a reader has to do about a result."""

    PASSED = "passed"
    """Nothing: it conforms, or the only fields that differ are ones that clients ignore."""
    KNOWN = "known difference"
    """Nothing new: an expectation entry lists what happened."""
    SKIPPED = "not applicable"
    """Nothing: the scenario cannot run on the target."""
    FLAKY = "flaky"
    """Nothing yet: the difference occurred once and not again. Races and slow machines both cause that."""
    INDETERMINATE = "indeterminate"
    """Find out why the conversation ended before it reached what it tests."""
    STALE = "stale expectation"
    """Remove or renew the entry that no longer matches."""
    FAILED = "unexpected difference"
    """Fix the target, or explain the difference in an entry."""
    ERROR = "harness error"
    """Fix the harness."""


class ResultMark(NamedTuple):
    """What a status is computed from, without the rest of a judgement."""

    outcome: str
    """A `harness.verdict.Outcome`."""
    expectation: str
    """A `harness.verdict.Expectation`."""
    confirmation: str
    """A `harness.verdict.Confirmation`."""


def status_of(judgement: Judgement | ResultMark) -> ResultStatus:
    """Return how a result counts."""
    how = _OF_OUTCOMES[Outcome(judgement.outcome)]
    if how is ResultStatus.ERROR:
        return how
    if judgement.expectation == Expectation.STALE:
        return ResultStatus.STALE
    if judgement.expectation == Expectation.EXPECTED:
        return ResultStatus.KNOWN if how in FORESEEABLE else how
    return ResultStatus.FLAKY if judgement.confirmation == Confirmation.FLAKY else how


_OF_OUTCOMES: Final = {
    Outcome.CONFORMS: ResultStatus.PASSED,
    Outcome.LENIENT: ResultStatus.PASSED,
    Outcome.NOT_APPLICABLE: ResultStatus.SKIPPED,
    Outcome.INDETERMINATE: ResultStatus.INDETERMINATE,
    Outcome.DIVERGES: ResultStatus.FAILED,
    Outcome.HARNESS_ERROR: ResultStatus.ERROR,
}


RED = (ResultStatus.ERROR, ResultStatus.FAILED, ResultStatus.STALE, ResultStatus.INDETERMINATE)
"""Worst first; any of these makes a run red unless a policy decides otherwise."""
FORESEEABLE = (ResultStatus.FAILED, ResultStatus.INDETERMINATE, ResultStatus.FLAKY)
"""What an expectation entry can list as known."""
NEEDS_ATTENTION = (*RED, ResultStatus.FLAKY)
"""Worst first; reports that only show the unexpected show results of these statuses."""


def mark(judgement: Judgement | ResultMark) -> str:
    """Return the mark shown beside a result's outcome: its expectation, or `flaky`."""
    how = status_of(judgement)
    return ResultStatus.FLAKY.value if how is ResultStatus.FLAKY else judgement.expectation


MARKS = (*(each.value for each in Expectation), ResultStatus.FLAKY.value)
"""All marks."""


def shown(judgement: Judgement) -> str:
    """Return how often a result occurred, in words; empty if it did not have to be confirmed."""
    if judgement.confirmation in (Confirmation.NOT_REPEATED, Confirmation.CLEARED):
        return ""
    if judgement.attempt_count == 1:
        is_shown = judgement.confirmation == Confirmation.CONFIRMED
        return "its cause shown again" if is_shown else Confirmation.UNCONFIRMED.value
    return f"shown {judgement.shown_count} of {judgement.attempt_count}"


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


_CODES: Final = {
    ResultStatus.ERROR: ExitCode.HARNESS_ERROR,
    ResultStatus.FAILED: ExitCode.UNEXPECTED,
    ResultStatus.STALE: ExitCode.STALE,
    ResultStatus.INDETERMINATE: ExitCode.INDETERMINATE,
}


def exit_code(results: Sequence[Judgement], footer: RunFooter | None) -> ExitCode:
    """Return the exit code of a run with these results; without a footer it was cut short."""
    codes = (_CODES.get(status_of(each), ExitCode.EXPECTED) for each in results)
    applying = {_by_ending("" if footer is None else footer.ended), *codes}
    if all(each.outcome == Outcome.NOT_APPLICABLE for each in results) or any(
        each.delta == Delta.REMOVED for each in results
    ):
        applying.add(ExitCode.NOTHING_RAN)
    return worst(applying)


def worst(codes: Iterable[ExitCode]) -> ExitCode:
    """Return the code with the highest priority."""
    return min(codes, key=PRIORITY.index, default=ExitCode.EXPECTED)


def _by_ending(ended: str) -> ExitCode:
    if ended == ENDED_COMPLETE:
        return ExitCode.EXPECTED
    if ended.startswith(ENDED_INTERRUPTED):
        return ExitCode.INTERRUPTED
    return ExitCode.UNAVAILABLE if ended.startswith(TARGET_LOST) else ExitCode.BAD_DATA
