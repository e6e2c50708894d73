"""JUnit XML: one test suite a target, one test case a scenario.

What a consumer of JUnit makes of a result follows from `ResultStatus`: an unexpected difference and a stale
expectation are failures, an indeterminate result and a fault of ours are errors, a known difference and an
inapplicable scenario are skipped, each told apart by `type` or message. A flaky result is a `flakyFailure` or
a `flakyError`, as Maven's Surefire writes what failed and then passed: the test case counts as passed.
"""

import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from harness.diff.model import Judgement
from harness.report.exports.clients import client_suites
from harness.report.model.escaping import in_xml
from harness.report.model.phrases import contrast, instant, place
from harness.report.model.run_data import Run
from harness.results.status import ResultStatus, shown, status_of
from harness.spark.rows import TargetSummary
from harness.verdict import Outcome

_ELEMENTS: Final = {
    ResultStatus.FAILED: ("failure", "unexpected-difference"),
    ResultStatus.STALE: ("failure", "unexpected-pass"),
    ResultStatus.INDETERMINATE: ("error", "inconclusive"),
    ResultStatus.ERROR: ("error", "harness-error"),
    ResultStatus.KNOWN: ("skipped", None),
    ResultStatus.SKIPPED: ("skipped", None),
}
"""Element and type a standing; a passed scenario has none, and a flaky one has one by its outcome."""


def write_junit(run_dir: Path) -> Path:
    """Write a run's results as JUnit XML and return the file."""
    return junit_of(Run.load(run_dir))


def junit_of(run: Run) -> Path:
    """Write the results of a run that was read."""
    root = ET.Element("testsuites", name="kafka-conformance")
    for summary in run.targets:
        judgements = [each for each in run.judgements if each.target == summary.target]
        root.append(_suite(run, summary, judgements))
    if run.clients is not None:
        root.extend(client_suites(run.clients))
    ET.indent(root)
    path = run.directory / "junit.xml"
    ET.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
    return path


def _suite(run: Run, summary: TargetSummary, judgements: Sequence[Judgement]) -> ET.Element:
    elements = Counter(name for name, _ in map(_element, judgements))
    suite = ET.Element(
        "testsuite",
        name=in_xml(summary.target),
        tests=str(len(judgements)),
        failures=str(elements["failure"]),
        errors=str(elements["error"]),
        skipped=str(elements["skipped"]),
        time=_seconds(summary.drive_ms or 0.0),
        timestamp=instant(run.header.started_at).removesuffix(" UTC").replace(" ", "T"),
    )
    _properties(
        suite,
        {"spec": summary.spec, "profile": summary.profile, "implementation": summary.implementation},
    )
    suite.extend(_case(run, judgement) for judgement in judgements)
    return suite


def _case(run: Run, judgement: Judgement) -> ET.Element:
    case = ET.Element(
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
    _properties(case, {name: value for name, value in properties.items() if value})
    how = status_of(judgement)
    name, kind = _element(judgement)
    if name:
        reported = ET.SubElement(case, name, message=in_xml(_message(judgement, how)))
        if kind is not None:
            reported.set("type", kind)
            reported.text = in_xml(_account(run, judgement))
    return case


def _element(judgement: Judgement) -> tuple[str, str | None]:
    """Return the element that tells of a result, and its type; an empty name where none does."""
    how = status_of(judgement)
    if how is ResultStatus.FLAKY:
        is_open = judgement.outcome == Outcome.INDETERMINATE
        return ("flakyError" if is_open else "flakyFailure", how.value)
    return _ELEMENTS.get(how, ("", None))


def _message(judgement: Judgement, how: ResultStatus) -> str:
    if how is ResultStatus.KNOWN:
        return " ".join(part for part in ("expected:", judgement.reason, judgement.link) if part)
    return judgement.reason or how.value


def _account(run: Run, judgement: Judgement) -> str:
    finding = run.first_difference(judgement)
    lines = [judgement.title, f"source: {judgement.source}"]
    if finding:
        lines += [f"first difference: {place(finding)}", contrast(finding)]
    return "\n".join([*lines, f"repeat: {run.repetition(judgement)}"])


def _properties(parent: ET.Element, properties: dict[str, str]) -> None:
    holder = ET.SubElement(parent, "properties")
    for name, value in properties.items():
        ET.SubElement(holder, "property", name=name, value=in_xml(value))


def _seconds(duration_ms: float) -> str:
    return f"{duration_ms / 1000:.3f}"
