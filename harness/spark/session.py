"""A Spark session that leaves nothing behind: no process, file, signal handler, or line on the terminal.

Its failures are raised as the errors that Python would have raised: a full disk, a damaged file. Their cause
is somewhere in the chain of Java causes of the driver's exception, as text.
"""

import errno
import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Final
from urllib.parse import unquote

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]  # it has no annotations
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from harness.spark.java_home import spark_java_home
from harness.spark.master import CONNECT, LOCAL_MASTER, SUBMITTED, SparkError
from harness.targets.base.interface import TargetError

_CODES: Final = {
    os.strerror(code): code
    for code in (
        *(errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS),
        *(errno.ENOTDIR, errno.EMFILE, errno.ENFILE),
    )
}
"""Error codes by the system's message, which Java passes on."""
_REFUSED: Final = re.compile(
    r"\bjava\.(?:io|nio\.file)\.\w+: (?:(?P<path>/[^\n]*?)(?:: | \())?(?P<words>{})\)?$".format(
        "|".join(map(re.escape, _CODES))
    ),
    re.MULTILINE,
)
"""E.g. `Caused by: java.io.FileNotFoundException: /tables/part-0.parquet (Permission denied)`."""

_UNREADABLE: Final = re.compile(
    r"\[FAILED_READ_FILE\.\w+\] [^\n]*?\bfile (?:file:)?/*(?P<path>/[^\n]+?)\.(?:\s|$)"
)
"""E.g. `[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:/runs/a.parquet. …`."""


@contextmanager
def system_refusals() -> Iterator[None]:
    """Raise operations that the system refused Spark as `OSError`; other errors pass unchanged.

    The context must end before the session does: the causes are read from the JVM.

    Raises:
        OSError: with the system's code and, if Java names it, the file.
    """
    try:
        yield
    except (Py4JJavaError, PySparkException) as error:
        refused = refusal_in(_whole_text(error))
        if refused is None:
            raise
        raise refused from error


def refusal_in(text: str) -> OSError | None:
    """Return the system's error named in a Java stack trace with its causes; None if there is none."""
    found = _REFUSED.search(text)
    return None if found is None else OSError(_CODES[found["words"]], found["words"], found["path"])


@contextmanager
def unreadable_files(damaged: Callable[[str], Exception]) -> Iterator[None]:
    """Raise Spark's error on an unreadable file as damage to the data that the file belongs to."""
    try:
        yield
    except (Py4JJavaError, PySparkException) as error:
        file = unreadable_file_in(_whole_text(error))
        if file is None:
            raise
        raise damaged(f"{file}: its content cannot be read") from error


def unreadable_file_in(text: str) -> str | None:
    """Return the file that Spark could not read, named in a Java stack trace with its causes; else None."""
    found = _UNREADABLE.search(text)
    return None if found is None else unquote(found["path"])


def _whole_text(error: Exception) -> str:
    """Return an error's text with its causes, which PySpark stores privately in errors of its own classes."""
    return f"{error}\n{getattr(error, '_stackTrace', '')}"


DRIVER_MEMORY: Final = "2g"
_LOOPBACK: Final = "127.0.0.1"
_JAVA_HOME, _OWN_ADDRESS = "JAVA_HOME", "SPARK_LOCAL_IP"
"""Variables by which Spark finds its Java and the address to listen on."""
_SHORT_LIVED: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""A JVM that lives for seconds spends a fifth of its time on optimising; measured with 20,000 events."""
_LONG_LIVED: Final = (
    "-XX:+UseParallelGC -XX:NewRatio=1 -XX:+IgnoreUnrecognizedVMOptions -XX:+UseTransparentHugePages"
)
"""Few rows outlive their task: a large young generation, and a collector that aims at throughput.

