"""How results count, and what the process says of them."""

from dataclasses import replace
from itertools import product

import pytest

from harness.diff.model import Judgement
from harness.results.exit_code import PRIORITY, ExitCode, exit_code, worst
from harness.results.status import ResultStatus, status_of
from harness.tests.report_run import FOOTER, JAVA, judgement
from harness.verdict import Expectation, Outcome


def result(outcome: str, expectation: str) -> Judgement:
    return judgement("classic/join/x", JAVA, outcome, expectation=expectation)


@pytest.mark.parametrize(("outcome", "expectation"), list(product(Outcome, Expectation)))
def test_every_result_has_a_status(outcome: Outcome, expectation: Expectation) -> None:
    assert status_of(result(outcome, expectation)) in ResultStatus


@pytest.mark.parametrize(
    ("outcome", "expectation", "expected"),
    [
        ("conforms", "expected", ResultStatus.PASSED),
        ("conforms", "stale", ResultStatus.STALE),
        ("lenient", "expected", ResultStatus.PASSED),
        ("diverges", "expected", ResultStatus.KNOWN),
        ("diverges", "unexpected", ResultStatus.FAILED),
        ("diverges", "stale", ResultStatus.STALE),
        ("indeterminate", "unexpected", ResultStatus.INDETERMINATE),
        ("indeterminate", "expected", ResultStatus.KNOWN),
        ("not applicable", "expected", ResultStatus.SKIPPED),
        ("harness error", "expected", ResultStatus.ERROR),
    ],
)
def test_status_follows_from_outcome_and_expectation(
    outcome: str, expectation: str, expected: ResultStatus
) -> None:
    assert status_of(result(outcome, expectation)) is expected


@pytest.mark.parametrize(
    ("outcome", "expectation", "code"),
    [
        ("conforms", "expected", ExitCode.EXPECTED),
        ("lenient", "expected", ExitCode.EXPECTED),
        ("diverges", "expected", ExitCode.EXPECTED),
        ("diverges", "unexpected", ExitCode.UNEXPECTED),
        ("conforms", "stale", ExitCode.STALE),
        ("indeterminate", "unexpected", ExitCode.INDETERMINATE),
        ("not applicable", "expected", ExitCode.NOTHING_RAN),
        ("harness error", "unexpected", ExitCode.HARNESS_ERROR),
    ],
)
def test_one_result_decides_the_exit_code(outcome: str, expectation: str, code: ExitCode) -> None:
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


def test_indeterminate_results_are_let_pass_up_to_the_allowance() -> None:
    results = [result("indeterminate", "unexpected")] * 2
    assert exit_code(results, FOOTER, indeterminate_max=2) is ExitCode.EXPECTED
    assert exit_code(results, FOOTER, indeterminate_max=1) is ExitCode.INDETERMINATE


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
