"""The records that a checker writes, and the comparison of judgements with those of an earlier run."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from harness.verdict import Confirmation, Delta, Expectation, Outcome, is_as_before

_COUNTED: Final = re.compile(
    r".*?(?P<field>generation_id|\w*(?<!leader_)(?<!producer_)epoch): expected a number, got .*"
)
"""The cause of another number in a field that shows how often a group has changed."""
_STATED: Final = re.compile(r".*?(?P<state>\bgroup_state: expected .*)")
"""The cause of another state of a group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One difference at one step. Grain: run, target, scenario, ordinal."""

    run_id: str
    target: str
    scenario_id: str
    ordinal: int
    """0 is the finding; the others are in the order of steps."""
    is_consequence: bool
    """Whether it may only follow from another one."""
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
    cause: str
    """What differs, without its place, in words: most likely one fault, wherever it shows."""
    is_lenient: bool
    """Whether the difference is in a field that clients should ignore."""
    event_sequence: int = -1
    """`sequence` of the target's event; -1 where nothing was recorded."""


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
    """Why: `observed`, and what an entry says of it."""
    observed: str
    """What was observed: the first difference in words, the missing capability, or why it broke off."""
    causes: tuple[str, ...]
    """The causes of its differences that neither are lenient nor follow from another, the finding's first."""
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
    """What was observed."""
    causes: tuple[str, ...]
    """As in a `Judgement`."""
    signature: str | None
    first_step: int | None
    event_count: int
    duration_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """The named behaviours that make two references answer a step of a scenario differently.

    Grain: run, scenario, pair of references, step that they answer differently.
    """

    run_id: str
    scenario_id: str
    from_oracle: str
    to_oracle: str
    step: int
    behaviours: tuple[str, ...]
    """Names from the reference's table, each of which alone changes the answer; in alphabetical order."""
    sources: tuple[str, ...]
    """Where Kafka implements each of them."""
    decisive: tuple[str, ...]
    """Those of the names that alone make each reference answer as the other does."""
    code: str
    """The digest of the code that found them: other code may find others."""


GOOD: Final = frozenset((Outcome.CONFORMS, Outcome.LENIENT, Outcome.NOT_APPLICABLE))
"""Outcomes that need no attention."""


@lru_cache(maxsize=1 << 12)
def wherever_shown(cause: str) -> str:
    """Return a cause as others are known beside it: that of a group's state or counter without its API.

    Where answers overtake a group's changes, chance decides which of them shows them, and how far it counts.
    """
    if counted := _COUNTED.fullmatch(cause):
        return f"{counted['field']}: another number"
    stated = _STATED.fullmatch(cause)
    return cause if stated is None else stated["state"]


def compared_with(
    judgements: Sequence[Judgement], baseline: Sequence[Judgement] | None
) -> tuple[tuple[Judgement, ...], tuple[Judgement, ...]]:
    """Set the delta of every judgement, from the baseline's judgement of the same scenario and target.

    The baseline's judgements of the same targets that are missing now come second.

    Of a result that diverges as before, which cause heads it is a matter of chance where the target's answers
    vary. It has changed if it has a cause that its target never had, or none that it had itself.
    """
    if baseline is None:
        return tuple(judgements), ()
    before = {(one.scenario_id, one.target): one for one in baseline}
    judged = {(one.scenario_id, one.target) for one in judgements}
    targets = {one.target for one in judgements}
    known = {name: _causes(one for one in baseline if one.target == name) for name in targets}

    def found(one: Judgement) -> Delta:
        earlier = before.get((one.scenario_id, one.target))
        since = delta(one, earlier)
        if earlier is None or not (one.outcome == earlier.outcome == Outcome.DIVERGES and one.causes):
            return since
        own = _causes([one])
        if since is Delta.SAME and not own <= known[one.target]:
            return Delta.CHANGED_SIGNATURE
        is_as_known = own <= known[one.target] and not own.isdisjoint(_causes([earlier]))
        return Delta.SAME if since is Delta.CHANGED_SIGNATURE and is_as_known else since

    return tuple(replace(one, delta=found(one).value) for one in judgements), tuple(
        replace(one, delta=Delta.REMOVED.value)
        for key, one in before.items()
        if key not in judged and one.target in targets
    )


def _causes(judgements: Iterable[Judgement]) -> frozenset[str]:
    return frozenset(wherever_shown(cause) for one in judgements for cause in one.causes)


def delta(now: Judgement, before: Judgement | None) -> Delta:
    """Return how a judgement differs from the baseline's."""
    if before is None:
        return Delta.ADDED
    if now.outcome in GOOD and before.outcome not in GOOD:
        return Delta.NEWLY_CONFORMING
    # A difference that was flaky in the baseline does not excuse one that is there every time.
    if now.outcome not in GOOD and (before.outcome in GOOD or (_is_flaky(before) and not _is_flaky(now))):
        return Delta.NEWLY_DIVERGING
    if is_as_before((now.outcome, now.signature), (before.outcome, before.signature)):
        return Delta.SAME
    return Delta.CHANGED_SIGNATURE


def _is_flaky(judgement: Judgement) -> bool:
    is_unexpected = judgement.expectation == Expectation.UNEXPECTED
    return is_unexpected and judgement.confirmation == Confirmation.FLAKY
