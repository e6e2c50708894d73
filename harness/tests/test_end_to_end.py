"""The whole line without a broker: drive, judge, tables, every report."""

import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest
from pyspark.sql import SparkSession

from harness.orchestration.judging import Given, judge_run
from harness.orchestration.run import CompletedRun, orchestrate, report
from harness.report.allure.pages import AllureLevel
from harness.report.model.phrases import address, first_difference_anchor
from harness.report.model.trend import PAGE_TABLES, TREND_FOLDER
from harness.report.render import Rendered
from harness.results.status import ExitCode
from harness.spark.master import LOCAL_MASTER
from harness.tests.completed_runs import (
    Quiet,
    catalogue,
    completed_run,
    outcomes,
    plan_of,
    reference_server,
    spread,
    unexpected,
)
from harness.tests.fake_java import hide_programs
from harness.tests.site_reading import Page, conversation_of, view_of, views_of
from harness.trace.events import Event
from harness.trace.files import read_events

pytestmark = pytest.mark.slow

pytest_plugins = ["harness.tests.spark_fixture"]

SUITE: Final = "classic/heartbeat"
BEFORE_ASSIGNMENTS: Final = "classic/heartbeat/before-assignments"
"""What is answered NONE since 2.6.1, REBALANCE_IN_PROGRESS before, and pinned by no script."""
HEARTBEAT_ANSWERED: Final = 21
"""The step in which it is."""


@dataclass(frozen=True, kw_only=True)
class Reported:
    run: CompletedRun
    rendered: Rendered

    @property
    def path(self) -> Path:
        return self.run.folder.path

    def page(self, scenario_id: str) -> str:
        return view_of(self.path, scenario_id)


def reported(run: CompletedRun) -> Reported:
    """Make every report, but for Allure's own pages, which another program makes in seconds."""
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as directory:
        hide_programs(patch, Path(directory))
        rendered = report(
            run.folder, allure=AllureLevel.LOOK, spark_master=LOCAL_MASTER, progress=lambda _: None
        )
    return Reported(run=run, rendered=rendered)


