"""The tables of many runs, from archives small enough to be read."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq  # type: ignore[import-untyped]  # Arrow has no annotations
import pytest
from pyspark.sql import Observation, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from harness.diff.model import Judgement
from harness.spark.archive import Archive, arrow_schema
from harness.spark.trend import TREND_MARTS, Archived, build_trend, queried, write_table
from harness.tests.made_events import ANSWER, DIFFERENCE
from harness.tests.spark_archive import (
    AGREED,
    JUDGEMENTS,
    OTHER,
    changed,
    failing,
    finished,
    judge,
    packed,
    table,
)
from harness.tests.spark_records import KAFKA, REFERENCE, footer_of, rows
from harness.trace.events import EventKind, TraceHeader
from harness.trace.files import RunFolder, write_records
from harness.trace.schema import TraceError

pytest_plugins = ["harness.tests.spark_fixture"]
pytestmark = pytest.mark.spark

WORKS = ANSWER.scenario_id


def judged(results: Mapping[str, str | None]) -> list[Judgement]:
    """Judge the target: by scenario, the signature of what fails, or None."""
    return [
        judgement if signature is None else failing(judgement, signature)
        for judgement in JUDGEMENTS
        if judgement.target == "kafka-3.9.2" and judgement.scenario_id in results
        for signature in [results[judgement.scenario_id]]
    ]


def history(tmp_path: Path, *nights: Mapping[str, str | None], scripts: str = "d") -> Archive:
    """Pack a run for each night, with these results."""
    return packed(
        tmp_path,
        *[
            finished(
                tmp_path / "reports",
                number,
                judgements=judged(results),
                scenario_digest=scripts if len(scripts) == 1 else scripts[number - 1],
            )
            for number, results in enumerate(nights, start=1)
        ],
    )


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    """One run in which the target differs at step 1 of one scenario."""
    folder = tmp_path_factory.mktemp("small")
    judgements = [failing(JUDGEMENTS[0]), *JUDGEMENTS[1:]]
    return packed(folder, finished(folder / "reports", 1, events=changed(1), judgements=judgements))


@pytest.mark.parametrize("name", TREND_MARTS)
def test_a_mart_has_exactly_the_columns_of_its_row_class(
    spark: SparkSession, small: Archive, name: str
) -> None:
    found = TREND_MARTS[name].of(name, Archived(spark, small)).schema
    declared = from_arrow_schema(arrow_schema(TREND_MARTS[name].row))

    assert [(field.name, field.dataType.simpleString()) for field in found] == [
        (field.name, field.dataType.simpleString()) for field in declared
    ]


def test_whatever_a_run_says_of_itself_is_read_as_it_stands(spark: SparkSession, tmp_path: Path) -> None:
    folder = finished(tmp_path / "reports", 1)
    said = replace(folder.read_run(), command="""it's "a\\n" {rows} ${spark.app.name} ü\n""")
    folder.write_run(said)

    (row,) = rows(Archived(spark, packed(tmp_path, folder))["runs"])
    assert (row["command"], row["targets"]) == (said.command, list(said.targets))


def test_a_run_that_an_older_harness_archived_is_read_beside_a_newer_one(
    spark: SparkSession, tmp_path: Path
) -> None:
    archive = packed(tmp_path, *[finished(tmp_path / "reports", number) for number in (1, 2)])
    older = archive.files("runs")[0]
    pq.write_table(pq.read_table(older, partitioning=None).drop_columns(["kind"]), older)

    assert len(rows(Archived(spark, archive)["runs"])) == 2


def test_a_table_s_folder_has_nothing_but_its_rows(
    spark: SparkSession, small: Archive, tmp_path: Path
) -> None:
    table, of = TREND_MARTS["first_differences"], Archived(spark, small)
    assert write_table("first_differences", table, of, tmp_path / "table", partitions=1) == 1
    assert [path.suffix for path in (tmp_path / "table").iterdir()] == [".parquet"]


