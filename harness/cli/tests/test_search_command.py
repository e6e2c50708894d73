"""The command of a search's findings finds their scenarios, so that it can be copied from a page."""

from pathlib import Path

import pytest

from harness.cli.search_target import TargetPlan
from harness.report.model.phrases import given_options


def _plan(against: str | None) -> TargetPlan:
    return TargetPlan(
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
        ("kafka:4.4.0", "kafka-conformance matrix --versions 4.3.1 --against 4.4.0 --suites out/r1-found"),
        (
            "librdkafka-mock",
            "kafka-conformance matrix --versions 4.3.1 --against librdkafka-mock --suites out/r1-found",
        ),
    ],
)
def test_the_command_names_the_suites_that_were_found(against: str | None, command: str) -> None:
    found = _plan(against).command_of_run

    assert found == command
    assert given_options(found) == ("--suites", "out/r1-found")
