"""What the system refuses Spark: told as Python would tell it, so that a full disk is no fault of ours."""

import errno
from importlib import import_module
from pathlib import Path

import pytest
from pyspark.errors import NumberFormatException
from pyspark.sql import SparkSession

from harness.results.status import ExitCode
from harness.spark.session import refusal_in, system_refusals, unreadable_file_in
from harness.tests.in_process import CommandLine
from harness.tests.spark_archive import finished

pytest_plugins = ["harness.tests.command_line_fixture", "harness.tests.spark_fixture"]

JOB = """An error occurred while calling o99.parquet.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 1.0 failed 1 times
\tat org.apache.spark.scheduler.DAGScheduler.runJob(DAGScheduler.scala:1009)
Caused by: org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows to file:/out.
"""


@pytest.mark.parametrize(
    ("cause", "code", "file"),
    [
        ("java.io.IOException: No space left on device", errno.ENOSPC, None),
        ("java.io.IOException: Disk quota exceeded", errno.EDQUOT, None),
        ("java.io.FileNotFoundException: /out/part-0 (Permission denied)", errno.EACCES, "/out/part-0"),
        ("java.io.FileNotFoundException: /out/a (b) (Read-only file system)", errno.EROFS, "/out/a (b)"),
        ("java.nio.file.FileSystemException: /out/part-0: Too many open files", errno.EMFILE, "/out/part-0"),
    ],
)
def test_a_refusal_is_found_among_the_causes_with_its_file(cause: str, code: int, file: str | None) -> None:
    found = refusal_in(
        f"{JOB}\t... 1 more\nCaused by: {cause}\n\tat java.base/java.io.FileOutputStream.write"
    )

    assert found is not None
    assert (found.errno, found.filename) == (code, file)


@pytest.mark.parametrize(
    "text",
    [
        JOB,
        "org.apache.spark.SparkRuntimeException: [USER_RAISED_EXCEPTION] No space left on device",
        "Caused by: java.io.EOFException: No space left on device was the answer of a broker",
        "Caused by: java.io.FileNotFoundException: /runs/part-0 (No such file or directory)",
    ],
)
def test_what_only_speaks_of_a_refusal_is_none(text: str) -> None:
    assert refusal_in(text) is None


@pytest.mark.parametrize(
    ("text", "file"),
    [
        (
            "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:/a/b%20c.parquet. S",
            "/a/b c.parquet",
        ),
        (
            "[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while reading file file:///a/b.parquet. F",
            "/a/b.parquet",
        ),
        (
            "[FAILED_READ_FILE.CANNOT_READ_FILE_FOOTER] Encountered error while reading file /a/b.c. Could",
            "/a/b.c",
        ),
        (JOB, None),
    ],
)
def test_a_file_that_spark_cannot_read_is_found_among_the_causes(text: str, file: str | None) -> None:
    assert unreadable_file_in(f"{JOB}Caused by: org.apache.spark.SparkException: {text}") == file


@pytest.mark.spark
def test_what_a_jvm_cannot_write_is_an_error_of_the_system_and_all_else_stays(spark: SparkSession) -> None:
    java = spark.sparkContext._jvm.java  # type: ignore[union-attr]
    full = java.io.FileOutputStream("/dev/full")
    with pytest.raises(OSError, match="No space left") as refused, system_refusals():
        full.write(1)
    assert refused.value.errno == errno.ENOSPC

    with pytest.raises(NumberFormatException), system_refusals():
        java.lang.Integer.parseInt("seven")


def test_a_disk_that_spark_finds_full_ends_with_75_and_says_what_helps(
    kafka_conformance: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        found = refusal_in("Caused by: java.io.IOException: No space left on device")
        assert found is not None
        raise found

    monkeypatch.setattr(import_module("harness.cli.trend"), "build_trend", fails)
    folder = finished(tmp_path / "reports", 1)

    assert kafka_conformance("trend", folder.path, "--out", tmp_path) == ExitCode.TEMPORARY_FAILURE
    assert "No space left on device: make room, or choose another place with --out" in kafka_conformance.err
    assert "Traceback" not in kafka_conformance.err
