"""Run folders on the command line: those of another command, damaged ones, and where nothing may be made."""

import json
import re
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Final

import pytest

from harness.results.status import ENDED_COMPLETE, ExitCode
from harness.tests.in_process import CommandLine
from harness.tests.small_suite import RIGHT
from harness.trace.events import RunFooter, RunKind
from harness.trace.files import RunFolder, write_whole

pytest_plugins = ["harness.tests.command_line_fixture"]

_WIRE, _SCRIPTS, _TAP, _RACES = ({"run_id": "r", "kind": kind} for kind in RunKind)
_WHY: Final = ("expect", "why", RIGHT, "--suites", "small_suites", "--target", "reference", "--run")


def _run(path: Path, content: object) -> Path:
    (path / "record").mkdir(parents=True)
    (path / "run.json").write_text(json.dumps(content))
    return path


def _first_run(kafka_conformance: CommandLine, out: Path, *options: str | Path) -> RunFolder:
    """Run one scenario on the reference."""
    command = ("run", "--suites", "small_suites", "--no-report", "--out", out, "--run-id", "first", RIGHT)
    assert kafka_conformance(*command, *options) == ExitCode.EXPECTED
    return RunFolder(out / "first")


@pytest.mark.slow
@pytest.mark.usefixtures("suites")
@pytest.mark.parametrize(
    ("command", "content", "says"),
    [
        (("gate",), _RACES, "is a run of races, and a run of wire suites or "),
        (("gate",), _TAP, "is a tap"),
        (("diff", "reference"), _TAP, "is a tap"),
        (("report", "--out", "elsewhere"), _RACES, "is a run of races"),
        (("list", "--coverage"), _SCRIPTS, "is a run of client scripts"),
        (("trend",), _TAP, "is a tap"),
        (("expect", "prune"), _RACES, "is a run of races"),
        (_WHY, _TAP, "is a tap"),
        (("tap", "--finish"), _WIRE, "is a run of wire suites"),
        (("report",), _RACES, "`kafka-conformance judge "),
    ],
)
def test_a_run_of_another_command_is_no_input_and_its_own_command_is_named(
    kafka_conformance: CommandLine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
    content: object,
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    run = _run(tmp_path / "run-1", content)
    before, rest = (command[:1], command[1:]) if command[0] == "diff" else (command, ())

    assert kafka_conformance(*before, run, *rest) == ExitCode.NO_INPUT
    assert f"{run}" in kafka_conformance.err
    assert says in kafka_conformance.err
    assert "Traceback" not in kafka_conformance.err


def test_the_folder_of_all_runs_names_the_newest(kafka_conformance: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "latest").symlink_to(_run(tmp_path / "run-1", _TAP))

    assert kafka_conformance("tap", "--finish", tmp_path) == ExitCode.NO_INPUT
    assert f"the newest run in it is {tmp_path / 'latest'}" in kafka_conformance.err


@pytest.mark.parametrize("run_id", ["../elsewhere", "latest", "", "a/b", "x" * 200])
@pytest.mark.parametrize("command", ["run", "diff", "tap", "race", "clients"])
def test_a_run_takes_no_name_that_leads_elsewhere(
    kafka_conformance: CommandLine, tmp_path: Path, command: str, run_id: str
) -> None:
    nothing = () if command == "tap" else ("no/such",)  # so that nothing is driven if the name is taken
    assert (
        kafka_conformance(command, *nothing, "--run-id", run_id, "--out", tmp_path / "out") == ExitCode.USAGE
    )
    assert f"a run cannot be called '{run_id}'" in kafka_conformance.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [("tap", "--target", "reference-tcp"), ("race", "delete-left"), ("clients",)],
    ids=lambda command: command[0],
)
def test_a_run_that_is_there_is_not_written_over(
    kafka_conformance: CommandLine, tmp_path: Path, command: tuple[str, ...]
) -> None:
    run = _run(tmp_path / "run-1", _RACES)
    before = (run / "run.json").read_bytes()

    assert kafka_conformance(*command, "--out", tmp_path, "--run-id", "run-1") == ExitCode.USAGE
    assert "is there already" in kafka_conformance.err
    assert (run / "run.json").read_bytes() == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "reader"),
    [(("race", "delete-left"), "judge"), (("clients", "--client", "kafka-python"), "report")],
    ids=["race", "clients"],
)
def test_whoever_interrupts_is_reported_where_that_is_which_was_recorded(
    kafka_conformance: CommandLine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
    reader: str,
) -> None:
    run = tmp_path / "run-1"

    async def _interrupted(*_: object) -> None:
        _run(run, _RACES)
        raise KeyboardInterrupt

    monkeypatch.setattr(import_module(f"harness.cli.{command[0]}"), "drive", _interrupted)

    assert kafka_conformance(*command, "--out", tmp_path, "--run-id", "run-1") == ExitCode.INTERRUPTED
    assert (
        f"recorded is in {run}, and `kafka-conformance {reader} {run}` tells of it" in kafka_conformance.err
    )


