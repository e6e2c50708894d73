"""`--dry-run` of every command that may be given a broker of others."""

import re
from pathlib import Path

import pytest

from harness.results.exit_code import ExitCode
from harness.targets.external.namespace import MARK
from harness.tests.in_process import CommandLine

pytestmark = pytest.mark.slow

pytest_plugins = ["harness.tests.command_line_fixture"]

EXTERNAL = "external:127.0.0.1:1"


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (("run", "admin/**"), r"not applicable: \d+ scenarios: would touch .* \(DeleteTopics\)"),
        (("matrix", "--versions", "", "--target", "reference", "admin/**"), "reference is started for this"),
        (("race", "--rounds", "7", "delete-left"), "groups: at most 7"),
        (("clients", "--client", "confluent-kafka"), "scripts with confluent-kafka"),
        (("search", "--steps", "90"), "requests: some 90"),
        (("tap",), "your clients' requests pass unchanged"),
    ],
    ids=lambda each: each[0],
)
def test_a_dry_run_lists_what_would_be_done_and_sends_nothing(
    kafka_conformance: CommandLine, tmp_path: Path, command: tuple[str, ...], says: str
) -> None:
    options = ("--target", EXTERNAL, "--dry-run", "--out", tmp_path)
    assert kafka_conformance(*command, *options) == ExitCode.EXPECTED
    assert f"{EXTERNAL} is an external broker" in kafka_conformance.out
    assert f"topic: {MARK}" in kafka_conformance.out
    assert re.search(says, kafka_conformance.out)
    assert list(tmp_path.iterdir()) == []