@pytest.fixture(scope="module", name="green")
def _green(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Reported:
    return reported(completed_run(tmp_path_factory.mktemp("green"), ["reference", "reference:3.9"], SUITE))


@pytest.mark.spark
def test_references_alone_are_as_expected(green: Reported) -> None:
    assert green.run.exit_code == ExitCode.EXPECTED
    assert green.run.footer.ended == "complete"
    for target in ("reference", "reference-3.9"):
        assert set(outcomes(green.run, target).values()) == {"conforms"}
        assert outcomes(green.run, target).keys() == {name for name in catalogue() if name.startswith(SUITE)}


@pytest.mark.spark
def test_every_scenario_has_a_view_and_every_link_leads_somewhere(green: Reported) -> None:
    views = {place: Page(html) for place, html in views_of(green.path).items()}
    places = {address(each.scenario_id) for each in green.run.checked.judgements}
    assert places <= views.keys()
    assert places <= set(views["#matrix"].hrefs)
    for page in views.values():
        near = {href for href in page.hrefs if href.startswith("#") and "=" not in href}
        assert {href.partition(":")[0] for href in near} <= views.keys()


@pytest.mark.spark
def test_junit_counts_every_scenario_of_every_target(green: Reported) -> None:
    suites = ET.parse(green.path / "junit.xml").getroot().findall("testsuite")
    expected = {target: len(outcomes(green.run, target)) for target in ("reference", "reference-3.9")}
    assert {suite.get("name"): len(suite.findall("testcase")) for suite in suites} == expected
    assert all(suite.get("failures") == suite.get("errors") == "0" for suite in suites)


@pytest.mark.spark
def test_the_summary_names_every_target_and_says_that_all_is_well(green: Reported) -> None:
    summary = green.rendered.summary.read_text()
    assert "Every result was expected." in summary
    assert "| reference |" in summary
    assert "| reference-3.9 |" in summary


@pytest.mark.spark
def test_allures_results_do_not_stay_in_the_run(green: Reported) -> None:
    assert "no Node (" in (green.rendered.allure_problem or "")
    assert not list(green.path.glob("allure*"))


@pytest.mark.spark
def test_every_table_is_there(green: Reported) -> None:
    trend = green.run.folder.path / TREND_FOLDER
    assert {path.name for path in trend.iterdir() if path.is_dir()} == set(PAGE_TABLES)
    assert all(list((trend / name).glob("*.parquet")) for name in PAGE_TABLES)


@pytest.mark.spark
def test_a_stored_run_that_is_judged_again_is_judged_alike(green: Reported) -> None:
    files = (green.run.folder.judgements, green.run.folder.differences)
    before = [file.read_bytes() for file in files]
    judge_run(green.run.folder, Given(catalogue=frozenset(catalogue())))
    assert [file.read_bytes() for file in files] == before


def events_by_scenario(run: CompletedRun, target: str) -> dict[str, list[Event]]:
    found: dict[str, list[Event]] = defaultdict(list)
    for event in read_events(run.folder.events(target)):
        found[event.scenario_id].append(event)
    return found


def test_the_whole_suites_with_references_are_as_expected_and_leave_the_same_events_among_few(
    tmp_path: Path,
) -> None:
    # A tenth of the suites is run on brokers of the first and last; what else they say is required here.
    run = completed_run(tmp_path / "all", ["reference:4.4.0", "reference:4.3.1", "reference:3.9.2"])
    assert run.exit_code == ExitCode.EXPECTED
    assert outcomes(run, "reference-4.4.0").keys() == catalogue().keys()

    again = completed_run(tmp_path / "few", ["reference:4.4.0"], *spread(10))
    among_few, among_all = (events_by_scenario(each, "reference-4.4.0") for each in (again, run))
    assert len(among_few) > 300
    assert among_few == {name: among_all[name] for name in among_few}


def test_a_run_leaves_twice_the_same_bytes(tmp_path: Path) -> None:
    runs = [completed_run(tmp_path / name, ["reference"], "classic/join").folder for name in ("1", "2")]
    first, second = (each.events("reference").read_bytes() for each in runs)
    assert first == second


@pytest.fixture(scope="module", name="red")
def _red(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reported]:
    """Hold a broker that answers as 2.6.0 does against the profile 3.9."""
    directory = tmp_path_factory.mktemp("red")
    with reference_server("2.6.0", log=directory / "server.log") as port:
        plan = plan_of(directory, [f"external:127.0.0.1:{port}"], BEFORE_ASSIGNMENTS, profile="3.9")
        yield reported(orchestrate(plan, Quiet()))


@pytest.mark.spark
def test_a_broker_of_another_version_is_unexpected_at_the_step_that_differs(red: Reported) -> None:
    assert red.run.exit_code == ExitCode.UNEXPECTED
    (judgement,) = unexpected(red.run)
    assert judgement.scenario_id == BEFORE_ASSIGNMENTS
    assert judgement.outcome == "diverges"
    assert judgement.oracle == f"reference-3.9-as-{judgement.target}"
    assert judgement.first_step == HEARTBEAT_ANSWERED
    finding = red.run.checked.differences[0]
    assert (finding.step, finding.api, finding.field) == (HEARTBEAT_ANSWERED, "Heartbeat", "error_code")
    assert (finding.expected, finding.actual) == ('"NONE"', '"REBALANCE_IN_PROGRESS"')
    assert not finding.is_consequence


@pytest.mark.spark
def test_every_report_points_at_the_first_difference(red: Reported) -> None:
    (judgement,) = unexpected(red.run)
    anchor = first_difference_anchor(judgement.target)
    page = red.page(BEFORE_ASSIGNMENTS)
    place = f'href="{address(BEFORE_ASSIGNMENTS, anchor)}"'
    assert page.count(place) == 2
    assert "REBALANCE_IN_PROGRESS" in page[page.index(place) :]
    assert conversation_of(red.path, BEFORE_ASSIGNMENTS, judgement.target)["first"] == anchor
    assert f'href="{address(BEFORE_ASSIGNMENTS)}:' in view_of(red.path, "matrix")
    reported = f"step {HEARTBEAT_ANSWERED}, Heartbeat v4, error_code"
    assert reported in red.rendered.summary.read_text().replace("\\_", "_")
    failure = ET.parse(red.path / "junit.xml").getroot().find(".//failure")
    assert failure is not None
    assert reported in (failure.text or "")
    assert "--profile 3.9" in (failure.text or "")
