"""The job, from an archive to Parquet."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq  # type: ignore[import-untyped]  # Arrow has no annotations
import pytest

from harness.report.model.trend import read_rows
from harness.spark.trend import TREND_MARTS, build_trend
from harness.tests.completed_runs import processes_of
from harness.tests.fake_java import hide_programs
from harness.tests.made_events import DIFFERENCE
from harness.tests.patience import awaited, completed
from harness.tests.spark_archive import changed, finished, packed
from harness.trace.schema import TraceError

pytest_plugins = ["harness.tests.spark_fixture"]
pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

ROOT = str(Path(__file__).parents[3])
HOSTILE = "line\nbreak \r\n \u2028 \x85 \x00 \"quotes' \\ \t <script>alert(1)</script> ünïcödé 🦜 {{x}}"


def column(tables: Path, table: str, name: str) -> list[object]:
    values: list[object] = pq.read_table(tables / table).column(name).to_pylist()
    return values


@pytest.mark.parametrize("name", ["100% [a] {b,c} *?+# ünusual%20", "12:30"], ids=["signs", "colon"])
def test_hostile_content_reaches_tables_unchanged_in_a_folder_of_any_name(tmp_path: Path, name: str) -> None:
    folder = finished(tmp_path / name, 1, differences=[replace(DIFFERENCE, cause=HOSTILE)])
    build_trend(packed(tmp_path / name, folder), tmp_path / name / "tables")

    assert column(tmp_path / name / "tables", "cause_ages", "cause") == [HOSTILE]


def test_the_report_can_read_every_table(tmp_path: Path) -> None:
    archive = packed(tmp_path, finished(tmp_path, 1, events=changed(1), differences=[DIFFERENCE]))
    counts = build_trend(archive, tmp_path / "tables")

    for name, table in TREND_MARTS.items():
        assert len(read_rows(tmp_path / "tables", name, table.row)) == counts[name]


def test_a_job_that_fails_leaves_the_tables_that_were_there(tmp_path: Path) -> None:
    archive = packed(tmp_path, finished(tmp_path, 1))
    build_trend(archive, tmp_path / "tables")
    archive.files("judgements")[0].write_bytes(b"PAR1 torn")

    with pytest.raises(TraceError, match="judgements"):
        build_trend(archive, tmp_path / "tables")

    assert column(tmp_path / "tables", "run_totals", "run_id") == ["run-1"] * 2


def test_the_job_says_nothing_of_its_own_and_leaves_no_process_and_no_file(tmp_path: Path) -> None:
    root, tables = packed(tmp_path, finished(tmp_path / "reports", 1)).root, tmp_path / "tables"
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    script = f"""
import os, signal
from pathlib import Path
from harness.spark.archive import Archive
from harness.spark.trend import build_trend
before = signal.getsignal(signal.SIGINT)
build_trend(Archive(root=Path({str(root)!r})), Path({str(tables)!r}))
assert signal.getsignal(signal.SIGINT) is before
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print("no child is left")
"""
    done = run_python(["-c", script], cwd=scratch, TMPDIR=str(scratch))

    assert (done.returncode, done.stdout, done.stderr) == (0, "no child is left\n", "")
    assert list(scratch.iterdir()) == []
    assert tables.is_dir()


def test_an_interrupted_start_leaves_no_process_and_no_file(tmp_path: Path) -> None:
    root, tables = packed(tmp_path, finished(tmp_path / "reports", 1)).root, tmp_path / "tables"
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    command = [sys.executable, "-m", "harness.spark.trend", str(root), "--out", str(tables)]
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
    root = packed(tmp_path, finished(tmp_path / "reports", 1)).root
    hide_programs(monkeypatch, tmp_path)
    job = ["-m", "harness.spark.trend", str(root), "--out", str(tmp_path / "tables")]
    done = run_python(job, cwd=tmp_path, PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}")

    assert done.returncode == 69
    assert "no Java for Spark (" in done.stderr
    assert "install Java 17 or newer" in done.stderr


def test_a_folder_that_is_no_archive_is_bad_input(tmp_path: Path) -> None:
    done = run_python(["-m", "harness.spark.trend", str(tmp_path), "--out", "tables"], cwd=tmp_path)

    assert done.returncode == 65
    assert "contains no runs" in done.stderr


def run_python(arguments: list[str], *, cwd: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    return completed(
        [sys.executable, "-X", "dev", "-W", "error", *arguments],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": ROOT} | environment,
    )
