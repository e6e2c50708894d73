"""What one target is, and how many results of which kind it has."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from harness.diff.model import Judgement
from harness.results.status import ResultStatus, status_of
from harness.trace.embedded import drive_times
from harness.trace.events import RunFooter
from harness.trace.files import RunFolder
from harness.verdict import Expectation, Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetSummary:
    """A target and its results. Grain: run, target."""

    run_id: str
    target: str
    spec: str
    profile: str
    implementation: str
    oracle: str | None
    bootstrap: str
    broker_config: str
    """Kafka properties, JSON. Like all fields up to `start_ms`, from the target's first broker."""
    notes: tuple[str, ...]
    start_ms: float
    drive_ms: float | None
    """None if the run was cut short."""
    scenario_count: int
    conforms: int
    not_applicable: int
    lenient: int
    indeterminate: int
    diverges: int
    harness_error: int
    expected: int
    unexpected: int
    stale: int
    flaky: int
    """The number of unexpected results that did not occur again."""


def applicable_count(summary: TargetSummary) -> int:
    """Return how many scenarios were applicable to a target and did not end in a harness error."""
    return summary.scenario_count - summary.not_applicable - summary.harness_error


def target_summary(
    folder: RunFolder, target: str, judgements: Iterable[Judgement], footer: RunFooter | None
) -> TargetSummary:
    """Return the summary of a target's results; of several brokers, the first represents the target."""
    header = folder.read_headers(target)[0]
    theirs = [each for each in judgements if each.target == target]
    outcomes = Counter(each.outcome for each in theirs)
    expectations = Counter(each.expectation for each in theirs)
    drive_ms = {} if footer is None else drive_times(footer)
    return TargetSummary(
        run_id=header.run_id,
        target=target,
        spec=header.spec,
        profile=header.profile,
        implementation=header.implementation,
        oracle=header.oracle,
        bootstrap=header.bootstrap,
        broker_config=header.broker_config,
        notes=header.notes,
        start_ms=header.start_ms,
        drive_ms=drive_ms.get(target),
        scenario_count=len(theirs),
        flaky=sum(status_of(each) is ResultStatus.FLAKY for each in theirs),
        **{each.name.lower(): outcomes[each] for each in Outcome},
        **{each.name.lower(): expectations[each] for each in Expectation},
    )
