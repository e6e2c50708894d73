"""JUnit XML of a run: a test suite for each target, a test case for each scenario or client script."""

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

from harness.diff.model import Judgement
from harness.report.exports.clients import client_suites
from harness.report.exports.junit_elements import case, suite
from harness.report.model.phrases import instant, place
from harness.report.model.run_data import Run
from harness.spark.rows import TargetSummary


def write_junit(run_dir: Path) -> Path:
    """Write a run's results as JUnit XML, and return the file."""
    return junit_of(Run.load(run_dir))


def junit_of(run: Run) -> Path:
    """Write the results of a loaded run as JUnit XML, and return the file."""
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
    return suite(
        summary.target,
        judgements,
        [case(each, _account(run, each)) for each in judgements],
        duration_ms=summary.drive_ms or 0.0,
        timestamp=instant(run.header.started_at).removesuffix(" UTC").replace(" ", "T"),
        properties={
            "spec": summary.spec,
            "profile": summary.profile,
            "implementation": summary.implementation,
        },
    )


def _account(run: Run, judgement: Judgement) -> str:
    finding = run.first_difference(judgement)
    lines = [judgement.title, f"source: {judgement.source}"]
    if finding:
        lines += [f"first difference: {place(finding)}", run.contrast(finding)]
    return "\n".join([*lines, f"repeat: {run.repetition(judgement)}"])
