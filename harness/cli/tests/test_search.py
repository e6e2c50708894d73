"""The command `search`: its steps, its pages, and the commands that it names."""

from pathlib import Path

import pytest
import typer

from harness.cli.options import whole_number
from harness.cli.search import SearchPlan
from harness.report.model.phrases import given_options
from harness.results.status import ExitCode
from harness.targets.base.ports import free_port
from harness.tests.in_process import CommandLine

pytest_plugins = ["harness.tests.command_line_fixture"]


@pytest.mark.parametrize(
    ("text", "number"), [("1", 1), ("20000", 20_000), ("1e6", 1_000_000), ("2.5e3", 2_500)]
)
def test_whole_numbers_are_read(text: str, number: int) -> None:
    assert whole_number(text) == number


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "many", "nan", "inf"])
def test_anything_else_is_refused_by_name(text: str) -> None:
    with pytest.raises(typer.BadParameter, match=f"{text} is not a whole number"):
        whole_number(text)


@pytest.mark.slow  # the harness asks several times
def test_a_target_out_of_reach_is_named_and_no_mistake_on_the_command_line(
    kafka_conformance: CommandLine, tmp_path: Path
) -> None:
    target = f"external:127.0.0.1:{free_port()}"
    code = kafka_conformance("search", "--target", target, "--profile", "4.4", "--out", tmp_path)
    assert code == ExitCode.UNAVAILABLE
    assert f"{target}: " in kafka_conformance.err
    assert "does not accept: connection refused" in kafka_conformance.err


def _plan(against: str | None) -> SearchPlan:
    return SearchPlan(
        target="kafka:4.3.1",
        against=against,
        profile=None,
        steps=100,
        seed=1,
        batch=10,
        jobs=10,
        out=Path("out"),
        run_id="r1",
        write_to=None,
        corpus=None,
        wants_report=False,
    )


@pytest.mark.parametrize(
    ("against", "command"),
    [
        (None, "kafka-conformance run --target kafka:4.3.1 --suites out/r1-found"),
        ("kafka:4.4.0", "kafka-conformance diff --versions 4.3.1 --against 4.4.0 --suites out/r1-found"),
        (
            "librdkafka-mock",
            "kafka-conformance diff --versions 4.3.1 --against librdkafka-mock --suites out/r1-found",
        ),
    ],
)
def test_the_command_names_the_suites_that_were_found(against: str | None, command: str) -> None:
    found = _plan(against).command_of_run

    assert found == command
    assert given_options(found) == ("--suites", "out/r1-found")
