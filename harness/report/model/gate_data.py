"""A gate's decision as `gate.json` has it: written by the gate, read by pages."""

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final

from pydantic import Field, TypeAdapter

from harness.diff.model import Difference, Judgement
from harness.report.model.cause_groups import alike
from harness.report.model.field_rows import readable
from harness.report.model.phrases import counted, result_address
from harness.results.baseline import BaselineData
from harness.results.client_impact import impact_of
from harness.results.status import ExitCode, ResultStatus, worst
from harness.results.stored_data import StoredData, read_whole

DECISION: Final = "gate.json"


class Kind(StrEnum):
    """The kind of a complaint, in the order in which complaints are reported."""

    CUT_SHORT = "cut short"
    HARNESS_ERROR = "harness error"
    TARGET_LOST = "target lost"
    NEW_DIFFERENCE = "new difference"
    """Unexpected, and the baseline conforms, was flaky, or lacks the result."""
    CHANGED_DIFFERENCE = "changed difference"
    """Unexpected, and different from the baseline's result, which does not conform either."""
    UNEXPECTED = "unexpected difference"
    NOTHING_RAN = "nothing ran"
    TARGET_MISSING = "required target missing"
    TOO_FEW = "too few scenarios"
    TOO_FEW_CONFORM = "too few conform"
    VANISHED = "vanished scenario"
    """The baseline ran it on this target, and this run did not."""
    INDETERMINATE = "indeterminate"
    FLAKY = "flaky"
    """Unexpected, and it did not occur again."""
    STALE = "stale expectation"
    EXPIRED = "expired expectation"


CODES: Final[Mapping[Kind, ExitCode]] = {
    Kind.CUT_SHORT: ExitCode.BAD_DATA,
    Kind.HARNESS_ERROR: ExitCode.HARNESS_ERROR,
    Kind.TARGET_LOST: ExitCode.UNAVAILABLE,
    Kind.NEW_DIFFERENCE: ExitCode.UNEXPECTED,
    Kind.CHANGED_DIFFERENCE: ExitCode.UNEXPECTED,
    Kind.UNEXPECTED: ExitCode.UNEXPECTED,
    Kind.NOTHING_RAN: ExitCode.NOTHING_RAN,
    Kind.TARGET_MISSING: ExitCode.NOTHING_RAN,
    Kind.TOO_FEW: ExitCode.NOTHING_RAN,
    Kind.TOO_FEW_CONFORM: ExitCode.NOTHING_RAN,
    Kind.VANISHED: ExitCode.NOTHING_RAN,
    Kind.INDETERMINATE: ExitCode.INDETERMINATE,
    Kind.FLAKY: ExitCode.UNEXPECTED,
    Kind.STALE: ExitCode.STALE,
    Kind.EXPIRED: ExitCode.STALE,
}


def shown_difference(difference: Difference) -> Mapping[str, str | None]:
    """Return the first difference of a result as pages show it, independent of scenario and target."""
    return {
        "api": difference.api,
        "field": difference.field,
        "expected": readable(difference.expected),
        "actual": readable(difference.actual),
        "noticed": impact_of(difference),
    }


class Complaint(StoredData):
    """One thing that makes a gate red, or would do so if the policy did not let it pass."""

    kind: Kind
    subject: str
    """What the complaint is about: a scenario on a target, a target, an entry, the run."""
    reason: str
    remedy: str = ""
    """What to do if there is no scenario to run again."""
    scenario_id: str | None = None
    target: str | None = None
    signature: str | None = None
    cause: str | None = None
    difference: Mapping[str, str | None] | None = None
    """The first difference, if a scenario differs."""
    page: str | None = None
    """What shows the complaint, from the folder of the site, if it is not a scenario."""
    reproduction: str | None = None
    """A command line that reproduces it, if the complaint is about a scenario or a client script."""
    entry: str | None = None
    """How to list a difference as known."""
    judgement: Judgement | None = Field(default=None, exclude=True)
    """The result that it is about; not written."""

    @property
    def href(self) -> str:
        """The address of the complaint's place on the site; empty if it is not about a result."""
        if self.page is not None or self.scenario_id is None or self.target is None:
            return self.page or ""
        return result_address(self.scenario_id, self.target)


class Rule(StoredData):
    """One rule of the policy, with the run's value and whether the rule is kept."""

    rule: str
    threshold: str
    value: str
    is_kept: bool


class Decision(StoredData):
    """A gate's decision on a run."""

    run_id: str
    targets: tuple[str, ...]
    baseline_id: str | None = None
    complaints: tuple[Complaint, ...]
    """What is red, worst first."""
    passed_over: tuple[Complaint, ...] = ()
    """What the policy lets pass."""
    notes: tuple[str, ...] = ()
    standings: Mapping[str, Mapping[ResultStatus, int]] = Field(default_factory=dict)
    """By target, or target and library: how many of the results that count have each status."""
    ran: Mapping[str, int] = Field(default_factory=dict, exclude=True)
    """By requested target that counts: how many scenarios, or else client scripts, were run on it."""
    conforming: Mapping[str, int] = Field(default_factory=dict, exclude=True)
    """Likewise: how many of these conform."""
    lines: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    baseline: BaselineData | None = None

    @property
    def code(self) -> ExitCode:
        """The exit code of the process."""
        return worst((ExitCode.EXPECTED, *(CODES[each.kind] for each in self.complaints)))

    @property
    def is_green(self) -> bool:
        """Whether there are no complaints."""
        return not self.complaints

    @property
    def result_count(self) -> int:
        """How many results of the run's targets count; those of client scripts are among them."""
        theirs = [of for name, of in self.standings.items() if name in self.targets or ", " in name]
        return sum(sum(of.values()) for of in theirs)

    @property
    def listed_results(self) -> str:
        """The same in words."""
        return counted(self.result_count, "result")

    @property
    def kinds(self) -> Counter[str]:
        """The number of complaints of each kind, in the order in which they are reported."""
        return Counter(each.kind for each in self.complaints)

    @property
    def grouped(self) -> tuple[tuple[Complaint, ...], ...]:
        """The complaints, grouped by kind and cause."""
        return by_cause(self.complaints)

    @property
    def columns(self) -> tuple[str, ...]:
        """The statuses that occur, in the order of their first occurrence."""
        return tuple(dict.fromkeys(name for counts in self.standings.values() for name in counts))


def by_cause(complaints: Iterable[Complaint]) -> tuple[tuple[Complaint, ...], ...]:
    """Group complaints by kind and cause; one without a cause is alone."""
    return alike(complaints, lambda each: each.cause and (each.kind, each.cause))


def read_decision(folder: Path) -> Decision | None:
    """Return the decision in a folder; None if no gate has decided.

    Raises:
        TraceError: the file is not a decision.
    """
    path = folder / DECISION
    return read_whole(TypeAdapter(Decision), path) if path.is_file() else None
