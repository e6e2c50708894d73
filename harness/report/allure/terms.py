"""Allure's terms: statuses, severities, categories, and ids that stay the same from run to run."""

import hashlib
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from harness.diff.model import Judgement
from harness.results.answer_impact import audience
from harness.results.status import ResultStatus, status_of
from harness.verdict import DifferenceClass, Outcome


class AllureLevel(StrEnum):
    """How much of a run Allure gets."""

    OFF = "off"
    """Nothing."""
    LOOK = "look"
    """A result for all of a sub-suite that conforms, and one for each scenario that needs a look."""
    ALL = "all"
    """A result for each scenario, and the folder of results for another Allure."""


STATUS: Final[Mapping[ResultStatus, str]] = {
    ResultStatus.PASSED: "passed",
    ResultStatus.KNOWN: "passed",
    ResultStatus.SKIPPED: "skipped",
    ResultStatus.FLAKY: "unknown",
    ResultStatus.INDETERMINATE: "broken",
    ResultStatus.STALE: "failed",
    ResultStatus.FAILED: "failed",
    ResultStatus.ERROR: "broken",
}
"""A known difference passes and is marked as known: nobody reads a report that is red every day.
A flaky result has neither passed nor failed."""

CRITICAL: Final = "critical"
"""Severity of a claim about what members and producers are answered: if it is false, applications suffer."""
NORMAL: Final = "normal"
"""Severity of a claim about what no client of groups acts upon, such as brokers."""
MINOR: Final = "minor"
"""Severity of a claim about what only administrators' tools ask."""
SEVERITIES: Final = (CRITICAL, NORMAL, MINOR)
"""The most severe first."""

_TOOLS: Final = "admin"
_UNFORESEEN: Final = "Unexpected"
_LENIENT: Final = Outcome.LENIENT.value
_CATEGORY: Final[Mapping[str, tuple[str, str]]] = {
    ResultStatus.STALE.value: ("Stale expectations", STATUS[ResultStatus.STALE]),
    ResultStatus.FLAKY.value: ("Flaky", STATUS[ResultStatus.FLAKY]),
    ResultStatus.INDETERMINATE.value: ("Indeterminate", STATUS[ResultStatus.INDETERMINATE]),
    ResultStatus.ERROR.value: ("Harness errors", STATUS[ResultStatus.ERROR]),
    ResultStatus.KNOWN.value: ("Known differences", STATUS[ResultStatus.KNOWN]),
    _LENIENT: ("Lenient", STATUS[ResultStatus.PASSED]),
    ResultStatus.SKIPPED.value: ("Not applicable", STATUS[ResultStatus.SKIPPED]),
}
"""A category's name and Allure's status, by the beginning of a result's message."""
_ANYTHING: Final = r"[\s\S]*"
"""Matches any text: Java's expressions match the whole text, and JavaScript's `.` excludes new lines."""


def severity(apis: Iterable[str]) -> str:
    """Return how much a claim about some APIs weighs: by who would get a wrong answer if it were false.

    It does not depend on what a target did. So "did all that is critical pass?" has an answer.
    """
    asking = {who for api in apis for who in audience(api)}
    if asking - {_TOOLS}:
        return CRITICAL
    return MINOR if asking else NORMAL


def conforms(judgement: Judgement) -> bool:
    """Return whether nobody has to look at a result: it conforms, or cannot run on its target."""
    how = status_of(judgement)
    is_lenient = judgement.outcome == Outcome.LENIENT
    return how in (ResultStatus.PASSED, ResultStatus.SKIPPED) and not is_lenient


def message(judgement: Judgement, difference_class: str | None, cause: str) -> str:
    """Return the line that Allure groups results by and assigns categories by; empty if it conforms."""
    how = status_of(judgement)
    if how is ResultStatus.PASSED:
        return f"{_LENIENT}: {cause}" if judgement.outcome == Outcome.LENIENT else ""
    kind = f"[{difference_class}] " if how is ResultStatus.FAILED and difference_class else ""
    return f"{kind}{how.value}: {cause}"


def allure_categories() -> list[dict[str, object]]:
    """Return Allure's categories: unexpected differences by class, and other results by status."""
    matched = (
        *(
            (f"{_UNFORESEEN}: {each}", STATUS[ResultStatus.FAILED], f"\\[{each}\\]")
            for each in DifferenceClass
        ),
        *((name, status, f"{beginning}:") for beginning, (name, status) in _CATEGORY.items()),
    )
    return [
        {"name": name, "matchedStatuses": [status], "messageRegex": f"{beginning}{_ANYTHING}"}
        for name, status, beginning in matched
    ]


def stable(*parts: str) -> str:
    """Return an id that depends only on the parts."""
    return hashlib.md5("\0".join(parts).encode(errors="replace"), usedforsecurity=False).hexdigest()
