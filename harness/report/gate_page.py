"""The gate's decision as a page of the run's site, from the `gate.json` that the gate left in a folder."""

from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

from harness.report.errors import ReportError
from harness.report.names import scenario_page, target_anchor
from harness.report.pages import NAVIGATION, Pages

DECISION: Final = "gate.json"
PAGE: Final = "gate.html"
_COMPLAINT_COUNT_MAX: Final = 300
"""Complaints laid out; the file has all."""


class _Data(BaseModel):
    """Strict about what it needs; what a later gate adds is left alone."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class ComplaintData(_Data):
    """One complaint, as the gate wrote it."""

    kind: str
    subject: str
    reason: str
    remedy: str
    scenario_id: str | None
    target: str | None
    signature: str | None
    reproduction: str | None
    entry: str | None

    @property
    def href(self) -> str:
        """Where the site shows it; empty where it is about no scenario."""
        if self.scenario_id is None or self.target is None:
            return ""
        return f"{scenario_page(self.scenario_id)}#{target_anchor(self.target)}"


class RuleData(_Data):
    """One rule of the policy and how the run stands to it."""

    rule: str
    threshold: str
    value: str
    is_kept: bool


class DecisionData(_Data):
    """A decision, as the gate wrote it."""

    run_id: str
    baseline_id: str | None
    targets: tuple[str, ...]
    is_green: bool
    exit_code: int
    exit_code_name: str
    lines: tuple[str, ...]
    result_count: int
    standings: dict[str, dict[str, int]]
    complaints: tuple[ComplaintData, ...]
    passed_over: tuple[ComplaintData, ...]
    notes: tuple[str, ...]
    rules: tuple[RuleData, ...] = ()

    @property
    def kinds(self) -> dict[str, int]:
        """How many complaints there are of each kind, in the order in which they are told."""
        counts: dict[str, int] = {}
        for complaint in self.complaints:
            counts[complaint.kind] = counts.get(complaint.kind, 0) + 1
        return counts

    @property
    def columns(self) -> tuple[str, ...]:
        """The standings that occur, in the order of their first occurrence."""
        return tuple(dict.fromkeys(name for counts in self.standings.values() for name in counts))


def gate_page(folder: Path, pages: Pages) -> Path:
    """Write the page of the decision that a folder has, or that there is none.

    Raises:
        ReportError: the file is no decision.
    """
    path = folder / DECISION
    decision = None
    if path.is_file():
        try:
            decision = DecisionData.model_validate_json(path.read_bytes())
        except ValidationError as error:
            raise ReportError(f"{path} is no decision of a gate: {error}") from error
    return pages.write(
        PAGE,
        "gate.html.j2",
        decision=decision,
        has_site=(folder / "scenarios").is_dir(),
        complaint_count_max=_COMPLAINT_COUNT_MAX,
    )


def add_gate_page(folder: Path, run_id: str) -> Path:
    """Write the page of a decision that was just made; one of its run's pages where these are beside it."""
    has_site = (folder / "index.html").is_file()
    return gate_page(folder, Pages(folder, run_id, nav=NAVIGATION if has_site else ()))
