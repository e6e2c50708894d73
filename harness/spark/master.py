"""Where Spark runs, and what it would lack there, found without importing PySpark, which is slow."""

import os
import sys
from typing import Final

from harness.capacity import machine
from harness.extras import why_without
from harness.targets.base.interface import TargetError
from harness.targets.runtimes.java import JavaUse, find_java

LOCAL_MASTER: Final = f"local[{machine().cores}]"
"""Spark in one JVM on this machine, with all cores available to this process."""
CONNECT: Final = "sc://"
STANDALONE: Final = "spark://"
LOCAL_CLUSTER: Final = "local-cluster["
"""A master, workers and executors as processes on this machine."""
SUBMITTED: Final = "PYSPARK_GATEWAY_PORT"
"""The variable that spark-submit sets in the environment of the Python that it starts."""


class SparkError(Exception):
    """Spark could not be started; the message names the remedy."""


class TaskError(Exception):
    """A task failed on every try; the message is the last error of its executor."""


def why_no_spark(master: str) -> str | None:
    """Return what a session would lack here, with the remedy; None if starting one can be tried."""
    if (lacking := why_without("spark")) is not None:
        return lacking
    if master.startswith(CONNECT) or SUBMITTED in os.environ or _is_running():
        return None
    try:
        find_java(JavaUse.SPARK)
    except TargetError as error:
        return str(error)
    return None


def _is_running() -> bool:
    """Return whether this process has a session already; if it has, PySpark is already imported."""
    sql = sys.modules.get("pyspark.sql")
    return sql is not None and sql.SparkSession.getActiveSession() is not None
