"""The command line starts fast: a command imports what it needs, and the list of commands imports none."""

import importlib
import json
import sys
from pathlib import Path
from pkgutil import resolve_name
from typing import Final

import pytest
from typer.main import get_command

from harness.cli import app
from harness.cli.commands import COMMANDS, load_command
from harness.cli.errors import CODES
from harness.tests.completed_runs import environment
from harness.tests.patience import completed

HEAVY: Final = (
    "confluent_kafka",
    "docker",
    "kafka",
    "pyarrow",
    "pyspark",
    "testcontainers",
)
"""Libraries that some commands need."""
_TELL: Final = """
import json, sys
from harness.cli import main
try:
    main()
finally:
    json.dump(sorted(sys.modules), sys.stderr)
"""


def imported_by(*arguments: str | Path) -> set[str]:
    """Run a command in a process of its own and return the names of the modules that it imported."""
    done = completed([sys.executable, "-c", _TELL, *arguments], env=environment())
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr))


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_of_each_what_its_own_help_begins_with(name: str) -> None:
    listed = get_command(app).commands[name]  # type: ignore[attr-defined] # it is a group
    said = " ".join((load_command(name).help or "").partition("\n\n")[0].split())
    assert listed.help == said


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]], ids=lambda each: each[0])
def test_what_needs_no_command_imports_none(arguments: list[str]) -> None:
    modules = imported_by(*arguments)
    assert not modules & {*HEAVY, "kio"}
    places = {f"harness.cli.{each.place.partition(':')[0]}" for each in COMMANDS.values()}
    assert not modules & places


@pytest.mark.slow
def test_a_run_without_a_report_imports_nothing_that_only_other_runs_need(tmp_path: Path) -> None:
    chosen = "classic/heartbeat/before-assignments"
    modules = imported_by("run", "--no-report", "--out", tmp_path, chosen)
    assert not modules & {*HEAVY, "harness.clients.run", "harness.gate", "harness.mutants"}


@pytest.mark.parametrize("name", CODES)
def test_each_error_that_has_a_code_is_found_by_its_name(name: str) -> None:
    module = importlib.import_module(name.partition(":")[0])
    found = resolve_name(name)
    assert issubclass(found, Exception)
    assert f"{found.__module__}:{found.__qualname__}" == name
    assert module is sys.modules[found.__module__]
