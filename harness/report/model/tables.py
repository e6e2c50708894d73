"""The Spark job's Parquet tables, read strictly into values.

A table that is missing, lacks a column, or has a column of another type or with forbidden nulls raises
`ReportError`: a report on half of the facts would look like a report on all of them. Unused columns are
ignored.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from harness.report.model.page_limit import PageLimit
from harness.results.errors import ReportError
from harness.spark.rows import AlignedStep, TargetSummary
from harness.trace.schema import Column, ColumnType, columns

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped] # it ships no types
    from _typeshed import DataclassInstance

RowT = TypeVar("RowT", bound="DataclassInstance")


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignedAnswer:
    """The event of one of two aligned targets."""

    kind: str
    at_ms: float | None
    elapsed_ms: float | None
    raw: str | None
    fields: str | None
    canonical: str | None
    note: str | None


def oracle_side(row: AlignedStep) -> AlignedAnswer | None:
    """Return the oracle's event; None if it has none in this row."""
    return _side(row, "oracle")


def target_side(row: AlignedStep) -> AlignedAnswer | None:
    """Return the target's event; None if it has none in this row."""
    return _side(row, "target")


def _side(row: AlignedStep, side: str) -> AlignedAnswer | None:
    found = {each.name: getattr(row, f"{side}_{each.name}") for each in fields(AlignedAnswer)}
    return None if found["kind"] is None else AlignedAnswer(**found)


def applicable_count(summary: TargetSummary) -> int:
    """Return how many scenarios were applicable to a target and did not end in a harness error."""
    return summary.scenario_count - summary.not_applicable - summary.harness_error


def has_table(folder: Path, mart: str) -> bool:
    """Return whether a folder has a table: a run's is under `tables`, a trend's at the root."""
    return _directory(folder, mart).is_dir()


def _directory(folder: Path, mart: str) -> Path:
    of_run = folder / "tables"
    return (of_run if of_run.is_dir() else folder) / mart


def read_columns(run_dir: Path, mart: str, row: type[RowT], names: Sequence[str]) -> tuple[list[str], ...]:
    """Read some text columns of a table that has too many rows to make each one a value."""
    table = read_table(run_dir, mart, row)
    return tuple(table.column(name).to_pylist() for name in names)


def read_table(run_dir: Path, mart: str, row: type[RowT]) -> "pa.Table":
    """Read the columns of one table that `row` declares, and check their types and nulls."""
    # A verdict needs no tables, so it should not pay for the import of Arrow, which takes as long.
    import pyarrow as pa  # noqa: PLC0415 - as said
    import pyarrow.parquet as pq  # type: ignore[import-untyped] # noqa: PLC0415 - likewise; it ships no types

    directory = _directory(run_dir, mart)
    remedy = f"Build it with: kafka-conformance report {run_dir.name}"
    if not directory.is_dir():
        raise ReportError(f"{run_dir} has no table {mart!r}. {remedy}")
    try:
        table = pq.read_table(directory, partitioning=None)
    except (OSError, pa.ArrowException) as error:
        raise ReportError(f"table {mart!r} of {run_dir} cannot be read ({error}). {remedy}") from error
    for column in columns(row):
        if (complaint := _complaint(table, column)) is not None:
            raise ReportError(f"table {mart!r} of {run_dir}: column {column.name!r} {complaint}. {remedy}")
    return table.select([column.name for column in columns(row)])


def read_rows(run_dir: Path, mart: str, row: type[RowT]) -> tuple[RowT, ...]:
    """Read one table into values, in the order in which it was written."""
    return tuple(rows_of(read_table(run_dir, mart, row), row))


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


class StepTable:
    """The aligned steps, by far the most rows, which become values one scenario at a time."""

    def __init__(self, table: "pa.Table | None") -> None:
        """Index a table by scenario; it is None for a run whose tables were not built."""
        self._slices: dict[str, tuple[int, int]] = {}
        self._table = None if table is None else table.sort_by("scenario_id")
        ids = [] if self._table is None else self._table.column("scenario_id").to_pylist()
        for index, scenario_id in enumerate(ids):
            start, length = self._slices.get(scenario_id, (index, 0))
            self._slices[scenario_id] = (start, length + 1)

    def of_scenario(self, scenario_id: str) -> dict[str, tuple[AlignedStep, ...]]:
        """Return a scenario's events by target, in order; events outside the script's steps come last."""
        by_target: dict[str, list[AlignedStep]] = defaultdict(list)
        if self._table is None or scenario_id not in self._slices:
            return {}
        start, length = self._slices[scenario_id]
        for step in PageLimit().within(rows_of(self._table.slice(start, length), AlignedStep)):
            by_target[step.target].append(step)
        return {target: tuple(sorted(steps, key=_happening)) for target, steps in by_target.items()}


def _happening(row: AlignedStep) -> tuple[bool, int, int]:
    return (row.step < 0, row.step, row.occurrence)
