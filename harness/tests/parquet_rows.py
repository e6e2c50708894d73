"""Writes rows as the job would have written them, with the schema that their class declares."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa  # type: ignore[import-untyped] # it ships no types
import pyarrow.parquet as pq  # type: ignore[import-untyped] # likewise

from harness.trace.schema import ColumnType, columns

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_ARROW = {
    ColumnType.STRING: pa.string(),
    ColumnType.INTEGER: pa.int64(),
    ColumnType.NUMBER: pa.float64(),
    ColumnType.BOOLEAN: pa.bool_(),
    ColumnType.STRINGS: pa.list_(pa.string()),
}


def write_rows(
    directory: Path, mart: str, row: "type[DataclassInstance]", rows: "Sequence[DataclassInstance]"
) -> None:
    """Write one table as Spark does: a folder with Parquet parts and a marker of success."""
    table = directory / mart
    table.mkdir(parents=True, exist_ok=True)
    names = [column.name for column in columns(row)]
    schema = pa.schema([(column.name, _ARROW[column.type]) for column in columns(row)])
    content = [{name: getattr(each, name) for name in names} for each in rows]
    pq.write_table(pa.Table.from_pylist(content, schema=schema), table / "part-00000.snappy.parquet")
    (table / "_SUCCESS").touch()
