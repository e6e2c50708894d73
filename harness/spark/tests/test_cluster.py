"""The job on more than this process: a standalone cluster, a Spark Connect server, spark-submit."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq  # type: ignore[import-untyped]  # Arrow has no annotations
import pyspark
import pytest

from harness.spark.archive import Archive
from harness.spark.java_home import spark_java_home
from harness.spark.package import write_package
from harness.spark.trend import TREND_MARTS
from harness.tests.patience import completed
from harness.tests.spark_archive import JUDGEMENTS, changed, failing, finished, packed
from harness.tests.spark_cluster import connect_server, standalone_cluster

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[3]


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    reports = tmp_path / "reports"
    judgements = [failing(JUDGEMENTS[0]), *JUDGEMENTS[1:]]
    return packed(
        tmp_path,
        finished(reports, 1),
        finished(reports, 2, events=changed(1), judgements=judgements),
    )


def carried_out(command: Sequence[str], cwd: Path) -> None:
    """Make the tables in a process of its own: a session of this one would be lent instead."""
    environment = os.environ | {"JAVA_HOME": str(spark_java_home()), "PYSPARK_PYTHON": sys.executable}
    environment.pop("PYTHONPATH", None)
    done = completed(command, cwd=cwd, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr


def differing_scenarios(out: Path) -> list[object]:
    assert sorted(path.name for path in out.iterdir()) == sorted(TREND_MARTS)
    found: list[object] = pq.read_table(out / "first_differences")["run_id"].to_pylist()
    return found


@pytest.mark.release
def test_a_standalone_cluster_of_two_workers_makes_the_tables(archive: Archive, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with standalone_cluster(tmp_path) as master:
        job = ["-m", "harness.spark.trend", str(archive.root), "--out", str(out), "--master", master]
        carried_out([sys.executable, *job], ROOT)
        logs = [(tmp_path / f"worker-{index}.log").read_text() for index in range(2)]

    assert differing_scenarios(out) == ["run-2"]
    assert all("Asked to launch executor" in log for log in logs)


def test_a_spark_connect_server_makes_the_tables(archive: Archive, tmp_path: Path) -> None:
    pytest.importorskip("grpc", reason="the extra `connect` is not installed")
    out = tmp_path / "out"
    with connect_server(tmp_path) as master:
        job = ["-m", "harness.spark.trend", str(archive.root), "--out", str(out), "--master", master]
        carried_out([sys.executable, *job], ROOT)

    assert differing_scenarios(out) == ["run-2"]


@pytest.mark.release
def test_spark_submit_runs_the_packaged_job(archive: Archive, tmp_path: Path) -> None:
    package, job = write_package(tmp_path / "package")
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    out = tmp_path / "out"
    command = [str(submit), "--master", "local[2]", "--py-files", str(package), str(job)]
    carried_out([*command, str(archive.root), "--out", str(out)], tmp_path)

    assert differing_scenarios(out) == ["run-2"]
