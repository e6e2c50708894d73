"""A gate's decision as its `gate.json` has it, which pages are made of."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from harness.report.model.names import scenario_page, target_anchor
from harness.results.baseline import BaselineData
from harness.results.errors import ReportError
from harness.results.stored_data import StoredData

DECISION: Final = "gate.json"


class DifferenceData(StoredData):
    """What differs first in a scenario, whichever and with whichever target it is."""

    api: str | None
    field: str | None
    expected: str
    actual: str
    noticed: str


class ComplaintData(StoredData):
    """One complaint, as the gate wrote it."""

    kind: str
    subject: str
    reason: str
    remedy: str
    scenario_id: str | None
    target: str | None
    signature: str | None
    difference: DifferenceData | None = None
    reproduction: str | None
    entry: str | None
    page: str | None = None
    """Where the site tells of it, where that is no scenario's page."""

    @property
    def href(self) -> str:
        """Where the site shows it; empty where it is about no result."""
        if self.page is not None or self.scenario_id is None or self.target is None:
            return self.page or ""
        return f"{scenario_page(self.scenario_id)}#{target_anchor(self.target)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComplaintGroup:
    """Complaints of results that differ in the same way, most likely for one cause."""

    first: ComplaintData
    others: tuple[ComplaintData, ...]


class RuleData(StoredData):
    """One rule of the policy and how the run stands to it."""

    rule: str
    threshold: str
    value: str
    is_kept: bool


class DecisionData(StoredData):
    """A decision, as the gate wrote it."""

    run_id: str
    baseline_id: str | None
    targets: tuple[str, ...]
    is_green: bool
    exit_code: int
    exit_code_name: str
    lines: tuple[str, ...]
    result_count: int
    client_result_count: int = 0
    standings: dict[str, dict[str, int]]
    complaints: tuple[ComplaintData, ...]
    passed_over: tuple[ComplaintData, ...]
    notes: tuple[str, ...]
    rules: tuple[RuleData, ...] = ()
    baseline: BaselineData | None = None

    @property
    def listed_results(self) -> str:
        """How many results there are, and how many of clients."""
        shown = self.result_count or self.client_result_count
        results = "1 result" if shown == 1 else f"{shown} results"
        if not self.client_result_count:
            return results
        more = f" and {self.client_result_count} of clients"
        return f"{results}{more}" if self.result_count else f"{results} of clients"

    @property
    def kinds(self) -> dict[str, int]:
        """How many complaints there are of each kind, in the order in which they are told."""
        counts: dict[str, int] = {}
        for complaint in self.complaints:
            counts[complaint.kind] = counts.get(complaint.kind, 0) + 1
        return counts

    @property
    def grouped(self) -> tuple[ComplaintGroup, ...]:
        """Its complaints, those of one kind together in which the same differs."""
        alike: dict[object, list[ComplaintData]] = {}
        for place, each in enumerate(self.complaints):
            key = (each.kind, each.difference.model_dump_json()) if each.difference else place
            alike.setdefault(key, []).append(each)
        return tuple(ComplaintGroup(first=first, others=tuple(others)) for first, *others in alike.values())

    @property
    def columns(self) -> tuple[str, ...]:
        """The standings that occur, in the order of their first occurrence."""
        return tuple(dict.fromkeys(name for counts in self.standings.values() for name in counts))


def read_decision(folder: Path) -> DecisionData | None:
    """Return the decision that a folder has; None where no gate has decided.

    Raises:
        ReportError: the file is no decision.
    """
    path = folder / DECISION
    if not path.is_file():
        return None
    try:
        return DecisionData.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise ReportError(f"{path} is not a gate's decision: {error}") from error
