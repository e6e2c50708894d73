"""The counts and times of a run."""

from dataclasses import replace

import pytest

from harness.report.model.run_data import (
    cause_counts,
    error_code_counts,
    latency_quantiles,
)
from harness.tests.made_events import ANSWER, DIFFERENCE
from harness.trace.events import EventKind

FOUND = (
    DIFFERENCE,
    replace(DIFFERENCE, ordinal=1, is_consequence=True, target="kafka-4.3.1"),
    replace(DIFFERENCE, scenario_id="b"),
    replace(DIFFERENCE, api=None, api_version=None, difference_class="liveness", cause="c2"),
)


def test_a_cause_has_its_targets_and_scenarios_and_the_frequent_one_is_first() -> None:
    one, other = cause_counts(FOUND)
    assert (one.targets, one.scenario_ids) == (
        ("kafka-3.9.2", "kafka-4.3.1"),
        ("b", "classic/heartbeat/works"),
    )
    assert (one.cause, one.finding_count, other.cause) == ("c1", 2, "c2")


def test_latencies_are_of_answers_and_not_of_polls() -> None:
    answers = [replace(ANSWER, sequence=i, elapsed_ms=float(i)) for i in range(1, 101)]
    poll = replace(ANSWER, sequence=101, kind=EventKind.POLL.value, elapsed_ms=9000.0)
    (row,) = latency_quantiles([*answers, poll, replace(ANSWER, sequence=102, elapsed_ms=None)])
    assert (row.response_count, row.max_ms) == (100, 100.0)
    assert (row.p50_ms, row.p95_ms, row.p99_ms) == pytest.approx((50.5, 95.05, 99.01))


def test_error_codes_are_those_at_top_level_or_else_each_of_those_within() -> None:
    code = '{"error_code":"UNKNOWN_TOPIC_OR_PARTITION"}'
    nested = f'{{"metadata":"\\"error_code\\":\\"NO\\"","topics":[{code},{code}]}}'
    events = [
        ANSWER,
        replace(ANSWER, sequence=1),
        replace(ANSWER, sequence=2, canonical='{"error_code":"FENCED_INSTANCE_ID"}'),
        replace(ANSWER, sequence=3, api="OffsetCommit", canonical=nested),
        replace(ANSWER, sequence=4, kind=EventKind.POLL.value),
    ]
    assert {(each.error_code, each.response_count) for each in error_code_counts(events)} == {
        ("FENCED_INSTANCE_ID", 1),
        ("NONE", 2),
        ("UNKNOWN_TOPIC_OR_PARTITION", 1),
    }
