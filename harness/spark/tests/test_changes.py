"""The mart of changes, on frames small enough to be read."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from harness.diff.model import Attribution, Difference, Judgement
from harness.spark.archive_rows import BrokerHeader
from harness.spark.change_mart import behaviour_changes
from harness.tests.spark_records import DIFFERENCE, EVENT, JUDGEMENT, KAFKA, REFERENCE, RUN, rows, sources
from harness.trace.events import Event, EventKind

pytest_plugins = ["harness.tests.spark_fixture"]
pytestmark = pytest.mark.spark

OLD, MIDDLE, NEW = "kafka-2.8.2", "kafka-3.9.2", "kafka-4.4.0"
ORDER = (OLD, MIDDLE, NEW)
HEADERS = [
    *(
        replace(KAFKA, target=name, spec=name.replace("-", ":"), oracle=f"reference-{name[6:]}")
        for name in ORDER
    ),
    *(replace(REFERENCE, target=f"reference-{name[6:]}") for name in ORDER),
]
REFUSED = '{"error_code":"UNKNOWN_MEMBER_ID","throttle_time_ms":0}'
GRANTED = '{"error_code":"NONE","throttle_time_ms":0}'


def answer(target: str, canonical: str, **changes: object) -> Event:
    return replace(EVENT, target=target, canonical=canonical, digest=canonical, **changes)  # type: ignore[arg-type]  # of an event


def with_oracle(target: str, canonical: str, oracle: str | None = None) -> list[Event]:
    """An answer, and its reference's, which is the same unless told otherwise."""
    return [answer(target, canonical), answer(f"reference-{target[6:]}", oracle or canonical)]


def judged(target: str, outcome: str = "conforms", **changes: object) -> Judgement:
    oracle = f"reference-{target[6:]}"
    return replace(JUDGEMENT, target=target, oracle=oracle, outcome=outcome, **changes)  # type: ignore[arg-type]  # of a judgement


def changes(
    spark: SparkSession,
    events: list[Event],
    judgements: list[Judgement],
    *,
    targets: Sequence[str] = ("reference-4.4.0", *ORDER),
    headers: Sequence[BrokerHeader] = HEADERS,
    differences: Sequence[Difference] = (),
    attributions: Sequence[Attribution] = (),
) -> list[dict[str, object]]:
    frames = sources(
        spark,
        runs=[replace(RUN, targets=tuple(targets))],
        headers=headers,
        events=events,
        judgements=judgements,
        differences=differences,
        attributions=attributions,
    )
    return rows(behaviour_changes(frames).orderBy("scenario_id", "ordinal"))


def test_answers_that_stay_the_same_are_no_change(spark: SparkSession) -> None:
    events = [event for name in ORDER for event in with_oracle(name, GRANTED)]

    assert changes(spark, events, [judged(name) for name in ORDER]) == []


def test_a_change_hears_of_the_first_version_that_has_it(spark: SparkSession) -> None:
    events = [*with_oracle(OLD, GRANTED), *with_oracle(MIDDLE, REFUSED), *with_oracle(NEW, REFUSED)]

    (row,) = changes(spark, events, [judged(name) for name in ORDER])

    assert (row["from_target"], row["to_target"], row["ordinal"]) == (OLD, MIDDLE, 0)
    assert (row["from_canonical"], row["to_canonical"], row["fields"]) == (GRANTED, REFUSED, ["error_code"])
    assert (row["first_step"], row["api"], row["api_version"], row["step_count"]) == (0, "Heartbeat", 4, 1)
    assert row["is_explained"] is True


def test_changes_of_a_scenario_are_numbered_in_the_order_of_versions(spark: SparkSession) -> None:
    events = [*with_oracle(OLD, GRANTED), *with_oracle(MIDDLE, REFUSED), *with_oracle(NEW, GRANTED)]

    found = changes(spark, events, [judged(name) for name in ORDER])

    assert [(row["ordinal"], row["to_target"]) for row in found] == [(0, MIDDLE), (1, NEW)]


def test_how_often_a_version_was_polled_is_no_change(spark: SparkSession) -> None:
    asks = [
        replace(event, kind=EventKind.REQUEST.value) for name in ORDER for event in with_oracle(name, GRANTED)
    ]
    polled = answer(OLD, REFUSED, sequence=1, kind=EventKind.POLL.value)
    again = replace(asks[0], sequence=2)
    answers = [replace(event, sequence=3) for name in ORDER for event in with_oracle(name, GRANTED)]

    assert changes(spark, [*asks, polled, again, *answers], [judged(name) for name in ORDER]) == []


