"""Client scripts can be foreseen: from an expectation file to the exit code, JUnit, the page and `expect`."""

import xml.etree.ElementTree as ET
from datetime import date
from pathlib import Path

import pytest
from pydantic import ValidationError

from harness.diff.expectations import Entry, SourcedEntry
from harness.results.client_results import keep_expectations, load_clients
from harness.results.status import ExitCode, ResultStatus, status_of
from harness.tests.in_process import CommandLine
from harness.tests.made_up_clients import EAGER, KAFKA, LIBRDKAFKA, PYTHON, STATIC, MadeUpClients, red
from harness.tests.site_reading import view_of

pytest_plugins = ["harness.tests.command_line_fixture"]

TODAY = date(2026, 1, 1)
REASON = "The broker forgets a static member."
KNOWN = f"""
[[expect]]
scenario = "{STATIC}"
targets = ["kafka:3.9.*"]
libraries = ["{PYTHON}"]
reason = "{REASON}"
link = "KAFKA-12345"
"""


def entry(**changes: object) -> Entry:
    usual = {
        "scenario": STATIC,
        "targets": ["kafka:*"],
        "libraries": ["*"],
        "reason": REASON,
        "link": "KIP-345",
    }
    return Entry.model_validate({**usual, **changes})


@pytest.fixture(name="known")
def _known(tmp_path: Path) -> Path:
    path = tmp_path / "known.toml"
    path.write_text(KNOWN)
    return path


def test_an_entry_is_of_scenarios_or_of_client_scripts() -> None:
    with pytest.raises(ValidationError, match="a client script needs 'libraries'"):
        entry(libraries=None)
    with pytest.raises(ValidationError, match="of client scripts alone"):
        entry(scenario="classic/join/simple")


def test_what_was_foreseen_is_kept_beside_the_result_and_forgotten_with_its_entry(tmp_path: Path) -> None:
    folder = red().write(tmp_path / "run")
    sourced = SourcedEntry(entry=entry(), path=Path("known.toml"), index=0)
    (before,) = (each for each in load_clients(folder).results if status_of(each) is ResultStatus.FAILED)

    run = keep_expectations(folder, [sourced], TODAY)
    (known,) = (each for each in run.results if each.scenario_id == STATIC and each.library == PYTHON)

    assert (status_of(known), known.link, run.exit_code) == (ResultStatus.KNOWN, "KIP-345", ExitCode.EXPECTED)
    assert known.reason.startswith(f"{REASON} [step 2")
    (again,) = (
        each for each in keep_expectations(folder, [], TODAY).results if status_of(each) is status_of(before)
    )
    assert again == before


def test_an_entry_whose_difference_does_not_show_makes_a_run_stale(tmp_path: Path) -> None:
    folder = MadeUpClients().write(tmp_path / "run")
    sourced = SourcedEntry(entry=entry(libraries=[PYTHON]), path=Path("known.toml"), index=0)

    assert keep_expectations(folder, [sourced], TODAY).exit_code is ExitCode.STALE


@pytest.mark.slow
@pytest.mark.usefixtures("suites")
def test_report_and_gate_go_by_the_entry(kafka_conformance: CommandLine, tmp_path: Path, known: Path) -> None:
    folder = red().write(tmp_path / "run")

    assert kafka_conformance("report", folder) == ExitCode.UNEXPECTED
    assert kafka_conformance("report", folder, "--expect", known) == ExitCode.EXPECTED
    assert kafka_conformance("gate", folder, "--expect", known) == ExitCode.EXPECTED
    assert "1 of them known differences" in kafka_conformance.out
    for name in ("junit.xml", "gate-junit.xml"):
        cases = ET.parse(folder / name).getroot().iter("testcase")
        skipped = [found for each in cases if (found := each.find("skipped")) is not None]
        assert [each for each in skipped if REASON in str(each.get("message"))]
        assert ET.parse(folder / name).getroot().find(".//failure") is None
    page = view_of(folder, "clients/static/crashes-and-returns")
    assert REASON in page
    assert "KAFKA-12345" in page


@pytest.mark.slow
def test_update_writes_an_entry_that_foresees_a_script_and_prune_removes_it(
    kafka_conformance: CommandLine, tmp_path: Path
) -> None:
    folder = red().write(tmp_path / "run")
    file = tmp_path / "mine.toml"
    given = ("--reason", REASON, "--link", "KIP-345", "--expect", file, "--yes")

    assert kafka_conformance("expect", "update", "--run", folder, STATIC, *given) == ExitCode.EXPECTED
    assert f'libraries = ["{PYTHON}"]' in file.read_text()
    assert kafka_conformance("gate", folder, "--expect", file) == ExitCode.EXPECTED
    asked = ("expect", "why", STATIC, "--target", KAFKA, "--run", folder, "--expect", file)
    assert kafka_conformance(*asked, "--client", PYTHON) == ExitCode.EXPECTED
    assert "1: applies" in kafka_conformance.out
    calm = MadeUpClients().write(tmp_path / "calm")
    assert kafka_conformance("expect", "prune", calm, "--expect", file, "--yes") == ExitCode.EXPECTED
    assert "[[expect]]" not in file.read_text()


@pytest.mark.slow
def test_an_entry_for_a_script_that_is_not_there_is_refused(
    kafka_conformance: CommandLine, tmp_path: Path
) -> None:
    folder = red().write(tmp_path / "run")
    file = tmp_path / "typo.toml"
    file.write_text(KNOWN.replace(STATIC, f"{EAGER}-typo"))

    assert kafka_conformance("report", folder, "--expect", file) == ExitCode.CONFIGURATION
    assert "matches no scenario" in kafka_conformance.err


@pytest.mark.slow
def test_entries_for_other_libraries_say_another_thing(
    kafka_conformance: CommandLine, tmp_path: Path
) -> None:
    file = tmp_path / "two.toml"
    file.write_text(KNOWN + KNOWN.replace(PYTHON, LIBRDKAFKA))
    assert kafka_conformance("expect", "lint", "--expect", file) == ExitCode.EXPECTED

    file.write_text(KNOWN * 2)
    assert kafka_conformance("expect", "lint", "--expect", file) == ExitCode.CONFIGURATION
    assert "entry 2: says the same as" in kafka_conformance.out
