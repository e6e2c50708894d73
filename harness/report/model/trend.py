"""Many runs, read from the trend's tables and not computed anew: the trend page, and earlier results."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, Self

from harness.report.model.matrix import ABSENT, code
from harness.report.model.phrases import instant
from harness.report.model.tables import has_table, read_columns, read_rows
from harness.results.status import mark
from harness.spark.trend_rows import (
    CauseAge,
    FirstChangedVersion,
    FlakeRate,
    RunTotal,
    SlowScenario,
    VerdictCell,
)

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

    runs: tuple[PastRun, ...]
    """From the oldest to the newest."""
    results: Mapping[tuple[str, str], str]
    """By target and scenario id: one code for each run."""
    flakes: Mapping[tuple[str, str], FlakeRate]
    """By target and scenario id, for results that ever changed by themselves."""

    @classmethod
    def nothing(cls) -> Self:
        """Return an empty history."""
        return cls(runs=(), results={}, flakes={})

    @classmethod
    def load(cls, trend_dir: Path, site: Path) -> Self:
        """Read the history from the trend's tables, for a site in a folder; empty if there are no tables.

        Raises:
            ReportError: a table is damaged.
        """
        if not has_table(trend_dir, "run_totals"):
            return cls.nothing()
        started = {each.run_id: each.started_at for each in read_rows(trend_dir, "run_totals", RunTotal)}
        in_turn = sorted(started, key=lambda run_id: (started[run_id], run_id))[-RUN_COUNT_MAX:]
        flakes = read_rows(trend_dir, "flake_rates", FlakeRate)
        return cls(
            runs=tuple(
                PastRun(run_id=run_id, started_at=started[run_id], href=site_beside(site, run_id))
                for run_id in in_turn
            ),
            results=_results(trend_dir, in_turn),
            flakes={(each.target, each.scenario_id): each for each in flakes if is_flaky(each)},
        )


def flake_words(rate: FlakeRate) -> str:
    """Return how often a result changed by itself, in words."""
    flips = f"{rate.flip_count} of {rate.pair_count} neighbouring runs differ though nothing was changed"
    again = f"did not show again in {rate.flaky_count} of {rate.run_count} runs"
    return "; ".join((*([flips] if rate.flip_count else []), *([again] if rate.flaky_count else [])))


def is_flaky(rate: FlakeRate) -> bool:
    """Return whether a result ever changed by itself, within a run or from one run to the next."""
    return bool(rate.flip_count or rate.flaky_count)


def site_beside(site: Path, run_id: str) -> str:
    """Return the relative link from a run's site to another run's beside it; empty if it has no site."""
    beside = site.parent / run_id
    is_there = beside.name == run_id and (beside / "index.html").is_file()
    return f"../{run_id}/" if is_there else ""


class _ResultMark(NamedTuple):
    """The fields that a result's mark is computed from."""

    outcome: str
    expectation: str
    confirmation: str


def _results(trend_dir: Path, run_ids: Sequence[str]) -> dict[tuple[str, str], str]:
    places = {run_id: place for place, run_id in enumerate(run_ids)}
    found: dict[tuple[str, str], list[str]] = defaultdict(lambda: [ABSENT] * len(run_ids))
    names = ("run_id", "target", "scenario_id", "outcome", "expectation", "confirmation")
    columns = read_columns(trend_dir, "verdict_matrix", VerdictCell, names)
    for run_id, target, scenario_id, *reported in zip(*columns, strict=True):
        if run_id in places:
            found[target, scenario_id][places[run_id]] = code(reported[0], mark(_ResultMark(*reported)))
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
_ROW_COUNT_MAX: Final = 200
"""The number of rows of one table that the page lists; the table has all."""
_SLOW_COUNT_MAX: Final = 60
COUNTED: Final = ("diverges", "indeterminate", "harness_error", "lenient", "not_applicable", "conforms")
"""Outcomes as `RunTotal` counts them, the most important first."""
TROUBLES: Final = COUNTED[:4]
"""Those of results that do not conform."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLine:
    """One run, with all its targets together."""

    run_id: str
    href: str
    started_at: str
    harness: str
    ended: str
    targets: tuple[RunTotal, ...]
    counts: Counter[str]

    @property
    def troubles(self) -> dict[str, int]:
        """The number of results that do not conform, by outcome."""
        return {name: self.counts[name] for name in TROUBLES if self.counts[name]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """The content of the trend page."""

    runs: tuple[RunLine, ...]
    """From the oldest to the newest; none if no trend was made."""
    causes: tuple[CauseAge, ...]
    """Those that occurred in the newest run first, and among these the most recent ones first."""
    flakes: tuple[FlakeRate, ...]
    changed_versions: tuple[FirstChangedVersion, ...]
    slowest: tuple[SlowScenario, ...]
    totals: Counter[str]
    """The total number of rows of each table; the lists above have only the first of them."""

    @classmethod
    def load(cls, trend_dir: Path, history: History) -> Self:
        """Read the trend's tables; return an empty trend if none were made.

        Raises:
            ReportError: a table is damaged.
        """
        if not has_table(trend_dir, "run_totals"):
            return cls(runs=(), causes=(), flakes=(), changed_versions=(), slowest=(), totals=Counter())
        causes = read_rows(trend_dir, "cause_ages", CauseAge)
        flakes = [each for each in read_rows(trend_dir, "flake_rates", FlakeRate) if is_flaky(each)]
        changed = read_rows(trend_dir, "first_changed_versions", FirstChangedVersion)
        slowest = read_rows(trend_dir, "slowest_scenarios", SlowScenario)
        return cls(
            runs=_runs(read_rows(trend_dir, "run_totals", RunTotal), history),
            causes=tuple(sorted(causes, key=_newest_first)[:_ROW_COUNT_MAX]),
            flakes=tuple(sorted(flakes, key=_most_flaky_first)[:_ROW_COUNT_MAX]),
            changed_versions=tuple(changed[:_ROW_COUNT_MAX]),
            slowest=tuple(sorted(slowest, key=lambda each: -each.median_ms)[:_SLOW_COUNT_MAX]),
            totals=Counter(
                causes=len(causes),
                flakes=len(flakes),
                changed_versions=len(changed),
                slowest=len(slowest),
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


def _newest_first(each: CauseAge) -> tuple[int, int, int, str]:
    return (each.runs_since, each.age, -each.finding_count, each.cause)


def _most_flaky_first(each: FlakeRate) -> tuple[float, int, str, str]:
    return (-(each.flake_rate or 0.0), -each.flaky_count, each.scenario_id, each.target)


def _runs(totals: tuple[RunTotal, ...], history: History) -> tuple[RunLine, ...]:
    hrefs = {each.run_id: each.href for each in history.runs}
    by_run: dict[str, list[RunTotal]] = defaultdict(list)
    for total in totals:
        by_run[total.run_id].append(total)
    in_turn = sorted(by_run.values(), key=lambda of: (of[0].started_at, of[0].run_id))
    return tuple(
        RunLine(
            run_id=of[0].run_id,
            href=hrefs.get(of[0].run_id, ""),
            started_at=instant(of[0].started_at),
            harness=of[0].harness_commit or of[0].harness_version,
            ended=of[0].ended or "cut short",
            targets=tuple(sorted(of, key=lambda each: each.target)),
            counts=_counted(of),
        )
        for of in in_turn
    )


def _counted(totals: list[RunTotal]) -> Counter[str]:
    names = (*COUNTED, "unexpected", "stale", "flaky", "scenario_count")
    return Counter({name: sum(getattr(each, name) for each in totals) for name in names})
