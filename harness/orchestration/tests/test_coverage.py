"""Coverage: what counts as exercised, and how it is told."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.cli import app
from harness.orchestration.coverage import coverage_to_json, run_coverage, static_coverage
from harness.orchestration.coverage_page import coverage_markdown
from harness.report.model.coverage import Coverage, coverage_of_rows, heat_tables
from harness.report.site.run_site import render_site
from harness.results.errors import ReportError
from harness.results.exit_code import ExitCode
from harness.scenario.registry import collect
from harness.spark.rows import ClauseCoverage, ClauseStatus, ErrorCodeCount
from harness.tests.report_hostile import clause_row
from harness.tests.report_run import JAVA, REFERENCE, RUN_ID, SCALA, small_run
from harness.trace.clause import Clause

HEARTBEAT = Clause(
    id="HB-01",
    section="heartbeat",
    section_title="Heartbeat",
    statement="It works.",
    apis=("Heartbeat",),
    versions=None,
    derived=False,
    exclusion=None,
    reason=None,
)
RACE = replace(HEARTBEAT, id="HB-02", statement="A race.", exclusion="not observable", reason="a race")
AGREED = clause_row()
LACKING = replace(AGREED, clause="HB-03", statement="It lacks.", standing="not exercised", scenario_ids=())
EXCLUDED = replace(
    LACKING,
    clause="HB-02",
    statement="A race.",
    exclusion="not observable",
    reason="a race",
    standing="excluded",
)


def of_rows(*rows: ClauseCoverage) -> Coverage:
    return coverage_of_rows(RUN_ID, sorted({row.target for row in rows}), rows)


def test_scripts_exercise_what_they_name() -> None:
    scripts = collect()
    named = next(script for script in scripts.values() if script.clauses)
    one, other = named.clauses[0], "ZZ-01"
    clauses = {name: replace(HEARTBEAT, id=name) for name in (one, other)}
    coverage = static_coverage(clauses, scripts)
    assert [line.clause for line in coverage.missing] == [other]
    assert named.id in coverage.lines[0].scenario_ids
    assert coverage.percent == 50.0


def test_a_row_that_is_out_of_reach_is_not_due() -> None:
    coverage = static_coverage({"HB-02": RACE}, {})
    assert (coverage.due, coverage.missing, coverage.percent) == ((), (), 100.0)
    assert coverage.exclusions() == {"not observable": 1}


def test_one_target_that_was_run_is_enough() -> None:
    coverage = of_rows(replace(AGREED, standing="not applicable"), replace(AGREED, target=JAVA))
    assert coverage.missing == ()
    assert coverage.lines[0].standings == {
        SCALA: ClauseStatus.NOT_APPLICABLE,
        JAVA: ClauseStatus.AGREED,
    }


@pytest.mark.parametrize("status", ["not applicable", "unclear", "not exercised"])
def test_a_row_that_no_target_could_be_checked_against_is_missing(status: str) -> None:
    assert len(of_rows(replace(AGREED, standing=status)).missing) == 1


def test_a_difference_exercises_too() -> None:
    assert of_rows(replace(AGREED, standing="differs")).missing == ()


def test_rows_of_other_runs_are_left_out() -> None:
    assert of_rows(AGREED, replace(LACKING, run_id="another")).due == of_rows(AGREED).due


def test_the_json_names_what_is_missing() -> None:
    reported = coverage_to_json(of_rows(AGREED, LACKING, EXCLUDED))
    assert (reported["missing"], reported["due"], reported["exercised"], reported["percent"]) == (
        ["HB-03"],
        2,
        1,
        50.0,
    )
    assert reported["targets"] == {SCALA: {"agreed": 1, "not exercised": 1}}


def test_the_page_tells_each_row_and_why_there_is_no_scenario() -> None:
    page = coverage_markdown(of_rows(AGREED, LACKING, EXCLUDED))
    assert "| HB-01 | It works. | ✓ | `classic/heartbeat/while-completing` |" in page
    assert "| HB-02 | A race. | · | not observable: a race |" in page
    assert page.index("## Not exercised") < page.index("| HB-03 | It lacks. |") < page.index("## Heartbeat")


def test_error_codes_are_laid_out_by_api_and_version() -> None:
    count = ErrorCodeCount(
        run_id=RUN_ID, target=SCALA, api="Heartbeat", api_version=4, error_code="NONE", response_count=9
    )
    (table,) = heat_tables(
        [
            replace(count, error_code="UNKNOWN_MEMBER_ID", api_version=0, response_count=1),
            count,
            replace(count, target=JAVA, response_count=100),
        ]
    )
    assert table.error_codes == ("NONE", "UNKNOWN_MEMBER_ID")
    assert [version for version, _ in table.rows] == [0, 4]
    oldest, newest = (cells for _, cells in table.rows)
    assert ([cell.count for cell in oldest], [cell.count for cell in newest]) == ([0, 1], [109, 0])
    assert ([cell.heat for cell in oldest], [cell.heat for cell in newest]) == ([0, 1], [4, 0])
    assert newest[0].title == f"{SCALA}: 9\n{JAVA}: 100"


def test_the_site_has_a_coverage_page(tmp_path: Path) -> None:
    made = small_run()
    made.coverage = [
        replace(row, target=target) for row in (AGREED, LACKING, EXCLUDED) for target in (SCALA, REFERENCE)
    ]
    render_site(made.write(tmp_path))
    page = (tmp_path / "coverage.html").read_text()
    assert "1 of 2 observable rows" in page
    assert 'id="clause-HB-02" class="out"' in page
    assert "scenarios/classic.heartbeat.while-completing.html" in page
    assert 'href="coverage.html"' in (tmp_path / "index.html").read_text()


def test_the_command_ends_with_1_below_the_minimum(tmp_path: Path) -> None:
    made = small_run()
    made.coverage = [AGREED, LACKING]
    folder = made.write(tmp_path)
    runner = CliRunner()

    whole = runner.invoke(app, ["coverage", str(folder), "--json"])
    half = runner.invoke(
        app, ["coverage", str(folder), "--minimum", "50", "--markdown", str(tmp_path / "c.md")]
    )

    assert (whole.exit_code, half.exit_code) == (ExitCode.UNEXPECTED, ExitCode.EXPECTED)
    assert json.loads(whole.stdout)["missing"] == ["HB-03"]
    assert half.stdout.index("HB-03") < half.stdout.index("50.0 %")
    assert (tmp_path / "c.md").read_text().startswith(f"# Coverage: run {RUN_ID}")


def test_targets_that_would_not_fit_beside_each_other_are_reported_below_the_sections(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = small_run()
    made.coverage = [AGREED]
    folder = made.write(tmp_path)
    reported = {}
    for columns in (200, 30):
        monkeypatch.setenv("COLUMNS", str(columns))
        reported[columns] = CliRunner().invoke(app, ["coverage", str(folder)]).stdout.splitlines()

    assert SCALA in reported[200][0]
    assert reported[30][0].split() == ["section", "rows", "due", "exercised"]
    assert any(line.strip().startswith(SCALA) for line in reported[30])


def test_a_run_whose_tables_lack_the_coverage_says_what_to_do(tmp_path: Path) -> None:
    folder = small_run().write(tmp_path)
    for file in (folder / "tables" / "clause_coverage").iterdir():
        file.unlink()
    (folder / "tables" / "clause_coverage").rmdir()
    with pytest.raises(ReportError, match="kafka-conformance report"):
        run_coverage(folder)


def test_what_is_no_run_is_no_input(tmp_path: Path) -> None:
    assert CliRunner().invoke(app, ["coverage", str(tmp_path)]).exit_code == ExitCode.NO_INPUT