@pytest.mark.parametrize("outcome", ["not applicable", "indeterminate", "harness error"])
def test_a_version_with_which_nothing_could_be_run_is_passed_over(spark: SparkSession, outcome: str) -> None:
    events = [*with_oracle(OLD, GRANTED), *with_oracle(NEW, REFUSED)]

    (row,) = changes(spark, events, [judged(OLD), judged(MIDDLE, outcome), judged(NEW)])

    assert (row["from_target"], row["to_target"]) == (OLD, NEW)


def test_the_reference_is_no_neighbour_in_process_and_is_one_over_tcp(spark: SparkSession) -> None:
    events = [*with_oracle(OLD, GRANTED), *with_oracle(NEW, REFUSED)]
    judgements = [judged(OLD), judged(NEW)]

    def pairs(spec: str) -> list[object]:
        headers = [replace(HEADERS[0], spec=spec), *HEADERS[1:]]
        found = changes(spark, events, judgements, targets=ORDER, headers=headers)
        return [row["from_target"] for row in found]

    assert pairs("reference-tcp:2.8") == [OLD]
    assert pairs("reference:2.8") == []


def test_what_chance_decides_is_no_change(spark: SparkSession) -> None:
    events = [*with_oracle(OLD, GRANTED, oracle=GRANTED), *with_oracle(MIDDLE, REFUSED, oracle=GRANTED)]

    assert changes(spark, events, [judged(OLD), judged(MIDDLE)]) == []


@pytest.mark.parametrize(("expectation", "is_explained"), [("unexpected", False), ("expected", True)])
def test_a_difference_from_the_reference_explains_a_change_only_if_it_was_foreseen(
    spark: SparkSession, expectation: str, *, is_explained: bool
) -> None:
    events = [*with_oracle(OLD, GRANTED, oracle=GRANTED), *with_oracle(MIDDLE, REFUSED, oracle=GRANTED)]

    (row,) = changes(
        spark,
        events,
        [judged(OLD), judged(MIDDLE, "diverges", expectation=expectation)],
        differences=[replace(DIFFERENCE, target=MIDDLE)],
    )

    assert (row["is_explained"], row["to_outcome"]) == (is_explained, "diverges")


def test_an_answer_that_no_longer_comes_is_a_change(spark: SparkSession) -> None:
    silent = answer(MIDDLE, "", kind=EventKind.NO_ANSWER.value, raw=None)

    (row,) = changes(spark, [*with_oracle(OLD, GRANTED), silent], [judged(OLD), judged(MIDDLE)])

    assert (row["from_kind"], row["to_kind"], row["fields"]) == ("response", "no answer", [])


def test_a_conversation_that_ends_sooner_is_a_change(spark: SparkSession) -> None:
    more = answer(OLD, GRANTED, step=1, sequence=1)

    (row,) = changes(
        spark,
        [*with_oracle(OLD, GRANTED), more, *with_oracle(MIDDLE, GRANTED)],
        [judged(OLD), judged(MIDDLE)],
    )

    assert (row["first_step"], row["from_kind"], row["to_kind"]) == (1, "response", None)


def test_requests_are_no_behaviour(spark: SparkSession) -> None:
    asked = [answer(name, name, kind=EventKind.REQUEST.value, sequence=1) for name in (OLD, MIDDLE)]
    events = [*with_oracle(OLD, GRANTED), *with_oracle(MIDDLE, GRANTED), *asked]

    assert changes(spark, events, [judged(OLD), judged(MIDDLE)]) == []


def test_a_change_carries_the_behaviours_it_is_attributed_to(spark: SparkSession) -> None:
    events = [*with_oracle(OLD, GRANTED), *with_oracle(MIDDLE, REFUSED)]
    attribution = Attribution(
        run_id="run-1",
        scenario_id=EVENT.scenario_id,
        from_oracle="reference-2.8.2",
        to_oracle="reference-3.9.2",
        behaviours=("A", "B"),
        sources=("KAFKA-1", "KAFKA-2"),
    )

    (row,) = changes(spark, events, [judged(OLD), judged(MIDDLE)], attributions=[attribution])

    assert (row["behaviours"], row["sources"]) == (["A", "B"], ["KAFKA-1", "KAFKA-2"])


def test_a_target_that_all_are_compared_with_is_a_neighbour_itself(spark: SparkSession) -> None:
    headers = [replace(header, oracle=None if header.target == OLD else OLD) for header in HEADERS[:2]]
    alone = replace(judged(OLD), oracle=None)
    compared = replace(judged(MIDDLE, "diverges", expectation="unexpected"), oracle=OLD)

    (row,) = changes(
        spark,
        [answer(OLD, GRANTED), answer(MIDDLE, REFUSED)],
        [alone, compared],
        targets=ORDER[:2],
        headers=headers,
        differences=[replace(DIFFERENCE, target=MIDDLE)],
    )

    assert (row["from_target"], row["to_target"], row["is_explained"]) == (OLD, MIDDLE, False)
