"""How a result counts: the one mapping from the checker's axes that every report and the exit code share.

It judges nothing anew. Outcome and expectation stay visible wherever there is room for both; where a format
knows only "passed" and "failed" (JUnit, Allure, an exit code), all of them ask here.
"""

from enum import StrEnum
from typing import Protocol, assert_never

from harness.verdict import Confirmation, Expectation, Outcome


class ResultStatus(StrEnum):
    """What a reader has to do about a result."""

    PASSED = "passed"
    """Nothing: it conforms, or only fields differ of which no client takes notice."""
    KNOWN = "known difference"
    """Nothing new: an expectation entry foresaw what happened."""
    SKIPPED = "not applicable"
    """Nothing: the target cannot be asked."""
    FLAKY = "flaky"
    """Nothing yet: it showed once and not again. A race does that as well as a machine that is too slow."""
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

    @property
    def confirmation(self) -> str:
        """A `harness.verdict.Confirmation`."""


class Shown(Protocol):
    """What tells how often a result showed."""

    @property
    def confirmation(self) -> str:
        """A `harness.verdict.Confirmation`."""

    @property
    def shown_count(self) -> int:
        """In how many attempts."""

    @property
    def attempt_count(self) -> int:
        """Of how many."""


def status_of(judgement: Judged) -> ResultStatus:
    """Say how a result counts."""
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
"""Worst first; any of these makes a run red, as long as no policy says otherwise."""
NEEDS_ATTENTION = (*RED, ResultStatus.FLAKY)
"""Worst first; a result of any of these is shown wherever only the unexpected is shown."""


def mark(judgement: Judged) -> str:
    """Name the mark of a result beside its outcome: its expectation, or that it is flaky."""
    how = status_of(judgement)
    return ResultStatus.FLAKY.value if how is ResultStatus.FLAKY else judgement.expectation


MARKS = (*(each.value for each in Expectation), ResultStatus.FLAKY.value)
"""All of them."""


def shown(judgement: Shown) -> str:
    """Say how often a result showed, where it was to show again; nothing where it was not."""
    if judgement.confirmation in (Confirmation.NOT_REPEATED, Confirmation.CLEARED):
        return ""
    if judgement.attempt_count == 1:
        return Confirmation.UNCONFIRMED.value
    return f"shown {judgement.shown_count} of {judgement.attempt_count}"
