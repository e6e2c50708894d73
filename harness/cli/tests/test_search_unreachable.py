"""A target that a search cannot reach."""

from pathlib import Path

import pytest

from harness.results.exit_code import ExitCode
from harness.targets.base.ports import free_port
from harness.tests.in_process import CommandLine

pytest_plugins = ["harness.tests.command_line_fixture"]


@pytest.mark.slow  # the harness asks several times
def test_a_target_out_of_reach_is_named_and_no_mistake_on_the_command_line(
    kafka_conformance: CommandLine, tmp_path: Path
) -> None:
    target = f"external:127.0.0.1:{free_port()}"
    code = kafka_conformance("search", "--target", target, "--profile", "4.4", "--out", tmp_path)
    assert code == ExitCode.UNAVAILABLE
    assert f"{target}: " in kafka_conformance.err
    assert "does not accept: connection refused" in kafka_conformance.err
