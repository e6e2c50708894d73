"""Arrow schemas, derived from the record classes through `harness.trace.schema`; no Spark."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import pyarrow as pa  # type: ignore[import-untyped]  # Arrow has no annotations

from harness.trace.schema import ColumnType, columns, to_content

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_ARROW_TYPES: Final[dict[ColumnType, pa.DataType]] = {
    ColumnType.STRING: pa.string(),
    ColumnType.INTEGER: pa.int64(),
    ColumnType.NUMBER: pa.float64(),
    ColumnType.BOOLEAN: pa.bool_(),
    ColumnType.STRINGS: pa.list_(pa.string()),
}


def column_names(cls: "type[DataclassInstance]") -> list[str]:
    """Return the names of a record class's columns, which a mart selects last."""
    return [column.name for column in columns(cls)]


def arrow_schema(cls: "type[DataclassInstance]") -> pa.Schema:
    """Return a record class's Arrow schema; every column is nullable, as in the Spark schema."""
    return pa.schema([(column.name, _ARROW_TYPES[column.type]) for column in columns(cls)])


def arrow_table(cls: "type[DataclassInstance]", records: "Iterable[DataclassInstance]") -> pa.Table:
    """Return an Arrow table of records."""
    return pa.Table.from_pylist([to_content(record) for record in records], schema=arrow_schema(cls))


def completed_table(cls: "type[DataclassInstance]", table: pa.Table) -> pa.Table:
    """Return a table of records with the columns that an older table lacks filled with defaults."""
    schema = arrow_schema(cls)
    for column in columns(cls):
        if column.may_be_missing and column.name not in table.column_names:
            values = pa.array([column.default] * len(table), schema.field(column.name).type)
            table = table.append_column(schema.field(column.name), values)
    return table.select(schema.names)
