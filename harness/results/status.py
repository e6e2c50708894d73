"""How a result counts: the one mapping from judgement to status that every report and the exit code share.

Nothing is judged anew here. Reports show outcome and expectation wherever there is room for both. Formats
with only "passed" and "failed" (JUnit, Allure, an exit code) all use this mapping.
"""

from enum import StrEnum
from typing import Protocol, assert_never

from harness.verdict import Confirmation, Expectation, Outcome


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


class Judged(Protocol):
    """The fields that a status is computed from; judgements have them, and so do smaller stored results."""

    @property
    def outcome(self) -> str:
        """A `harness.verdict.Outcome`."""

    @property
    def expectation(self) -> str:
        """A `harness.verdict.Expectation`."""

    @property
    def confirmation(self) -> str:
        """A `harness.verdict.Confirmation`."""


class Shown(Protocol):
    """The fields that say how often a result occurred."""

    @property
    def confirmation(self) -> str:
        """A `harness.verdict.Confirmation`."""

    @property
    def shown_count(self) -> int:
        """The number of attempts in which the result occurred."""

    @property
    def attempt_count(self) -> int:
        """The number of attempts."""


def status_of(judgement: Judged) -> ResultStatus:
    """Return how a result counts."""
    outcome = Outcome(judgement.outcome)
    if outcome is Outcome.HARNESS_ERROR:
        return ResultStatus.ERROR
    if judgement.expectation == Expectation.STALE:
        return ResultStatus.STALE
    is_expected = judgement.expectation == Expectation.EXPECTED
    if judgement.confirmation == Confirmation.FLAKY and not is_expected:
        return ResultStatus.FLAKY
    return _of_outcome(outcome, is_expected=is_expected)


def _of_outcome(outcome: Outcome, *, is_expected: bool) -> ResultStatus:
    match outcome:
        case Outcome.CONFORMS | Outcome.LENIENT:
            return ResultStatus.PASSED
        case Outcome.NOT_APPLICABLE:
            return ResultStatus.SKIPPED
        case Outcome.INDETERMINATE:
            return ResultStatus.KNOWN if is_expected else ResultStatus.INDETERMINATE
        case Outcome.DIVERGES:
            return ResultStatus.KNOWN if is_expected else ResultStatus.FAILED
        case Outcome.HARNESS_ERROR:
            return ResultStatus.ERROR
        case _:
            assert_never(outcome)


RED = (ResultStatus.ERROR, ResultStatus.FAILED, ResultStatus.STALE, ResultStatus.INDETERMINATE)
"""Worst first; any of these makes a run red unless a policy decides otherwise."""
NEEDS_ATTENTION = (*RED, ResultStatus.FLAKY)
"""Worst first; reports that only show the unexpected show results of these statuses."""


def mark(judgement: Judged) -> str:
    """Return the mark shown beside a result's outcome: its expectation, or `flaky`."""
    how = status_of(judgement)
    return ResultStatus.FLAKY.value if how is ResultStatus.FLAKY else judgement.expectation


MARKS = (*(each.value for each in Expectation), ResultStatus.FLAKY.value)
"""All marks."""


def shown(judgement: Shown) -> str:
    """Return how often a result occurred, in words; empty if it did not have to be confirmed."""
    if judgement.confirmation in (Confirmation.NOT_REPEATED, Confirmation.CLEARED):
        return ""
    if judgement.attempt_count == 1:
        return Confirmation.UNCONFIRMED.value
    return f"shown {judgement.shown_count} of {judgement.attempt_count}"