@pytest.mark.usefixtures("suites")
@pytest.mark.parametrize(
    ("file", "text", "command"),
    [
        ("record/footer.json", '{"event_counts"', ("gate", "--suites", "small_suites")),
        ("record/traces/reference/header.json", "[]", ("gate", "--suites", "small_suites")),
        ("record/traces/reference/header.json", "[1]", ("gate", "--suites", "small_suites")),
        ("run.json", "{", ("gate", "--suites", "small_suites")),
        ("record/scripts.json.zst", '{"small/right": {}}', ("gate", "--suites", "small_suites")),
    ],
)
def test_a_damaged_file_of_a_run_ends_with_65_and_is_named(
    kafka_conformance: CommandLine, tmp_path: Path, file: str, text: str, command: tuple[str, ...]
) -> None:
    run = _first_run(kafka_conformance, tmp_path)
    write_whole(run.path / file, text)

    assert kafka_conformance(*command, run.path) == ExitCode.BAD_DATA
    assert Path(file).name in kafka_conformance.err
    assert "Traceback" not in kafka_conformance.err


@pytest.mark.usefixtures("suites")
def test_a_footer_that_counts_no_events_ends_with_65(kafka_conformance: CommandLine, tmp_path: Path) -> None:
    run = _first_run(kafka_conformance, tmp_path)
    footer = run.read_footer()
    assert footer is not None
    run.write_footer(replace(footer, event_counts="[1]"))

    assert kafka_conformance("gate", "--suites", "small_suites", run.path) == ExitCode.BAD_DATA
    assert "`event_counts` counts no events" in kafka_conformance.err


@pytest.mark.usefixtures("suites")
def test_invariants_of_no_trace_are_no_agreement(kafka_conformance: CommandLine, tmp_path: Path) -> None:
    run = RunFolder(_run(tmp_path / "run-1", _WIRE))
    run.write_footer(
        RunFooter(
            run_id="run-1",
            finished_at="2026-11-21T14:05:09.000+00:00",
            ended=ENDED_COMPLETE,
            scenario_count=0,
            drive_ms="{}",
            event_counts="{}",
        )
    )
    assert kafka_conformance("judge", run.path) == ExitCode.NOTHING_RAN


@pytest.mark.usefixtures("suites")
def test_invariants_of_a_run_that_was_cut_short_are_refused(
    kafka_conformance: CommandLine, tmp_path: Path
) -> None:
    assert kafka_conformance("judge", _run(tmp_path / "run-1", _WIRE)) == ExitCode.BAD_DATA
    assert "it has no footer" in kafka_conformance.err


@pytest.mark.usefixtures("suites")
def test_a_folder_where_a_file_lies_ends_with_75_and_names_the_file(
    kafka_conformance: CommandLine, tmp_path: Path
) -> None:
    run = _first_run(kafka_conformance, tmp_path)
    occupied = tmp_path / "occupied"
    occupied.write_text("mine")

    code = kafka_conformance("gate", "--suites", "small_suites", run.path, "--out", occupied)
    assert code == ExitCode.TEMPORARY_FAILURE
    assert f"{occupied}: File exists: choose another place" in kafka_conformance.err
    assert occupied.read_text() == "mine"


@pytest.mark.usefixtures("suites")
def test_a_directory_without_kafka_is_a_target_that_is_not_to_be_had_and_stops_no_other(
    kafka_conformance: CommandLine, tmp_path: Path
) -> None:
    (tmp_path / "jars").mkdir()
    code = kafka_conformance(
        *("run", "--suites", "small_suites", "--no-report", "--out", tmp_path, "--run-id", "first", RIGHT),
        *("--target", f"path:{tmp_path / 'jars'}", "--target", "reference"),
    )

    assert code == ExitCode.UNAVAILABLE
    footer = RunFolder(tmp_path / "first").read_footer()
    assert footer is not None
    assert "no kafka_2.13-*.jar in" in footer.ended
    assert re.search(r"reference +1 / 1", kafka_conformance.out)


@pytest.mark.usefixtures("suites")
def test_a_run_without_its_record_ends_with_66_and_names_who_has_it(
    kafka_conformance: CommandLine, tmp_path: Path
) -> None:
    run = _first_run(kafka_conformance, tmp_path, "--record", tmp_path / "records")
    elsewhere = tmp_path / "records" / run.path.name
    for path in (run.path, elsewhere):
        assert kafka_conformance("gate", "--suites", "small_suites", path) == ExitCode.EXPECTED
    run.record.unlink()
    for verb in (
        ("gate",),
        ("report",),
        ("diff", run.path),
        ("report", run.path, "--out", tmp_path / "joined"),
    ):
        assert kafka_conformance(*verb, run.path) == ExitCode.NO_INPUT
        assert f"without the run's record; {elsewhere} has it" in kafka_conformance.err


def test_a_record_has_as_many_files_for_many_scenarios_as_for_one(
    kafka_conformance: CommandLine, tmp_path: Path
) -> None:
    targets = ("--target", "reference", "--target", "reference:3.9", "--no-report", "--out", tmp_path)
    found: list[set[Path]] = []
    for scenarios in ("classic/heartbeat/empty-group", "classic/heartbeat/**"):
        run_id = f"run-{len(found)}"
        assert kafka_conformance("run", *targets, "--run-id", run_id, scenarios) == ExitCode.EXPECTED
        record = RunFolder(tmp_path / run_id).record
        found.append({each.relative_to(record) for each in record.rglob("*") if each.is_file()})
    one, many = found
    assert one == many
    assert len(many) < 20


@pytest.mark.usefixtures("suites")
def test_a_shard_keeps_its_record(kafka_conformance: CommandLine, tmp_path: Path) -> None:
    shard = ("run", "--shard", "1/2", "--record", tmp_path / "records", "--out", tmp_path)
    assert kafka_conformance(*shard, "--suites", "small_suites") == ExitCode.USAGE
    assert "`report` needs that of each --shard" in kafka_conformance.err
