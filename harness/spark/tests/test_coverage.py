"""The coverage of the catalogue, on frames small enough to be read."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from harness.diff.model import Judgement
from harness.report.model.cause_groups import differences_by_cause
from harness.report.model.coverage import run_coverage
from harness.report.model.run_data import Run
from harness.spark.archive import arrow_table
from harness.spark.rows import BrokerHeader, RunClause
from harness.spark.trend import queried
from harness.tests.made_events import ANSWER, DIFFERENCE, JUDGEMENT
from harness.tests.spark_archive import JUDGEMENTS, OTHER, changed, failing, finished, packed, table
from harness.tests.spark_records import KAFKA, REFERENCE, rows
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


def covered(
    spark: SparkSession,
    clauses: Sequence[RunClause],
    judgements: Sequence[Judgement],
    headers: Sequence[BrokerHeader] = (REFERENCE, KAFKA),
) -> list[dict[str, object]]:
    frames = {
        "clauses": spark.createDataFrame(arrow_table(RunClause, clauses)),
        "headers": spark.createDataFrame(arrow_table(BrokerHeader, headers)),
        "judgements": spark.createDataFrame(arrow_table(Judgement, judgements)),
    }
    return rows(queried(spark, "clause_coverage", frames).orderBy("run_id", "target"))


def standings(spark: SparkSession, clause: RunClause, *judgements: Judgement) -> dict[object, object]:
    return {row["target"]: row["standing"] for row in covered(spark, [clause], judgements)}


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
    (row,) = covered(spark, [CLAUSE], judgements, [KAFKA, replace(KAFKA, broker_ordinal=1)])
    assert (row["scenario_ids"], row["agreed_count"], row["differing_count"]) == (["a/b/c", "b/c/d"], 2, 0)


def test_rows_stay_within_their_run(spark: SparkSession) -> None:
    found = covered(
        spark,
        [CLAUSE, replace(CLAUSE, run_id="run-2")],
        [replace(CHOSEN, target="reference")],
        [REFERENCE, replace(REFERENCE, run_id="run-2")],
    )
    assert [(row["run_id"], row["standing"]) for row in found] == [
        ("run-1", "agreed"),
        ("run-2", "not exercised"),
    ]


def test_one_runs_page_says_the_same_without_spark(spark: SparkSession, tmp_path: Path) -> None:
    folder = finished(
        tmp_path,
        1,
        events=changed(1),
        judgements=[failing(JUDGEMENTS[0]), *JUDGEMENTS[1:]],
        differences=[DIFFERENCE, replace(DIFFERENCE, ordinal=1, cause="c2", is_consequence=True)],
    )
    clauses = [Clause(**{name: getattr(CLAUSE, name) for name in Clause.__dataclass_fields__})]
    write_records(
        folder.clauses, [*clauses, replace(clauses[0], id="HB-02", exclusion="no claim", reason="")]
    )
    page = {
        "title": "",
        "notes": "",
        "source": "",
        "clauses": [],
        "needs": [],
        "broker_config": {},
        "steps": [],
    }
    folder.write_scripts({name: {"id": name} | page for name in (ANSWER.scenario_id, OTHER)})
    run, archive = Run.load(folder.path), packed(tmp_path, folder)

    of_page = {
        (line.clause.id, target, status.value, line.scenario_ids)
        for line in run_coverage(run).lines
        for target, status in line.standings.items()
    }
    assert of_page == {
        (row["clause"], row["target"], row["standing"], tuple(row["scenario_ids"] or ()))  # type: ignore[arg-type] # a list
        for row in table(spark, archive, "clause_coverage")
    }
    assert {
        (
            of[0].cause,
            tuple(sorted({each.target for each in of})),
            tuple(sorted({each.scenario_id for each in of})),
            sum(not each.is_consequence for each in of),
        )
        for of in differences_by_cause(run)
    } == {
        (row["cause"], tuple(row["targets"]), tuple(row["scenario_ids"]), row["finding_count"])  # type: ignore[arg-type] # lists
        for row in table(spark, archive, "cause_ages")
    }
