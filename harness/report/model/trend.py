"""Many runs, read from the trend's tables and not computed anew: the trend page, and earlier results.

A table that is missing, lacks a column, or has a column of another type or with forbidden nulls raises
`ReportError`: a report on half of the facts would look like a report on all of them. Unused columns are
ignored.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self, TypeVar

from harness.extras import why_without
from harness.report.model.matrix import ABSENT, code
from harness.results.status import ResultMark, mark
from harness.results.stored_data import ReportError
from harness.spark.rows import (
    CauseAge,
    FirstChangedVersion,
    FlakeRate,
    RunTotal,
    SlowScenario,
    VerdictCell,
)
from harness.trace.schema import Column, ColumnType, columns

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped] # it ships no types
    from _typeshed import DataclassInstance

RowT = TypeVar("RowT", bound="DataclassInstance")


def has_table(folder: Path, mart: str) -> bool:
    """Return whether a folder has a table of a trend."""
    # A basic installation cannot read any.
    return (folder / mart).is_dir() and why_without("spark") is None


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
    records = read_table(folder, mart, row).to_pylist()
    return tuple(
        row(**{name: tuple(value) if isinstance(value, list) else value for name, value in record.items()})
        for record in records
    )


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


RUN_COUNT_MAX: Final = 30
"""The number of newest runs that a strip shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRun:
    """One run of the archive."""

    run_id: str
    started_at: str
    href: str
    """Link to the run's site from the root of this site; empty if its folder is not beside this run's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The results of the newest runs, and how often each result changed by itself."""

    runs: tuple[PastRun, ...] = ()
    """From the oldest to the newest."""
    results: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """By target and scenario id: one code for each run."""
    flakes: Mapping[tuple[str, str], FlakeRate] = field(default_factory=dict)
    """By target and scenario id, for results that ever changed by themselves, in a run or between two."""

    @classmethod
    def load(cls, trend_dir: Path, site: Path) -> Self:
        """Read the history from the trend's tables, for a site in a folder; empty if there are no tables.

        Raises:
            ReportError: a table is damaged.
        """
        if not has_table(trend_dir, "run_totals"):
            return cls()
        started = {each.run_id: each.started_at for each in read_rows(trend_dir, "run_totals", RunTotal)}
        in_turn = sorted(started, key=lambda run_id: (started[run_id], run_id))[-RUN_COUNT_MAX:]
        flakes = read_rows(trend_dir, "flake_rates", FlakeRate)
        return cls(
            runs=tuple(
                PastRun(run_id=run_id, started_at=started[run_id], href=site_beside(site, run_id))
                for run_id in in_turn
            ),
            results=_results(trend_dir, in_turn),
            flakes={
                (each.target, each.scenario_id): each
                for each in flakes
                if each.flip_count or each.flaky_count
            },
        )


def flake_words(rate: FlakeRate) -> str:
    """Return how often a result changed by itself, in words."""
    flips = f"{rate.flip_count} of {rate.pair_count} neighbouring runs differ though nothing was changed"
    again = f"did not show again in {rate.flaky_count} of {rate.run_count} runs"
    return "; ".join((*([flips] if rate.flip_count else []), *([again] if rate.flaky_count else [])))


def site_beside(site: Path, run_id: str) -> str:
    """Return the relative link from a run's site to another run's beside it; empty if it has no site."""
    beside = site.parent / run_id
    is_there = beside.name == run_id and (beside / "index.html").is_file()
    return f"../{run_id}/" if is_there else ""


def _results(trend_dir: Path, run_ids: Sequence[str]) -> dict[tuple[str, str], str]:
    places = {run_id: place for place, run_id in enumerate(run_ids)}
    found: dict[tuple[str, str], list[str]] = defaultdict(lambda: [ABSENT] * len(run_ids))
    names = ("run_id", "target", "scenario_id", "outcome", "expectation", "confirmation")
    # The table has too many rows to make each one a value.
    table = read_table(trend_dir, "verdict_matrix", VerdictCell)
    columns = [table.column(name).to_pylist() for name in names]
    for run_id, target, scenario_id, *reported in zip(*columns, strict=True):
        if run_id in places:
            found[target, scenario_id][places[run_id]] = code(reported[0], mark(ResultMark(*reported)))
    return {place: "".join(codes) for place, codes in found.items()}


