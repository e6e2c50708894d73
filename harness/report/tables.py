"""The job's Parquet tables, read into values, strictly.

A table that is missing, lacks a column, or holds a column of another type or with nulls where none may be is
a `ReportError`: a report on half of the facts would look like a report on all of them. Columns that nobody
here asks for are left alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from harness.diff.model import Difference
from harness.report.errors import ReportError
from harness.trace.schema import Column, ColumnType, columns

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

RowT = TypeVar("RowT", bound="DataclassInstance")


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetSummary:
    """What was driven and what came of it. Grain: run, target."""

    run_id: str
    target: str
    spec: str
    profile: str
    implementation: str
    oracle: str | None
    bootstrap: str
    broker_config: str
    notes: tuple[str, ...]
    start_ms: float
    drive_ms: float | None
    scenario_count: int
    conforms: int
    not_applicable: int
    lenient: int
    indeterminate: int
    diverges: int
    harness_error: int
    expected: int
    unexpected: int
    stale: int
    request_count: int
    response_count: int

    @property
    def applicable(self) -> int:
        """How many scenarios the target could be asked and we managed to ask."""
        return self.scenario_count - self.not_applicable - self.harness_error


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """What one of two aligned targets did."""

    kind: str
    at_ms: float | None
    elapsed_ms: float | None
    raw: str | None
    fields: str | None
    canonical: str | None
    digest: str | None
    note: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignedStep:
    """What target and oracle did at one step. Grain: run, target, scenario, step, actor, occurrence."""

    run_id: str
    target: str
    oracle: str | None
    scenario_id: str
    step: int
    occurrence: int
    actor: str | None
    api: str | None
    api_version: int | None
    oracle_kind: str | None
    oracle_at_ms: float | None
    oracle_elapsed_ms: float | None
    oracle_raw: str | None
    oracle_fields: str | None
    oracle_canonical: str | None
    oracle_digest: str | None
    oracle_note: str | None
    target_kind: str | None
    target_at_ms: float | None
    target_elapsed_ms: float | None
    target_raw: str | None
    target_fields: str | None
    target_canonical: str | None
    target_digest: str | None
    target_note: str | None
    is_different: bool

    @property
    def oracle_side(self) -> Side | None:
        """What the oracle did, None where it did nothing that corresponds."""
        if self.oracle_kind is None:
            return None
        return Side(
            kind=self.oracle_kind,
            at_ms=self.oracle_at_ms,
            elapsed_ms=self.oracle_elapsed_ms,
            raw=self.oracle_raw,
            fields=self.oracle_fields,
            canonical=self.oracle_canonical,
            digest=self.oracle_digest,
            note=self.oracle_note,
        )

    @property
    def target_side(self) -> Side | None:
        """What the target did, None where it did nothing that corresponds."""
        if self.target_kind is None:
            return None
        return Side(
            kind=self.target_kind,
            at_ms=self.target_at_ms,
            elapsed_ms=self.target_elapsed_ms,
            raw=self.target_raw,
            fields=self.target_fields,
            canonical=self.target_canonical,
            digest=self.target_digest,
            note=self.target_note,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteredDifference(Difference):
    """A difference and the cluster of its like. Grain: as `Difference`."""

    cluster: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceCount:
    """Differences of one class at one API. Grain: run, target, API, class."""

    run_id: str
    target: str
    api: str | None
    difference_class: str
    difference_count: int
    scenario_count: int
    finding_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SignatureCluster:
    """Equal differences in whatever scenarios, targets and runs. Grain: cluster."""

    cluster: str
    api: str | None
    api_version: int | None
    difference_class: str
    field: str | None
    expected: str
    actual: str
    targets: tuple[str, ...]
    scenario_ids: tuple[str, ...]
    run_ids: tuple[str, ...]
    finding_count: int
    first_run_id: str
    last_run_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyQuantile:
    """How long answers took, polls excepted. Grain: run, target, API, version."""

    run_id: str
    target: str
    api: str
    api_version: int
    response_count: int
    p50_ms: float
    p95_ms: float
    p99_ms: float
    max_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorCodeCount:
    """How often a target answered an error code at top level. Grain: run, target, API, version, code."""

    run_id: str
    target: str
    api: str
    api_version: int
    error_code: str
    response_count: int


def read_table(run_dir: Path, mart: str, row: type[RowT]) -> pa.Table:
    """Read one table's columns as `row` names them, and check their types and nulls."""
    directory = run_dir / "tables" / mart
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


def rows_of(table: pa.Table, row: type[RowT]) -> Iterator[RowT]:
    """Turn a table that was checked into values."""
    lists = [column.name for column in columns(row) if column.type is ColumnType.STRINGS]
    for record in table.to_pylist():
        for name in lists:
            record[name] = tuple(record[name])
        yield row(**record)


_IS_OF_TYPE: Final = {
    ColumnType.STRING: pa.types.is_string,
    ColumnType.INTEGER: pa.types.is_integer,
    ColumnType.NUMBER: pa.types.is_floating,
    ColumnType.BOOLEAN: pa.types.is_boolean,
    ColumnType.STRINGS: pa.types.is_list,
}


def _complaint(table: pa.Table, column: Column) -> str | None:
    """Say what is wrong with a table's column, or return None."""
    if column.name not in table.column_names:
        return "is missing"
    found = table.column(column.name)
    if not _IS_OF_TYPE[column.type](found.type):
        return f"is of type {found.type}, not {column.type.value}"
    if found.null_count and not column.nullable:
        return f"has {found.null_count} nulls where none may be"
    return None
