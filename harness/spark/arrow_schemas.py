"""Arrow schemas, derived from the record classes through `harness.trace.schema`; no Spark."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa  # type: ignore[import-untyped]  # Arrow has no annotations
import pyarrow.json as pj  # type: ignore[import-untyped]  # likewise

from harness.trace.plain_files import read_plain
from harness.trace.schema import ColumnType, TraceError, columns, to_content

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


def read_table(cls: "type[DataclassInstance]", path: Path) -> pa.Table:
    """Read records as `read_events` and `read_records` do, but with Arrow, which is faster.

    Raises:
        TraceError: the file is missing or damaged, or a line is not such a record.
    """
    schema = arrow_schema(cls)
    try:
        content = read_plain(path)
    except FileNotFoundError as error:
        raise TraceError(f"{path}: there is no such file") from error
    whole = content[: content.rfind(b"\n") + 1]
    if not whole:
        return schema.empty_table()
    try:
        table = pj.read_json(
            pa.BufferReader(whole),
            read_options=pj.ReadOptions(block_size=max(len(whole), 1 << 20)),
            parse_options=pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error"),
        ).select(schema.names)
    except pa.ArrowException as error:
        raise TraceError(f"{path}: {error}") from error
    if table.num_rows != whole.count(b"\n"):
        raise TraceError(f"{path}: a line is no {cls.__name__}: it is empty, or several lines are one")
    for column in columns(cls):
        if not (column.nullable or column.may_be_missing) and table[column.name].null_count:
            raise TraceError(f"{path}: a line is no {cls.__name__}: it lacks {column.name}")
    return table


def completed_table(cls: "type[DataclassInstance]", table: pa.Table) -> pa.Table:
    """Return a table of records with the columns that an older table lacks filled with defaults."""
    schema = arrow_schema(cls)
    for column in columns(cls):
        if column.may_be_missing and column.name not in table.column_names:
            values = pa.array([column.default] * len(table), schema.field(column.name).type)
            table = table.append_column(schema.field(column.name), values)
    return table.select(schema.names)
