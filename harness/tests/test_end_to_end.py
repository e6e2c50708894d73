"""The whole line without a broker: drive, judge, tables, every report."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from html import unescape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest
from pyspark.sql import SparkSession

from harness.orchestration.judging import judge_run
from harness.orchestration.run import CompletedRun, orchestrate, report
from harness.report.model.names import conversation_file, first_difference_anchor, scenario_page
from harness.report.render import Rendered
from harness.results.exit_code import ExitCode
from harness.spark.job import MARTS
from harness.spark.master import LOCAL_MASTER
from harness.tests.completed_runs import (
    Quiet,
    catalogue,
    completed_run,
    outcomes,
    plan_of,
    reference_server,
    unexpected,
)
from harness.tests.fake_java import hide_programs
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
        return (self.path / scenario_page(scenario_id)).read_text()


def reported(run: CompletedRun) -> Reported:
    """Make every report, but for Allure's own pages, which another program makes in seconds."""
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as directory:
        hide_programs(patch, Path(directory))
        rendered = report(run.folder, allure=True, spark_master=LOCAL_MASTER, progress=lambda _: None)
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
def test_every_scenario_has_a_page_and_every_link_leads_somewhere(green: Reported) -> None:
    pages = {scenario_page(each.scenario_id) for each in green.run.checked.judgements}
    index = green.rendered.index.read_text()
    assert all((green.path / page).is_file() and page in index for page in pages)
    for page in (green.rendered.index, *(green.path / page for page in pages)):
        links = re.findall(r'(?:href|src)="([^"]*)"', page.read_text())
        near = {unescape(link).partition("#")[0] for link in links if "://" not in link}
        assert [link for link in near if link and not (page.parent / link).exists()] == []


@pytest.mark.spark
def test_junit_counts_every_scenario_of_every_target(green: Reported) -> None:
    suites = ET.parse(green.rendered.junit).getroot().findall("testsuite")
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
def test_allure_gets_a_result_for_every_judgement(green: Reported) -> None:
    results = green.rendered.allure_results
    assert results is not None
    assert len(list(results.glob("*-result.json"))) == len(green.run.checked.judgements)
    assert green.rendered.allure_index is None
    assert "no Node (" in (green.rendered.allure_problem or "")


@pytest.mark.spark
def test_every_table_is_there(green: Reported) -> None:
    assert {path.name for path in green.run.folder.tables.iterdir() if path.is_dir()} == MARTS.keys()
    assert all(list((green.run.folder.tables / name).glob("*.parquet")) for name in MARTS)


@pytest.mark.spark
def test_a_stored_run_that_is_judged_again_is_judged_alike(green: Reported) -> None:
    files = (green.run.folder.judgements, green.run.folder.differences)
    before = [file.read_bytes() for file in files]
    judge_run(
        green.run.folder,
        expectation_files=(),
        catalogue=frozenset(catalogue()),
        baseline=None,
        today=date.today(),  # noqa: DTZ011 - which day it is does not matter without an entry
    )
    assert [file.read_bytes() for file in files] == before


@pytest.mark.slow
def test_the_whole_suite_with_the_reference_is_as_expected_and_twice_the_same_bytes(tmp_path: Path) -> None:
    runs = [completed_run(tmp_path / attempt, ["reference"]) for attempt in ("1", "2")]
    assert [run.exit_code for run in runs] == [ExitCode.EXPECTED] * 2
    assert outcomes(runs[0], "reference").keys() == catalogue().keys()
    first, second = (run.folder.events("reference").read_bytes() for run in runs)
    assert first == second


def test_a_scenario_alone_leaves_the_events_that_it_leaves_among_all(tmp_path: Path) -> None:
    among_all = completed_run(tmp_path / "all", ["reference"], "classic").folder
    alone = completed_run(tmp_path / "alone", ["reference"], BEFORE_ASSIGNMENTS).folder
    all_events = read_events(among_all.events("reference")).events
    assert read_events(alone.events("reference")).events == tuple(
        event for event in all_events if event.scenario_id == BEFORE_ASSIGNMENTS
    )


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
    assert page.count(f'href="#{anchor}"') == 1
    assert "REBALANCE_IN_PROGRESS" in page[page.index(f'href="#{anchor}"') :]
    assert f'"first":"{anchor}"' in (red.path / conversation_file(BEFORE_ASSIGNMENTS)).read_text()
    assert f"{scenario_page(BEFORE_ASSIGNMENTS)}#" in red.rendered.index.read_text()
    reported = f"step {HEARTBEAT_ANSWERED}, Heartbeat v4, error_code"
    assert reported in red.rendered.summary.read_text().replace("\\_", "_")
    failure = ET.parse(red.rendered.junit).getroot().find(".//failure")
    assert failure is not None
    assert reported in (failure.text or "")
    assert "--profile 3.9" in (failure.text or "")