def test_the_first_difference_is_reported_with_both_error_codes(spark: SparkSession, small: Archive) -> None:
    (row,) = table(spark, small, "first_differences")

    assert (row["scenario_id"], row["target"], row["oracle"]) == (WORKS, "kafka-3.9.2", "reference")
    assert (row["step"], row["api"], row["differing_count"]) == (1, "Heartbeat", 1)
    assert (row["oracle_error_codes"], row["target_error_codes"]) == (["NONE"], ["UNKNOWN_MEMBER_ID"])
    assert (row["outcome"], row["signature"]) == ("diverges", "s1")


def test_a_missing_answer_is_a_difference_of_which_one_side_is_null(
    spark: SparkSession, tmp_path: Path
) -> None:
    events = [event for event in AGREED if (event.target, event.step) != ("kafka-3.9.2", 2)]
    archive = packed(tmp_path, finished(tmp_path / "reports", 1, events=events))
    found = table(spark, archive, "first_differences")

    assert {(row["step"], row["oracle_kind"], row["target_kind"]) for row in found} == {
        (2, EventKind.RESPONSE.value, None)
    }


def test_only_differing_conversations_are_looked_into(spark: SparkSession, tmp_path: Path) -> None:
    reports = tmp_path / "reports"
    nights = [finished(reports, number) for number in range(1, 20)]
    archive = packed(tmp_path, *nights, finished(reports, 20, events=changed(1)))
    of = Archived(spark, archive)
    seen = Observation()
    observed = of["differing"].observe(seen, sf.count("*").alias("count"))

    assert of["traces"].where("oracle_conversation IS NOT NULL").count() == 40
    frames = {"differing": observed, "conversations": of["conversations"]}
    assert queried(spark, "first_differences", frames).count() == 1
    assert seen.get["count"] == 1


def test_errors_that_took_the_place_of_others_are_counted(spark: SparkSession, small: Archive) -> None:
    found = {
        (row["target"], row["oracle_error_codes"], row["target_error_codes"]): row["answer_count"]
        for row in table(spark, small, "error_confusion")
    }

    assert found == {
        ("kafka-3.9.2", "NONE", "NONE"): 5,
        ("kafka-3.9.2", "NONE", "UNKNOWN_MEMBER_ID"): 1,
    }


@pytest.mark.parametrize(
    ("before", "after", "delta"),
    [
        ({WORKS: None}, {WORKS: "s1"}, "newly diverging"),
        ({WORKS: "s1"}, {WORKS: None}, "newly conforming"),
        ({WORKS: "s1"}, {WORKS: "s2"}, "changed signature"),
        ({WORKS: None}, {WORKS: None, OTHER: None}, "added"),
        ({WORKS: None, OTHER: None}, {WORKS: None}, "removed"),
    ],
    ids=["newly failing", "newly passing", "changed signature", "added", "removed"],
)
def test_what_changed_from_run_to_run(
    spark: SparkSession,
    tmp_path: Path,
    before: Mapping[str, str | None],
    after: Mapping[str, str | None],
    delta: str,
) -> None:
    found = table(spark, history(tmp_path, before, after), "run_deltas")

    assert [(row["prior_run_id"], row["run_id"], row["delta"]) for row in found] == [
        ("run-1", "run-2", delta)
    ]


def test_a_result_that_changed_by_itself_is_flaky_and_with_other_scripts_is_not(
    spark: SparkSession, tmp_path: Path
) -> None:
    archive = history(tmp_path, {WORKS: None}, {WORKS: "s1"}, {WORKS: None}, scripts="aab")
    deltas = sorted((row["run_id"], row["is_flaky"]) for row in table(spark, archive, "run_deltas"))
    (rate,) = table(spark, archive, "flake_rates")

    assert deltas == [("run-2", True), ("run-3", False)]
    assert (rate["pair_count"], rate["flip_count"], rate["flake_rate"]) == (1, 1, 1.0)
    assert (rate["run_count"], rate["failing_count"], rate["last_flip_run_id"]) == (3, 1, "run-2")


