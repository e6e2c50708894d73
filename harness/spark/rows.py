"""The rows of the tables that a report is made of: a class a table, its fields the columns in their order.

`verdict_matrix` has no class of its own: its rows are `harness.diff.model.Judgement`.
"""

from dataclasses import dataclass

from harness.diff.model import Difference


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
    request_count: int
    response_count: int
    """Answers to a poll excepted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignedStep:
    """What target and oracle did, side by side.

    Grain: run, target, scenario, step, occurrence, actor, connection. A side on which nothing corresponds
    is None in all its columns, and its `kind` tells.
    """

    run_id: str
    target: str
    oracle: str | None
    scenario_id: str
    step: int
    occurrence: int
    """From 0, in the order of the step's events; polls are not counted."""
    actor: str | None
    api: str | None
    api_version: int | None
    oracle_kind: str | None
    oracle_at_ms: float | None
    oracle_elapsed_ms: float | None
    oracle_raw: str | None
    oracle_fields: str | None
    oracle_canonical: str | None
    oracle_digest: str | None
    oracle_note: str | None
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
    """How often a target answered an error code at top level. Grain: run, target, API, version, code."""

    run_id: str
    target: str
    api: str
    api_version: int
    error_code: str
    """Kafka's name of it."""
    response_count: int
