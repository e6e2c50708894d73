"""The rules of a policy, each with the result of a run under it."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from harness.gate.complaint import Kind
from harness.gate.decision import Decision
from harness.gate.policy import FailOn, Handling, Policy

_DIFFERENCES: Final = (Kind.NEW_DIFFERENCE, Kind.CHANGED_DIFFERENCE, Kind.UNEXPECTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule of a policy."""

    rule: str
    threshold: str
    value: str
    is_kept: bool


def rules_of(decision: Decision, policy: Policy) -> tuple[Rule, ...]:
    """Return, for every rule, its threshold, the run's value, and whether the rule is kept."""
    return tuple(_rules(decision, policy))


def _rules(decision: Decision, policy: Policy) -> Iterator[Rule]:
    red = Counter(each.kind for each in decision.complaints)
    passed = Counter(each.kind for each in decision.passed_over)

    def rule(name: str, threshold: str, *kinds: Kind) -> Rule:
        broken, let_pass = (sum(of[kind] for kind in kinds) for of in (red, passed))
        value = f"{broken}, {let_pass} let pass" if let_pass else str(broken)
        return Rule(rule=name, threshold=threshold, value=value, is_kept=not broken)

    cut_short = bool(red[Kind.CUT_SHORT])
    yield Rule(
        rule="came to its end", threshold="yes", value="no" if cut_short else "yes", is_kept=not cut_short
    )
    yield rule("harness errors", "none", Kind.HARNESS_ERROR)
    yield rule("targets lost", "none", Kind.TARGET_LOST)
    yield rule("unexpected differences", _of_differences(decision, policy), *_DIFFERENCES)
    share = policy.allow.indeterminate_share
    threshold = f"at most {100 * share:g} % of what was run" if share else "none"
    yield rule("indeterminate results", threshold, Kind.INDETERMINATE)
    yield rule("flaky results", _handled(policy.allow.flaky), Kind.FLAKY)
    yield Rule(
        rule="scenarios run on every target",
        threshold=f"at least {policy.require.scenario_count_min}",
        value=f"{_run_at_least(decision)}",
        is_kept=not (red[Kind.NOTHING_RAN] or red[Kind.TOO_FEW]),
    )
    if policy.require.targets:
        yield rule("required targets", ", ".join(policy.require.targets), Kind.TARGET_MISSING)
    if decision.baseline_id:
        yield rule("vanished scenarios", _handled(policy.baseline.vanished), Kind.VANISHED)
    yield rule("stale expectations", _handled(policy.expectations.stale), Kind.STALE)
    yield rule("expired expectations", _handled(policy.expectations.expired), Kind.EXPIRED)


def _run_at_least(decision: Decision) -> int:
    """Return the smallest number of results of any target; scenarios that could not run do not count."""
    return min(decision.ran.values(), default=0)


def _of_differences(decision: Decision, policy: Policy) -> str:
    if decision.baseline_id and policy.baseline.fail_on is FailOn.NEW:
        return f"none that {decision.baseline_id} does not have too"
    return "none"


def _handled(handling: Handling) -> str:
    return "none" if handling is Handling.FAIL else "any, with a warning"
