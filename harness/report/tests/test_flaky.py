"""What did not show again has a mark and a line of its own wherever results are told."""

from pathlib import Path

import pytest

from harness.diff.check import CheckedRun
from harness.diff.model import Attempt
from harness.pytest_plugin import report_judgement
from harness.report.allure.pages import AllureLevel
from harness.report.exports.terminal import rate_lines, rates
from harness.report.render import render_all
from harness.results.status import ExitCode, ResultStatus, exit_code, mark, shown, status_of
from harness.tests.report_reading import allure_results, junit_of, printed, summary_of
from harness.tests.report_run import FOOTER, JAVA, RUN_ID, difference, judgement, small_run
from harness.tests.site_reading import view_of
from harness.verdict import Confirmation, Expectation, Outcome

SCENARIO = "classic/race/seen-once"
FLAKY = judgement(
    SCENARIO,
    JAVA,
    "diverges",
    confirmation=Confirmation.FLAKY.value,
    shown_count=1,
    attempt_count=3,
    reason="step 3: error_code is NONE; shown 1 of 3",
)


def attempt(number: int, outcome: Outcome, *, was_run: bool = True, shows: bool = False) -> Attempt:
    return Attempt(
        causes=(),
        run_id=RUN_ID,
        target=JAVA,
        scenario_id=SCENARIO,
        attempt=number,
        was_run=was_run,
        shows=shows,
        outcome=outcome.value,
        expectation=Expectation.EXPECTED.value,
        reason="<because>",
        signature=None,
        first_step=None,
        event_count=12,
        duration_ms=40.0,
    )


@pytest.fixture(name="run_dir")
def _run_dir(tmp_path: Path) -> Path:
    made = small_run()
    made.add(FLAKY, (), difference(SCENARIO, JAVA))
    made.attempts += [attempt(1, Outcome.DIVERGES, shows=True), attempt(2, Outcome.CONFORMS)]
    made.attempts.append(attempt(3, Outcome.INDETERMINATE, was_run=False))
    return made.write(tmp_path / "run")


def test_a_flaky_result_is_not_red_and_not_passed() -> None:
    assert status_of(FLAKY) is ResultStatus.FLAKY
    assert (mark(FLAKY), shown(FLAKY)) == ("flaky", "shown 1 of 3")
    assert exit_code([FLAKY], FOOTER) is ExitCode.EXPECTED


@pytest.mark.parametrize("confirmation", [Confirmation.CONFIRMED, Confirmation.UNCONFIRMED])
def test_what_was_confirmed_or_could_not_be_is_red(confirmation: Confirmation) -> None:
    red = judgement(SCENARIO, JAVA, "diverges", confirmation=confirmation.value)
    assert (shown(red) == "unconfirmed") is (confirmation is Confirmation.UNCONFIRMED)
    assert status_of(red) is ResultStatus.FAILED
    assert exit_code([red], FOOTER) is ExitCode.UNEXPECTED


def test_an_entry_that_foresees_a_race_makes_it_a_known_difference() -> None:
    known = judgement(SCENARIO, JAVA, "diverges", confirmation="flaky", expectation="expected")
    assert status_of(known) is ResultStatus.KNOWN


def test_junit_counts_it_as_passed_and_tells_of_it(run_dir: Path) -> None:
    suite = junit_of(run_dir).find(f"testsuite[@name='{JAVA}']")
    assert suite is not None
    case = suite.find(f"testcase[@name='{SCENARIO}']")
    assert case is not None
    assert case.find("failure") is None
    reported = case.find("flakyFailure")
    assert reported is not None
    assert reported.get("message") == FLAKY.reason
    assert "shown 1 of 3" in (reported.text or "").splitlines()


def test_the_terminal_counts_it_in_a_column_and_a_line(run_dir: Path) -> None:
    text = printed(run_dir)
    assert "1 flaky result." in text
    assert f"flaky {SCENARIO} on {JAVA}, shown 1 of 3" in text


def test_markdown_has_a_column_and_a_heading_for_it(run_dir: Path) -> None:
    text = summary_of(run_dir)
    assert "| stale | flaky |" in text
    (heading,) = (line for line in text.splitlines() if line.startswith("### ") and "seen-once" in line)
    assert heading.endswith(": flaky, shown 1 of 3")


def test_allure_marks_it_flaky_and_neither_passed_nor_failed(run_dir: Path) -> None:
    made = allure_results(run_dir)[f"{JAVA}: {SCENARIO}"]
    assert made["status"] == "unknown"
    assert made["statusDetails"]["flaky"] is True
    assert made["statusDetails"]["message"].startswith("flaky: ")


def test_the_page_lists_the_attempts_and_foresees_the_race(run_dir: Path) -> None:
    render_all(run_dir, allure=AllureLevel.OFF)
    text = view_of(run_dir, SCENARIO)
    assert "flaky, shown 1 of 3" in text
    assert text.count("<td>not run</td>") == 1
    assert "&lt;because&gt;" in text
    assert "sometimes = true" in text
    assert "mark diverges flaky" in text


def test_rates_tell_the_worst_first() -> None:
    attempts = [attempt(1, Outcome.CONFORMS), attempt(2, Outcome.DIVERGES), attempt(3, Outcome.CONFORMS)]
    assert rates(attempts) == "diverges 1 of 3, conforms 2 of 3"


def test_rates_are_printed_of_what_varies_and_the_rest_is_counted() -> None:
    varying = (attempt(1, Outcome.CONFORMS), attempt(2, Outcome.DIVERGES, shows=True))
    checked = CheckedRun(judgements=(FLAKY,), differences=(), stale_entries=(), removed=(), attempts=varying)
    (line,) = rate_lines(checked)
    assert line.endswith(": diverges 1 of 2, conforms 1 of 2")


def test_pytest_tells_of_it_as_an_expected_failure() -> None:
    with pytest.raises(pytest.xfail.Exception, match="flaky: step 3"):
        report_judgement(FLAKY, "")