Huge pages are used where available: only a JVM for Linux has the option.
"""
_CONNECT_SWITCHES: Final = ("SPARK_CONNECT_MODE_ENABLED", "SPARK_REMOTE")
"""Variables that PySpark sets for the whole process when it connects to a Spark Connect server."""
_OPEN_COST_BYTES: Final = "65536"
"""The cost that Spark assumes for opening a file. By default, one core would read all files under 4 MB."""
_WITHIN_ONE_PROCESS: Final = {
    "spark.broadcast.compress": "false",
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version": "2",
    "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "1024",
}
"""Broadcasts stay in this process. No checksum files are written: Hadoop starts a `chmod` for each."""
_UNREAD: Final = {
    "spark.hadoop.parquet.column.statistics.enabled": "false",
    "spark.hadoop.parquet.size.statistics.enabled": "false",
}
"""Tables are always read whole, so nothing would use the statistics of their columns."""
_UNSEEN: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.liveUpdate.period": "-1",
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "1000",
    "spark.sql.ui.retainedExecutions": "20",
}
"""Spark's own pages are off, so data on past jobs need not fill the heap."""
_GOODBYE_S: Final = 10.0
_LAST_LINES: Final = 15


@contextmanager
def spark_session(
    *,
    master: str = LOCAL_MASTER,
    partitions: int = 1,
    driver_memory: str = DRIVER_MEMORY,
    progress: Callable[[str], None] = lambda _: None,
) -> Iterator[SparkSession]:
    """Start Spark, and stop it and its JVM afterwards; if a session is active already, provide that instead.

    The master may be a Spark Connect server (`sc://…`), which has its own settings. A local one listens only
    on the loopback interface. That of spark-submit has precedence. With one shuffle partition, adaptive
    execution is off.

    Raises:
        OSError: the system refused an operation of Spark's, for example because a disk is full.
        SparkError: there is no usable Java, or the master cannot be reached.
    """
    if _active() is None:
        progress("starting Spark")
    with _session(master, partitions, driver_memory) as spark, system_refusals():
        yield spark


@contextmanager
def _session(master: str, partitions: int, driver_memory: str) -> Iterator[SparkSession]:
    if (active := _active()) is not None:
        yield active
        return
    if SUBMITTED in os.environ:
        with SparkSession.builder.config("spark.sql.shuffle.partitions", partitions).getOrCreate() as given:
            yield given
        return
    if master.startswith(CONNECT):
        # PySpark sets variables for the whole process.
        with environment_kept(*_CONNECT_SWITCHES), _remote(master) as remote:
            yield remote
        return
    with TemporaryDirectory(prefix="kafka-conformance-spark-") as scratch, _signal_handler_kept():
        spark = _start(master, _settings(master, partitions, driver_memory, Path(scratch)), Path(scratch))
        try:
            with spark:
                yield spark
        finally:
            _end_jvm()


def _active() -> SparkSession | None:
    """Return the process's session, whichever thread made it; None if there is none."""
    if SparkContext._active_spark_context is None:  # noqa: SLF001 - PySpark has no public way to ask
        return SparkSession.getActiveSession()
    return SparkSession.builder.getOrCreate()


@contextmanager
def environment_kept(*names: str) -> Iterator[None]:
    """Give environment variables the values back that they have now."""
    before = {name: os.environ.get(name) for name in names}
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _remote(url: str) -> SparkSession:
    try:
        spark = SparkSession.builder.remote(url).getOrCreate()
        spark.range(1).count()
    except (PySparkException, ImportError) as error:
        first_line = str(error).partition("\n")[0]
        raise SparkError(
            f"no Spark Connect server answers at {url}: {first_line}\n"
            "Its client needs further packages: pip install 'kafka-conformance[connect]'"
        ) from error
    return spark


