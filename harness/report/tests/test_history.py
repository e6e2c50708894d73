"""Pages about more than one run: the trend, what changed, a scenario's strip; and the gate's decision."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from harness.report.model.gate_data import read_decision
from harness.report.model.phrases import address, given_options
from harness.report.model.regression import Regression
from harness.report.model.run_data import Run
from harness.report.model.trend import History, Trend
from harness.report.site.run_site import add_gate_view, add_regression, render_trend
from harness.results.baseline import BaselineData, keep_baseline, kept_baseline, results_against
from harness.tests.report_hostile import EARLIER, hostile_complaint, hostile_decision, write_hostile_trend
from harness.tests.report_run import (
    FENCED,
    HEARTBEAT,
    JAVA,
    RUN_ID,
    SCALA,
    MadeUpRun,
    conversation,
    difference,
    judgement,
    small_run,
)
from harness.tests.site_reading import data_of, rendered, view_of
from harness.trace.schema import TraceError
from harness.verdict import Delta


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    """Give a run's folder with a trend of two runs, in the newer of which one scenario went wrong."""
    folder = small_run().write(tmp_path / "reports" / RUN_ID)
    write_hostile_trend(folder / "trend", HEARTBEAT)
    return folder


def history_of(folder: Path) -> History:
    return History.load(folder / "trend", folder)


def test_a_strip_has_a_code_for_each_run_the_oldest_first(folder: Path) -> None:
    history = history_of(folder)
    assert [run.run_id for run in history.runs] == [EARLIER, RUN_ID]
    rendered(folder)
    beside = data_of(folder, "beside")
    assert beside["results"] == {JAVA: {HEARTBEAT: "at"}}
    assert "neighbouring runs differ" in beside["flakes"][JAVA][HEARTBEAT]


def test_a_run_is_led_to_only_where_its_folder_is_beside(folder: Path) -> None:
    assert [run.href for run in history_of(folder).runs] == ["", ""]
    rendered(folder)
    assert [run.href for run in history_of(folder).runs] == ["", f"../{RUN_ID}/"]


def test_a_result_that_is_not_what_it_was_is_reported_with_both_sides(folder: Path) -> None:
    regression = Regression.of(Run.load(folder), folder / "trend", history_of(folder))
    (comparison,) = regression.comparisons
    assert [section.title for section in comparison.sections] == ["New", "Flaky"]
    (((line,),),) = [section.lines for section in comparison.sections[:1]]
    changed = line.result
    assert changed.scenario_id == HEARTBEAT
    assert (changed.prior_outcome, changed.outcome) == ("conforms", "diverges")
    assert (comparison.count, regression.changed_count) == (1, 1)


def beside(made: MadeUpRun, run_id: str) -> BaselineData:
    """Hold a run against one in which all was well but for the fenced member, and which had one more."""
    made.judgements = [
        replace(each, delta=(Delta.SAME if each.scenario_id == FENCED else Delta.NEWLY_DIVERGING).value)
        if each.outcome == "diverges"
        else replace(each, delta=Delta.SAME.value)
        for each in made.judgements
    ]
    gone = judgement("a/b/gone", SCALA)
    before = [
        each if each.scenario_id == FENCED else replace(each, outcome="conforms") for each in made.judgements
    ]
    return BaselineData(
        run_id=run_id,
        named_by="--baseline",
        pairs={SCALA: "kafka-3.8"},
        results=results_against(
            made.judgements, [gone], [*before, gone], {(SCALA, HEARTBEAT): "red: new difference"}
        ),
    )


def with_baseline_that_lacked_all(made: MadeUpRun, folder: Path) -> Path:
    """Write a run that is held against one in which nothing of it was run."""
    results = results_against(made.judgements, [], [])
    made.write(folder)
    keep_baseline(folder, BaselineData(run_id="night-1", named_by="--baseline", results=results))
    return folder


def sections_of(folder: Path) -> dict[str, list[str]]:
    regression = Regression.of(Run.load(folder), folder / "trend", History())
    (comparison,) = regression.comparisons
    return {
        section.title: [each.result.scenario_id for lines in section.lines for each in lines]
        for section in comparison.sections
    }


