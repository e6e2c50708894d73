"""A decision as JUnit XML: a suite for each target, a case for each of its results, and a suite for the run.

Failures here are what the gate found red; `junit.xml` beside this file shows what the checker found.
"""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence
from typing import Final

from harness.diff.model import Judgement
from harness.gate.complaint import Complaint, Kind
from harness.gate.evaluate import Gated
from harness.gate.words import can_be_foreseen, entry_to_paste, next_step
from harness.results.status import ResultStatus, shown, status_of
from harness.verdict import Outcome

_ERRORS: Final = frozenset((Kind.HARNESS_ERROR, Kind.INDETERMINATE, Kind.CUT_SHORT, Kind.TARGET_LOST))
_NO_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot contain at all, escaped or not."""


def junit(gated: Gated) -> str:
    """Return a decision as JUnit XML."""
    decision = gated.decision
    red = {
        (each.judgement.target, each.judgement.scenario_id): each
        for each in reversed(decision.complaints)
        if each.judgement is not None
    }
    root = ET.Element("testsuites", name="kafka-conformance gate")
    for target in decision.standings:
        cases = [each for each in gated.judgements if each.target == target]
        root.append(
            _suite(target, [_case(each, red.get((target, each.scenario_id)), gated) for each in cases])
        )
    of_run = [each for each in decision.complaints if each.judgement is None]
    root.append(_suite("gate", [_own_case(gated, of_run), *_further(gated, of_run)]))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True)


def _suite(name: str, cases: Sequence[ET.Element]) -> ET.Element:
    def count(tag: str) -> str:
        return str(sum(case.find(tag) is not None for case in cases))

    suite = ET.Element(
        "testsuite",
        name=_text(name),
        tests=str(len(cases)),
        failures=count("failure"),
        errors=count("error"),
        skipped=count("skipped"),
    )
    suite.extend(cases)
    return suite


def _case(judgement: Judgement, complaint: Complaint | None, gated: Gated) -> ET.Element:
    case = ET.Element(
        "testcase",
        classname=_text(judgement.scenario_id.rpartition("/")[0].replace("/", ".") or "scenario"),
        name=_text(judgement.scenario_id),
        time=f"{judgement.duration_ms / 1000:.3f}",
    )
    properties = {
        "outcome": judgement.outcome,
        "expectation": judgement.expectation,
        "delta": judgement.delta,
        "signature": judgement.signature or "",
        "link": judgement.link or "",
        "shown": shown(judgement),
    }
    holder = ET.SubElement(case, "properties")
    for name, value in properties.items():
        if value:
            ET.SubElement(holder, "property", name=name, value=_text(value))
    if complaint is not None:
        _tell(case, complaint, gated)
    elif status_of(judgement) is ResultStatus.FLAKY:
        tag = "flakyError" if judgement.outcome == Outcome.INDETERMINATE else "flakyFailure"
        ET.SubElement(case, tag, message=_text(judgement.reason), type=ResultStatus.FLAKY.value)
    elif status_of(judgement) is not ResultStatus.PASSED:
        ET.SubElement(case, "skipped", message=_text(f"{status_of(judgement)}: {judgement.reason}"))
    return case


def _own_case(gated: Gated, complaints: Sequence[Complaint]) -> ET.Element:
    """Return a case for the run itself, so that a refused run never has a file with only passed cases."""
    case = ET.Element("testcase", classname="gate", name="the run can be decided on")
    if complaints:
        _tell(case, complaints[0], gated)
    return case


def _further(gated: Gated, complaints: Sequence[Complaint]) -> Iterable[ET.Element]:
    for each in complaints[1:]:
        case = ET.Element("testcase", classname="gate", name=_text(f"{each.kind}: {each.subject}"))
        _tell(case, each, gated)
        yield case


def _tell(case: ET.Element, complaint: Complaint, gated: Gated) -> None:
    tag = "error" if complaint.kind in _ERRORS else "failure"
    reported = ET.SubElement(
        case, tag, message=_text(complaint.reason), type=complaint.kind.replace(" ", "-")
    )
    lines = [f"{complaint.kind}: {complaint.subject}", complaint.reason, next_step(complaint)]
    judgement = complaint.judgement
    if judgement is not None and can_be_foreseen(complaint):
        lines += ["", entry_to_paste(judgement, gated.infos[judgement.target])]
    reported.text = _text("\n".join(lines))


def _text(value: str) -> str:
    """Return a text with the characters that XML cannot contain written as escapes."""
    return _NO_XML.sub(lambda found: f"\\u{ord(found.group()):04x}", value)
