"""The coverage of a search stands beside that of a run."""

from pathlib import Path

import pytest

from harness.results.exit_code import ExitCode
from harness.spark.rows import ErrorCodeCount
from harness.tests.in_process import CommandLine
from harness.tests.report_run import RUN_ID, SCALA, MadeUpRun

pytest_plugins = ["harness.tests.command_line_fixture"]


@pytest.mark.slow
def test_a_page_has_the_answers_of_the_search_alone_of_both_and_of_the_scenarios_alone(
    kafka_conformance: CommandLine, tmp_path: Path
) -> None:
    run = MadeUpRun()
    for api, code in (("Heartbeat", "NONE"), ("Heartbeat", "GROUP_MAX_SIZE_REACHED"), ("Metadata", "NONE")):
        run.error_codes.append(
            ErrorCodeCount(
                run_id=RUN_ID, target=SCALA, api=api, api_version=4, error_code=code, response_count=7
            )
        )
    sides = ("--target", "reference:4.4", "--against", "reference:4.4", "--steps", "2500")
    beside = ("--beside", run.write(tmp_path / "run"), "--out", tmp_path, "--run-id", "made")

    assert kafka_conformance("search", *sides, *beside) == ExitCode.EXPECTED

    assert "1 in the search and in the scenarios" in kafka_conformance.out
    page = (tmp_path / "made-coverage" / "coverage.html").read_text()
    alone, both, missing = (part.partition("</details>")[0] for part in page.split("<details")[1:])
    assert "OffsetCommit" in alone
    assert "Heartbeat" in both
    assert "GROUP_MAX_SIZE_REACHED" in missing
    assert "Metadata" not in missing


def test_a_folder_that_is_no_run_is_refused_before_the_search(
    kafka_conformance: CommandLine, tmp_path: Path
) -> None:
    code = kafka_conformance("search", "--against", "reference:4.3", "--beside", tmp_path)
    assert code == ExitCode.NO_INPUT
