"""The catalogue of clauses: how it is read, and that scenarios and it agree."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.scenario.clauses import lint_clauses, load_clauses
from harness.scenario.errors import ScenarioError
from harness.scenario.script import Script
from harness.tests.completed_runs import catalogue
from harness.tests.made_events import BARE_SCRIPT
from harness.trace.clause import Clause, Exclusion

SECTION = 'title = "Heartbeat"\n'


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A suites package of our own; its name is its folder's."""
    home = tmp_path / f"suites_{tmp_path.name.replace('-', '_')}"
    (home / "clauses").mkdir(parents=True)
    (home / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    return home


def load(package: Path, text: str, *, name: str = "heartbeat.toml") -> dict[str, Clause]:
    (package / "clauses" / name).write_text(text)
    return dict(load_clauses(package.name))


def script(*clauses: str) -> Script:
    return replace(BARE_SCRIPT, clauses=clauses)


def test_a_row_is_read_with_its_section(package: Path) -> None:
    (clause,) = load(
        package,
        SECTION + '[HB-01]\nstatement = "It works."\napis = ["Heartbeat"]\nversions = ">=2.5,<4.0"',
    ).values()
    assert (clause.id, clause.section, clause.section_title) == ("HB-01", "heartbeat", "Heartbeat")
    assert (clause.statement, clause.apis, clause.versions) == ("It works.", ("Heartbeat",), ">=2.5,<4.0")
    assert clause.is_due


def test_a_row_without_a_scenario_says_why(package: Path) -> None:
    (clause,) = load(package, SECTION + '[HB-01]\nstatement = "A race."\nunobservable = "a race"').values()
    assert (clause.exclusion, clause.reason, clause.is_due) == (Exclusion.UNOBSERVABLE, "a race", False)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('[HB-01]\nstatement = "It works."', "title"),
        (SECTION + '[HB-01]\nstatement = "It works"', "full stop"),
        (SECTION + '[HB-01]\nstatement = "It works."\napis = ["Heartbeet"]', "not an API"),
        (SECTION + '[HB-01]\nstatement = "It works."\nversions = "2.5+"', "no releases"),
        (SECTION + '[HB-01]\nstatement = "It works."\nobservable = true', "Extra inputs"),
        (SECTION + '[HB-1]\nstatement = "It works."', "HB-1"),
        (SECTION + '[HB-01]\nstatement = "It works."\nno_claim = "a"\nout_of_scope = "b"', "one reason"),
        (SECTION + "[HB-01", "not TOML"),
    ],
)
def test_a_faulty_section_is_refused(package: Path, text: str, complaint: str) -> None:
    with pytest.raises(ScenarioError, match=complaint):
        load(package, text)


def test_no_two_sections_share_a_row(package: Path) -> None:
    row = '[HB-01]\nstatement = "It works."'
    load(package, SECTION + row)
    with pytest.raises(ScenarioError, match="HB-01 is written twice, in again and heartbeat"):
        load(package, SECTION + row, name="again.toml")


def test_suites_without_a_catalogue_have_no_rows(package: Path) -> None:
    (package / "clauses").rmdir()
    assert load_clauses(package.name) == {}


def test_a_scenario_may_not_name_a_row_that_is_not_there(package: Path) -> None:
    clauses = load(package, SECTION + '[HB-01]\nstatement = "It works."')
    lint_clauses([script("HB-01")], clauses)
    with pytest.raises(ScenarioError, match=r"classic/heartbeat/works: clause HB-02 .* close to it: HB-01"):
        lint_clauses([script("HB-01", "HB-02")], clauses)


@pytest.mark.slow
def test_nothing_is_said_to_be_out_of_reach_that_a_scenario_exercises() -> None:
    clauses = load_clauses()
    named = {name for script in catalogue().values() for name in script.clauses}
    assert [name for name in sorted(named) if not clauses[name].is_due] == []


def test_a_statement_stands_in_the_catalogue_once() -> None:
    by_section: dict[tuple[str, str], list[str]] = {}
    for clause in load_clauses().values():
        by_section.setdefault((clause.section, clause.statement), []).append(clause.id)
    assert [ids for ids in by_section.values() if len(ids) > 1] == []
