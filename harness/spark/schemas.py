"""Spark schemas, derived from the record classes through `harness.trace.schema`."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

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

from harness.spark.arrow_schemas import arrow_table
from harness.trace.schema import ColumnType, columns

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_SPARK_TYPES: Final[dict[ColumnType, DataType]] = {
    ColumnType.STRING: StringType(),
    ColumnType.INTEGER: LongType(),
    ColumnType.NUMBER: DoubleType(),
    ColumnType.BOOLEAN: BooleanType(),
    ColumnType.STRINGS: ArrayType(StringType()),
}


def struct_type(cls: "type[DataclassInstance]") -> StructType:
    """Return a record class's Spark schema.

    Every column is nullable, as Spark makes all columns so when it reads files; `stage` checks for nulls.
    """
    return StructType([StructField(column.name, _SPARK_TYPES[column.type]) for column in columns(cls)])


def with_defaults(frame: DataFrame, cls: "type[DataclassInstance]") -> DataFrame:
    """Fill columns that older files lack with their defaults."""
    defaults = {column.name: column.default for column in columns(cls) if column.default is not None}
    return frame.na.fill(defaults) if defaults else frame


def frame_of(
    spark: SparkSession, cls: "type[DataclassInstance]", records: "Iterable[DataclassInstance]"
) -> DataFrame:
    """Return a DataFrame of records; it is made through Arrow, so no Python worker is started."""
    return spark.createDataFrame(arrow_table(cls, records), struct_type(cls))