def jvm_peak_bytes() -> int | None:
    """Return the peak memory of the session's JVM so far; None if unknown."""
    process = getattr(SparkContext._gateway, "proc", None)  # noqa: SLF001 - PySpark has no public way to it
    status = Path("/proc", str(process.pid), "status") if process is not None else None
    if status is None or not status.exists():
        return None
    peak = next((line for line in status.read_text().splitlines() if line.startswith("VmHWM:")), None)
    return int(peak.split()[1]) * 1024 if peak else None


def _settings(master: str, partitions: int, driver_memory: str, scratch: Path) -> Mapping[str, str]:
    settings = {
        "spark.app.name": "kafka-conformance",
        "spark.driver.memory": driver_memory,
        **_UNREAD,
        **_UNSEEN,
        "spark.local.dir": str(scratch),
        "spark.sql.adaptive.enabled": str(partitions > 1).lower(),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.files.openCostInBytes": _OPEN_COST_BYTES,
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(partitions),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
    }
    if _is_local(master):
        settings |= dict.fromkeys(("spark.driver.bindAddress", "spark.driver.host"), _LOOPBACK)
        settings |= _WITHIN_ONE_PROCESS
        settings["spark.driver.extraJavaOptions"] = _SHORT_LIVED if partitions == 1 else _LONG_LIVED
    return settings


def _start(master: str, settings: Mapping[str, str], scratch: Path) -> SparkSession:
    conf = SparkConf(loadDefaults=False).setMaster(master)
    conf.setAll(list(settings.items()))
    log = scratch / "jvm.log"
    context = None
    try:
        with log.open("wb") as output, environment_kept(_JAVA_HOME, _OWN_ADDRESS), _interrupts_deferred():
            os.environ[_JAVA_HOME] = str(spark_java_home())
            if _is_local(master):
                os.environ[_OWN_ADDRESS] = _LOOPBACK
            streams = {"stdout": output, "stderr": subprocess.STDOUT}
            gateway = launch_gateway(conf, popen_kwargs=streams)  # type: ignore[no-untyped-call]  # PySpark's gap
            context = SparkContext(conf=conf, gateway=gateway)
        return SparkSession(context)
    except BaseException as error:
        remedy = _remedy(master, error, log)
        if context is not None:
            context.stop()
        _end_jvm()
        if isinstance(error, OSError | PySparkException | Py4JError | TargetError):
            raise SparkError(remedy) from error
        raise


def _remedy(master: str, error: BaseException, log: Path) -> str:
    last_lines = log.read_text(errors="replace").splitlines()[-_LAST_LINES:] if log.exists() else []
    first_line = str(error).partition("\n")[0]
    if isinstance(error, Py4JJavaError):
        first_line = str(error.java_exception.getMessage())
    why = f"Spark did not start with master {master}: {first_line}"
    return "\n".join([why, "`kafka-conformance doctor` says which Java Spark gets.", *last_lines])


def _end_jvm() -> None:
    """End the JVM, which otherwise lives as long as this process, and clear PySpark's references to it."""
    gateway = SparkContext._gateway  # noqa: SLF001 - PySpark has no public way to end its JVM
    if gateway is None:
        return
    process: subprocess.Popen[bytes] | None = gateway.proc
    gateway.shutdown()
    SparkContext._gateway = None  # noqa: SLF001 - likewise
    SparkContext._jvm = None  # noqa: SLF001 - likewise
    if process is None:
        return
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.close()
    try:
        process.wait(timeout=_GOODBYE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _is_local(master: str) -> bool:
    return master.startswith("local")


@contextmanager
def _signal_handler_kept() -> Iterator[None]:
    """Restore the handler of Ctrl-C, which PySpark replaces with its own."""
    is_ours = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if is_ours:
            signal.signal(signal.SIGINT, handler)


@contextmanager
def _interrupts_deferred() -> Iterator[None]:
    """Defer Ctrl-C until the JVM has started: if interrupted earlier, PySpark would leave it running."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pending: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        pending.append(number)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is note:
            signal.signal(signal.SIGINT, before)
    if pending:
        raise KeyboardInterrupt
