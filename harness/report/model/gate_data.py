"""A gate's decision as `gate.json` has it: written by the gate, read by pages."""

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final, Self

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
    """The kind of a complaint with its exit code, in the order in which complaints are reported."""

    code: ExitCode

    def __new__(cls, words: str, code: ExitCode) -> Self:
        """Keep the code beside the words, which are the value."""
        kind = str.__new__(cls, words)
        kind._value_, kind.code = words, code
        return kind

    CUT_SHORT = "cut short", ExitCode.BAD_DATA
    HARNESS_ERROR = "harness error", ExitCode.HARNESS_ERROR
    TARGET_LOST = "target lost", ExitCode.UNAVAILABLE
    NEW_DIFFERENCE = "new difference", ExitCode.UNEXPECTED
    """Unexpected, and the baseline conforms, was flaky, or lacks the result."""
    CHANGED_DIFFERENCE = "changed difference", ExitCode.UNEXPECTED
    """Unexpected, and different from the baseline's result, which does not conform either."""
    UNEXPECTED = "unexpected difference", ExitCode.UNEXPECTED
    NOTHING_RAN = "nothing ran", ExitCode.NOTHING_RAN
    TARGET_MISSING = "required target missing", ExitCode.NOTHING_RAN
    TOO_FEW = "too few scenarios", ExitCode.NOTHING_RAN
    TOO_FEW_CONFORM = "too few conform", ExitCode.NOTHING_RAN
    VANISHED = "vanished scenario", ExitCode.NOTHING_RAN
    """The baseline ran it on this target, and this run did not."""
    INDETERMINATE = "indeterminate", ExitCode.INDETERMINATE
    FLAKY = "flaky", ExitCode.UNEXPECTED
    """Unexpected, and it did not occur again."""
    STALE = "stale expectation", ExitCode.STALE
    EXPIRED = "expired expectation", ExitCode.STALE


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
    reproduction: str | None = None
    """A command line that reproduces it, if the complaint is about a scenario or a client script."""
    entry: str | None = None
    """How to list a difference as known."""
    judgement: Judgement | None = Field(default=None, exclude=True)
    """The result that it is about; not written."""

    @property
    def href(self) -> str:
        """The address of the complaint's place on the site; empty if it is not about a result."""
        return result_address(self.scenario_id, self.target) if self.scenario_id and self.target else ""


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
        return worst(each.kind.code for each in self.complaints)

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
