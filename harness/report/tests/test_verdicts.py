"""How results count, and what the process says of them."""

from dataclasses import replace
from itertools import product

import pytest

from harness.diff.model import Judgement
from harness.results.status import PRIORITY, ExitCode, ResultStatus, exit_code, status_of, worst
from harness.tests.report_run import FOOTER, JAVA, judgement
from harness.verdict import Expectation, Outcome


def result(outcome: str, expectation: str) -> Judgement:
    return judgement("classic/join/x", JAVA, outcome, expectation=expectation)


@pytest.mark.parametrize(("outcome", "expectation"), list(product(Outcome, Expectation)))
def test_every_result_has_a_status(outcome: Outcome, expectation: Expectation) -> None:
    assert status_of(result(outcome, expectation)) in ResultStatus


@pytest.mark.parametrize(
    ("outcome", "expectation", "status", "code"),
    [
        ("conforms", "expected", ResultStatus.PASSED, ExitCode.EXPECTED),
        ("conforms", "stale", ResultStatus.STALE, ExitCode.STALE),
        ("lenient", "expected", ResultStatus.PASSED, ExitCode.EXPECTED),
        ("diverges", "expected", ResultStatus.KNOWN, ExitCode.EXPECTED),
        ("diverges", "unexpected", ResultStatus.FAILED, ExitCode.UNEXPECTED),
        ("diverges", "stale", ResultStatus.STALE, ExitCode.STALE),
        ("indeterminate", "unexpected", ResultStatus.INDETERMINATE, ExitCode.INDETERMINATE),
        ("indeterminate", "expected", ResultStatus.KNOWN, ExitCode.EXPECTED),
        ("not applicable", "expected", ResultStatus.SKIPPED, ExitCode.NOTHING_RAN),
        ("harness error", "expected", ResultStatus.ERROR, ExitCode.HARNESS_ERROR),
        ("harness error", "unexpected", ResultStatus.ERROR, ExitCode.HARNESS_ERROR),
    ],
)
def test_outcome_and_expectation_of_one_result_decide_its_status_and_the_exit_code(
    outcome: str, expectation: str, status: ResultStatus, code: ExitCode
) -> None:
    assert status_of(result(outcome, expectation)) is status
    assert exit_code([result(outcome, expectation)], FOOTER) is code


def test_a_run_of_nothing_is_red() -> None:
    assert exit_code([], FOOTER) is ExitCode.NOTHING_RAN


def test_a_scenario_that_vanished_since_the_baseline_is_red() -> None:
    gone = replace(result("conforms", "expected"), delta="removed")
    assert exit_code([gone], FOOTER) is ExitCode.NOTHING_RAN


def test_an_unexpected_difference_outweighs_indeterminate_and_stale_results() -> None:
    results = [
        result("conforms", "stale"),
        result("diverges", "unexpected"),
        result("indeterminate", "unexpected"),
    ]
    assert exit_code(results, FOOTER) is ExitCode.UNEXPECTED


@pytest.mark.parametrize(
    ("ended", "code"),
    [
        ("interrupted", ExitCode.INTERRUPTED),
        ("target lost: kafka-3.9.2 exited with 137", ExitCode.UNAVAILABLE),
        ("struck by lightning", ExitCode.BAD_DATA),
    ],
)
def test_how_a_run_ended_outweighs_its_differences(ended: str, code: ExitCode) -> None:
    assert exit_code([result("diverges", "unexpected")], replace(FOOTER, ended=ended)) is code


def test_a_run_without_a_footer_is_damaged_data() -> None:
    assert exit_code([result("conforms", "expected")], None) is ExitCode.BAD_DATA


def test_all_codes_but_usage_have_a_priority() -> None:
    assert set(PRIORITY) == set(ExitCode) - {ExitCode.USAGE}
    assert worst(()) is ExitCode.EXPECTED
