"""What a checker says: what stands side by side, differences, judgements, and what explains a change."""

from dataclasses import dataclass
from typing import TypeAlias

from harness.verdict import Confirmation

Cause: TypeAlias = tuple[str | None, str | None, str, str]
"""API, field, what was expected and what came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One difference at one step. Grain: run, target, scenario, ordinal."""

    run_id: str
    target: str
    scenario_id: str
    ordinal: int
    """0 is the finding; what follows from it has higher ordinals."""
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
    """JSON where it is a value, a phrase where it is an event."""
    actual: str
    signature: str
    """Hash of scenario, step, API, version, class, field, expected and actual: equal in every run."""
    is_lenient: bool
    """Whether no client should take notice of the field."""
    event_sequence: int = -1
    """`sequence` of the target's event that it is about; -1 where nothing is on record."""

    @property
    def cause(self) -> Cause:
        """What differs, without where: results of which it is equal most likely have one cause."""
        return (self.api, self.field, self.expected, self.actual)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """Which events of a target stand beside which of its oracle's. Grain: run, target, scenario.

    Of a scenario that was run more than once it is the attempt that the result is of, and the oracle's first.
    """

    run_id: str
    target: str
    oracle: str | None
    """None for a reference, of which each event stands alone."""
    scenario_id: str
    rows: str
    """JSON: a list of `[step, occurrence, answer, sequence, oracle sequence, is different]`, in their order.

    `occurrence` numbers a step's rows and `answer` its answers, from 0; of what is no answer it is null. A
    sequence is null on the side that has no such event. `is different` is 1 where there is an oracle, and
    kind, digest or (of a request) canonical fields are not the same.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What became of one scenario with one target. Grain: run, target, scenario."""

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
    """Of the expectation entry that matched."""
    signature: str | None
    """Of the first difference."""
    first_step: int | None
    difference_count: int
    event_count: int
    duration_ms: float
    confirmation: str = Confirmation.NOT_REPEATED.value
    """A `harness.verdict.Confirmation`."""
    shown_count: int = 1
    """In how many attempts the scenario came to this."""
    attempt_count: int = 1
    """How often it was run with the target."""
    attempt: int = 1
    """The attempt that the outcome, the signature and the differences are of; from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One of several attempts at a scenario. Grain: run, target, scenario, attempt.

    Only scenarios that were run more than once, or were to be, have any.
    """

    run_id: str
    target: str
    scenario_id: str
    attempt: int
    """From 1, in the order of running; later ones were alone with the target."""
    was_run: bool
    """Whether it was run; else the reason tells why not, and all that follows says nothing."""
    shows: bool
    """Whether it came to what the result says."""
    outcome: str
    """A `harness.verdict.Outcome`, as is the next of `Expectation`."""
    expectation: str
    reason: str
    signature: str | None
    first_step: int | None
    event_count: int
    duration_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """Which named behaviours make two references tell a scenario differently.

    Grain: run, scenario, pair of references.
    """

    run_id: str
    scenario_id: str
    from_oracle: str
    to_oracle: str
    behaviours: tuple[str, ...]
    """Names from the reference's table, each of which alone changes what is seen; in alphabetical order."""
    sources: tuple[str, ...]
    """Where Kafka decides each of them."""