def test_the_baseline_is_named_with_what_is_new_and_what_it_has_too(tmp_path: Path) -> None:
    made = small_run()
    kept = beside(made, "night-1")
    folder = made.write(tmp_path)
    keep_baseline(folder, kept)
    rendered(folder)
    page = view_of(folder, "regression")

    assert "Against the baseline night-1" in page
    assert f"{SCALA} stands in the place of its kafka-3.8" in page
    assert "1 result is not what it was" not in page
    assert "2 results are not what they were" in page
    assert "For the gate" not in page
    assert sections_of(folder) == {
        "New": [HEARTBEAT],
        "In the baseline too": [FENCED],
        "Vanished": ["a/b/gone"],
    }


def test_the_baseline_of_the_gate_is_reported_once_with_what_the_gate_makes_of_each_result(
    tmp_path: Path,
) -> None:
    made = small_run()
    kept = beside(made, "night-1")
    folder = made.write(tmp_path)
    keep_baseline(folder, kept)
    rendered(folder)
    decision = hostile_decision(HEARTBEAT) | {"baseline_id": "night-1", "baseline": kept.model_dump()}
    (folder / "gate.json").write_text(json.dumps(decision))
    add_regression(folder)
    page = view_of(folder, "regression")

    assert page.count("Against the baseline night-1") == 1
    assert (
        "compared this run with <b>night-1</b> and is <b>red</b>: 1 new, 1 in the baseline too, 1 vanished"
        in page
    )
    assert "<b>red: new difference</b>" in page
    assert sections_of(folder)["New"] == [HEARTBEAT]


def test_what_the_baseline_did_not_run_is_new_if_it_differs_and_added_if_not(tmp_path: Path) -> None:
    made = small_run()
    made.judgements = [
        replace(each, delta=Delta.ADDED.value) for each in made.judgements if each.target == SCALA
    ]
    folder = with_baseline_that_lacked_all(made, tmp_path)

    assert sections_of(folder)["New"] == [HEARTBEAT, FENCED]
    assert HEARTBEAT not in sections_of(folder)["Added"]


def test_results_that_differ_in_the_same_way_are_reported_once_and_all_are_counted(tmp_path: Path) -> None:
    made = small_run()
    for scenario_id in (HEARTBEAT, "loading/join/answered-load"):
        made.add(judgement(scenario_id, JAVA, "diverges"), conversation(diverging=True))
    made.differences = [difference(HEARTBEAT, SCALA), difference(FENCED, SCALA, actual="something else")]
    made.differences += [difference(each.scenario_id, JAVA) for each in made.judgements[-2:]]
    made.judgements = [
        replace(each, delta=Delta.ADDED.value) for each in made.judgements if each.outcome == "diverges"
    ]
    folder = with_baseline_that_lacked_all(made, tmp_path)
    rendered(folder)

    regression = Regression.of(Run.load(folder), folder / "trend", History())
    ((section,),) = [comparison.sections for comparison in regression.comparisons]
    assert [(line[0].result.scenario_id, len(line)) for line in section.lines] == [
        (HEARTBEAT, 3),
        (FENCED, 1),
    ]
    assert (section.count, regression.changed_count) == (4, 4)
    page = view_of(folder, "regression")
    assert "the same in 2 more results" in page
    assert f"on {JAVA}</li>" in page


def test_a_run_that_is_judged_without_its_baseline_forgets_it(tmp_path: Path) -> None:
    keep_baseline(tmp_path, BaselineData(run_id="night-1", named_by="--baseline", results=()))
    assert kept_baseline(tmp_path) is not None
    keep_baseline(tmp_path, None)
    assert kept_baseline(tmp_path) is None