def test_messages_that_are_others_in_each_run_are_no_change(spark: SparkSession, tmp_path: Path) -> None:
    nights = [
        finished(
            tmp_path / "reports",
            number,
            judgements=[
                replace(each, outcome="lenient", signature=f"s{number}") if number > 1 else each
                for each in judged({WORKS: None})
            ],
            differences=[replace(DIFFERENCE, is_lenient=True, signature=f"s{number}")],
        )
        for number in (1, 2, 3)
    ]
    archive = packed(tmp_path, *nights)
    (rate,) = table(spark, archive, "flake_rates")

    assert (rate["pair_count"], rate["flip_count"]) == (2, 0)
    assert not table(spark, archive, "run_deltas")
    assert not table(spark, archive, "cause_ages")


def test_a_cluster_tells_since_when_until_when_and_how_widely(spark: SparkSession, tmp_path: Path) -> None:
    reports = tmp_path / "reports"
    elsewhere = replace(DIFFERENCE, scenario_id=OTHER)
    archive = packed(
        tmp_path,
        finished(reports, 1),
        finished(reports, 2, differences=[DIFFERENCE]),
        finished(reports, 3, differences=[DIFFERENCE, elsewhere]),
        finished(reports, 4),
    )
    (row,) = table(spark, archive, "cause_ages")

    assert (row["first_run_id"], row["last_run_id"], row["run_count"]) == ("run-2", "run-3", 2)
    assert (row["age"], row["runs_since"], row["scenario_count"], row["target_count"]) == (3, 1, 2, 1)


def versions(reports: Path, digests: Mapping[str, str]) -> RunFolder:
    """Hold versions, each with a reference of its own, which answers alike."""
    folder = finished(reports, 1, events=[])
    for version, digest in digests.items():
        target, oracle = f"kafka-{version}", f"reference-{version}"
        for name, header in ((target, replace(KAFKA, oracle=oracle)), (oracle, REFERENCE)):
            plain = {field: getattr(header, field) for field in TraceHeader.__dataclass_fields__}
            folder.write_headers(name, [TraceHeader(**plain | {"target": name})])
            write_records(folder.events(name), [replace(ANSWER, target=name, digest=digest)])
    judge(folder, [replace(JUDGEMENTS[0], target=f"kafka-{version}") for version in digests])
    folder.write_footer(footer_of(folder))
    return folder


def test_the_first_version_that_goes_otherwise_is_named(spark: SparkSession, tmp_path: Path) -> None:
    reported = {"3.10.0": "new", "2.8.1": "old", "3.9.2": "old", "4.0.0": "new"}
    (row,) = table(
        spark, packed(tmp_path, versions(tmp_path / "reports", reported)), "first_changed_versions"
    )

    assert (row["family"], row["oldest_target"], row["newest_target"]) == (
        "kafka-",
        "kafka-2.8.1",
        "kafka-4.0.0",
    )
    assert (row["last_same_target"], row["first_changed_target"]) == ("kafka-3.9.2", "kafka-3.10.0")
    assert (row["target_count"], row["change_count"]) == (4, 1)


def test_only_the_runs_that_were_asked_for_count(spark: SparkSession, tmp_path: Path) -> None:
    archive = history(tmp_path, {WORKS: None}, {WORKS: "s1"}, {WORKS: None})
    reported: list[str] = []
    counts = build_trend(archive, tmp_path / "out", run_ids=["run-1", "run-2"], progress=reported.append)

    assert (counts["verdict_matrix"], counts["run_deltas"]) == (2, 1)
    assert sum(line.startswith("table ") for line in reported) == len(TREND_MARTS)
    with pytest.raises(TraceError, match="lacks run-9"):
        build_trend(archive, tmp_path / "out", run_ids=["run-9"])
