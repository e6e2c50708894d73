"""Allure's terms: statuses, severities, categories, and ids that stay the same from run to run."""

import hashlib
from collections.abc import Mapping
from typing import Final

from allure_commons.model2 import Status
from allure_commons.types import Severity

from harness.diff.model import Difference
from harness.results.status import ResultStatus
from harness.verdict import DifferenceClass

STATUS: Final[Mapping[ResultStatus, str]] = {
    ResultStatus.PASSED: Status.PASSED,
    ResultStatus.KNOWN: Status.PASSED,
    ResultStatus.SKIPPED: Status.SKIPPED,
    ResultStatus.FLAKY: Status.UNKNOWN,
    ResultStatus.INDETERMINATE: Status.BROKEN,
    ResultStatus.STALE: Status.FAILED,
    ResultStatus.FAILED: Status.FAILED,
    ResultStatus.ERROR: Status.BROKEN,
}
"""A known difference passes and is marked as known: nobody reads a report that is red every day.
A flaky result has neither passed nor failed."""

PINNED: Final = "pinned"
"""Grade: the script demands this behaviour of every release."""
AS_RELEASE: Final = "as the release"
"""Grade: the reference shows this behaviour with the target's own profile."""
LENIENT: Final = "lenient"
"""Grade: clients should not notice the difference."""
_SEVERITY_OF_GRADE: Final[Mapping[str, Severity]] = {
    PINNED: Severity.CRITICAL,
    AS_RELEASE: Severity.NORMAL,
    LENIENT: Severity.TRIVIAL,
}
_STOPS_CLIENTS: Final = (DifferenceClass.LIVENESS, DifferenceClass.ENCODING, DifferenceClass.STATE_LEAK)
"""Of any grade, these stop clients: they wait in vain, cannot read the answer, or get another group's."""

_UNFORESEEN: Final = "Unexpected"
_CATEGORY: Final[Mapping[ResultStatus, str]] = {
    ResultStatus.STALE: "Stale expectations",
    ResultStatus.FLAKY: "Flaky",
    ResultStatus.INDETERMINATE: "Indeterminate",
    ResultStatus.ERROR: "Harness errors",
    ResultStatus.KNOWN: "Known differences",
    ResultStatus.SKIPPED: "Not applicable",
}
_ANYTHING: Final = r"[\s\S]*"
"""Matches any text: Java's expressions match the whole text, and JavaScript's `.` excludes new lines."""


def grade(finding: Difference) -> str:
    """Return how binding the behaviour is that a target departs from."""
    if finding.is_lenient:
        return LENIENT
    return PINNED if finding.against == "expectation" else AS_RELEASE


def severity(how: ResultStatus, finding: Difference | None) -> Severity:
    """Return a result's severity: by its grade, but the worst if the difference stops clients."""
    if how is ResultStatus.ERROR:
        return Severity.BLOCKER
    if how is ResultStatus.STALE:
        return Severity.MINOR
    if finding is None:
        return Severity.NORMAL
    if finding.difference_class in _STOPS_CLIENTS and not finding.is_lenient:
        return Severity.BLOCKER
    return _SEVERITY_OF_GRADE[grade(finding)]


def message(how: ResultStatus, difference_class: str | None, reason: str) -> str:
    """Return the line that Allure shows beside a result and assigns categories by; empty if it passed."""
    if how is ResultStatus.PASSED:
        return ""
    kind = f"[{difference_class}] " if how is ResultStatus.FAILED and difference_class else ""
    return f"{kind}{how.value}: {reason}"


def category(how: ResultStatus, difference_class: str | None) -> str | None:
    """Return the name of a result's category; None if it has none."""
    if how is ResultStatus.FAILED:
        return f"{_UNFORESEEN}: {difference_class}" if difference_class else None
    return _CATEGORY.get(how)


def allure_categories() -> list[dict[str, object]]:
    """Return Allure's categories: unexpected differences by class, and other results by status."""
    matched = (
        *(
            (category(ResultStatus.FAILED, each), ResultStatus.FAILED, f"\\[{each.value}\\]")
            for each in DifferenceClass
        ),
        *((name, how, f"{how.value}:") for how, name in _CATEGORY.items()),
    )
    return [
        {"name": name, "matchedStatuses": [STATUS[how]], "messageRegex": f"{beginning}{_ANYTHING}"}
        for name, how, beginning in matched
    ]


def case_id(scenario_id: str) -> str:
    """Return the id of a scenario, which is the same for all targets."""
    return stable(scenario_id)


def history_id(target: str, scenario_id: str) -> str:
    """Return the id by which Allure 2 recognises a scenario on a target in another run."""
    return stable(f"{target}: {scenario_id}")


def later_history_id(target: str, scenario_id: str) -> str:
    """Return the id that Allure 3 makes for a scenario on a target, from the case and its parameters."""
    return f"{stable(case_id(scenario_id))}.{stable(f'target:{target}')}"


def stable(*parts: str) -> str:
    """Return an id that depends only on the parts."""
    return hashlib.md5("\0".join(parts).encode(errors="replace"), usedforsecurity=False).hexdigest()