def test_a_folder_without_a_site_gets_no_page_of_its_own(tmp_path: Path) -> None:
    add_regression(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_without_a_trend_the_pages_say_how_to_get_one(tmp_path: Path) -> None:
    rendered(small_run().write(tmp_path))
    for name, words in (
        ("trend", f"kafka-conformance report {tmp_path.name}"),
        ("regression", f"kafka-conformance report {tmp_path.name}"),
        ("gate", f"kafka-conformance gate {tmp_path}"),
    ):
        assert words in view_of(tmp_path, name)


def test_the_highest_bar_is_the_run_with_the_most_trouble(folder: Path) -> None:
    trend = Trend.load(folder / "trend", history_of(folder))
    assert [run.targets[0].run_id for run in trend.runs] == [EARLIER, RUN_ID]
    assert [sum(run.troubles.values()) for run in trend.runs] == [trend.highest, trend.highest]
    assert [each.age for each in trend.causes] == [2]


def test_the_site_of_a_trend_stands_alone(folder: Path) -> None:
    page = render_trend(folder / "trend")
    assert "matrix" not in page.read_text()
    assert "Trend: 2 runs" in view_of(page.parent, "trend")


def test_the_gates_page_says_what_the_gate_said(tmp_path: Path) -> None:
    decision = hostile_decision(HEARTBEAT) | {"lines": ["gate: red", "why:  this", "next: that"]}
    (tmp_path / "gate.json").write_text(json.dumps(decision))
    add_gate_view(tmp_path, RUN_ID)
    page = view_of(tmp_path, "gate")
    assert "gate: red\nwhy:  this\nnext: that" in page
    assert f'href="{address(HEARTBEAT)}' not in page
    rendered(small_run().write(tmp_path))
    assert f'href="{address(HEARTBEAT)}:target-{JAVA}"' in view_of(tmp_path, "gate")


def test_the_gates_view_shows_the_runs_own_decision_until_a_gate_decides(tmp_path: Path) -> None:
    rendered(small_run().write(tmp_path))
    page = view_of(tmp_path, "gate")
    assert "The run itself: 1 unexpected difference, 1 stale expectation" in page
    assert "exit code 1 (unexpected)" in page


def test_the_gates_page_tells_once_what_several_results_do_in_the_same_way(tmp_path: Path) -> None:
    values = {"api": "Heartbeat", "field": "error_code", "expected": "A", "actual": "B", "noticed": "Little."}
    complaint = hostile_complaint(HEARTBEAT) | {"difference": values, "cause": "f0"}
    changes: list[dict[str, object]] = [
        {},
        {"target": SCALA, "subject": f"{FENCED} on {SCALA}", "scenario_id": FENCED},
        {"kind": "new difference"},
        {"difference": None, "cause": None},
    ]
    decision = hostile_decision(HEARTBEAT) | {"complaints": [complaint | change for change in changes]}
    (tmp_path / "gate.json").write_text(json.dumps(decision))
    read = read_decision(tmp_path)
    assert read is not None
    assert [len(each) for each in read.grouped] == [2, 1, 1]
    add_gate_view(tmp_path, RUN_ID)
    page = view_of(tmp_path, "gate")
    assert "<small>and 1 more result</small>" in page
    assert f"<li>{FENCED} on {SCALA}" in page
    assert page.count("Little.") == 2


def test_what_is_no_decision_is_refused(tmp_path: Path) -> None:
    (tmp_path / "gate.json").write_text('{"is_green": true}')
    with pytest.raises(TraceError, match=r"gate\.json is damaged"):
        add_gate_view(tmp_path, RUN_ID)


@pytest.mark.parametrize(
    ("command", "given"),
    [
        ("kafka-conformance run --target reference", ()),
        (
            "kafka-conformance run --suites own --expect 'a b.toml' x",
            ("--suites", "own", "--expect", "a b.toml"),
        ),
        (
            "kafka-conformance run --expect=a.toml --expect b.toml",
            ("--expect", "a.toml", "--expect", "b.toml"),
        ),
        ("pytest suites --conformance-expect a.toml", ("--expect", "a.toml")),
        ("kafka-conformance run --broker-property a.b=1", ("--broker-property", "a.b=1")),
        ("kafka-conformance run --suites", ()),
        ("a quote that 'ends nowhere", ()),
    ],
)
def test_a_line_that_repeats_a_scenario_has_what_its_run_was_given(
    command: str, given: tuple[str, ...]
) -> None:
    assert given_options(command) == given
