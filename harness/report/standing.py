"""How a result counts: the one mapping from the checker's axes that every report and the exit code share.

It judges nothing anew. Outcome and expectation stay visible wherever there is room for both; where a format
knows only "passed" and "failed" (JUnit, Allure, an exit code), all of them ask here.
"""

from enum import StrEnum
from typing import Protocol, assert_never

from harness.verdict import Expectation, Outcome


class Standing(StrEnum):
    """What a reader has to do about a result."""

    PASSED = "passed"
    """Nothing: it conforms, or only fields differ of which no client takes notice."""
    KNOWN = "known difference"
    """Nothing new: an expectation entry foresaw what happened."""
    SKIPPED = "not applicable"
    """Nothing: the target cannot be asked."""
    INDETERMINATE = "indeterminate"
    """Find out why the conversation ended before what it is about."""
    STALE = "stale expectation"
    """Remove or renew the entry that no longer fires."""
    FAILED = "unexpected difference"
    """Mend the target, or explain the difference in an entry."""
    ERROR = "harness error"
    """Mend the harness."""


class Judged(Protocol):
    """What a standing follows from; judgements have it, and so have results of which less is kept."""

    @property
    def outcome(self) -> str:
        """A `harness.verdict.Outcome`."""

    @property
    def expectation(self) -> str:
        """A `harness.verdict.Expectation`."""


def standing(judgement: Judged) -> Standing:
    """Say how a result counts."""
    outcome = Outcome(judgement.outcome)
    if outcome is Outcome.HARNESS_ERROR:
        return Standing.ERROR
    if judgement.expectation == Expectation.STALE:
        return Standing.STALE
    return _of_outcome(outcome, is_expected=judgement.expectation == Expectation.EXPECTED)


def _of_outcome(outcome: Outcome, *, is_expected: bool) -> Standing:
    match outcome:
        case Outcome.CONFORMS | Outcome.LENIENT:
            return Standing.PASSED
        case Outcome.NOT_APPLICABLE:
            return Standing.SKIPPED
        case Outcome.INDETERMINATE:
            return Standing.KNOWN if is_expected else Standing.INDETERMINATE
        case Outcome.DIVERGES:
            return Standing.KNOWN if is_expected else Standing.FAILED
        case Outcome.HARNESS_ERROR:
            return Standing.ERROR
        case _:
            assert_never(outcome)


NEEDS_ATTENTION = (Standing.ERROR, Standing.FAILED, Standing.STALE, Standing.INDETERMINATE)
"""Worst first; a result of any of these is shown wherever only the unexpected is shown."""
