"""The marts, on frames small enough to be read."""

from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from harness.spark import mart
from harness.spark.job import MARTS
from harness.spark.schemas import struct_type
from harness.spark.stage import Sources
from harness.tests.spark_records import (
    DIFFERENCE,
    EVENT,
    FOOTER,
    JUDGEMENT,
    KAFKA,
    REFERENCE,
    RUN,
    rows,
    sources,
)
from harness.trace.events import Event, EventKind

pytest_plugins = ["harness.tests.spark_fixture"]
pytestmark = pytest.mark.spark


@pytest.mark.parametrize("name", MARTS)
def test_a_mart_has_exactly_the_columns_of_its_row_class(spark: SparkSession, name: str) -> None:
    found = MARTS[name].build(sources(spark)).schema
    declared = struct_type(MARTS[name].row)

    assert [(field.name, field.dataType.simpleString()) for field in found] == [
        (field.name, field.dataType.simpleString()) for field in declared
    ]


def aligned(spark: SparkSession, *events: Event) -> list[dict[str, object]]:
    return steps(sources(spark, events=events))


def steps(frames: Sources) -> list[dict[str, object]]:
    found = mart.aligned_steps(frames.alignments, frames.events, frames.first_events)
    return rows(found.orderBy("target", "step", "occurrence"))


def theirs(event: Event) -> Event:
    return replace(event, target="reference")


def test_equal_answers_are_aligned_and_not_different(spark: SparkSession) -> None:
    row, of_reference = aligned(spark, EVENT, theirs(replace(EVENT, at_ms=1.0)))

    assert (row["target_at_ms"], row["oracle_at_ms"], row["is_different"]) == (5.0, 1.0, False)
    assert (row["target"], row["oracle"]) == ("kafka-3.9.2", "reference")
    assert of_reference["target"] == "reference"


def test_what_only_one_side_did_stands_alone_and_is_different(spark: SparkSession) -> None:
    found = aligned(spark, EVENT, theirs(replace(EVENT, step=1)))[:2]

    assert [(row["target_kind"], row["oracle_kind"], row["is_different"]) for row in found] == [
        ("response", None, True),
        (None, "response", True),
    ]
    assert [row["api"] for row in found] == ["Heartbeat", "Heartbeat"]


def test_a_target_without_an_oracle_differs_from_nothing(spark: SparkSession) -> None:
    frames = sources(spark, headers=[REFERENCE], events=[theirs(EVENT)])
    (row,) = steps(frames)

    assert (row["oracle"], row["oracle_kind"], row["is_different"]) == (None, None, False)


def test_two_brokers_of_a_target_do_not_double_its_events(spark: SparkSession) -> None:
    frames = sources(
        spark,
        headers=[REFERENCE, KAFKA, replace(KAFKA, broker_ordinal=1, broker_config='{"group.max.size":"2"}')],
        events=[EVENT, theirs(EVENT)],
    )

    assert len(steps(frames)) == 2


def test_one_oracle_stands_beside_each_of_its_targets(spark: SparkSession) -> None:
    newer = replace(KAFKA, target="kafka-4.3.1")
    frames = sources(
        spark,
        headers=[REFERENCE, KAFKA, newer],
        events=[EVENT, replace(EVENT, target="kafka-4.3.1"), theirs(EVENT)],
    )
    found = [row for row in steps(frames) if row["oracle"] is not None]

    assert sorted((row["target"], row["oracle_kind"]) for row in found) == [
        ("kafka-3.9.2", "response"),
        ("kafka-4.3.1", "response"),
    ]


def test_a_target_is_summed_up_on_all_axes(spark: SparkSession) -> None:
    frames = sources(
        spark,
        headers=[KAFKA, replace(KAFKA, broker_ordinal=1, broker_config="{…}", start_ms=1.0)],
        judgements=[
            JUDGEMENT,
            replace(JUDGEMENT, scenario_id="b", outcome="harness error", expectation="unexpected"),
            replace(JUDGEMENT, scenario_id="c", outcome="not applicable"),
        ],
        events=[EVENT, replace(EVENT, sequence=1, kind="request"), replace(EVENT, sequence=2, kind="poll")],
    )
    (row,) = rows(mart.target_summary(frames.headers, frames.footers, frames.judgements, frames.events))

    assert (row["scenario_count"], row["request_count"], row["response_count"]) == (3, 1, 1)
    assert (row["conforms"], row["harness_error"], row["not_applicable"], row["diverges"]) == (1, 1, 1, 0)
    assert (row["expected"], row["unexpected"], row["stale"]) == (2, 1, 0)
    assert (row["broker_config"], row["start_ms"], row["drive_ms"]) == ("{}", 4000.0, 3000.0)


