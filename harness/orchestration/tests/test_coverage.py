"""Coverage: what counts as exercised, and how it is told."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.cli import app
from harness.report.model.coverage import (
    Coverage,
    coverage_of,
    coverage_to_json,
    heat_tables,
    run_coverage,
    static_coverage,
)
from harness.report.model.phrases import address
from harness.report.model.run_data import Run
from harness.results.status import ExitCode
from harness.tests.completed_runs import catalogue
from harness.tests.report_hostile import clause
from harness.tests.report_run import FENCED, HEARTBEAT, JAVA, SCALA, judgement, small_run
from harness.tests.site_reading import rendered, view_of
from harness.trace.clause import Clause, ClauseStatus
from harness.trace.files import RunFolder
from harness.trace.schema import TraceError

BEAT = clause()
RACE = clause("HB-02", statement="A race.", exclusion="not observable", reason="a race")
LACKING = clause("HB-03", statement="It lacks.")


def covered(*results: tuple[str, str], clauses: Sequence[Clause] = (BEAT,)) -> Coverage:
    """Return the coverage by results of a scenario that exercises the first row: its outcomes by target."""
    judgements = [judgement(HEARTBEAT, target, outcome, clauses=("HB-01",)) for target, outcome in results]
    return coverage_of("a run", clauses, [target for target, _ in results], judgements)


def test_scripts_exercise_what_they_name() -> None:
    scripts = catalogue()
    named = next(script for script in scripts.values() if script.clauses)
    one, other = named.clauses[0], "ZZ-01"
    clauses = {name: clause(name) for name in (one, other)}
    coverage = static_coverage(clauses, scripts)
    assert [line.clause.id for line in coverage.missing] == [other]
    assert named.id in coverage.lines[0].scenario_ids
    assert coverage.percent == 50.0


def test_a_row_that_is_out_of_reach_is_not_due() -> None:
    coverage = static_coverage({"HB-02": RACE}, {})
    assert (coverage.due, coverage.missing, coverage.percent) == ((), (), 100.0)
    assert coverage.exclusions() == {"not observable": 1}


def test_one_target_that_was_run_is_enough() -> None:
    coverage = covered((SCALA, "not applicable"), (JAVA, "conforms"))
    assert coverage.missing == ()
    assert coverage.lines[0].standings == {
        SCALA: ClauseStatus.NOT_APPLICABLE,
        JAVA: ClauseStatus.AGREED,
    }


@pytest.mark.parametrize("outcome", ["not applicable", "indeterminate", "harness error"])
def test_a_row_that_no_target_could_be_checked_against_is_missing(outcome: str) -> None:
    assert len(covered((SCALA, outcome)).missing) == 1


def test_a_difference_exercises_too_and_outweighs_agreement() -> None:
    again = judgement(FENCED, SCALA, clauses=("HB-01",))
    astray = judgement(HEARTBEAT, SCALA, "diverges", clauses=("HB-01",))
    coverage = coverage_of("a run", [BEAT], [SCALA], [astray, again])
    assert coverage.missing == ()
    assert coverage.lines[0].standings == {SCALA: ClauseStatus.DIFFERS}
    assert coverage.lines[0].scenario_ids == (HEARTBEAT, FENCED)


def test_the_json_names_what_is_missing() -> None:
    reported = coverage_to_json(covered((SCALA, "conforms"), clauses=(RACE, LACKING, BEAT)))
    assert (reported["missing"], reported["due"], reported["exercised"], reported["percent"]) == (
        ["HB-03"],
        2,
        1,
        50.0,
    )
    assert reported["targets"] == {SCALA: {"agreed": 1, "not exercised": 1}}


def test_error_codes_are_laid_out_by_api_and_version() -> None:
    (table,) = heat_tables(
        {
            ("Heartbeat", 0, "UNKNOWN_MEMBER_ID", SCALA): 1,
            ("Heartbeat", 4, "NONE", SCALA): 9,
            ("Heartbeat", 4, "NONE", JAVA): 100,
        }
    )
    _, codes, rows = table
    assert codes == ["NONE", "UNKNOWN_MEMBER_ID"]
    assert [version for version, _ in rows] == [0, 4]
    oldest, newest = (cells for _, cells in rows)
    assert ([cell.answers for cell in oldest], [cell.answers for cell in newest]) == ([0, 1], [109, 0])
    assert ([cell.heat for cell in oldest], [cell.heat for cell in newest]) == ([0, 1], [4, 0])
    assert newest[0].title == f"{SCALA}: 9\n{JAVA}: 100"


def with_clauses(tmp_path: Path, *clauses: Clause) -> Path:
    made = small_run()
    made.judgements = [
        replace(each, clauses=("HB-01",) if each.scenario_id == HEARTBEAT else ()) for each in made.judgements
    ]
    made.clauses = list(clauses)
    return made.write(tmp_path / "run")


def test_the_site_has_a_coverage_page(tmp_path: Path) -> None:
    folder = with_clauses(tmp_path, BEAT, LACKING, RACE)
    rendered(folder)
    page = view_of(folder, "coverage")
    assert "1 of 2 observable rows" in page
    assert 'id="clause-HB-02" class="out"' in page
    assert f'href="{address(HEARTBEAT)}"' in page
    assert 'href="#coverage"' in (folder / "index.html").read_text()


def test_the_command_ends_with_1_below_the_minimum(tmp_path: Path) -> None:
    folder = with_clauses(tmp_path, BEAT, LACKING)
    runner = CliRunner()

    whole = runner.invoke(app, ["list", "--coverage", str(folder), "--json"])
    half = runner.invoke(app, ["list", "--coverage", str(folder), "--minimum", "50"])

    assert (whole.exit_code, half.exit_code) == (ExitCode.UNEXPECTED, ExitCode.EXPECTED)
    assert json.loads(whole.stdout)["missing"] == ["HB-03"]
    assert half.stdout.index("HB-03") < half.stdout.index("50.0 %")


def test_a_damaged_catalogue_is_named(tmp_path: Path) -> None:
    folder = with_clauses(tmp_path, BEAT)
    RunFolder(folder).clauses.write_bytes(b"{")
    with pytest.raises(TraceError, match="clauses"):
        run_coverage(Run.load(folder))


def test_what_is_no_run_is_no_input(tmp_path: Path) -> None:
    assert CliRunner().invoke(app, ["list", "--coverage", str(tmp_path)]).exit_code == ExitCode.NO_INPUT
