"""A standalone Spark master with two workers, as processes of their own on the loopback interface."""

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Condition, Thread
from typing import Final

import pyspark

from harness.spark.java_home import spark_java_home

_HOME: Final = Path(pyspark.__file__).parent
_LOOPBACK: Final = "127.0.0.1"
_PATIENCE_S: Final = 120.0
_GOODBYE_S: Final = 20.0
_DEPLOY: Final = "org.apache.spark.deploy"


@contextmanager
def standalone_cluster(logs: Path, *, worker_count: int = 2) -> Iterator[str]:
    """Start a master and workers of one core each, and give the master's URL."""
    with ExitStack() as stack:
        master = [f"{_DEPLOY}.master.Master", "--host", _LOOPBACK, "--port", "0", "--webui-port", "0"]
        leading = stack.enter_context(spark_process(master, logs / "master.log"))
        url = leading.awaited(r"Starting Spark master at (spark://\S+)")
        for index in range(worker_count):
            worker = [f"{_DEPLOY}.worker.Worker", "--host", _LOOPBACK, "--webui-port", "0"]
            worker += ["--cores", "1", "--memory", "1g", "--work-dir", str(logs / f"work-{index}"), url]
            working = stack.enter_context(spark_process(worker, logs / f"worker-{index}.log"))
            working.awaited("Successfully registered with master")
        yield url


@contextmanager
def connect_server(logs: Path) -> Iterator[str]:
    """Start a Spark Connect server, and give its URL."""
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
    with spark_process(command, logs / "connect.log", memory="1g") as server:
        port = server.awaited(r"Spark Connect server started at: \S*?:(\d+)")
        yield f"sc://{_LOOPBACK}:{port}"


class SparkProcess:
    """One of Spark's own processes, and what it has said so far."""

    def __init__(self, process: "subprocess.Popen[str]", log: Path) -> None:
        self._process = process
        self._log = log
        self._said = ""
        self._has_ended = False
        self._news = Condition()
        self._listener = Thread(target=self._listen, name=f"listens to {log.name}", daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._log.open("w") as log:
            for line in self._process.stdout:
                log.write(line)
                log.flush()
                with self._news:
                    self._said += line
                    self._news.notify_all()
        with self._news:
            self._has_ended = True
            self._news.notify_all()

    def awaited(self, pattern: str) -> str:
        """Wait until it says something, and give what the pattern's group caught."""
        with self._news:
            self._news.wait_for(
                lambda: self._has_ended or re.search(pattern, self._said) is not None, timeout=_PATIENCE_S
            )
            found = re.search(pattern, self._said)
            assert found is not None, f"{self._log.name} does not say {pattern!r}:\n{self._said[-2000:]}"
            return found.group(found.lastindex or 0)

    def stop(self) -> None:
        """End it, and hear it out."""
        self._process.terminate()
        try:
            self._process.wait(timeout=_GOODBYE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._listener.join()


@contextmanager
def spark_process(arguments: Sequence[str], log: Path, *, memory: str = "256m") -> Iterator[SparkProcess]:
    """Run one of Spark's own classes meanwhile."""
    command = [str(_HOME / "bin" / "spark-class"), *arguments]
    reported = {
        **os.environ,
        "JAVA_HOME": str(spark_java_home()),
        "SPARK_HOME": str(_HOME),
        "SPARK_LOCAL_IP": _LOOPBACK,
        "SPARK_DAEMON_MEMORY": memory,
    }
    with subprocess.Popen(
        command,
        env=reported,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        running = SparkProcess(process, log)
        try:
            yield running
        finally:
            running.stop()
