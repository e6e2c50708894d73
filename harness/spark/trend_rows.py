"""The rows of the tables that are made of many runs: a class a table, its fields the columns."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictCell:
    """What became of a scenario. Grain: run, target, scenario. When a run began, `RunTotal` tells."""

    run_id: str
    target: str
    scenario_id: str
    outcome: str
    expectation: str
    signature: str | None
    first_step: int | None
    difference_count: int
    duration_ms: float
    confirmation: str
    shown_count: int
    attempt_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTotal:
    """What a target came to in one run. Grain: run, target."""

    run_id: str
    started_at: str
    target: str
    harness_version: str
    harness_commit: str | None
    scenario_digest: str
    ended: str | None
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
    duration_ms: float
    """Of all conversations together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstDifference:
    """Where a conversation first goes otherwise than its oracle's. Grain: run, target, scenario."""

    run_id: str
    target: str
    oracle: str
    scenario_id: str
    step: int
    occurrence: int
    actor: str | None
    api: str | None
    api_version: int | None
    oracle_kind: str | None
    """An `EventKind`, or None where nothing corresponds."""
    target_kind: str | None
    oracle_error_codes: tuple[str, ...]
    target_error_codes: tuple[str, ...]
    differing_count: int
    """Answers that differ, all of the conversation taken together."""
    outcome: str | None
    """Of the judgement; one that conforms differs by what the oracle declares right too."""
    signature: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SignatureAge:
    """Since when equal differences are seen, until when, and how widely. Grain: cluster."""

    cluster: str
    api: str | None
    api_version: int | None
    difference_class: str
    field: str | None
    expected: str
    actual: str
    first_run_id: str
    first_seen_at: str
    last_run_id: str
    last_seen_at: str
    run_count: int
    age: int
    """Runs from the first that has it to the newest of all, both counted."""
    runs_since: int
    """Runs after the last that has it; 0 where the newest has it."""
    target_count: int
    scenario_count: int
    targets: tuple[str, ...]
    scenario_ids: tuple[str, ...]
    difference_count: int
    finding_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstChangedVersion:
    """The first version that goes otherwise than the oldest. Grain: scenario, family of targets.

    Of each target the newest run counts. What its oracle declares right too is no change.
    """

    scenario_id: str
    family: str
    """The targets' name without the version, e.g. `kafka-`."""
    oldest_target: str
    last_same_target: str
    """The one before the first change."""
    first_changed_target: str
    first_changed_run_id: str
    newest_target: str
    target_count: int
    change_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDelta:
    """A result that is not what it was in the run before of the same target. Grain: run, target, scenario."""

    run_id: str
    prior_run_id: str
    target: str
    scenario_id: str
    delta: str
    """A `Delta`, other than `same` and `no baseline`."""
    is_flaky: bool
    """Whether a result changed though scripts, harness and target are the same."""
    outcome: str | None
    """None where the scenario was removed."""
    prior_outcome: str | None
    """None where it was added."""
    signature: str | None
    prior_signature: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FlakeRate:
    """How often a result changes by itself. Grain: target, scenario."""

    target: str
    scenario_id: str
    run_count: int
    failing_count: int
    pair_count: int
    """Neighbouring runs with the same scripts, harness and target."""
    flip_count: int
    """Of these, those with different outcomes or signatures."""
    flake_rate: float | None
    """None where there is no such pair."""
    last_flip_run_id: str | None
    flaky_count: int
    """Runs in which the result showed once and not again."""
    shown_count: int
    """Of all attempts of the runs that made several, those that came to the run's result."""
    attempt_count: int
    """All these attempts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerCoverage:
    """What scenarios of a clause were answered. Grain: clause, API, version, error code."""

    clause: str
    api: str
    api_version: int
    error_code: str
    """Kafka's name; empty where an answer has no error code."""
    scenario_count: int
    target_count: int
    answer_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorConfusion:
    """Which error codes stood where others were due. Grain: target, API, version, both lists of codes."""

    target: str
    api: str | None
    api_version: int | None
    oracle_error_codes: str
    """All codes in the oracle's answer, joined by commas; what stood there instead where none answered."""
    target_error_codes: str
    is_equal: bool
    answer_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyTrend:
    """How long answers took over all runs, polls excepted. Grain: target, API, version.

    Quantiles are exact to a thousandth of their rank.
    """

    target: str
    api: str
    api_version: int
    response_count: int
    p50_ms: float
    p95_ms: float
    p99_ms: float
    max_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TimingMargin:
    """How far within its bound an answer came. Grain: target, scenario, step, bound."""

    target: str
    scenario_id: str
    step: int
    bound: str
    """`not before` or `not after`."""
    limit_ms: float
    """The narrowest of all runs."""
    answer_count: int
    missed_count: int
    least_margin_ms: float
    """Negative where an answer was out of bounds."""
    median_margin_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowScenario:
    """One of a target's slowest scenarios. Grain: target, scenario."""

    target: str
    place: int
    """From 1, the slowest by its median first."""
    scenario_id: str
    run_count: int
    median_ms: float
    max_ms: float
    slowest_run_id: str
