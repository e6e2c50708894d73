"""Allure's history: made of the archive, for both Allures; flaky is what changed by itself."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.report.allure.history import RUNS_MAX
from harness.report.allure.results import write_allure_results
from harness.results.errors import ReportError
from harness.spark.archive import KINDS, Archive, VolumeWriter
from harness.spark.archive_rows import ARCHIVE
from harness.spark.arrow_schemas import arrow_table, column_names
from harness.tests.report_run import (
    FENCED,
    HEADER,
    HEARTBEAT,
    JAVA,
    SCALA,
    MadeUpRun,
    judgement,
    small_run,
    summary,
)
from harness.tests.spark_records import REFERENCE as REFERENCE_HEADER
from harness.trace.events import RunHeader


def night(number: int, **changes: object) -> RunHeader:
    """Return the header of a run before the one that is reported; the lower, the earlier."""
    made = replace(HEADER, run_id=f"night-{number}", started_at=f"2026-11-{number:02d}T00:00:00Z")
    return replace(made, **changes)  # type: ignore[arg-type] # the caller names fields


def archived(root: Path, made: MadeUpRun, header: RunHeader) -> None:
    """Put a run into the archive as if it had been packed."""
    archive = Archive(root=root / ARCHIVE)
    headers = [
        replace(
            REFERENCE_HEADER,
            run_id=header.run_id,
            target=each.target,
            spec=each.spec,
            profile=each.profile,
            implementation=each.implementation,
            broker_config=each.broker_config,
            oracle=each.oracle,
        )
        for each in made.summaries
    ]
    with VolumeWriter(archive.root, header.run_id) as writer:
        writer.write("runs", arrow_table(KINDS["runs"], [header]))
        writer.write("headers", arrow_table(KINDS["headers"], headers))
        results = [replace(each, run_id=header.run_id) for each in made.judgements]
        writer.write("judgements", arrow_table(KINDS["judgements"], results))
        differences = arrow_table(type(made.differences[0]), made.differences)
        writer.write("differences", differences.select(column_names(KINDS["differences"])))
    archive.commit({header.run_id: {header.run_id: "as judged"}})


def quiet() -> MadeUpRun:
    """Return the small run as it was when every heartbeat conformed."""
    made = small_run()
    made.judgements = [
        judgement(HEARTBEAT, SCALA) if (each.target, each.scenario_id) == (SCALA, HEARTBEAT) else each
        for each in made.judgements
    ]
    return made


def result(results: Path, target: str, scenario_id: str) -> dict[str, Any]:
    found = [json.loads(path.read_text()) for path in results.glob("*-result.json")]
    (one,) = [each for each in found if each["fullName"] == f"{target}: {scenario_id}"]
    return dict(one)


def is_flaky(results: Path, target: str = SCALA, scenario_id: str = HEARTBEAT) -> bool:
    return bool(result(results, target, scenario_id)["statusDetails"]["flaky"])


def items(results: Path, target: str, scenario_id: str) -> list[str]:
    """Return what Allure 2 is told of a result's earlier runs, the newest first."""
    history = json.loads((results / "history" / "history.json").read_text())
    one = history.get(result(results, target, scenario_id)["historyId"], {"items": []})
    return [each["status"] for each in one["items"]]


def test_a_first_run_has_no_history(tmp_path: Path) -> None:
    results = write_allure_results(small_run().write(tmp_path / "run"))
    assert json.loads((results / "history" / "history.json").read_text()) == {}
    assert json.loads((results / "history" / "history-trend.json").read_text()) == []
    assert (results / "history" / "history.jsonl").read_text() == ""
    assert not is_flaky(results)


def test_earlier_runs_are_listed_newest_first_under_the_same_id(tmp_path: Path) -> None:
    archived(tmp_path, small_run(), night(1))
    archived(tmp_path, quiet(), night(2))
    results = write_allure_results(small_run().write(tmp_path / "run"))
    assert items(results, SCALA, HEARTBEAT) == ["passed", "failed"]
    assert items(results, JAVA, HEARTBEAT) == ["passed", "passed"]


def test_earlier_runs_come_from_the_archive_that_is_named(tmp_path: Path) -> None:
    archived(tmp_path / "elsewhere", small_run(), night(1))
    run = small_run().write(tmp_path / "run")
    assert items(write_allure_results(run), SCALA, HEARTBEAT) == []
    results = write_allure_results(run, tmp_path / "elsewhere" / ARCHIVE)
    assert items(results, SCALA, HEARTBEAT) == ["failed"]


def test_the_trend_counts_what_each_run_came_to(tmp_path: Path) -> None:
    archived(tmp_path, quiet(), night(1))
    results = write_allure_results(small_run().write(tmp_path / "run"))
    trend = json.loads((results / "history" / "history-trend.json").read_text())
    counts = {"passed": 6, "failed": 1, "broken": 0, "skipped": 1, "unknown": 0, "total": 8}
    assert trend == [{"buildOrder": 1, "reportName": "night-1", "data": counts}]
    (kinds,) = json.loads((results / "history" / "categories-trend.json").read_text())
    assert kinds["data"] == {"Known differences": 1, "Stale expectations": 1, "Not applicable": 1}
    assert json.loads((results / "executor.json").read_text())["buildOrder"] == 2


def test_runs_of_other_targets_later_ones_and_the_run_itself_are_no_history(tmp_path: Path) -> None:
    archived(tmp_path, small_run(), HEADER)
    archived(tmp_path, small_run(), night(1, targets=("redpanda",)))
    archived(tmp_path, small_run(), night(25))
    results = write_allure_results(small_run().write(tmp_path / "run"))
    assert items(results, SCALA, HEARTBEAT) == []


def test_no_more_runs_are_reported_than_are_looked_at(tmp_path: Path) -> None:
    for number in range(1, RUNS_MAX + 3):
        archived(tmp_path, quiet(), night(number))
    results = write_allure_results(small_run().write(tmp_path / "run"))
    assert len(items(results, SCALA, HEARTBEAT)) == RUNS_MAX
    lines = (results / "history" / "history.jsonl").read_text().splitlines()
    assert [json.loads(line)["name"] for line in lines] == [
        f"night-{number}" for number in range(3, RUNS_MAX + 3)
    ]


def test_a_result_that_changed_by_itself_is_flaky_and_no_other_is(tmp_path: Path) -> None:
    archived(tmp_path, quiet(), night(1))
    results = write_allure_results(small_run().write(tmp_path / "run"))
    assert is_flaky(results)
    assert not is_flaky(results, JAVA)
    assert not is_flaky(results, SCALA, FENCED)


@pytest.mark.parametrize(
    ("of_run", "of_target"),
    [
        ({"harness_commit": "0000000"}, {}),
        ({"scenario_digest": "other"}, {}),
        ({}, {"implementation": "a build before"}),
    ],
)
def test_a_result_that_changed_with_harness_scripts_or_target_is_not_flaky(
    tmp_path: Path, of_run: dict[str, object], of_target: dict[str, object]
) -> None:
    made = quiet()
    made.summaries = [summary(each.target, **of_target) for each in made.summaries]
    archived(tmp_path, made, night(1, **of_run))
    assert not is_flaky(write_allure_results(small_run().write(tmp_path / "run")))


def test_an_archive_that_is_damaged_is_reported(tmp_path: Path) -> None:
    archived(tmp_path, quiet(), night(1))
    (tmp_path / ARCHIVE / "judgements" / "night-1.parquet").write_bytes(b"PAR1")
    run = small_run().write(tmp_path / "run")
    with pytest.raises(ReportError, match="cannot be read"):
        write_allure_results(run)
