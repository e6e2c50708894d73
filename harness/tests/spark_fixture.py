"""The one Spark session of a test run; a module that uses it names this one in `pytest_plugins`."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from harness.spark.session import spark_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    with spark_session() as session:
        yield session