def test_a_target_of_which_nothing_came_is_summed_up_with_zeros(spark: SparkSession) -> None:
    frames = sources(spark, footers=[], headers=[KAFKA])
    (row,) = rows(mart.target_summary(frames.headers, frames.footers, frames.judgements, frames.events))

    assert (row["scenario_count"], row["request_count"], row["diverges"]) == (0, 0, 0)
    assert row["drive_ms"] is None


def test_equal_differences_share_a_cluster_whatever_their_scenario(spark: SparkSession) -> None:
    frames = sources(
        spark,
        differences=[
            DIFFERENCE,
            replace(DIFFERENCE, scenario_id="b", step=7, signature="s2", run_id="run-2"),
            replace(DIFFERENCE, field=None),
            replace(DIFFERENCE, field="null"),
            replace(DIFFERENCE, field=""),
        ],
    )
    clusters = [row["cluster"] for row in rows(mart.clustered_differences(frames.differences))]

    assert clusters[0] == clusters[1]
    assert len(set(clusters)) == 4


def test_differences_are_counted_by_api_and_class(spark: SparkSession) -> None:
    frames = sources(
        spark,
        differences=[
            DIFFERENCE,
            replace(DIFFERENCE, ordinal=1, is_consequence=True),
            replace(DIFFERENCE, scenario_id="b"),
            replace(DIFFERENCE, api=None, api_version=None, difference_class="liveness"),
        ],
    )
    found = mart.differences_by_api_and_class(frames.differences).orderBy("difference_class")

    assert [tuple(row)[2:] for row in found.collect()] == [
        ("Heartbeat", "error code", 3, 2, 2),
        (None, "liveness", 1, 1, 1),
    ]


def test_a_cluster_knows_when_it_was_seen_first_and_last(spark: SparkSession) -> None:
    frames = sources(
        spark,
        runs=[replace(RUN, run_id="a", started_at="2026-03"), replace(RUN, run_id="b", started_at="2026-02")],
        differences=[
            replace(DIFFERENCE, run_id="a", target="kafka-4.3.1"),
            replace(DIFFERENCE, run_id="b"),
            replace(DIFFERENCE, run_id="b", scenario_id="a", is_consequence=True),
        ],
    )
    (row,) = rows(mart.signature_clusters(mart.clustered_differences(frames.differences), frames.runs))

    assert (row["first_run_id"], row["last_run_id"], row["run_ids"]) == ("b", "a", ["a", "b"])
    assert row["targets"] == ["kafka-3.9.2", "kafka-4.3.1"]
    assert row["scenario_ids"] == ["a", "classic/heartbeat/works"]
    assert row["finding_count"] == 2


def test_latencies_are_of_answers_and_not_of_polls(spark: SparkSession) -> None:
    answers = [replace(EVENT, sequence=i, elapsed_ms=float(i)) for i in range(1, 101)]
    poll = replace(EVENT, sequence=101, kind=EventKind.POLL.value, elapsed_ms=9000.0)
    untimed = replace(EVENT, sequence=102, elapsed_ms=None)
    frames = sources(spark, events=[*answers, poll, untimed])
    (row,) = rows(mart.latency_quantiles(frames.events))

    assert (row["response_count"], row["max_ms"]) == (100, 100.0)
    assert (row["p50_ms"], row["p95_ms"], row["p99_ms"]) == pytest.approx((50.5, 95.05, 99.01))


def test_error_codes_are_those_at_top_level_or_else_each_of_those_within(spark: SparkSession) -> None:
    code = '{"error_code":"UNKNOWN_TOPIC_OR_PARTITION"}'
    nested = f'{{"metadata":"\\"error_code\\":\\"NO\\"","topics":[{code},{code}]}}'
    frames = sources(
        spark,
        events=[
            EVENT,
            replace(EVENT, sequence=1),
            replace(EVENT, sequence=2, canonical='{"error_code":"FENCED_INSTANCE_ID"}'),
            replace(EVENT, sequence=3, api="OffsetCommit", canonical=nested),
            replace(EVENT, sequence=4, kind=EventKind.POLL.value),
        ],
    )
    found = mart.error_codes(frames.events).orderBy("error_code")

    assert [(row["error_code"], row["response_count"]) for row in found.collect()] == [
        ("FENCED_INSTANCE_ID", 1),
        ("NONE", 2),
        ("UNKNOWN_TOPIC_OR_PARTITION", 1),
    ]


def test_a_run_without_a_footer_keeps_the_footers_of_others(spark: SparkSession) -> None:
    frames = sources(spark, headers=[KAFKA, replace(KAFKA, run_id="run-2")], footers=[FOOTER])
    summary = mart.target_summary(frames.headers, frames.footers, frames.judgements, frames.events)

    assert {row["run_id"]: row["drive_ms"] for row in rows(summary)} == {"run-1": 3000.0, "run-2": None}
