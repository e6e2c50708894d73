"""How a run stands to each rule of a policy."""

from harness.gate.decision_file import rules_of
from harness.gate.policy import Handling, Policy
from harness.report.model.gate_data import Complaint, Decision, Kind
from harness.results.status import ResultStatus

KAFKA = "kafka-4.4.0"


def decision(*complaints: Complaint, passed_over: tuple[Complaint, ...] = ()) -> Decision:
    return Decision(
        run_id="run",
        targets=(KAFKA,),
        baseline_id="earlier",
        complaints=complaints,
        passed_over=passed_over,
        notes=(),
        standings={
            KAFKA: {ResultStatus.PASSED: 7, ResultStatus.SKIPPED: 2},
            "reference-4.4.0": {ResultStatus.PASSED: 1},
        },
        ran={KAFKA: 7},
    )


def complaint(kind: Kind) -> Complaint:
    return Complaint(kind=kind, subject="a/b", reason="so it is")


def test_every_rule_is_kept_by_a_run_without_complaints() -> None:
    rules = list(rules_of(decision(), Policy()))
    assert all(rule.is_kept for rule in rules)
    ran = next(rule for rule in rules if rule.rule == "scenarios run on every target")
    assert (ran.threshold, ran.value) == ("at least 1", "7")


def test_a_broken_rule_says_how_much_is_red_and_how_much_was_let_pass() -> None:
    found = decision(
        complaint(Kind.NEW_DIFFERENCE),
        complaint(Kind.UNEXPECTED),
        passed_over=(complaint(Kind.UNEXPECTED),),
    )
    (broken,) = [rule for rule in rules_of(found, Policy()) if not rule.is_kept]
    assert (broken.threshold, broken.value) == ("none that earlier does not have too", "2, 1 let pass")


def test_what_only_warns_breaks_no_rule() -> None:
    policy = Policy.model_validate({"expectations": {"stale": Handling.WARN}})
    rules = rules_of(decision(passed_over=(complaint(Kind.STALE),)), policy)
    stale = next(rule for rule in rules if rule.rule == "stale expectations")
    assert (stale.threshold, stale.value, stale.is_kept) == ("any, with a warning", "0, 1 let pass", True)
