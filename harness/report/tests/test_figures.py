"""The counts and causes of a run."""

from dataclasses import replace
from pathlib import Path

from harness.diff.alignment import BROKER_ENDED_WORDS
from harness.report.model.cause_groups import cause_groups, differences_by_cause
from harness.report.model.run_data import Run, error_code_counts
from harness.tests.made_events import ANSWER
from harness.tests.report_run import JAVA, SCALA, difference, judgement, small_run
from harness.trace.events import EventKind


def test_the_differences_of_a_cause_are_together_and_the_most_frequent_cause_is_first(
    tmp_path: Path,
) -> None:
    made = small_run()
    for place in ("a/b/c", "a/b/d"):
        found = difference(place, SCALA, cause="often", field="f")
        made.add(judgement(place, SCALA, "diverges"), (), found)
    follows = difference("a/b/c", JAVA, cause="often", ordinal=1, is_consequence=True)
    made.add(judgement("a/b/c", JAVA, "diverges"), (), difference("a/b/c", JAVA, cause="once"), follows)
    causes = differences_by_cause(Run.load(made.write(tmp_path)))

    often = next(each for each in causes if each[0].cause == "often")
    once = next(each for each in causes if each[0].cause == "once")
    assert {(each.target, each.scenario_id) for each in often} == {
        (SCALA, "a/b/c"), (SCALA, "a/b/d"), (JAVA, "a/b/c")
    }  # fmt: skip
    assert causes.index(often) < causes.index(once)


def test_what_ended_a_broker_comes_first(tmp_path: Path) -> None:
    made = small_run()
    ended = difference("z/killer", SCALA, field=None, actual=BROKER_ENDED_WORDS, cause="the broker ended")
    made.add(judgement("z/killer", SCALA, "diverges"), (), ended)
    (first, *others) = cause_groups(Run.load(made.write(tmp_path)))

    assert first.first.scenario_id == "z/killer"
    assert others


def test_error_codes_are_those_at_top_level_or_else_each_of_those_within() -> None:
    code = '{"error_code":"UNKNOWN_TOPIC_OR_PARTITION"}'
    nested = f'{{"metadata":"\\"error_code\\":\\"NO\\"","topics":[{code},{code}]}}'
    events = [
        ANSWER,
        replace(ANSWER, sequence=1),
        replace(ANSWER, sequence=2, canonical='{"error_code":"FENCED_INSTANCE_ID"}'),
        replace(ANSWER, sequence=3, api="OffsetCommit", canonical=nested),
        replace(ANSWER, sequence=4, kind=EventKind.POLL.value),
        replace(ANSWER, sequence=5, canonical="["),
    ]
    assert {code: count for (_, _, code, _), count in error_code_counts(events).items()} == {
        "FENCED_INSTANCE_ID": 1,
        "NONE": 2,
        "UNKNOWN_TOPIC_OR_PARTITION": 1,
    }
