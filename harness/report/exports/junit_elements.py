"""JUnit's elements for results of scenarios and of client scripts.

The element follows from `ResultStatus`. Unexpected differences and stale expectations are failures,
indeterminate results and harness errors are errors, known differences and inapplicable scenarios are skipped;
`type` or message distinguishes them. A flaky result is a `flakyFailure` or `flakyError`, which Maven's
Surefire writes for a test that failed and then passed: the test case counts as passed.
"""

import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from harness.diff.model import Judgement
from harness.report.model.escaping import in_xml
from harness.results.status import ResultStatus, shown, status_of
from harness.verdict import Outcome

_ELEMENTS: Final = {
    ResultStatus.FAILED: ("failure", "unexpected-difference"),
    ResultStatus.STALE: ("failure", "unexpected-pass"),
    ResultStatus.INDETERMINATE: ("error", "inconclusive"),
    ResultStatus.ERROR: ("error", "harness-error"),
    ResultStatus.KNOWN: ("skipped", None),
    ResultStatus.SKIPPED: ("skipped", None),
}
"""Element and type by status; a passed result has none, and a flaky result's depends on its outcome."""


def suite(
    name: str,
    judgements: Sequence[Judgement],
    cases: Sequence[ET.Element],
    *,
    duration_ms: float,
    timestamp: str = "",
    properties: Mapping[str, str],
) -> ET.Element:
    """Return the test suite of one target, or of one target with one library."""
    elements = Counter(element for element, _ in map(_element, judgements))
    made = ET.Element(
        "testsuite",
        name=in_xml(name),
        tests=str(len(cases)),
        failures=str(elements["failure"]),
        errors=str(elements["error"]),
        skipped=str(elements["skipped"]),
        time=_seconds(duration_ms),
    )
    if timestamp:
        made.set("timestamp", timestamp)
    _properties(made, properties)
    made.extend(cases)
    return made


def case(judgement: Judgement, account: str) -> ET.Element:
    """Return the test case of one result.

    Args:
        judgement: the result.
        account: the text to report if it neither passed nor was skipped.
    """
    made = ET.Element(
        "testcase",
        classname=in_xml(judgement.scenario_id.rpartition("/")[0].replace("/", ".") or "scenario"),
        name=in_xml(judgement.scenario_id),
        time=_seconds(judgement.duration_ms),
    )
    properties = {
        "case_id": judgement.scenario_id,
        "clause": ", ".join(judgement.clauses),
        "source": judgement.source,
        "outcome": judgement.outcome,
        "expectation": judgement.expectation,
        "delta": judgement.delta,
        "signature": judgement.signature or "",
        "link": judgement.link or "",
        "confirmation": judgement.confirmation if judgement.attempt_count > 1 else "",
        "shown": shown(judgement),
    }
    _properties(made, {name: value for name, value in properties.items() if value})
    name, kind = _element(judgement)
    if name:
        reported = ET.SubElement(made, name, message=in_xml(_message(judgement)))
        if kind is not None:
            reported.set("type", kind)
            reported.text = in_xml(account)
    return made


def _element(judgement: Judgement) -> tuple[str, str | None]:
    """Return the name of a result's element, and its type; the name is empty if it has no element."""
    how = status_of(judgement)
    if how is ResultStatus.FLAKY:
        is_open = judgement.outcome == Outcome.INDETERMINATE
        return ("flakyError" if is_open else "flakyFailure", how.value)
    return _ELEMENTS.get(how, ("", None))


def _message(judgement: Judgement) -> str:
    how = status_of(judgement)
    if how is ResultStatus.KNOWN:
        return " ".join(part for part in ("expected:", judgement.reason, judgement.link) if part)
    return judgement.reason or how.value


def _properties(parent: ET.Element, properties: Mapping[str, str]) -> None:
    holder = ET.SubElement(parent, "properties")
    for name, value in properties.items():
        ET.SubElement(holder, "property", name=name, value=in_xml(value))


def _seconds(duration_ms: float) -> str:
    return f"{duration_ms / 1000:.3f}"
