"""The rows of the tables that a report is made of: a class a table, its fields the columns in their order.

`verdict_matrix` has no class of its own: its rows are `harness.diff.model.Judgement`.
"""

from dataclasses import dataclass
from enum import StrEnum

from harness.diff.model import Difference


class ClauseStatus(StrEnum):
    """What a run says of one row of the catalogue with one target."""

    DIFFERS = "differs"
    """A scenario that exercises it diverges."""
    AGREED = "agreed"
    """Scenarios that exercise it ran, and none diverges."""
    UNCLEAR = "unclear"
    """None came to its end."""
    NOT_APPLICABLE = "not applicable"
    """None could be run on this target."""
    NOT_EXERCISED = "not exercised"
    """The run has no scenario for it, and one is due."""
    EXCLUDED = "excluded"
    """No scenario is to exercise it, and none does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetSummary:
    """What was driven and what came of it. Grain: run, target."""

    run_id: str
    target: str
    spec: str
    profile: str
    implementation: str
    oracle: str | None
    bootstrap: str
    broker_config: str
    """Of the target's first broker, as everything up to `start_ms`; Kafka properties, JSON."""
    notes: tuple[str, ...]
    start_ms: float
    drive_ms: float | None
    """None where the run was cut short."""
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
    """Of the unexpected ones, those that did not show again."""
    request_count: int
    response_count: int
    """Answers to a poll excepted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignedStep:
    """What target and oracle did, side by side.

    Grain: run, target, scenario, step, occurrence. A side on which nothing corresponds is None in all its
    columns, and its `kind` tells.
    """

    run_id: str
    target: str
    oracle: str | None
    scenario_id: str
    step: int
    occurrence: int
    """From 0, in the order of the step's events, both sides taken together; polls are not counted."""
    answer: int | None
    """From 0, which of the step's answers it is; None of what is no answer."""
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
    """Whether there is an oracle, and kind, digest or (of a request) canonical fields are not the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteredDifference(Difference):
    """A difference and the cluster of its like. Grain: run, target, scenario, ordinal."""

    cluster: str
    """Hash of API, version, class, field, expected and actual: equal wherever the same was seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceCount:
    """Differences of one class at one API. Grain: run, target, API, class."""

    run_id: str
    target: str
    api: str | None
    difference_class: str
    difference_count: int
    scenario_count: int
    finding_count: int
    """Those that are no consequence of another."""


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
    """These three in alphabetical order, each once."""
    finding_count: int
    first_run_id: str
    """The run that started first."""
    last_run_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyQuantile:
    """How long answers took, polls excepted. Grain: run, target, API, version."""

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
    """How often a target answered an error code. Grain: run, target, API, version, code."""

    run_id: str
    target: str
    api: str
    api_version: int
    error_code: str
    """Kafka's name of it."""
    response_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BehaviourChange:
    """A scenario that two neighbouring targets answer differently. Grain: run, scenario, pair of targets.

    Neighbours are targets in the order in which the run names them, references and those with which the
    scenario could not run left out.
    """

    run_id: str
    scenario_id: str
    ordinal: int
    """From 0: which change of this scenario it is; 0 is the first."""
    from_target: str
    to_target: str
    first_step: int
    """Where the two first differ; what follows tells of this step."""
    actor: str | None
    api: str | None
    api_version: int | None
    fields: tuple[str, ...]
    """Fields at the top of the answer in which they differ; none where only one of them answered."""
    from_kind: str | None
    to_kind: str | None
    """An `EventKind`, or None where the conversation had ended by then."""
    from_raw: str | None
    to_raw: str | None
    from_canonical: str | None
    to_canonical: str | None
    step_count: int
    """In how many answers they differ, all of the conversation taken together."""
    from_outcome: str
    to_outcome: str
    is_explained: bool
    """Whether each of the two does what it is compared with, or what an expectation entry foresaw."""
    behaviours: tuple[str, ...]
    """Named behaviours that the change is attributed to; none where nobody looked, or none was found."""
    sources: tuple[str, ...]
    """Where Kafka decides each of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseCoverage:
    """What became of a row of the catalogue. Grain: run, target, clause."""

    run_id: str
    target: str
    clause: str
    section: str
    section_title: str
    statement: str
    derived: bool
    exclusion: str | None
    reason: str | None
    """Why it is excluded; None where a scenario is due."""
    standing: str
    """A `ClauseStatus`."""
    scenario_ids: tuple[str, ...]
    """Scenarios of the run that name it, in alphabetical order."""
    agreed_count: int
    """Of them, those that conform or are lenient."""
    differing_count: int
    unclear_count: int
    """Indeterminate, or lost to an error of ours."""
    not_applicable_count: int
