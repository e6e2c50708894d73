"""The way of a reader: from a red cell to the first difference, and from there to the same one again."""

import json
import shlex
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from harness.clients.report import write_report
from harness.diff.model import Judgement
from harness.report.model.phrases import address, target_anchor
from harness.report.model.run_data import Run
from harness.results.client_results import CONVERSATION_FILE, ClientsFiles
from harness.results.status import ExitCode
from harness.tests.browser import browser
from harness.tests.in_process import CommandLine
from harness.tests.made_up_clients import KAFKA_NAME, PYTHON, STATIC, red
from harness.tests.small_suite import RIGHT, WRONG, entry
from harness.trace.files import RunFolder, read_records

pytest_plugins = ["harness.tests.command_line_fixture", "harness.tests.spark_fixture"]


@pytest.mark.browser
@pytest.mark.spark
@pytest.mark.usefixtures("suites")
def test_a_red_cell_leads_to_a_line_that_shows_the_same_difference_again(
    kafka_conformance: CommandLine, spark: SparkSession, tmp_path: Path
) -> None:
    assert spark.getActiveSession() is spark
    reports = tmp_path / "reports"
    further = tmp_path / "of this run.toml"
    further.write_text(entry(RIGHT, "indeterminate"))
    given = ("--suites", "small_suites", "--expect", str(further))
    kafka_conformance("run", *given, "--target", "reference:3.9", "--out", reports, "--run-id", "red")

    with browser(tmp_path / "profile") as tab:
        tab.open((reports / "red" / "index.html").as_uri())
        tab.click("tr.row a.mark.diverges.unexpected")
        tab.until("document.querySelector('table.talk')")
        tab.click("details.target.differs .to-first")
        tab.until("location.hash && document.querySelector('tr.finding.first')")
        place = str(tab.read("document.querySelector('tr.finding.first').textContent"))
        tab.click_shows("details.target.differs .repro .copy", "copied")
        signature = tab.read("document.querySelector('.signature').textContent")
        line = str(tab.read("navigator.clipboard.readText()"))

    assert "Heartbeat v4, error_code" in place
    words = shlex.split(line)
    assert words[0] == "kafka-conformance"
    again = ("--out", reports, "--run-id", "again", "--no-report")
    code = kafka_conformance(*words[1:], *again)

    assert code == ExitCode.UNEXPECTED
    (found,) = read_records(Judgement, RunFolder(reports / "again").judgements)
    assert (found.scenario_id, found.signature) == (WRONG, signature), json.dumps(line)
    assert str(further) in words


@pytest.mark.browser
def test_a_red_client_cell_leads_to_its_first_mismatch_and_what_each_client_saw(tmp_path: Path) -> None:
    folder = red().write(tmp_path / "red")
    conversation = ClientsFiles(folder).conversation_dir(KAFKA_NAME, STATIC, PYTHON) / CONVERSATION_FILE
    conversation.parent.mkdir(parents=True)
    seen = {"client": "ana", "event": "revoked", "at_ms": 1250.0, "partitions": [["orders", 0]]}
    conversation.write_text(json.dumps(seen) + "\n")
    write_report(Run.load(folder))

    with browser(tmp_path / "profile") as tab:
        tab.open((folder / "index.html").as_uri())
        tab.click("button[data-value=diverges]")
        tab.until("document.querySelectorAll('tr.row:not([hidden])').length === 1")
        assert "o=diverges" in str(tab.read("location.hash"))
        tab.read("document.querySelector('tr.row:not([hidden]) th a').focus()")
        tab.press("ArrowRight")
        cell = tab.read("document.activeElement.getAttribute('href')")
        tab.click("tr.row a.mark.diverges.unexpected")
        tab.until("document.querySelector('table.lanes')")
        tab.click("details.target.differs .to-first")
        tab.until("location.hash.includes(':first-difference-')")
        reported = str(tab.read("document.querySelector('tr.finding.first').textContent"))
        lanes = str(tab.read("document.querySelector('table.lanes').textContent"))
        loaded = tab.read("document.title")

    assert str(cell) == address(STATIC, target_anchor(f"{KAFKA_NAME}, {PYTHON}"))
    assert "ana was told revoked 2 instead of nothing" in reported
    assert "revoked orders-0" in lanes
    assert STATIC in str(loaded)
