"""A standalone Spark master with two workers, as processes of their own on the loopback interface."""

import os
import re
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import pyspark

_HOME: Final = Path(pyspark.__file__).parent
_LOOPBACK: Final = "127.0.0.1"
_PATIENCE_S: Final = 60.0
_DEPLOY: Final = "org.apache.spark.deploy"


@contextmanager
def standalone_cluster(logs: Path, *, worker_count: int = 2) -> Iterator[str]:
    """Start a master and workers of one core each, and give the master's URL."""
    with ExitStack() as stack:
        master = [f"{_DEPLOY}.master.Master", "--host", _LOOPBACK, "--port", "0", "--webui-port", "0"]
        log = logs / "master.log"
        stack.enter_context(spark_process(master, log))
        url = awaited(log, r"Starting Spark master at (spark://\S+)")
        for index in range(worker_count):
            worker = [f"{_DEPLOY}.worker.Worker", "--host", _LOOPBACK, "--webui-port", "0"]
            worker += ["--cores", "1", "--memory", "1g", "--work-dir", str(logs / f"work-{index}"), url]
            log = logs / f"worker-{index}.log"
            stack.enter_context(spark_process(worker, log))
            awaited(log, "Successfully registered with master")
        yield url


@contextmanager
def connect_server(logs: Path) -> Iterator[str]:
    """Start a Spark Connect server, and give its URL."""
    log = logs / "connect.log"
    command = ["org.apache.spark.deploy.SparkSubmit", "--master", "local[2]"]
    settings = {
        "spark.driver.host": _LOOPBACK,
        "spark.driver.bindAddress": _LOOPBACK,
        "spark.ui.enabled": "false",
        "spark.connect.grpc.binding.address": _LOOPBACK,
        "spark.connect.grpc.binding.port": "0",
        "spark.local.dir": str(logs / "scratch"),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(logs / "warehouse"),
    }
    for name, value in settings.items():
        command += ["--conf", f"{name}={value}"]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    with spark_process(command, log, memory="1g"):
        port = awaited(log, r"Spark Connect server started at: \S*?:(\d+)")
        yield f"sc://{_LOOPBACK}:{port}"


@contextmanager
def spark_process(arguments: Sequence[str], log: Path, *, memory: str = "256m") -> Iterator[None]:
    """Run one of Spark's own classes meanwhile."""
    command = [str(_HOME / "bin" / "spark-class"), *arguments]
    told = {
        **os.environ,
        "SPARK_HOME": str(_HOME),
        "SPARK_LOCAL_IP": _LOOPBACK,
        "SPARK_DAEMON_MEMORY": memory,
    }
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, env=told, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def awaited(log: Path, pattern: str) -> str:
    """Wait until a log says something, and give what its group caught."""
    until_s = time.monotonic() + _PATIENCE_S
    while time.monotonic() < until_s:
        if found := re.search(pattern, log.read_text(errors="replace")):
            return found.group(found.lastindex or 0)
        time.sleep(0.2)
    raise AssertionError(f"{log} does not say {pattern!r}:\n{log.read_text(errors='replace')[-2000:]}")
