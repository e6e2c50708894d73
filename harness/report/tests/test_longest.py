"""What a run is summed up by: what ended a broker, and the conversation that takes a target longest."""

from pathlib import Path

from harness.diff.alignment import BROKER_ENDED_WORDS
from harness.report.model.cause_groups import cause_groups, longest_scenarios
from harness.report.model.run_data import Run
from harness.tests.report_reading import summary_of
from harness.tests.report_run import REFERENCE, SCALA, MadeUpRun, difference, judgement, small_run


def with_long_ones() -> MadeUpRun:
    made = small_run()
    made.add(judgement("a/long/est", SCALA, duration_ms=9_000.0))
    made.add(judgement("a/long/too", SCALA, duration_ms=8_000.0))
    made.add(judgement("a/long/unheld", SCALA, "not applicable", duration_ms=99_000.0))
    made.add(judgement("a/long/est", REFERENCE, duration_ms=30_000.0))
    return made


def test_the_longest_of_each_target_is_one_that_was_run(tmp_path: Path) -> None:
    found = longest_scenarios(Run.load(with_long_ones().write(tmp_path)))

    assert found[SCALA] == "a/long/est, 9000 ms of 14210 ms"
    assert found[REFERENCE] == "a/long/est, 30000 ms of virtual time"


def test_the_summary_names_the_longest(tmp_path: Path) -> None:
    directory = with_long_ones().write(tmp_path)

    assert f"- Longest on {SCALA}: a/long/est, 9000 ms of 14210 ms" in summary_of(directory)


def test_what_ended_a_broker_comes_first(tmp_path: Path) -> None:
    made = small_run()
    ended = difference("z/killer", SCALA, field=None, actual=BROKER_ENDED_WORDS, cause="the broker ended")
    made.add(judgement("z/killer", SCALA, "diverges"), (), ended)
    (first, *others) = cause_groups(Run.load(made.write(tmp_path)))

    assert first.first.scenario_id == "z/killer"
    assert others
