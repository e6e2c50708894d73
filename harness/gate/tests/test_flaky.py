"""The gate lets pass what did not show again, unless the policy says otherwise, and names it."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from harness.diff.model import delta
from harness.gate.decision import entry_to_paste, three_lines
from harness.gate.decision_file import junit, rules_of, summary_of
from harness.gate.evaluate import Gated
from harness.gate.policy import Allow, Handling, Policy, load_policy
from harness.gate.tests.test_decision import INFOS, decided, many
from harness.report.model.gate_data import Kind
from harness.results.status import ExitCode
from harness.tests.report_run import JAVA, judgement
from harness.verdict import Confirmation, Delta

SCENARIO = "classic/race/seen-once"
FLAKY = judgement(
    SCENARIO, JAVA, "diverges", confirmation="flaky", shown_count=1, attempt_count=3, signature="0a1b2c3d4e5f"
)
RESULTS = [*many("conforms", 3), FLAKY]


def test_a_flaky_result_is_passed_over_and_named() -> None:
    decision = decided(RESULTS)
    assert decision.is_green
    assert [each.kind for each in decision.passed_over] == [Kind.FLAKY]
    lines = three_lines(decision)
    assert lines[-1] == f"flaky: {SCENARIO} on {JAVA}: did not show again"
    assert "| flaky |" in summary_of(decision)


def test_a_policy_can_make_it_red(tmp_path: Path) -> None:
    file = tmp_path / "gate.toml"
    file.write_text('[allow]\nflaky = "fail"\n')
    policy = load_policy(file)
    decision = decided(RESULTS, policy)
    assert decision.code is ExitCode.UNEXPECTED
    assert [each.kind for each in decision.complaints] == [Kind.FLAKY]
    (rule,) = (each for each in rules_of(decision, policy) if each.rule == "flaky results")
    assert not rule.is_kept


@pytest.mark.parametrize(
    ("handling", "element"), [(Handling.WARN, "flakyFailure"), (Handling.FAIL, "failure")]
)
def test_junit_says_what_the_gate_made_of_it(handling: Handling, element: str) -> None:
    decision = decided(RESULTS, Policy(allow=Allow(flaky=handling)))
    root = ET.fromstring(junit(Gated(decision=decision, judgements=tuple(RESULTS), infos=INFOS)))
    case = root.find(f".//testcase[@name='{SCENARIO}']")
    assert case is not None
    assert case.find(element) is not None


def test_the_entry_to_paste_is_that_of_a_race() -> None:
    assert "sometimes = true" in entry_to_paste(FLAKY, INFOS[JAVA])


def test_what_a_baseline_showed_once_excuses_nobody_who_shows_it_again() -> None:
    confirmed = judgement(
        SCENARIO, JAVA, "diverges", confirmation=Confirmation.CONFIRMED.value, signature=FLAKY.signature
    )
    assert delta(confirmed, FLAKY) is Delta.NEWLY_DIVERGING
    assert delta(FLAKY, FLAKY) is Delta.SAME
    assert delta(judgement(SCENARIO, JAVA), FLAKY) is Delta.NEWLY_CONFORMING
