"""Changes from one version to the next, for other programs: `matrix.json`."""

import json
from pathlib import Path
from typing import Final

from harness.report.model.changes import Change, Changes, VersionChange
from harness.report.model.run_data import Run
from harness.trace.canonical import Json
from harness.trace.files import write_whole

FILE_NAME: Final = "matrix.json"


def write_changes_data(run_dir: Path) -> Path:
    """Write the changes as JSON, and return the file."""
    path = run_dir / FILE_NAME
    text = json.dumps(changes_data(Changes.of(Run.load(run_dir))), ensure_ascii=False, indent=2)
    write_whole(path, f"{text}\n")
    return path


def changes_data(changes: Changes) -> dict[str, Json]:
    """Return the changes, and the differences from the target that all are compared with, as JSON."""
    return {
        "run_id": changes.run.header.run_id,
        "command": changes.run.header.command,
        "against": changes.against,
        "targets": list(changes.run.header.targets),
        "scenario_count": len(changes.run.scripts),
        "changes": [_change(each) for each in changes.changes],
        "findings": [_finding(each) for each in changes.findings],
    }


def _change(change: Change) -> dict[str, Json]:
    row = change.row
    return {
        "scenario_id": row.scenario_id,
        "from_target": row.from_target,
        "to_target": row.to_target,
        "step": row.first_step,
        "api": row.api,
        "api_version": row.api_version,
        "contrasts": list(change.contrasts),
        "answer_count": row.step_count,
        "is_explained": row.is_explained,
        "behaviours": list(row.behaviours),
        "sources": list(row.sources),
        "from_outcome": row.from_outcome,
        "to_outcome": row.to_outcome,
        "from_raw": row.from_raw,
        "to_raw": row.to_raw,
        "reproduction": change.reproduction,
    }


def _finding(finding: VersionChange) -> dict[str, Json]:
    judgement = finding.judgement
    return {
        "scenario_id": judgement.scenario_id,
        "target": judgement.target,
        "against": judgement.oracle,
        "outcome": judgement.outcome,
        "expectation": judgement.expectation,
        "signature": judgement.signature,
        "place": finding.place,
        "told": finding.reported,
        "reproduction": finding.reproduction,
    }
