"""The job, from the files of runs to Parquet."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq  # type: ignore[import-untyped]  # Arrow has no annotations
import pytest

from harness.diff.model import Alignment
from harness.report.model.tables import read_rows
from harness.spark.job import MARTS, build_tables
from harness.tests.completed_runs import processes_of
from harness.tests.fake_java import hide_programs
from harness.tests.patience import awaited, completed
from harness.tests.spark_records import DIFFERENCE, EVENT, JUDGEMENT, RUN, align_run, finish_run, write_run
from harness.trace.files import RunFolder, read_records, write_records
from harness.trace.schema import TraceError

pytest_plugins = ["harness.tests.spark_fixture"]
pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

ROOT = str(Path(__file__).parents[3])
HOSTILE = "line\nbreak \r\n \u2028 \x85 \x00 \"quotes' \\ \t <script>alert(1)</script> ünïcödé 🦜 {{x}}"


def column(tables: Path, table: str, name: str) -> list[object]:
    values: list[object] = pq.read_table(tables / table).column(name).to_pylist()
    return values


def test_hostile_content_reaches_the_tables_unchanged(tmp_path: Path) -> None:
    event = replace(EVENT, note=HOSTILE, fields=HOSTILE, actor=HOSTILE)
    folder = finish_run(write_run(tmp_path, events=[event]), judgements=[replace(JUDGEMENT, reason=HOSTILE)])
    build_tables([folder.path], folder.tables)

    assert column(folder.tables, "aligned_steps", "target_note") == [HOSTILE]
    assert column(folder.tables, "aligned_steps", "target_fields") == [HOSTILE]
    assert column(folder.tables, "aligned_steps", "actor") == [HOSTILE]
    assert column(folder.tables, "verdict_matrix", "reason") == [HOSTILE]


@pytest.mark.parametrize("name", ["100% [a] {b,c} *?+# ünusual%20", "12:30"], ids=["signs", "colon"])
def test_a_run_may_lie_in_a_folder_of_any_name(tmp_path: Path, name: str) -> None:
    folder = finish_run(write_run(tmp_path / name))
    build_tables([folder.path], folder.tables)

    assert column(folder.tables, "aligned_steps", "target_kind") == ["response"]


def test_the_report_can_read_every_table(tmp_path: Path) -> None:
    folder = finish_run(write_run(tmp_path), differences=[DIFFERENCE])
    counts = build_tables([folder.path], folder.tables)

    assert counts == dict.fromkeys(MARTS, 1) | {
        "target_summary": 2,
        "attempts": 0,
        "behaviour_changes": 0,
        "clause_coverage": 0,
    }
    for name, table in MARTS.items():
        assert len(read_rows(folder.path, name, table.row)) == counts[name]


def test_a_run_that_was_killed_has_tables_without_its_torn_line(tmp_path: Path) -> None:
    folder = write_run(tmp_path, events=[EVENT, replace(EVENT, sequence=1)])
    events = folder.events("kafka-3.9.2")
    events.write_bytes(events.read_bytes()[:-20])
    counts = build_tables([folder.path], folder.tables)

    assert (counts["aligned_steps"], counts["verdict_matrix"], counts["differences"]) == (0, 0, 0)
    assert column(folder.tables, "error_codes", "response_count") == [1]
    assert column(folder.tables, "target_summary", "drive_ms") == [None, None]


@pytest.mark.parametrize(
    "line",
    ["{", "", "[]", '{"run_id":"run-1"}', '{"run_id":1}', "not json"],
    ids=["broken", "empty", "no object", "keys missing", "wrong type", "no JSON"],
)
def test_lines_that_are_no_records_fail_the_job_and_are_counted(tmp_path: Path, line: str) -> None:
    folder = write_run(tmp_path / "100% ünusual")
    with folder.events("kafka-3.9.2").open("a") as file:
        file.write(f"{line}\n{line}\n")

    with pytest.raises(TraceError, match=r"events\.jsonl: 2 corrupt"):
        build_tables([folder.path], folder.tables)


def test_a_run_that_an_older_harness_judged_is_refused_with_the_remedy(tmp_path: Path) -> None:
    folder = finish_run(write_run(tmp_path))
    folder.alignments.unlink()

    with pytest.raises(TraceError, match=f"`kafka-conformance report {folder.path}` judges it again"):
        build_tables([folder.path], folder.tables)


@pytest.mark.parametrize("rows", ["[[0,0", '"none"', "[[0,0,0,0,0]]", "[0]"])
def test_alignments_that_are_none_fail_the_job(tmp_path: Path, rows: str) -> None:
    folder = finish_run(write_run(tmp_path))
    (one,) = read_records(Alignment, folder.alignments)
    write_records(folder.alignments, [replace(one, rows=rows)])

    with pytest.raises(TraceError, match=r"alignments\.jsonl of run run-1, kafka-3\.9\.2, .* no such rows"):
        build_tables([folder.path], folder.tables)


def test_a_conversation_that_is_judged_as_cut_short_and_is_on_no_record_has_no_row(tmp_path: Path) -> None:
    folder = finish_run(write_run(tmp_path))
    (one,) = read_records(Alignment, folder.alignments)
    cut_short = replace(one, scenario_id="classic/heartbeat/never-begun")
    write_records(folder.alignments, [one, cut_short])
    build_tables([folder.path], folder.tables)

    assert column(folder.tables, "aligned_steps", "scenario_id") == [one.scenario_id]


def test_a_job_that_fails_leaves_the_tables_that_were_there(tmp_path: Path) -> None:
    folder = write_run(tmp_path)
    build_tables([folder.path], folder.tables)
    folder.judgements.write_text("{\n")

    with pytest.raises(TraceError):
        build_tables([folder.path], folder.tables)

    assert column(folder.tables, "target_summary", "target") == ["kafka-3.9.2", "reference"]


def test_tables_are_made_of_several_runs_each_counted_once(tmp_path: Path) -> None:
    first = finish_run(write_run(tmp_path), differences=[DIFFERENCE])
    second = align_run(write_run(tmp_path, run=replace(RUN, run_id="run-2", started_at="2026-02")))
    counts = build_tables([second.path, first.path, tmp_path / "latest"], tmp_path / "tables")

    assert (counts["target_summary"], counts["aligned_steps"], counts["signature_clusters"]) == (4, 2, 1)


def test_copies_of_one_run_are_refused(tmp_path: Path) -> None:
    folders = [write_run(tmp_path / "here"), write_run(tmp_path / "there")]

    with pytest.raises(TraceError, match="are both run run-1"):
        build_tables([folder.path for folder in folders], tmp_path / "tables")


def test_what_is_going_on_is_reported(tmp_path: Path) -> None:
    reported: list[str] = []
    folder = write_run(tmp_path)
    build_tables([folder.path], folder.tables, progress=reported.append)

    begun = reported[: -len(MARTS)]
    assert begun in (["reading 1 run"], ["starting Spark", "reading 1 run"]), "it may run already"


def test_the_job_says_nothing_of_its_own_and_leaves_no_process_and_no_file(tmp_path: Path) -> None:
    folder = finish_run(write_run(tmp_path / "reports"))
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    script = f"""
import os, signal
from pathlib import Path
from harness.spark.job import build_tables
before = signal.getsignal(signal.SIGINT)
build_tables([Path({str(folder.path)!r})], Path({str(folder.tables)!r}))
assert signal.getsignal(signal.SIGINT) is before
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print("no child is left")
"""
    done = run_python(["-c", script], cwd=scratch, TMPDIR=str(scratch))

    assert (done.returncode, done.stdout, done.stderr) == (0, "no child is left\n", "")
    assert list(scratch.iterdir()) == []
    assert RunFolder(folder.path).tables.is_dir()


def test_an_interrupted_start_leaves_no_process_and_no_file(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "reports")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    command = [sys.executable, "-m", "harness.spark.job", str(folder.path)]
    named = Path(f"spark.local.dir={scratch}")
    with subprocess.Popen(
        command,
        env=os.environ | {"PYTHONPATH": ROOT, "TMPDIR": str(scratch)},
        stderr=subprocess.PIPE,
        text=True,
    ) as job:
        while job.poll() is None and not processes_of(named):
            pass
        job.send_signal(signal.SIGINT)
        awaited(job)

    assert (job.returncode, processes_of(named), list(scratch.iterdir())) == (
        130,
        [],
        [],
    )


def test_without_java_the_job_names_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_run(tmp_path / "run")
    hide_programs(monkeypatch, tmp_path)
    job = ["-m", "harness.spark.job", str(folder.path)]
    done = run_python(job, cwd=tmp_path, PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}")

    assert done.returncode == 69
    assert "no Java for Spark (" in done.stderr
    assert "install Java 17 or newer" in done.stderr


def test_a_folder_that_is_no_run_is_bad_input(tmp_path: Path) -> None:
    done = run_python(["-m", "harness.spark.job", str(tmp_path)], cwd=tmp_path)

    assert done.returncode == 65
    assert "run.json: there is no such file" in done.stderr


def run_python(arguments: list[str], *, cwd: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    return completed(
        [sys.executable, "-X", "dev", "-W", "error", *arguments],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": ROOT} | environment,
    )
