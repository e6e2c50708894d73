"""The marts, on frames small enough to be read."""

from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from harness.spark import mart
from harness.spark.job import MARTS
from harness.spark.schemas import struct_type
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
    frames = sources(spark, events=events)
    return rows(mart.aligned_steps(frames.headers, frames.events).orderBy("target", "step", "occurrence"))


def theirs(event: Event) -> Event:
    return replace(event, target="reference")


def test_equal_answers_are_aligned_and_not_different(spark: SparkSession) -> None:
    row, of_reference = aligned(spark, EVENT, theirs(replace(EVENT, at_ms=1.0)))

    assert (row["target_at_ms"], row["oracle_at_ms"], row["is_different"]) == (5.0, 1.0, False)
    assert (row["target"], row["oracle"]) == ("kafka-3.9.2", "reference")
    assert of_reference["target"] == "reference"


def test_another_digest_is_different(spark: SparkSession) -> None:
    row, _ = aligned(spark, replace(EVENT, digest="other"), theirs(EVENT))

    assert row["is_different"] is True


def test_another_kind_is_different_even_without_digests(spark: SparkSession) -> None:
    silent = replace(EVENT, kind=EventKind.SILENCE.value, digest=None)
    row, _ = aligned(spark, silent, theirs(replace(silent, kind=EventKind.CLOSED.value)))

    assert row["is_different"] is True


def test_requests_are_compared_by_their_canonical_fields_alone(spark: SparkSession) -> None:
    request = replace(EVENT, kind=EventKind.REQUEST.value, digest="with member ids")
    row, _ = aligned(spark, request, theirs(replace(request, digest="with other member ids")))
    assert row["is_different"] is False

    row, _ = aligned(spark, request, theirs(replace(request, canonical="{}")))
    assert row["is_different"] is True


def test_polls_are_left_out_and_shift_nothing(spark: SparkSession) -> None:
    poll = replace(EVENT, kind=EventKind.POLL.value, digest="not yet")
    row, _ = aligned(spark, poll, replace(poll, sequence=1), replace(EVENT, sequence=2), theirs(EVENT))

    assert (row["occurrence"], row["is_different"]) == (0, False)


def test_the_request_that_a_poll_answers_shifts_nothing_either(spark: SparkSession) -> None:
    asks = replace(EVENT, kind=EventKind.REQUEST.value)
    polls = [asks, replace(EVENT, sequence=1, kind=EventKind.POLL.value, digest="not yet")]
    asked_again = [*polls, replace(asks, sequence=2), replace(EVENT, sequence=3)]
    found = aligned(spark, *asked_again, theirs(asks), theirs(replace(EVENT, sequence=1)))

    ours = [row for row in found if row["target"] == EVENT.target]
    assert [(row["target_kind"], row["oracle_kind"], row["is_different"]) for row in ours] == [
        ("request", "request", False),
        ("response", "response", False),
    ]


def test_what_the_witness_of_starvation_reported_shifts_nothing_and_is_no_difference(
    spark: SparkSession,
) -> None:
    starved = replace(EVENT, kind=EventKind.STARVED.value, digest="starved")
    found = aligned(spark, starved, replace(EVENT, sequence=1), theirs(EVENT))
    of_target = [row for row in found if row["target"] != "reference-3.9.2"]
    assert [(row["target_kind"], row["is_different"]) for row in of_target[:2]] == [
        ("response", False),
        ("starved", False),
    ]


def test_events_of_a_step_are_numbered_in_their_sequence(spark: SparkSession) -> None:
    found = aligned(
        spark, replace(EVENT, sequence=11, note="second"), replace(EVENT, sequence=9, note="first")
    )

    assert [(row["occurrence"], row["target_note"]) for row in found] == [(0, "first"), (1, "second")]


def test_what_only_one_side_did_stands_alone_and_is_different(spark: SparkSession) -> None:
    found = aligned(spark, EVENT, theirs(replace(EVENT, step=1)))[:2]

    assert [(row["target_kind"], row["oracle_kind"], row["is_different"]) for row in found] == [
        ("response", None, True),
        (None, "response", True),
    ]
    assert [row["api"] for row in found] == ["Heartbeat", "Heartbeat"]


def test_events_of_no_actor_are_aligned_too(spark: SparkSession) -> None:
    elapsed = replace(
        EVENT,
        kind=EventKind.ELAPSED.value,
        actor=None,
        connection=None,
        api=None,
        api_version=None,
        digest=None,
    )
    row, _ = aligned(spark, elapsed, theirs(elapsed))

    assert (row["oracle_kind"], row["is_different"]) == ("elapsed", False)


def test_different_connections_of_an_actor_are_not_aligned(spark: SparkSession) -> None:
    assert len(aligned(spark, EVENT, theirs(replace(EVENT, connection="aside")))) == 3


def test_a_target_without_an_oracle_differs_from_nothing(spark: SparkSession) -> None:
    frames = sources(spark, headers=[REFERENCE], events=[theirs(EVENT)])
    (row,) = rows(mart.aligned_steps(frames.headers, frames.events))

    assert (row["oracle"], row["oracle_kind"], row["is_different"]) == (None, None, False)


def test_two_brokers_of_a_target_do_not_double_its_events(spark: SparkSession) -> None:
    frames = sources(
        spark,
        headers=[REFERENCE, KAFKA, replace(KAFKA, broker_ordinal=1, broker_config='{"group.max.size":"2"}')],
        events=[EVENT, theirs(EVENT)],
    )

    assert mart.aligned_steps(frames.headers, frames.events).count() == 2


def test_one_oracle_stands_beside_each_of_its_targets(spark: SparkSession) -> None:
    newer = replace(KAFKA, target="kafka-4.3.1")
    frames = sources(
        spark,
        headers=[REFERENCE, KAFKA, newer],
        events=[EVENT, replace(EVENT, target="kafka-4.3.1"), theirs(EVENT)],
    )
    found = rows(mart.aligned_steps(frames.headers, frames.events).where("oracle IS NOT NULL"))

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


def test_error_codes_are_those_at_top_level(spark: SparkSession) -> None:
    nested = '{"topics":[{"error_code":"UNKNOWN_TOPIC_OR_PARTITION"}]}'
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
    ]


def test_a_run_without_a_footer_keeps_the_footers_of_others(spark: SparkSession) -> None:
    frames = sources(spark, headers=[KAFKA, replace(KAFKA, run_id="run-2")], footers=[FOOTER])
    summary = mart.target_summary(frames.headers, frames.footers, frames.judgements, frames.events)

    assert {row["run_id"]: row["drive_ms"] for row in rows(summary)} == {"run-1": 3000.0, "run-2": None}
