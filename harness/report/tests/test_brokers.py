"""What scenarios were run with, as a run's folder keeps it."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from harness.orchestration.plan import PlanError, parse_properties
from harness.report.model.phrases import property_options
from harness.results.stored_data import added_properties
from harness.tests.report_reading import allure_results, junit_of, printed, summary_of
from harness.tests.report_run import HEARTBEAT, SCALA, small_run
from harness.tests.site_reading import rendered, view_of
from harness.trace.files import RunFolder

ADDED = "--broker-property offset.metadata.max.bytes=10"
AGAIN = f"kafka-conformance run --target kafka:3.9.2 {ADDED} {HEARTBEAT}"


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    """A run whose only red scenario had a property that another scenario asked for."""
    run_dir = small_run().write(tmp_path)
    config = {"group.max.size": "2", "offset.metadata.max.bytes": "10"}
    folder = RunFolder(run_dir)
    brokers = [{"broker_config": config, "cohorts": [[HEARTBEAT], ["a/b"]]}]
    folder.write_brokers({SCALA: {"brokers": brokers, "unpacked": 2}})
    scripts = {**folder.read_scripts()}
    script = scripts[HEARTBEAT]
    assert isinstance(script, dict)
    folder.write_scripts({**scripts, HEARTBEAT: {**script, "broker_config": {"group.max.size": 2}}})
    return run_dir


def test_what_a_scenario_was_run_with_is_reported_from_what_it_asked_for(packed: Path) -> None:
    every = {"group.max.size": "2", "offset.metadata.max.bytes": "10"}
    assert added_properties(RunFolder(packed)) == {
        (SCALA, HEARTBEAT): {"offset.metadata.max.bytes": "10"},
        (SCALA, "a/b"): every,
    }


def test_a_run_that_does_not_say_what_brokers_had_tells_nothing(tmp_path: Path) -> None:
    assert added_properties(RunFolder(small_run().write(tmp_path))) == {}


def test_every_report_repeats_a_scenario_with_the_properties_that_it_had(packed: Path) -> None:
    assert AGAIN in printed(packed)
    assert AGAIN in summary_of(packed)
    assert f"repeat: {AGAIN}" in ET.tostring(junit_of(packed), encoding="unicode")
    rendered(packed)
    page = view_of(packed, HEARTBEAT)
    assert AGAIN in page
    assert "offset.metadata.max.bytes=10" in page.partition("Run with")[2].partition("</dd>")[0]
    assert AGAIN in json.dumps(allure_results(packed))


def test_the_properties_of_a_line_are_read_again() -> None:
    options = property_options([{"group.max.size": "2", "a.b": "1"}])
    assert parse_properties(options[1::2]) == {"a.b": "1", "group.max.size": "2"}


@pytest.mark.parametrize("text", ["", "a", "=1"])
def test_what_is_no_property_is_refused(text: str) -> None:
    with pytest.raises(PlanError):
        parse_properties([text])
