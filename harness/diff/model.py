"""The records that a checker writes: alignments, differences, judgements, attempts, and attributions."""

from dataclasses import dataclass
from typing import TypeAlias

from harness.verdict import Confirmation

Cause: TypeAlias = tuple[str | None, str | None, str, str]
"""API, field, expected and actual value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One difference at one step. Grain: run, target, scenario, ordinal."""

    run_id: str
    target: str
    scenario_id: str
    ordinal: int
    """0 is the finding; its consequences have higher ordinals."""
    is_consequence: bool
    against: str
    """`expectation` of the script, or `reference`: the trace of the oracle."""
    step: int
    api: str | None
    api_version: int | None
    difference_class: str
    """A `harness.verdict.DifferenceClass`."""
    field: str | None
    """Path into the response, e.g. `members[0].assignment`; None where the whole answer differs."""
    expected: str
    """JSON for a value, a phrase for an event."""
    actual: str
    signature: str
    """Hash of scenario, step, API, version, class, field, expected and actual: equal in every run."""
    is_lenient: bool
    """Whether the difference is in a field that clients should ignore."""
    event_sequence: int = -1
    """`sequence` of the target's event; -1 where nothing was recorded."""

    @property
    def cause(self) -> Cause:
        """What differs, without the place; results for which this is equal most likely have one cause."""
        return (self.api, self.field, self.expected, self.actual)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """Which events of a target stand beside which of its oracle's. Grain: run, target, scenario.

    For a scenario that was run more than once: the attempt that gives the result, beside the oracle's first.
    """

    run_id: str
    target: str
    oracle: str | None
    """None for a reference, whose events have no counterparts."""
    scenario_id: str
    rows: str
    """JSON: a list of `[step, occurrence, answer, sequence, oracle sequence, is different]`, in their order.

    `occurrence` numbers a step's rows and `answer` its answers, from 0; `answer` is null for an event that is
    not an answer. A sequence is null on the side that has no such event. `is different` is 1 where there is
    an oracle, and kind, digest or (for a request) canonical fields differ.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The result of one scenario for one target. Grain: run, target, scenario."""

    run_id: str
    target: str
    oracle: str | None
    scenario_id: str
    title: str
    """The scenario's sentence."""
    suite: str
    """The first part of the id, e.g. `classic`."""
    apis: tuple[str, ...]
    clauses: tuple[str, ...]
    source: str
    outcome: str
    """A `harness.verdict.Outcome`."""
    expectation: str
    """A `harness.verdict.Expectation`."""
    delta: str
    """A `harness.verdict.Delta`."""
    reason: str
    """Why: the first difference in words, the missing capability, or the entry that foresaw it."""
    link: str | None
    """The link of the expectation entry that matched."""
    signature: str | None
    """The signature of the first difference."""
    first_step: int | None
    difference_count: int
    event_count: int
    duration_ms: float
    confirmation: str = Confirmation.NOT_REPEATED.value
    """A `harness.verdict.Confirmation`."""
    shown_count: int = 1
    """The number of attempts with this result."""
    attempt_count: int = 1
    """How often the scenario was run with the target."""
    attempt: int = 1
    """The attempt that the outcome, the signature and the differences are from; from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One of several attempts at a scenario. Grain: run, target, scenario, attempt.

    Only scenarios that were run more than once, or were to be, have attempts.
    """

    run_id: str
    target: str
    scenario_id: str
    attempt: int
    """From 1, in the order of running; later attempts ran alone with the target."""
    was_run: bool
    """Whether it was run; if not, `reason` contains why, and the other fields below mean nothing."""
    shows: bool
    """Whether it had the same result as the judgement."""
    outcome: str
    """A `harness.verdict.Outcome`; the next field is an `Expectation`."""
    expectation: str
    reason: str
    signature: str | None
    first_step: int | None
    event_count: int
    duration_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """The named behaviours that make two references answer a scenario differently.

    Grain: run, scenario, pair of references.
    """

    run_id: str
    scenario_id: str
    from_oracle: str
    to_oracle: str
    behaviours: tuple[str, ...]
    """Names from the reference's table, each of which alone changes the answers; in alphabetical order."""
    sources: tuple[str, ...]
    """Where Kafka implements each of them."""
