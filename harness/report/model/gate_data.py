"""A gate's decision as `gate.json` has it: written by the gate, read by pages."""

from collections import Counter
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from harness.report.model.cause_groups import alike
from harness.report.model.phrases import address, target_anchor
from harness.results.baseline import BaselineData
from harness.results.stored_data import ReportError, StoredData
from harness.trace.plain_files import read_plain

DECISION: Final = "gate.json"


class DifferenceData(StoredData):
    """The first difference of a result, independent of scenario and target."""

    api: str | None
    field: str | None
    expected: str
    actual: str
    noticed: str


class ComplaintData(StoredData):
    """One complaint."""

    kind: str
    exit_code: int = 0
    subject: str
    reason: str
    remedy: str
    scenario_id: str | None
    target: str | None
    signature: str | None
    difference: DifferenceData | None = None
    page: str | None = None
    """What shows the complaint, from the folder of the site, if it is not a scenario."""
    reproduction: str | None
    entry: str | None

    @property
    def href(self) -> str:
        """The address of the complaint's place on the site; empty if it is not about a result."""
        if self.page is not None or self.scenario_id is None or self.target is None:
            return self.page or ""
        return address(self.scenario_id, target_anchor(self.target))


class Rule(StoredData):
    """One rule of the policy, with the run's value and whether the rule is kept."""

    rule: str
    threshold: str
    value: str
    is_kept: bool


class DecisionData(StoredData):
    """A decision."""

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
    rules: tuple[Rule, ...] = ()
    complaints: tuple[ComplaintData, ...]
    passed_over: tuple[ComplaintData, ...]
    notes: tuple[str, ...]
    baseline: BaselineData | None = None

    @property
    def listed_results(self) -> str:
        """The numbers of results and of results of clients, in words."""
        return listed_results(self.result_count, self.client_result_count)

    @property
    def kinds(self) -> Counter[str]:
        """The number of complaints of each kind, in the order in which they are reported."""
        return Counter(each.kind for each in self.complaints)

    @property
    def grouped(self) -> tuple[tuple[ComplaintData, ...], ...]:
        """The complaints, grouped by kind and difference."""
        return alike(self.complaints, lambda each: each.difference and (each.kind, each.difference))

    @property
    def columns(self) -> tuple[str, ...]:
        """The statuses that occur, in the order of their first occurrence."""
        return tuple(dict.fromkeys(name for counts in self.standings.values() for name in counts))


def listed_results(count: int, of_clients: int) -> str:
    """Return the numbers of results, e.g. `12 results and 4 of clients`, or `4 results of clients`."""
    shown = count or of_clients
    results = "1 result" if shown == 1 else f"{shown} results"
    if not of_clients:
        return results
    return f"{results} and {of_clients} of clients" if count else f"{results} of clients"


def read_decision(folder: Path) -> DecisionData | None:
    """Return the decision in a folder; None if no gate has decided.

    Raises:
        ReportError: the file is not a decision.
    """
    path = folder / DECISION
    if not path.is_file():
        return None
    try:
        return DecisionData.model_validate_json(read_plain(path))
    except ValidationError as error:
        raise ReportError(f"{path} is not a gate's decision: {error}") from error
