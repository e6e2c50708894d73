"""A gate's decision as read from its `gate.json`, for pages."""

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
    """The first difference of a result, independent of scenario and target."""

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
    """The page of the site that shows the complaint, if it is not a scenario's page."""

    @property
    def href(self) -> str:
        """The link to the complaint's place on the site; empty if it is not about a result."""
        if self.page is not None or self.scenario_id is None or self.target is None:
            return self.page or ""
        return f"{scenario_page(self.scenario_id)}#{target_anchor(self.target)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComplaintGroup:
    """Complaints about results that differ in the same way, most likely from one cause."""

    first: ComplaintData
    others: tuple[ComplaintData, ...]


class RuleData(StoredData):
    """One rule of the policy, with the run's value and whether the rule is kept."""

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
        """The numbers of results and of results of clients, in words."""
        shown = self.result_count or self.client_result_count
        results = "1 result" if shown == 1 else f"{shown} results"
        if not self.client_result_count:
            return results
        more = f" and {self.client_result_count} of clients"
        return f"{results}{more}" if self.result_count else f"{results} of clients"

    @property
    def kinds(self) -> dict[str, int]:
        """The number of complaints of each kind, in the order in which they are reported."""
        counts: dict[str, int] = {}
        for complaint in self.complaints:
            counts[complaint.kind] = counts.get(complaint.kind, 0) + 1
        return counts

    @property
    def grouped(self) -> tuple[ComplaintGroup, ...]:
        """The complaints, grouped by kind and difference."""
        alike: dict[object, list[ComplaintData]] = {}
        for place, each in enumerate(self.complaints):
            key = (each.kind, each.difference.model_dump_json()) if each.difference else place
            alike.setdefault(key, []).append(each)
        return tuple(ComplaintGroup(first=first, others=tuple(others)) for first, *others in alike.values())

    @property
    def columns(self) -> tuple[str, ...]:
        """The statuses that occur, in the order of their first occurrence."""
        return tuple(dict.fromkeys(name for counts in self.standings.values() for name in counts))


def read_decision(folder: Path) -> DecisionData | None:
    """Return the decision in a folder; None if no gate has decided.

    Raises:
        ReportError: the file is not a decision.
    """
    path = folder / DECISION
    if not path.is_file():
        return None
    try:
        return DecisionData.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise ReportError(f"{path} is not a gate's decision: {error}") from error