TREND_FOLDER: Final = "trend"
"""The folder inside a run's folder with the trend up to this run."""
PAGE_TABLES: Final = (
    "verdict_matrix",
    "run_totals",
    "cause_ages",
    "first_changed_versions",
    "run_deltas",
    "flake_rates",
    "slowest_scenarios",
)
"""The tables that pages need."""
COUNTED: Final = ("diverges", "indeterminate", "harness_error", "lenient", "not_applicable", "conforms")
"""Outcomes as `RunTotal` counts them, the most important first."""
TROUBLES: Final = COUNTED[:4]
"""Those of results that do not conform."""
_SUMMED: Final = (*COUNTED, "unexpected", "stale", "flaky")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLine:
    """One run, with all its targets together."""

    href: str
    targets: tuple[RunTotal, ...]
    """By target; each has what is known of the run."""
    counts: Counter[str]

    @property
    def troubles(self) -> dict[str, int]:
        """The number of results that do not conform, by outcome."""
        return {name: self.counts[name] for name in TROUBLES if self.counts[name]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """The content of the trend page."""

    runs: tuple[RunLine, ...] = ()
    """From the oldest to the newest; none if no trend was made."""
    causes: Sequence[CauseAge] = ()
    """Those that occurred in the newest run first, and among these the most recent ones first."""
    flakes: Sequence[FlakeRate] = ()
    """The most flaky first."""
    changed_versions: Sequence[FirstChangedVersion] = ()
    slowest: Sequence[SlowScenario] = ()

    @classmethod
    def load(cls, trend_dir: Path, history: History) -> Self:
        """Read the trend's tables; return an empty trend if none were made.

        Raises:
            ReportError: a table is damaged.
        """
        if not has_table(trend_dir, "run_totals"):
            return cls()
        return cls(
            runs=_runs(read_rows(trend_dir, "run_totals", RunTotal), history),
            causes=sorted(
                read_rows(trend_dir, "cause_ages", CauseAge),
                key=lambda each: (each.runs_since, each.age, -each.finding_count, each.cause),
            ),
            flakes=sorted(
                history.flakes.values(),
                key=lambda it: (-(it.flake_rate or 0.0), -it.flaky_count, it.scenario_id, it.target),
            ),
            changed_versions=read_rows(trend_dir, "first_changed_versions", FirstChangedVersion),
            slowest=sorted(
                read_rows(trend_dir, "slowest_scenarios", SlowScenario), key=lambda each: -each.median_ms
            ),
        )

    @property
    def has_clients(self) -> bool:
        """Whether a run has results of client scripts."""
        return any(", " in each.target for run in self.runs for each in run.targets)

    @property
    def highest(self) -> int:
        """The most results of one run that do not conform."""
        return max((sum(run.troubles.values()) for run in self.runs), default=0)


def _runs(totals: tuple[RunTotal, ...], history: History) -> tuple[RunLine, ...]:
    hrefs = {each.run_id: each.href for each in history.runs}
    by_run: dict[str, list[RunTotal]] = defaultdict(list)
    for total in totals:
        by_run[total.run_id].append(total)
    in_turn = sorted(by_run.values(), key=lambda of: (of[0].started_at, of[0].run_id))
    return tuple(
        RunLine(
            href=hrefs.get(of[0].run_id, ""),
            targets=tuple(sorted(of, key=lambda each: each.target)),
            counts=Counter({name: sum(getattr(each, name) for each in of) for name in _SUMMED}),
        )
        for of in in_turn
    )
