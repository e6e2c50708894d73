"""`[tool.kafka-conformance]` in pyproject.toml: what it stands for, from where, and what it may not say."""

import json
import os
import sys
from pathlib import Path
from typing import Final

import pytest

from harness.cli import settings
from harness.cli.commands import load_command
from harness.cli.settings import SettingsError, apply_settings, read_settings
from harness.results.status import ExitCode
from harness.targets.jars.locks import LOCK_VARIABLE
from harness.tests.in_process import CommandLine
from harness.tests.small_suite import RIGHT, write_suite

pytest_plugins = ["harness.tests.command_line_fixture"]

SCENARIO: Final = "classic/heartbeat/before-assignments"


def write(folder: Path, table: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").write_text(f"[tool.kafka-conformance]\n{table}")


def test_settings_stand_for_options_of_commands_that_have_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LOCK_VARIABLE, "")
    monkeypatch.delenv(LOCK_VARIABLE)
    monkeypatch.setattr(sys, "path", [*sys.path])
    table = (
        'suites = "own"',
        'expect = ["a.toml"]',
        'target = ["reference"]',
        'out = "b"',
        'jar-lock = "kept"',
        'assume = ["group.max.size=9"]',
    )
    write(tmp_path, "\n".join(table))
    (tmp_path / "below").mkdir()

    found = apply_settings(tmp_path / "below")

    assert found["run"] == {
        "suites": "own",
        "expect": [str(tmp_path / "a.toml")],
        "target": ["reference"],
        "out": str(tmp_path / "b"),
        "assume": ["group.max.size=9"],
    }
    assert found["list"] == {"suites": "own"}
    assert found["expect"].keys() == {"lint", "update", "prune", "why"}
    assert found["expect"]["lint"] == found["gate"] == {"suites": "own", "expect": [str(tmp_path / "a.toml")]}
    assert sys.path[-1] == str(tmp_path)
    assert os.environ[LOCK_VARIABLE] == str(tmp_path / "kept")


def test_every_command_has_the_options_that_the_table_stands_for() -> None:
    for command, names in settings._OPTIONS.items():
        assert set(names) <= {each.name for each in load_command(command).params}, command


def test_the_nearest_pyproject_counts_even_without_the_table(tmp_path: Path) -> None:
    write(tmp_path, 'out = "build"\n')
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "pyproject.toml").write_text("[project]\n")

    assert read_settings(tmp_path) is not None
    assert read_settings(tmp_path / "inner") is None


@pytest.mark.parametrize(
    ("table", "reported"),
    [
        ('sutes = "own"\n', r"sutes: .*there are suites, expect, target, out, jar-lock, assume"),
        ("suites = 3\n", r"suites: Input should be a valid string"),
        ('expect = "one.toml"\n', r"expect: Input should be a valid list"),
        ("= no TOML", r"pyproject\.toml cannot be read"),
    ],
)
def test_what_is_wrong_is_reported_with_file_and_key(tmp_path: Path, table: str, reported: str) -> None:
    write(tmp_path, table)

    with pytest.raises(SettingsError, match=reported):
        read_settings(tmp_path)


def test_a_wrong_table_ends_a_command_with_its_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kafka_conformance: CommandLine
) -> None:
    write(tmp_path, 'sutes = "own"\n')
    monkeypatch.chdir(tmp_path)

    assert kafka_conformance("list") == ExitCode.CONFIGURATION
    assert "sutes" in kafka_conformance.err


def test_suites_of_a_repository_are_found_by_its_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kafka_conformance: CommandLine
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    write(tmp_path, 'suites = "own_suites"\n')
    write_suite(tmp_path, "own_suites")
    monkeypatch.chdir(tmp_path)

    assert kafka_conformance("list") == ExitCode.EXPECTED
    assert RIGHT in kafka_conformance.out


@pytest.mark.slow
def test_a_run_takes_what_the_table_says_and_the_command_line_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kafka_conformance: CommandLine
) -> None:
    write(tmp_path, 'target = ["kafka:3.9.2"]\nout = "kept"\n')
    monkeypatch.chdir(tmp_path)

    run = ("run", "--target", "reference", "--no-report", "--run-id", "one", SCENARIO)
    assert kafka_conformance(*run) == ExitCode.EXPECTED
    run = json.loads((tmp_path / "kept" / "one" / "run.json").read_text())
    assert run["targets"] == ["reference"]


@pytest.mark.parametrize(("named", "home"), [("suites_of_this_folder", ""), ("runs/run-1-found", "runs")])
def test_suites_in_the_working_directory_are_found_without_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kafka_conformance: CommandLine, named: str, home: str
) -> None:
    (tmp_path / home).mkdir(exist_ok=True)
    write_suite(tmp_path / home, Path(named).name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [each for each in sys.path if each])

    assert kafka_conformance("list", "--suites", named) == ExitCode.EXPECTED
    assert RIGHT in kafka_conformance.out
    assert sys.path[-1] == str(tmp_path / home)
