"""The verb `clients`: what it says of a command line, and the code that it ends with."""

from pathlib import Path

import pytest

from harness.cli.clients import exit_code
from harness.clients.judge import Judgement
from harness.report.exit_code import ExitCode
from harness.tests.in_process import CommandLine
from harness.verdict import Outcome

pytest_plugins = ["harness.tests.command_line_fixture"]


def judgement(outcome: Outcome, because: str = "") -> Judgement:
    return Judgement(
        target="kafka:3.9.2", script_id="clients/a/b", library="x", outcome=outcome, because=because
    )


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        ((Outcome.CONFORMS, Outcome.NOT_APPLICABLE), ExitCode.EXPECTED),
        ((Outcome.NOT_APPLICABLE,), ExitCode.NOTHING_RAN),
        ((), ExitCode.NOTHING_RAN),
        ((Outcome.CONFORMS, Outcome.DIVERGES, Outcome.INDETERMINATE), ExitCode.UNEXPECTED),
        ((Outcome.CONFORMS, Outcome.INDETERMINATE), ExitCode.INDETERMINATE),
        ((Outcome.DIVERGES, Outcome.HARNESS_ERROR), ExitCode.HARNESS_ERROR),
    ],
)
def test_the_worst_outcome_decides(outcomes: tuple[Outcome, ...], code: ExitCode) -> None:
    assert exit_code([judgement(each) for each in outcomes]) is code


def test_a_target_that_was_lost_is_no_verdict_on_it() -> None:
    lost = judgement(Outcome.INDETERMINATE, "target lost: it ended")

    assert exit_code([judgement(Outcome.DIVERGES), lost]) is ExitCode.UNAVAILABLE


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("clients/nothing",), ExitCode.USAGE, "no client script is called 'clients/nothing'"),
        (("--client", "sarama"), ExitCode.USAGE, "'sarama' is no client library; there is kafka-python"),
        (("--target", "nothing"), ExitCode.USAGE, "is no target"),
        (("--target", "reference", "clients/position/seek"), ExitCode.UNAVAILABLE, "reference-tcp"),
    ],
)
def test_what_cannot_be_is_said_before_any_client_starts(
    arguments: tuple[str, ...], code: ExitCode, says: str, kafka_conformance: CommandLine, tmp_path: Path
) -> None:
    assert kafka_conformance("clients", *arguments, "--out", tmp_path) == code
    assert says in kafka_conformance.err


def test_a_run_is_not_written_over(kafka_conformance: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()

    assert kafka_conformance("clients", "--run-id", "first", "--out", tmp_path) == ExitCode.USAGE
    assert "is there already" in kafka_conformance.err
