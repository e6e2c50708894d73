"""What is said of a cluster that is not there, and of a task that fails; no JVM is started."""

import socket

import pytest

from harness.spark.executors import _reason, executors
from harness.spark.master import SparkError


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_a_master_that_nobody_answers_for_is_refused_before_a_jvm_starts() -> None:
    master = f"spark://127.0.0.1:{closed_port()},127.0.0.1:{closed_port()}"
    with (
        pytest.raises(SparkError, match=r"no Spark master answers at .*refused\nStart one"),
        executors(master),
    ):
        pass


def test_an_address_without_a_port_is_no_masters() -> None:
    with pytest.raises(SparkError, match="write the address that its log names"), executors("spark://master"):
        pass


def test_a_task_that_fails_says_what_its_python_said() -> None:
    said = (
        "Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 times (TID 7) (10.0.0.7 executor 1): "
        "org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n"
        '  File "share_process.py", line 71, in look\n'
        "harness.orchestration.share_process.ShareError: node-7 does not see /shared: name another\n"
        "\n\tat org.apache.spark.api.python.BasePythonRunner\n"
    )
    assert _reason(OSError(said)) == "node-7 does not see /shared: name another"
    missing = said.replace(
        "harness.orchestration.share_process.ShareError: node-7", "ModuleNotFoundError: node-7"
    )
    assert _reason(OSError(missing)).startswith("ModuleNotFoundError: node-7 does not see")


def test_a_task_whose_executors_were_lost_says_what_spark_says() -> None:
    said = "Job aborted due to stage failure: ExecutorLostFailure (executor 1 exited)\nDriver stacktrace:"
    assert _reason(OSError(said)).endswith("(executor 1 exited)")
