"""The clause coverage mart, on frames small enough to be read."""

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from harness.diff.model import Judgement
from harness.spark.archive_rows import RunClause
from harness.spark.coverage_mart import clause_coverage
from harness.spark.stage import stage_clauses
from harness.tests.spark_records import JUDGEMENT, KAFKA, REFERENCE, rows, sources, write_run
from harness.trace.clause import Clause
from harness.trace.files import write_records

pytest_plugins = ["harness.tests.spark_fixture"]
pytestmark = pytest.mark.spark

CLAUSE = RunClause(
    run_id="run-1",
    id="HB-01",
    section="heartbeat",
    section_title="Heartbeat",
    statement="It works.",
    apis=("Heartbeat",),
    versions=None,
    derived=False,
    exclusion=None,
    reason=None,
)
CHOSEN = replace(JUDGEMENT, clauses=("HB-01",))


def standings(spark: SparkSession, clause: RunClause, *judgements: Judgement) -> dict[object, object]:
    of = sources(spark, clauses=[clause], judgements=judgements)
    found = rows(clause_coverage(of.clauses, of.headers, of.judgements))
    return {row["target"]: row["standing"] for row in found}


def test_every_target_has_every_row(spark: SparkSession) -> None:
    assert standings(spark, CLAUSE, CHOSEN) == {"kafka-3.9.2": "agreed", "reference": "not exercised"}


@pytest.mark.parametrize(
    ("outcomes", "status"),
    [
        (("conforms", "diverges"), "differs"),
        (("lenient", "not applicable"), "agreed"),
        (("indeterminate", "not applicable"), "unclear"),
        (("harness error",), "unclear"),
        (("not applicable",), "not applicable"),
    ],
)
def test_scenarios_of_a_row_are_taken_together(
    spark: SparkSession, outcomes: tuple[str, ...], status: str
) -> None:
    judgements = [replace(CHOSEN, scenario_id=f"a/b/{each}", outcome=each) for each in outcomes]
    assert standings(spark, CLAUSE, *judgements)["kafka-3.9.2"] == status


def test_a_row_that_is_excluded_is_not_lacking(spark: SparkSession) -> None:
    excluded = replace(CLAUSE, exclusion="no claim", reason="a rule")
    assert standings(spark, excluded)["kafka-3.9.2"] == "excluded"


def test_a_row_names_its_scenarios_and_counts_their_outcomes(spark: SparkSession) -> None:
    judgements = [replace(CHOSEN, scenario_id=name) for name in ("b/c/d", "a/b/c")]
    of = sources(
        spark, clauses=[CLAUSE], judgements=judgements, headers=[KAFKA, replace(KAFKA, broker_ordinal=1)]
    )
    (row,) = rows(clause_coverage(of.clauses, of.headers, of.judgements))
    assert (row["scenario_ids"], row["agreed_count"], row["differing_count"]) == (["a/b/c", "b/c/d"], 2, 0)


def test_rows_stay_within_their_run(spark: SparkSession) -> None:
    of = sources(
        spark,
        clauses=[CLAUSE, replace(CLAUSE, run_id="run-2")],
        headers=[REFERENCE, replace(REFERENCE, run_id="run-2")],
        judgements=[replace(CHOSEN, target="reference")],
    )
    found = rows(clause_coverage(of.clauses, of.headers, of.judgements).orderBy("run_id"))
    assert [(row["run_id"], row["standing"]) for row in found] == [
        ("run-1", "agreed"),
        ("run-2", "not exercised"),
    ]


def test_the_catalogue_is_read_from_the_run(spark: SparkSession, tmp_path: Path) -> None:
    folder = write_run(tmp_path)
    assert rows(stage_clauses(spark, [folder])) == []
    kept = Clause(**{name: getattr(CLAUSE, name) for name in Clause.__dataclass_fields__})
    write_records(folder.clauses, [kept])
    (row,) = rows(stage_clauses(spark, [folder]))
    assert (row["run_id"], row["id"], row["apis"]) == ("run-1", "HB-01", ["Heartbeat"])
