"""`list`, `explain` and `doctor`: what there is, without running anything."""

import json
from pathlib import Path

import pytest

from harness.cli import main
from harness.results.status import ExitCode
from harness.scenario.script import script_from_json, step_text
from harness.tests.completed_runs import catalogue
from harness.tests.fake_java import hide_programs

pytestmark = pytest.mark.slow

PAST = "classic/heartbeat/before-assignments"


def reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, str]:
    monkeypatch.setattr("sys.argv", ["kafka-conformance", *arguments])
    with pytest.raises(SystemExit) as ending:
        main()
    assert isinstance(ending.value.code, int)
    return ending.value.code, capsys.readouterr().out


def test_the_catalogue_as_json_has_every_scenario(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out = reported(monkeypatch, capsys, "list", "--json")
    rows = json.loads(out)
    assert code == ExitCode.EXPECTED
    assert [row["id"] for row in rows] == list(catalogue())
    assert all(row["title"].endswith(".") and row["source"] for row in rows)


def test_a_selection_is_listed_with_its_count(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out = reported(monkeypatch, capsys, "list", "classic/heartbeat")
    count = sum(name.startswith("classic/heartbeat/") for name in catalogue())
    assert code == ExitCode.EXPECTED
    assert out.splitlines()[-1] == f"{count} scenarios"


def test_on_a_pipe_each_scenario_has_a_line_of_fields_that_begins_with_its_whole_id(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out = reported(monkeypatch, capsys, "list")
    heading, *lines, _ = out.splitlines()
    assert heading.split("\t") == ["scenario", "APIs", "rows", "what it claims"]
    assert [line.split("\t")[0] for line in lines] == list(catalogue())
    assert all(line.split("\t")[3] == catalogue()[line.split("\t")[0]].title for line in lines)


def test_a_scenario_is_explained_step_by_step_with_its_source(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out = reported(monkeypatch, capsys, "explain", PAST)
    script = catalogue()[PAST]
    assert code == ExitCode.EXPECTED
    assert script.title in out
    assert script.source in out
    assert all(f"{index:>3}  {step_text(step)}\n" in out for index, step in enumerate(script.steps))
    assert f"kafka-conformance run --target kafka:latest {PAST}" in out


def test_a_script_as_json_is_the_script(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out = reported(monkeypatch, capsys, "explain", PAST, "--json")
    assert script_from_json(json.loads(out)) == catalogue()[PAST]


def test_doctor_without_java_names_the_remedy_and_ends_with_69(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    hide_programs(monkeypatch, tmp_path)
    code, out = reported(monkeypatch, capsys, "doctor")
    shown = " ".join(out.split())
    assert code == ExitCode.UNAVAILABLE
    assert "✗ java no Java for Spark (" in shown
    assert "remedy: pip install 'kafka-conformance[java]', install Java 17 or newer" in shown
    assert "· node absent: no Node" in shown


def test_doctor_says_what_is_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out = reported(monkeypatch, capsys, "doctor")
    shown = " ".join(out.split())
    assert "✓ java brokers, brokers that are paused, the Java client, Spark: " in shown
    assert "✓ node" in shown
    assert f"{len(catalogue())} scenarios in package 'suites'" in shown


def test_doctor_with_a_broken_suite_names_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out = reported(monkeypatch, capsys, "doctor", "--suites", "no_such_suites")
    assert code == ExitCode.UNAVAILABLE
    assert "✗ suites" in " ".join(out.split())


def test_crossings_fit_a_terminal_and_none_is_blank(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out = reported(monkeypatch, capsys, "list", "--crossings")
    lines = out.splitlines()

    assert code == ExitCode.EXPECTED
    assert max(map(len, lines)) <= 80
    assert "session, simple                  c        c        c        c" in lines
    assert lines[-1].endswith(", 0 blank")


def test_crossings_as_json_name_their_scenarios_or_why_there_is_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out = reported(monkeypatch, capsys, "list", "--crossings", "--json")

    assert all(bool(each["shown_by"]) is (each["why"] is None) for each in json.loads(out))
