"""The kinds of complaint that make a gate red, and the exit code of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from harness.diff.model import Difference, Judgement
from harness.report.model.cause_groups import alike
from harness.results.exit_code import ExitCode


class Kind(StrEnum):
    """The kind of a complaint, in the order in which complaints are reported."""

    CUT_SHORT = "cut short"
    HARNESS_ERROR = "harness error"
    TARGET_LOST = "target lost"
    NEW_DIFFERENCE = "new difference"
    """Unexpected, and the baseline conforms, was flaky, or lacks the result."""
    CHANGED_DIFFERENCE = "changed difference"
    """Unexpected, and different from the baseline's result, which does not conform either."""
    UNEXPECTED = "unexpected difference"
    NOTHING_RAN = "nothing ran"
    TARGET_MISSING = "required target missing"
    TOO_FEW = "too few scenarios"
    TOO_FEW_CONFORM = "too few conform"
    VANISHED = "vanished scenario"
    """The baseline ran it on this target, and this run did not."""
    INDETERMINATE = "indeterminate"
    FLAKY = "flaky"
    """Unexpected, and it did not occur again."""
    STALE = "stale expectation"
    EXPIRED = "expired expectation"


CODES: Final[Mapping[Kind, ExitCode]] = {
    Kind.CUT_SHORT: ExitCode.BAD_DATA,
    Kind.HARNESS_ERROR: ExitCode.HARNESS_ERROR,
    Kind.TARGET_LOST: ExitCode.UNAVAILABLE,
    Kind.NEW_DIFFERENCE: ExitCode.UNEXPECTED,
    Kind.CHANGED_DIFFERENCE: ExitCode.UNEXPECTED,
    Kind.UNEXPECTED: ExitCode.UNEXPECTED,
    Kind.NOTHING_RAN: ExitCode.NOTHING_RAN,
    Kind.TARGET_MISSING: ExitCode.NOTHING_RAN,
    Kind.TOO_FEW: ExitCode.NOTHING_RAN,
    Kind.TOO_FEW_CONFORM: ExitCode.NOTHING_RAN,
    Kind.VANISHED: ExitCode.NOTHING_RAN,
    Kind.INDETERMINATE: ExitCode.INDETERMINATE,
    Kind.FLAKY: ExitCode.UNEXPECTED,
    Kind.STALE: ExitCode.STALE,
    Kind.EXPIRED: ExitCode.STALE,
}
ORDER: Final = tuple(Kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Complaint:
    """One thing that makes a gate red, or would do so if the policy did not let it pass."""

    kind: Kind
    subject: str
    """What the complaint is about: a scenario on a target, a target, an entry, the run."""
    reason: str
    remedy: str = ""
    """What to do if there is no scenario to run again."""
    judgement: Judgement | None = None
    difference: Difference | None = None
    """The first difference, if a scenario differs."""
    line: str = ""
    """A command line that reproduces it, if the complaint is about a scenario or a client script."""
    page: str = ""
    """The page of the site that shows it."""


def by_cause(complaints: Sequence[Complaint]) -> tuple[tuple[Complaint, ...], ...]:
    """Group complaints by kind and cause; one without a difference is alone."""
    return alike(complaints, lambda each: each.difference and (each.kind, each.difference.cause))
