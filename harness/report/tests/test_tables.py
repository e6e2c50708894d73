"""Reading tables and run folders: all of it, or a reason and a remedy."""

import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq  # type: ignore[import-untyped] # it ships no types
import pytest

from harness.diff.model import Judgement
from harness.report.model.run_data import Run
from harness.report.model.tables import read_rows
from harness.results.errors import ReportError
from harness.tests.parquet_rows import write_rows
from harness.tests.report_run import JAVA, REFERENCE, RUN_ID, SCALA, judgement, small_run

MARTS = (
    "verdict_matrix",
    "target_summary",
    "aligned_steps",
    "differences",
    "differences_by_api_and_class",
    "signature_clusters",
    "latency_quantiles",
    "error_codes",
    "behaviour_changes",
)


def test_rows_come_back_as_they_were(tmp_path: Path) -> None:
    written = [judgement("a/b", JAVA, apis=(), clauses=("x", "y"), first_step=3)]
    write_rows(tmp_path, "verdict_matrix", Judgement, written)
    assert read_rows(tmp_path, "verdict_matrix", Judgement) == tuple(written)


@pytest.mark.parametrize("mart", MARTS)
def test_a_missing_table_names_itself_and_the_remedy(tmp_path: Path, mart: str) -> None:
    run_dir = small_run().write(tmp_path / "r1")
    shutil.rmtree(run_dir / "tables" / mart)
    with pytest.raises(ReportError, match=rf"'{mart}'.*kafka-conformance report r1"):
        Run.load(run_dir)


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda table: table.drop_columns(["signature"]), "'signature' is missing"),
        (lambda table: table.set_column(0, "run_id", [[7] * len(table)]), "'run_id' is of type int64"),
        (lambda table: table.set_column(0, "run_id", [[None, *["x"] * (len(table) - 1)]]), "1 nulls"),
    ],
    ids=["a column less", "another type", "a null"],
)
def test_a_table_of_another_shape_is_refused(tmp_path: Path, spoil, complaint: str) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001 - a function of untyped tables
    run_dir = small_run().write(tmp_path)
    part = next((run_dir / "tables" / "verdict_matrix").glob("*.parquet"))
    pq.write_table(spoil(pq.read_table(part)), part)
    with pytest.raises(ReportError, match=complaint):
        Run.load(run_dir)


def test_a_damaged_part_is_refused(tmp_path: Path) -> None:
    run_dir = small_run().write(tmp_path)
    next((run_dir / "tables" / "differences").glob("*.parquet")).write_bytes(b"PAR1 torn")
    with pytest.raises(ReportError, match="cannot be read"):
        Run.load(run_dir)


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match=r"scripts\.json"):
        Run.load(tmp_path)


def test_scripts_of_another_shape_are_refused(tmp_path: Path) -> None:
    run_dir = small_run().write(tmp_path)
    (run_dir / "scripts.json").write_text('{"a": {"id": 1}}')
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


def test_rows_of_other_runs_are_left_out(tmp_path: Path) -> None:
    made = small_run()
    made.judgements.append(replace(made.judgements[0], run_id="another"))
    run = Run.load(made.write(tmp_path))
    assert {each.run_id for each in run.judgements} == {RUN_ID}


def test_a_run_that_was_cut_short_can_be_read(tmp_path: Path) -> None:
    made = small_run()
    made.footer = None
    assert Run.load(made.write(tmp_path)).footer is None


def test_steps_come_in_the_order_of_happening(tmp_path: Path) -> None:
    made = small_run()
    made.steps.reverse()
    steps = Run.load(made.write(tmp_path)).steps.of_scenario("classic/heartbeat/while-completing")
    assert [row.step for row in steps[SCALA]] == [0, 1, 2, 3, 4, 5]
    assert set(steps) == {REFERENCE, SCALA, JAVA}
