"""Invariants as joins over many traces find what the checker finds, one trace after the other."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from harness.invariants import check
from harness.spark.invariants import broken_invariants
from harness.spark.schemas import frame_of
from harness.tests.invariant_traces import Trace, assignment, rebalanced
from harness.trace.events import Event

pytestmark = pytest.mark.spark
pytest_plugins = ["harness.tests.spark_fixture"]


def well(trace: Trace) -> None:
    rebalanced(trace, 1, ana=assignment(0, 1), bob=assignment(2))
    rebalanced(trace, 2, ana=assignment(2), bob=assignment(0, 1))
    trace.commit(5)
    trace.commit(3)
    trace.fetch(3)


def falls(trace: Trace) -> None:
    rebalanced(trace, 5, ana=assignment(0), bob=assignment(1))
    trace.join("ana", 4)


def changes_coordinator(trace: Trace) -> None:
    rebalanced(trace, 4, ana=assignment(0), bob=assignment(1))
    trace.join("ana", 6)
    trace.control()
    trace.join("ana", 5)


def gives_what_was_not_sent(trace: Trace) -> None:
    rebalanced(trace, 1, ana=b"ana's", bob=b"bob's", given=b"else")


def forgets(trace: Trace) -> None:
    trace.join("ana", 1)
    trace.join("bob", 1)
    trace.sync("ana", 1, assignment(0), sends={"ana": assignment(0)})
    trace.sync("bob", 1, b"")


def goes_back(trace: Trace) -> None:
    trace.commit(3)
    trace.commit(5)
    trace.fetch(3)


def goes_back_by_a_commit(trace: Trace) -> None:
    trace.commit(5)
    trace.commit(3)
    trace.fetch(3)


def goes_back_by_a_refused_commit(trace: Trace) -> None:
    trace.commit(5)
    trace.commit(3, error="ILLEGAL_GENERATION")
    trace.fetch(3)


def goes_back_by_an_undecided_commit(trace: Trace) -> None:
    trace.commit(5)
    trace.commit(3, error="REQUEST_TIMED_OUT")
    trace.fetch(3)


def overlaps(trace: Trace) -> None:
    one, other = trace.commit_asked(3), trace.commit_asked(5)
    trace.commit_answered(one)
    trace.commit_answered(other)
    trace.fetch(3)


STORIES: tuple[Callable[[Trace], None], ...] = (
    *(well, falls, changes_coordinator, gives_what_was_not_sent, forgets, goes_back, goes_back_by_a_commit),
    *(goes_back_by_a_refused_commit, goes_back_by_an_undecided_commit, overlaps),
)


def reported(story: Callable[[Trace], None]) -> list[Event]:
    trace = Trace()
    story(trace)
    return [replace(event, scenario_id=story.__name__) for event in trace.events]


def test_joins_over_many_traces_find_what_the_checker_finds(spark: SparkSession) -> None:
    events = [event for story in STORIES for event in reported(story)]
    found = broken_invariants(frame_of(spark, Event, events)).collect()

    assert sorted((row.scenario_id, row.invariant, row.party, row.sequence) for row in found) == sorted(
        (each.scenario_id, each.invariant, each.party, each.sequence) for each in check(events)
    )
    assert {row.scenario_id for row in found} == {
        *("falls", "gives_what_was_not_sent", "forgets", "goes_back", "goes_back_by_a_refused_commit")
    }
