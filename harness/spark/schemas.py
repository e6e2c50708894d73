"""Spark's schemas, derived from the record classes by way of `harness.trace.schema`."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import pyarrow as pa  # type: ignore[import-untyped]  # Arrow has no annotations
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from harness.trace.schema import ColumnType, columns, to_content

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_SPARK_TYPES: Final[dict[ColumnType, DataType]] = {
    ColumnType.STRING: StringType(),
    ColumnType.INTEGER: LongType(),
    ColumnType.NUMBER: DoubleType(),
    ColumnType.BOOLEAN: BooleanType(),
    ColumnType.STRINGS: ArrayType(StringType()),
}
_ARROW_TYPES: Final[dict[ColumnType, pa.DataType]] = {
    ColumnType.STRING: pa.string(),
    ColumnType.INTEGER: pa.int64(),
    ColumnType.NUMBER: pa.float64(),
    ColumnType.BOOLEAN: pa.bool_(),
    ColumnType.STRINGS: pa.list_(pa.string()),
}


def struct_type(cls: "type[DataclassInstance]") -> StructType:
    """Return a record class's Spark schema.

    Every column is nullable there: Spark reads files so whatever it is told, and `stage` checks.
    """
    return StructType([StructField(column.name, _SPARK_TYPES[column.type]) for column in columns(cls)])


def column_names(cls: "type[DataclassInstance]") -> list[str]:
    """Return the names of a record class's columns: what a mart selects last."""
    return [column.name for column in columns(cls)]


def arrow_schema(cls: "type[DataclassInstance]") -> pa.Schema:
    """Return a record class's Arrow schema; every column may be null, as in Spark's."""
    return pa.schema([(column.name, _ARROW_TYPES[column.type]) for column in columns(cls)])


def arrow_table(cls: "type[DataclassInstance]", records: "Iterable[DataclassInstance]") -> pa.Table:
    """Make an Arrow table of records."""
    return pa.Table.from_pylist([to_content(record) for record in records], schema=arrow_schema(cls))


def frame_of(
    spark: SparkSession, cls: "type[DataclassInstance]", records: "Iterable[DataclassInstance]"
) -> DataFrame:
    """Make a DataFrame of records; it goes by Arrow, so no Python worker is started."""
    return spark.createDataFrame(arrow_table(cls, records), struct_type(cls))
