"""The Spark job's Parquet tables, read strictly into values.

A table that is missing, lacks a column, or has a column of another type or with forbidden nulls raises
`ReportError`: a report on half of the facts would look like a report on all of them. Unused columns are
ignored.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from harness.extras import why_without
from harness.results.stored_data import ReportError
from harness.trace.schema import Column, ColumnType, columns

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped] # it ships no types
    from _typeshed import DataclassInstance

RowT = TypeVar("RowT", bound="DataclassInstance")


def has_table(folder: Path, mart: str) -> bool:
    """Return whether a folder has a table of a trend."""
    # A basic installation cannot read any.
    return (folder / mart).is_dir() and why_without("spark") is None


def read_columns(folder: Path, mart: str, row: type[RowT], names: Sequence[str]) -> tuple[list[str], ...]:
    """Read some text columns of a table that has too many rows to make each one a value."""
    table = read_table(folder, mart, row)
    return tuple(table.column(name).to_pylist() for name in names)


def read_table(folder: Path, mart: str, row: type[RowT]) -> "pa.Table":
    """Read the columns of one table that `row` declares, and check their types and nulls."""
    # A verdict needs no tables, so it should not pay for the import of Arrow, which takes as long.
    import pyarrow as pa  # noqa: PLC0415 - as said
    import pyarrow.parquet as pq  # type: ignore[import-untyped] # noqa: PLC0415 - likewise; it ships no types

    directory = folder / mart
    remedy = "`kafka-conformance report RUN` builds those of a run, `kafka-conformance trend` those of many"
    if not directory.is_dir():
        raise ReportError(f"{folder} has no table {mart!r}. {remedy}")
    try:
        table = pq.read_table(directory, partitioning=None)
    except (OSError, pa.ArrowException) as error:
        raise ReportError(f"table {mart!r} of {folder} cannot be read ({error}). {remedy}") from error
    for column in columns(row):
        if (complaint := _complaint(table, column)) is not None:
            raise ReportError(f"table {mart!r} of {folder}: column {column.name!r} {complaint}. {remedy}")
    return table.select([column.name for column in columns(row)])


def read_rows(folder: Path, mart: str, row: type[RowT]) -> tuple[RowT, ...]:
    """Read one table into values, in the order in which it was written."""
    return tuple(rows_of(read_table(folder, mart, row), row))


def rows_of(table: "pa.Table", row: type[RowT]) -> Iterator[RowT]:
    """Yield the rows of a checked table as values."""
    lists = [column.name for column in columns(row) if column.type is ColumnType.STRINGS]
    for record in table.to_pylist():
        for name in lists:
            record[name] = tuple(record[name])
        yield row(**record)


_IS_OF_TYPE: Final = {
    ColumnType.STRING: "is_string",
    ColumnType.INTEGER: "is_integer",
    ColumnType.NUMBER: "is_floating",
    ColumnType.BOOLEAN: "is_boolean",
    ColumnType.STRINGS: "is_list",
}
"""Names of functions in `pyarrow.types`."""


def _complaint(table: "pa.Table", column: Column) -> str | None:
    """Return what is wrong with a table's column; None if nothing is."""
    import pyarrow as pa  # noqa: PLC0415 - as said in `read_table`

    if column.name not in table.column_names:
        return "is missing"
    found = table.column(column.name)
    if not getattr(pa.types, _IS_OF_TYPE[column.type])(found.type):
        return f"is of type {found.type}, not {column.type.value}"
    if found.null_count and not column.nullable:
        return f"has {found.null_count} nulls where none may be"
    return None
