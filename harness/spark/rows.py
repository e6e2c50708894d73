"""The rows of an archive that have no other record class, and those of the tables over many runs."""

from dataclasses import dataclass
from typing import Final

from harness.trace.clause import Clause
from harness.trace.events import TraceHeader

ARCHIVE: Final = "runs"
"""Name of the archive's folder, beside those of the runs."""
OF_LIBRARY: Final = -1
"""The ordinal of a target with a library; its `config_digest` is of the scripts and the library's version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerHeader(TraceHeader):
    """A trace header and its ordinal among its target's headers. Grain: run, target, broker configuration."""

    broker_ordinal: int
    """From 0, in the order in which the brokers were started; or `OF_LIBRARY`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunClause(Clause):
    """A row of the catalogue at the time of a run. Grain: run, clause."""

    run_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The summary of one conversation. Grain: run, target, scenario."""

    run_id: str
    target: str
    scenario_id: str
    oracle: str | None
    conversation: str
    """Digest of all answers in their order; conversations with equal digests need not be compared further."""
    oracle_conversation: str | None
    """The digest of the oracle's in the same run; None without an oracle, or if either did not run."""
    is_held: bool
    """Whether the scenario ran on the target; false if it was not applicable or the harness failed."""
    outcome: str | None
    """From its judgement, as is `signature`; None if it was not judged."""
    signature: str | None
    event_count: int
    answer_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came where a script awaited an answer. Grain: conversation, step, occurrence."""

    step: int
    occurrence: int
    """From 0, in the order of the step's answers."""
    actor: str | None
    connection: str | None
    kind: str
    """One of `ANSWER_KINDS`."""
    api: str | None
    api_version: int | None
    error_codes: tuple[str, ...]
    """Every distinct `error_code` in the answer, at any depth; Kafka's names in alphabetical order."""
    digest: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictCell:
    """The result of a scenario. Grain: run, target, scenario. `RunTotal` contains the start times of runs."""

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
    """The totals of a target's results in one run. Grain: run, target."""

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
    """The number of unexpected results that did not occur again."""
    duration_ms: float
    """The total over all conversations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstDifference:
    """Where a conversation first differs from its oracle's. Grain: run, target, scenario."""

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
    """An `EventKind`, or None if there is no corresponding event."""
    target_kind: str | None
    oracle_error_codes: tuple[str, ...]
    target_error_codes: tuple[str, ...]
    differing_count: int
    """The number of answers that differ in the whole conversation."""
    outcome: str | None
    """The judgement's outcome; if it conforms, the difference is one that the oracle accepts as right."""
    signature: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseAge:
    """When one cause first and last showed, and how widely. Grain: cause."""

    cause: str
    api: str | None
    difference_class: str
    first_run_id: str
    first_seen_at: str
    last_run_id: str
    last_seen_at: str
    run_count: int
    age: int
    """The number of runs from the first with the difference to the newest of all, inclusive."""
    runs_since: int
    """The number of runs after the last with the difference; 0 if the newest run has it."""
    target_count: int
    scenario_count: int
    targets: tuple[str, ...]
    scenario_ids: tuple[str, ...]
    difference_count: int
    finding_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstChangedVersion:
    """The first version that behaves differently from the oldest. Grain: scenario, family of targets.

    Each target is represented by its newest run. Answers that its oracle accepts as right are not changes.
    """

    scenario_id: str
    family: str
    """The targets' names without the version, e.g. `kafka-`."""
    oldest_target: str
    last_same_target: str
    """The target before the first change."""
    first_changed_target: str
    first_changed_run_id: str
    newest_target: str
    target_count: int
    change_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDelta:
    """A result that changed since the same target's previous run. Grain: run, target, scenario."""

    run_id: str
    prior_run_id: str
    target: str
    scenario_id: str
    delta: str
    """A `Delta`, other than `same` and `no baseline`."""
    is_flaky: bool
    """Whether the result changed although scripts, harness and target are the same."""
    outcome: str | None
    """None if the scenario was removed."""
    prior_outcome: str | None
    """None if the scenario was added."""
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
    """The number of pairs of consecutive runs with the same scripts, harness and target."""
    flip_count: int
    """The number of these pairs with different outcomes or signatures."""
    flake_rate: float | None
    """None if there are no such pairs."""
    last_flip_run_id: str | None
    flaky_count: int
    """The number of runs in which the result occurred once and not again."""
    shown_count: int
    """The number of attempts that had the run's result, over all runs that made several attempts."""
    attempt_count: int
    """The number of all attempts in these runs."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorConfusion:
    """The count of a pair of oracle's and target's error codes. Grain: target, API, version, both lists."""

    target: str
    api: str | None
    api_version: int | None
    oracle_error_codes: str
    """All codes in the oracle's answer, joined by commas; without an answer, the kind of event instead."""
    target_error_codes: str
    is_equal: bool
    answer_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyQuantile:
    """Quantiles of answer times, excluding polls. Grain: target, API, version.

    Over many runs, quantiles have an error of at most a thousandth in rank.
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
class SlowScenario:
    """One of a target's slowest scenarios. Grain: target, scenario."""

    target: str
    place: int
    """From 1, ordered by median, the slowest first."""
    scenario_id: str
    run_count: int
    median_ms: float
    max_ms: float
    slowest_run_id: str
