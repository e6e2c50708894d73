"""`pytest suites/ --target …` as the other door to a run: the same judgements in pytest's words."""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from harness.diff.model import Judgement
from harness.tests.completed_runs import CHECKOUT, environment
from harness.tests.patience import completed
from harness.tests.small_suite import NEW, RIGHT, WRONG, entry, write_suite
from harness.trace.files import RunFolder, read_records

pytestmark = pytest.mark.slow

_NO_REPORT = "--no-conformance-report"


def ran(directory: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run pytest in a process of its own, where `suites` is what the directory has."""
    path = os.pathsep.join([str(directory), str(CHECKOUT)])
    return completed(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", *arguments],
        cwd=directory,
        env={**environment(), "PYTHONPATH": path},
    )


@pytest.fixture(name="project")
def _project(tmp_path: Path) -> Path:
    """Give a folder with a small package of suites, in which a wrong scenario is foreseen."""
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\nxfail_strict = true\n")
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["harness.pytest_plugin"]\n')
    write_suite(tmp_path, "suites", entry(WRONG))
    return tmp_path


def results(junit: Path) -> dict[str, str]:
    """Return what became of each item: the first element of its test case, or `passed`."""
    reported = {}
    for case in ET.parse(junit).getroot().iter("testcase"):
        marks = [child for child in case if child.tag in ("failure", "error", "skipped")]
        reported[case.get("name", "")] = marks[0].get("type") or marks[0].tag if marks else "passed"
    return reported


def test_the_suites_of_this_project_pass_with_the_reference(tmp_path: Path) -> None:
    done = ran(
        CHECKOUT,
        "suites/classic/heartbeat.py",
        "--target",
        "reference",
        _NO_REPORT,
        "--conformance-out",
        tmp_path,
    )
    assert done.returncode == pytest.ExitCode.OK, done.stdout
    assert (
        "PASSED suites/classic/heartbeat.py::classic/heartbeat/before-assignments[reference]" in done.stdout
    )
    assert RunFolder(tmp_path / "latest").judgements.is_file()


def test_expected_differences_xfail_and_what_is_not_applicable_is_skipped(project: Path) -> None:
    junit = project / "junit.xml"
    options = ("--target", "reference", "--target", "reference:3.9", _NO_REPORT, f"--junitxml={junit}")
    done = ran(project, "suites", *options)
    assert done.returncode == pytest.ExitCode.OK, done.stdout
    assert results(junit) == {
        f"{RIGHT}[reference]": "passed",
        f"{RIGHT}[reference-3.9]": "passed",
        f"{WRONG}[reference]": "pytest.xfail",
        f"{WRONG}[reference-3.9]": "pytest.xfail",
        f"{NEW}[reference]": "passed",
        f"{NEW}[reference-3.9]": "pytest.skip",
    }
    assert "as the test wants it" in done.stdout
    assert "serves DescribeGroups v0 to v5, not v6" in done.stdout


def test_an_unexpected_difference_fails_with_its_step_and_how_to_see_it_again(project: Path) -> None:
    (project / "suites" / "expectations" / "known.toml").write_text("")
    (project / "own.toml").write_text("")
    done = ran(project, "suites", _NO_REPORT, "--conformance-expect", "own.toml")
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert "1 failed, 2 passed" in done.stdout
    assert "diverges (unexpected): step 1 (ana receives Heartbeat v4, error_code 'NONE')" in done.stdout
    assert f"again: kafka-conformance run --target reference --expect own.toml {WRONG}" in done.stdout


def test_a_stale_expectation_fails(project: Path) -> None:
    (project / "suites" / "expectations" / "known.toml").write_text(entry(WRONG) + entry(RIGHT))
    done = ran(project, "suites", _NO_REPORT)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert "conforms (stale)" in done.stdout


def test_one_file_of_expectations_more_can_be_named(project: Path) -> None:
    (project / "suites" / "expectations" / "known.toml").write_text("")
    (project / "own.toml").write_text(entry(WRONG))
    done = ran(project, "suites", _NO_REPORT, "--conformance-expect", "own.toml")
    assert done.returncode == pytest.ExitCode.OK, done.stdout


@pytest.mark.parametrize(
    ("entries", "options", "says"),
    [
        ("", ("--target", "redpanda:24.3"), "'redpanda:24.3' is not a target"),
        ("[[expect]", (), "is not TOML"),
        (entry("small/no/such"), (), "matches no scenario"),
    ],
)
def test_a_wrong_target_or_expectation_is_a_usage_error(
    project: Path, entries: str, options: tuple[str, ...], says: str
) -> None:
    (project / "suites" / "expectations" / "known.toml").write_text(entries)
    done = ran(project, "suites", _NO_REPORT, *options)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert not (project / "reports").exists()


def test_a_place_where_no_run_can_be_made_is_a_usage_error_and_named(project: Path) -> None:
    done = ran(project, "suites", _NO_REPORT, "--conformance-out", "/proc/x")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "--conformance-out /proc/x: No such file or directory: choose another place" in done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_collecting_drives_nothing(project: Path) -> None:
    done = ran(project, "suites", "--collect-only", "-q", "-k", "right")
    assert done.returncode == pytest.ExitCode.OK
    assert f"{RIGHT}[reference]" in done.stdout
    assert not (project / "reports").exists()


def test_only_what_was_chosen_is_driven(project: Path) -> None:
    done = ran(project, "suites", _NO_REPORT, "-k", "right")
    assert done.returncode == pytest.ExitCode.OK
    judged = read_records(Judgement, RunFolder(project / "reports" / "latest").judgements)
    assert [each.scenario_id for each in judged] == [RIGHT]


def test_allures_own_plug_in_tells_of_our_items(project: Path) -> None:
    done = ran(project, "suites", _NO_REPORT, "--alluredir", project / "allure")
    assert done.returncode == pytest.ExitCode.OK, done.stdout + done.stderr
    reported = [json.loads(file.read_text()) for file in (project / "allure").glob("*-result.json")]
    assert {result["name"]: result["status"] for result in reported} == {
        f"{RIGHT}[reference]": "passed",
        f"{WRONG}[reference]": "skipped",
        f"{NEW}[reference]": "passed",
    }


def test_what_is_done_to_a_broker_of_others_is_announced(project: Path) -> None:
    done = ran(project, "suites", "--target", "external:127.0.0.1:1", _NO_REPORT)
    assert "external:127.0.0.1:1 is an external broker: the run makes groups" in done.stdout
