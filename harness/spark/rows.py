"""The rows of a report's tables: one class for each table, with the columns as fields in their order.

`verdict_matrix` has no class of its own: its rows are `harness.diff.model.Judgement`.
"""

from dataclasses import dataclass
from enum import StrEnum

from harness.diff.model import Difference


class ClauseStatus(StrEnum):
    """The result of a run for one row of the catalogue with one target."""

    DIFFERS = "differs"
    """A scenario that exercises the row diverges."""
    AGREED = "agreed"
    """Scenarios that exercise the row ran to a verdict, and none diverges."""
    UNCLEAR = "unclear"
    """No scenario that exercises the row ran to a verdict."""
    NOT_APPLICABLE = "not applicable"
    """No scenario that exercises the row could run on this target."""
    NOT_EXERCISED = "not exercised"
    """The run has no scenario for the row, although the row is not excluded."""
    EXCLUDED = "excluded"
    """The row is excluded, and no scenario exercises it."""


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
    request_count: int
    response_count: int
    """Excluding answers to polls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignedStep:
    """Corresponding events of target and oracle, side by side.

    Grain: run, target, scenario, step, occurrence. If a side has no corresponding event, all its columns are
    None, including `kind`.
    """

    run_id: str
    target: str
    oracle: str | None
    scenario_id: str
    step: int
    occurrence: int
    """From 0, in the order of the step's events on both sides together; polls are not counted."""
    answer: int | None
    """The answer's number in the step, from 0; None for an event that is not an answer."""
    actor: str | None
    api: str | None
    api_version: int | None
    oracle_sequence: int | None
    oracle_kind: str | None
    oracle_at_ms: float | None
    oracle_elapsed_ms: float | None
    oracle_raw: str | None
    oracle_fields: str | None
    oracle_canonical: str | None
    oracle_digest: str | None
    oracle_note: str | None
    target_sequence: int | None
    target_kind: str | None
    target_at_ms: float | None
    target_elapsed_ms: float | None
    target_raw: str | None
    target_fields: str | None
    target_canonical: str | None
    target_digest: str | None
    target_note: str | None
    is_different: bool
    """Whether there is an oracle, and kind, digest or (for a request) canonical fields differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteredDifference(Difference):
    """A difference with its cluster. Grain: run, target, scenario, ordinal."""

    cluster: str
    """Hash of API, version, class, field, expected and actual: the same for equal differences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceCount:
    """The number of differences of one class in one API. Grain: run, target, API, class."""

    run_id: str
    target: str
    api: str | None
    difference_class: str
    difference_count: int
    scenario_count: int
    finding_count: int
    """Differences that are not consequences of another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignatureCluster:
    """Equal differences, in whatever scenarios, targets and runs. Grain: cluster."""

    cluster: str
    api: str | None
    api_version: int | None
    difference_class: str
    field: str | None
    expected: str
    actual: str
    targets: tuple[str, ...]
    scenario_ids: tuple[str, ...]
    run_ids: tuple[str, ...]
    """These three lists are in alphabetical order, without duplicates."""
    finding_count: int
    first_run_id: str
    """The run that started first."""
    last_run_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyQuantile:
    """Quantiles of answer times, excluding polls. Grain: run, target, API, version."""

    run_id: str
    target: str
    api: str
    api_version: int
    response_count: int
    p50_ms: float
    p95_ms: float
    p99_ms: float
    max_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorCodeCount:
    """How often a target answered with an error code. Grain: run, target, API, version, code."""

    run_id: str
    target: str
    api: str
    api_version: int
    error_code: str
    """Kafka's name of the code."""
    response_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BehaviourChange:
    """A scenario that two neighbouring targets answer differently. Grain: run, scenario, pair of targets.

    Neighbours are consecutive targets in the order in which the run names them, leaving out references and
    targets on which the scenario could not run.
    """

    run_id: str
    scenario_id: str
    ordinal: int
    """The number of this change among the scenario's changes, from 0."""
    from_target: str
    to_target: str
    first_step: int
    """Where the two first differ; the fields below up to `to_canonical` are about this step."""
    actor: str | None
    api: str | None
    api_version: int | None
    fields: tuple[str, ...]
    """Top-level fields of the answer that differ; none if only one target answered."""
    from_kind: str | None
    to_kind: str | None
    """An `EventKind`, or None if the conversation had ended by then."""
    from_raw: str | None
    to_raw: str | None
    from_canonical: str | None
    to_canonical: str | None
    step_count: int
    """The number of answers in the whole conversation that differ."""
    from_outcome: str
    to_outcome: str
    is_explained: bool
    """Whether each of the two targets does as its oracle does, or as an expectation entry lists."""
    behaviours: tuple[str, ...]
    """Named behaviours that the change is attributed to; none if not examined, or if none was found."""
    sources: tuple[str, ...]
    """Where Kafka decides each of these behaviours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseCoverage:
    """The coverage of a row of the catalogue. Grain: run, target, clause."""

    run_id: str
    target: str
    clause: str
    section: str
    section_title: str
    statement: str
    derived: bool
    exclusion: str | None
    reason: str | None
    """Why the row is excluded; None if it is not."""
    standing: str
    """A `ClauseStatus`."""
    scenario_ids: tuple[str, ...]
    """The run's scenarios that name the row, in alphabetical order."""
    agreed_count: int
    """The number of these scenarios that conform or are lenient."""
    differing_count: int
    unclear_count: int
    """Indeterminate, or failed by a harness error."""
    not_applicable_count: int
