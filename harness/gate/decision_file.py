"""A decision as data for pages and other programs: `gate.json`."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.diff.judge import TargetInfo
from harness.diff.model import Difference
from harness.gate.complaint import CODES, Complaint
from harness.gate.evaluate import Gated
from harness.gate.junit import junit
from harness.gate.policy import Policy
from harness.gate.rules import rules_of
from harness.gate.summary import markdown
from harness.gate.words import can_be_foreseen, entry_to_paste, three_lines
from harness.report.model.field_rows import readable
from harness.results.answer_impact import impact_of
from harness.trace.canonical import Json
from harness.trace.files import write_whole


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionFiles:
    """The files that a decision was written to."""

    data: Path
    summary: Path
    junit: Path


def write_decision(gated: Gated, directory: Path, *, policy: Policy) -> DecisionFiles:
    """Write a decision under a policy as JSON, Markdown and JUnit XML."""
    files = DecisionFiles(
        data=directory / "gate.json", summary=directory / "gate.md", junit=directory / "gate-junit.xml"
    )
    write_whole(files.data, json.dumps(decision_data(gated, policy), ensure_ascii=False, indent=2) + "\n")
    write_whole(files.summary, markdown(gated.decision, gated.infos))
    write_whole(files.junit, junit(gated))
    return files


def decision_data(gated: Gated, policy: Policy) -> dict[str, Json]:
    """Return a decision, and how the run fares under each rule of the policy, as JSON-like fields."""
    decision, infos = gated.decision, gated.infos
    return {
        "run_id": decision.run_id,
        "baseline_id": decision.baseline_id,
        "targets": list(decision.targets),
        "is_green": decision.is_green,
        "exit_code": decision.code.value,
        "exit_code_name": decision.code.name,
        "lines": list(three_lines(decision)),
        "result_count": decision.result_count,
        "client_result_count": decision.client_result_count,
        "standings": {
            target: {kind.value: count for kind, count in counts.items()}
            for target, counts in decision.standings.items()
        },
        "rules": [
            {"rule": each.rule, "threshold": each.threshold, "value": each.value, "is_kept": each.is_kept}
            for each in rules_of(decision, policy)
        ],
        "complaints": [_complaint_data(each, infos) for each in decision.complaints],
        "passed_over": [_complaint_data(each, infos) for each in decision.passed_over],
        "notes": list(decision.notes),
        "baseline": None if gated.baseline is None else gated.baseline.model_dump(),
    }


def _difference_data(difference: Difference | None) -> Json:
    """Return what differs, independent of scenario and target, and what a client notices of it."""
    if difference is None:
        return None
    return {
        "api": difference.api,
        "field": difference.field,
        "expected": readable(difference.expected),
        "actual": readable(difference.actual),
        "noticed": impact_of(difference),
    }


def _complaint_data(complaint: Complaint, infos: Mapping[str, TargetInfo]) -> dict[str, Json]:
    judgement = complaint.judgement
    entry = None
    if judgement is not None and can_be_foreseen(complaint):
        entry = entry_to_paste(judgement, infos[judgement.target])
    return {
        "kind": complaint.kind.value,
        "exit_code": CODES[complaint.kind].value,
        "subject": complaint.subject,
        "reason": complaint.reason,
        "remedy": complaint.remedy,
        "scenario_id": judgement.scenario_id if judgement else None,
        "target": judgement.target if judgement else None,
        "signature": judgement.signature if judgement else None,
        "difference": _difference_data(complaint.difference),
        "page": complaint.page or None,
        "reproduction": complaint.line or None,
        "entry": entry,
    }
