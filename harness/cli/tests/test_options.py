"""Options of many commands: limits of bytes, for this process and those it starts, and `--dry-run`."""

import re
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest
from typer.core import TyperGroup

from harness.cli.commands import COMMANDS, load_command
from harness.results.status import ExitCode
from harness.targets.base.limits import ANSWER_BYTES, MIB, PAGE_BYTES, TRACE_BYTES, ByteLimit
from harness.targets.external.namespace import MARK
from harness.tests.in_process import CommandLine

pytest_plugins = ["harness.tests.command_line_fixture"]

EXTERNAL = "external:127.0.0.1:1"


@pytest.mark.parametrize("limit", [ANSWER_BYTES, TRACE_BYTES, PAGE_BYTES], ids=lambda each: each.option)
def test_an_option_sets_its_limit_and_no_other(
    kafka_conformance: CommandLine, monkeypatch: pytest.MonkeyPatch, limit: ByteLimit
) -> None:
    for each in (ANSWER_BYTES, TRACE_BYTES, PAGE_BYTES):
        monkeypatch.setenv(each.variable, "")  # which the option sets, and is as before at the end
    assert kafka_conformance(limit.option, "0.5", "list", "classic/heartbeat/*") == ExitCode.EXPECTED
    assert limit.most() == MIB / 2
    assert {each.most() for each in (ANSWER_BYTES, TRACE_BYTES, PAGE_BYTES) if each != limit} == {
        each.default for each in (ANSWER_BYTES, TRACE_BYTES, PAGE_BYTES) if each != limit
    }


@pytest.mark.parametrize("limit", [ANSWER_BYTES, TRACE_BYTES, PAGE_BYTES], ids=lambda each: each.option)
def test_a_limit_that_lets_nothing_pass_is_refused(kafka_conformance: CommandLine, limit: ByteLimit) -> None:
    assert kafka_conformance(limit.option, "0", "list") == ExitCode.USAGE
    assert re.search(rf"Invalid value for '{limit.option}'", kafka_conformance.err)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "says"),
    [
        (("run", "admin/**"), r"not applicable: \d+ scenarios: would touch .* \(DeleteTopics\)"),
        (("diff", "--versions", "", "--target", "reference", "admin/**"), "reference is started for this"),
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


def test_the_table_of_options_has_rows_of_parameters_alone() -> None:
    found = {name: load_command(name) for name in COMMANDS}
    of_group = found.pop("expect")
    assert isinstance(of_group, TyperGroup)
    found |= {f"expect {name}": each for name, each in of_group.commands.items()}
    names = {name: {each.name for each in command.params} for name, command in found.items()}
    shared = {name for each in names.values() for name in each}
    rows = tomllib.loads((files("harness.cli") / "options.toml").read_text(encoding="utf-8"))
    idle = {(name, row) for name, each in rows.items() for row in each.keys() - names.get(name, shared)}
    assert not idle
