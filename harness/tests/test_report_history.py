"""Pages about more than one run: the trend, what changed, a scenario's strip; and the gate's decision."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from harness.report.errors import ReportError
from harness.report.gate_page import add_gate_page
from harness.report.history import History
from harness.report.names import scenario_page
from harness.report.phrases import given_options, reproduction_line
from harness.report.regression import Regression
from harness.report.run_data import Run
from harness.report.site import render_site
from harness.report.trend import Trend
from harness.report.trend_site import render_trend
from harness.tests.report_hostile import EARLIER, hostile_decision, write_hostile_trend
from harness.tests.report_run import JAVA, RUN_ID, SCALA, judgement, small_run
from harness.verdict import Delta

HEARTBEAT = "classic/heartbeat/while-completing"


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
    assert history.codes(judgement(HEARTBEAT, JAVA)) == "an"
    assert history.codes(judgement(HEARTBEAT, SCALA)) == ""
    render_site(folder)
    assert 'data-c="an">✓✗<' in (folder / scenario_page(HEARTBEAT)).read_text()


def test_a_run_is_led_to_only_where_its_folder_is_beside(folder: Path) -> None:
    assert [run.href for run in history_of(folder).runs] == ["", ""]
    render_site(folder)
    assert [run.href for run in history_of(folder).runs] == ["", f"../{RUN_ID}/"]


def test_a_result_that_is_not_what_it_was_is_told_with_both_sides(folder: Path) -> None:
    regression = Regression.of(Run.load(folder), folder / "trend", history_of(folder))
    (comparison,) = regression.comparisons
    assert [section.title for section in comparison.sections] == ["Newly diverging", "Flaky"]
    (line,) = comparison.sections[0].lines
    assert line.before is not None
    assert line.after is not None
    assert (line.scenario_id, line.before.outcome, line.after.outcome) == (HEARTBEAT, "conforms", "diverges")
    assert (comparison.count, regression.changed_count) == (1, 1)


def test_a_baseline_is_a_comparison_of_its_own(tmp_path: Path) -> None:
    made = small_run()
    made.judgements = [
        replace(each, delta=(Delta.NEWLY_DIVERGING if each.outcome == "diverges" else Delta.SAME).value)
        for each in made.judgements
    ]
    folder = made.write(tmp_path)
    render_site(folder)
    page = (folder / "regression.html").read_text()
    assert "Against the baseline" in page
    assert page.count('<tr><th scope="row" class="plain"><a href="scenarios/') == 2
    assert "No earlier run of these targets" in page


def test_without_an_archive_the_pages_say_how_to_get_them(tmp_path: Path) -> None:
    render_site(small_run().write(tmp_path))
    for name, words in (
        ("trend.html", "report --archive DIR"),
        ("regression.html", "Nothing to compare with"),
        ("gate.html", f"kafka-conformance gate {RUN_ID}"),
    ):
        assert words in (tmp_path / name).read_text()


def test_the_highest_bar_is_the_run_with_the_most_trouble(folder: Path) -> None:
    trend = Trend.load(folder / "trend", history_of(folder))
    assert [run.run_id for run in trend.runs] == [EARLIER, RUN_ID]
    assert [round(run.segments[0].height) for run in trend.runs] == [trend.bar_height, trend.bar_height]
    assert [each.age for each in trend.signatures] == [2]


def test_the_pages_of_a_trend_stand_alone(folder: Path) -> None:
    page = render_trend(folder / "trend")
    text = page.read_text()
    assert 'href="index.html"' not in text
    assert f"{RUN_ID} since" in (page.parent / "regression.html").read_text()


def test_the_gates_page_says_what_the_gate_said(tmp_path: Path) -> None:
    decision = hostile_decision(HEARTBEAT) | {"lines": ["gate: red", "why:  this", "next: that"]}
    (tmp_path / "gate.json").write_text(json.dumps(decision))
    page = add_gate_page(tmp_path, RUN_ID).read_text()
    assert "gate: red\nwhy:  this\nnext: that" in page
    assert f'href="{scenario_page(HEARTBEAT)}' not in page
    render_site(small_run().write(tmp_path))
    assert f'href="{scenario_page(HEARTBEAT)}#target-{JAVA}"' in (tmp_path / "gate.html").read_text()


def test_what_is_no_decision_is_refused(tmp_path: Path) -> None:
    (tmp_path / "gate.json").write_text('{"is_green": true}')
    with pytest.raises(ReportError, match=r"gate\.json is no decision"):
        add_gate_page(tmp_path, RUN_ID)


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
        ("kafka-conformance run --suites", ()),
        ("a quote that 'ends nowhere", ()),
    ],
)
def test_a_line_that_repeats_a_scenario_has_what_its_run_was_given(
    command: str, given: tuple[str, ...]
) -> None:
    assert given_options(command) == given
    assert reproduction_line("reference", "a/b", given=given).endswith(" a/b")
