"""JUnit XML: one test suite a target, one test case a scenario.

What a consumer of JUnit makes of a result follows from `Standing`: an unexpected difference and a stale
expectation are failures, an indeterminate result and a fault of ours are errors, a known difference and an
inapplicable scenario are skipped, each told apart by `type` or message.
"""

import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from harness.diff.model import Judgement
from harness.report.clients_exports import client_suites
from harness.report.phrases import contrast, instant, place
from harness.report.run_data import Run
from harness.report.spelling import in_xml
from harness.report.standing import Standing, standing
from harness.spark.rows import TargetSummary

_ELEMENTS: Final = {
    Standing.FAILED: ("failure", "unexpected-difference"),
    Standing.STALE: ("failure", "unexpected-pass"),
    Standing.INDETERMINATE: ("error", "inconclusive"),
    Standing.ERROR: ("error", "harness-error"),
    Standing.KNOWN: ("skipped", None),
    Standing.SKIPPED: ("skipped", None),
}
"""Element and type a standing; a passed scenario has none."""


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
    elements = Counter(_ELEMENTS.get(standing(each), ("", None))[0] for each in judgements)
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
    }
    _properties(case, {name: value for name, value in properties.items() if value})
    how = standing(judgement)
    if how in _ELEMENTS:
        name, kind = _ELEMENTS[how]
        told = ET.SubElement(case, name, message=in_xml(_message(judgement, how)))
        if kind is not None:
            told.set("type", kind)
            told.text = in_xml(_account(run, judgement))
    return case


def _message(judgement: Judgement, how: Standing) -> str:
    if how is Standing.KNOWN:
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
