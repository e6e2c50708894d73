"""What Allure calls things: statuses, severities, categories, and ids that say what is the same again."""

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
"""A known difference passes, marked as known: what is red every day is read by nobody.
What is flaky has neither passed nor failed."""

PINNED: Final = "pinned"
"""Grade: the script demands it of every release."""
AS_RELEASE: Final = "as the release"
"""Grade: what the reference does with the target's own profile."""
LENIENT: Final = "lenient"
"""Grade: no client should take notice."""
_SEVERITY_OF_GRADE: Final[Mapping[str, Severity]] = {
    PINNED: Severity.CRITICAL,
    AS_RELEASE: Severity.NORMAL,
    LENIENT: Severity.TRIVIAL,
}
_STOPS_CLIENTS: Final = (DifferenceClass.LIVENESS, DifferenceClass.ENCODING, DifferenceClass.STATE_LEAK)
"""Whatever the grade: a client waits in vain, cannot read the answer, or gets another group's."""

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
"""For Java's regular expressions, which match as a whole, and for JavaScript's, which lack a flag for it."""


def grade(finding: Difference) -> str:
    """Say how binding it is what a target departs from."""
    if finding.is_lenient:
        return LENIENT
    return PINNED if finding.against == "expectation" else AS_RELEASE


def severity(how: ResultStatus, finding: Difference | None) -> Severity:
    """Return a result's severity: by the grade of what it departs from, and the worst where clients stop."""
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
    """Return the line that Allure shows beside a result and sorts it by; nothing where all is well."""
    if how is ResultStatus.PASSED:
        return ""
    kind = f"[{difference_class}] " if how is ResultStatus.FAILED and difference_class else ""
    return f"{kind}{how.value}: {reason}"


def category(how: ResultStatus, difference_class: str | None) -> str | None:
    """Return the name of the category into which a result falls, if it needs one."""
    if how is ResultStatus.FAILED:
        return f"{_UNFORESEEN}: {difference_class}" if difference_class else None
    return _CATEGORY.get(how)


def allure_categories() -> list[dict[str, object]]:
    """Sort what is red by difference class, and everything else that needs a word by its standing."""
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
    """Return the id of a scenario, whatever the target."""
    return stable(scenario_id)


def history_id(target: str, scenario_id: str) -> str:
    """Return the id by which Allure 2 knows a scenario with a target again in another run."""
    return stable(f"{target}: {scenario_id}")


def later_history_id(target: str, scenario_id: str) -> str:
    """Return the id that Allure 3 makes for the same: of the case and the parameters that count."""
    return f"{stable(case_id(scenario_id))}.{stable(f'target:{target}')}"


def stable(*parts: str) -> str:
    """Return an id that is equal wherever the parts are."""
    return hashlib.md5("\0".join(parts).encode(errors="replace"), usedforsecurity=False).hexdigest()
