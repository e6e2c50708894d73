"""Reading tables and records of runs: all of it, or a reason and a remedy."""

from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq  # type: ignore[import-untyped] # it ships no types
import pytest

from harness.diff.model import Judgement
from harness.orchestration.run import report
from harness.report.allure.pages import AllureLevel
from harness.report.model.run_data import Run
from harness.report.model.trend import read_rows
from harness.results.stored_data import ReportError
from harness.tests.made_events import write_events
from harness.tests.parquet_rows import write_rows
from harness.tests.report_run import HEARTBEAT, JAVA, REFERENCE, SCALA, judgement, small_run
from harness.tests.site_reading import Page, conversation_of, view_of
from harness.trace.files import RunFolder, attempt_name, read_events, write_whole
from harness.trace.schema import TraceError


def test_rows_come_back_as_they_were(tmp_path: Path) -> None:
    written = [judgement("a/b", JAVA, apis=(), clauses=("x", "y"), first_step=3)]
    write_rows(tmp_path, "verdict_matrix", Judgement, written)
    assert read_rows(tmp_path, "verdict_matrix", Judgement) == tuple(written)


def test_a_missing_table_names_itself_and_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match=r"'run_deltas'.*`kafka-conformance report RUN` builds"):
        read_rows(tmp_path / "r1", "run_deltas", Judgement)


@pytest.mark.parametrize("name", ["judgements", "differences"])
def test_damaged_results_are_named(tmp_path: Path, name: str) -> None:
    run_dir = small_run().write(tmp_path)
    path = getattr(RunFolder(run_dir), name)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(ReportError, match=path.name):
        Run.load(run_dir)


def test_a_report_shows_all_but_the_conversations_of_a_damaged_trace_and_names_it(tmp_path: Path) -> None:
    folder = RunFolder(small_run().write(tmp_path))
    path = folder.events(SCALA)
    path.write_bytes(b"no trace" + path.read_bytes())
    with pytest.raises(TraceError, match=rf"{path.name}.*index\.html"):
        report(folder, allure=AllureLevel.OFF, spark_master="local[1]", progress=lambda _: None)
    assert f"{path}" in (tmp_path / "index.html").read_text()
    assert conversation_of(tmp_path, HEARTBEAT, JAVA)["after"]
    assert "expected NONE actual REBALANCE_IN_PROGRESS" in Page(view_of(tmp_path, HEARTBEAT)).text


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda table: table.drop_columns(["title"]), "'title' is missing"),
        (lambda table: table.set_column(0, "run_id", [[7] * len(table)]), "'run_id' is of type int64"),
        (lambda table: table.set_column(0, "run_id", [[None, *["x"] * (len(table) - 1)]]), "1 nulls"),
    ],
    ids=["a column less", "another type", "a null"],
)
def test_a_table_of_another_shape_is_refused(tmp_path: Path, spoil, complaint: str) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001 - a function of untyped tables
    write_rows(tmp_path, "results", Judgement, [judgement("a/b", JAVA), judgement("c/d", JAVA)])
    part = next((tmp_path / "results").glob("*.parquet"))
    pq.write_table(spoil(pq.read_table(part)), part)
    with pytest.raises(ReportError, match=complaint):
        read_rows(tmp_path, "results", Judgement)


def test_a_damaged_part_is_refused(tmp_path: Path) -> None:
    write_rows(tmp_path, "results", Judgement, [judgement("a/b", JAVA)])
    next((tmp_path / "results").glob("*.parquet")).write_bytes(b"PAR1 torn")
    with pytest.raises(ReportError, match="cannot be read"):
        read_rows(tmp_path, "results", Judgement)


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match=r"scripts\.json"):
        Run.load(tmp_path)


def test_scripts_of_another_shape_are_refused(tmp_path: Path) -> None:
    run_dir = small_run().write(tmp_path)
    write_whole(RunFolder(run_dir).scripts_json, '{"a": {"id": 1}}')
    with pytest.raises(ReportError, match="no scripts"):
        Run.load(run_dir)


def test_references_come_first_then_targets_as_they_were_named(tmp_path: Path) -> None:
    run = Run.load(small_run().write(tmp_path))
    assert [each.target for each in run.targets] == [REFERENCE, SCALA, JAVA]


def test_a_target_that_was_lost_is_no_reference(tmp_path: Path) -> None:
    made = small_run()
    made.summaries[1] = replace(made.summaries[1], oracle=None, implementation="not available")
    run = Run.load(made.write(tmp_path))
    assert run.references == {REFERENCE}
    assert [each.target for each in run.targets] == [REFERENCE, SCALA, JAVA]


def test_a_run_that_was_cut_short_can_be_read(tmp_path: Path) -> None:
    made = small_run()
    made.footer = None
    assert Run.load(made.write(tmp_path)).footer is None


def test_steps_come_in_the_order_of_happening(tmp_path: Path) -> None:
    made = small_run()
    made.events.reverse()
    steps = Run.load(made.write(tmp_path)).steps.of_scenario("classic/heartbeat/while-completing")
    assert [row.step for row in steps[SCALA]] == [0, 1, 2, 3, 4, 5]
    assert set(steps) == {REFERENCE, SCALA, JAVA}


def test_the_conversation_is_that_of_the_attempt_that_the_result_comes_from(tmp_path: Path) -> None:
    made = small_run()
    made.judgements = [
        replace(each, attempt=2) if (each.target, each.scenario_id) == (SCALA, HEARTBEAT) else each
        for each in made.judgements
    ]
    folder = RunFolder(made.write(tmp_path))
    first = [each for each in read_events(folder.events(SCALA)) if each.scenario_id == HEARTBEAT]
    again = [replace(each, note="again") for each in first]
    write_events(folder.events(attempt_name(SCALA, 2)), again)
    steps = Run.load(tmp_path).steps.of_scenario(HEARTBEAT)
    assert {row.event and row.event.note for row in steps[SCALA]} == {"again"}
    assert {row.event and row.event.note for row in steps[JAVA]} == {None}


def test_a_conversation_that_is_on_no_record_has_no_rows(tmp_path: Path) -> None:
    assert Run.load(small_run().write(tmp_path)).steps.of_scenario("never/begun/one") == {}
