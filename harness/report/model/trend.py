"""The content of the trend page over many runs, read from the trend's tables without computing anew."""

from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from harness.report.model.history import History, is_flaky
from harness.report.model.phrases import instant
from harness.report.model.tables import has_table, read_rows
from harness.spark.trend_rows import (
    FirstChangedVersion,
    FlakeRate,
    RunTotal,
    SignatureAge,
    SlowScenario,
)

TREND_FOLDER: Final = "trend"
"""The folder inside a run's folder with the trend up to this run."""
PAGE_TABLES: Final = (
    "verdict_matrix",
    "run_totals",
    "signature_ages",
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
_BAR_HEIGHT: Final = 72


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One outcome in the bar of one run."""

    style: str
    top: float
    height: float


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
    segments: tuple[Segment, ...]
    """Results that do not conform, stacked; the highest bar of all runs has the full height."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """The content of the trend page."""

    runs: tuple[RunLine, ...]
    """From the oldest to the newest; none if no trend was made."""
    signatures: tuple[SignatureAge, ...]
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
            return cls(runs=(), signatures=(), flakes=(), changed_versions=(), slowest=(), totals=Counter())
        signatures = read_rows(trend_dir, "signature_ages", SignatureAge)
        flakes = [each for each in read_rows(trend_dir, "flake_rates", FlakeRate) if is_flaky(each)]
        changed = read_rows(trend_dir, "first_changed_versions", FirstChangedVersion)
        slowest = read_rows(trend_dir, "slowest_scenarios", SlowScenario)
        return cls(
            runs=_runs(read_rows(trend_dir, "run_totals", RunTotal), history),
            signatures=tuple(sorted(signatures, key=_newest_first)[:_ROW_COUNT_MAX]),
            flakes=tuple(sorted(flakes, key=_most_flaky_first)[:_ROW_COUNT_MAX]),
            changed_versions=tuple(changed[:_ROW_COUNT_MAX]),
            slowest=tuple(sorted(slowest, key=lambda each: -each.median_ms)[:_SLOW_COUNT_MAX]),
            totals=Counter(
                signatures=len(signatures),
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
    def bar_height(self) -> int:
        """The height of the highest bar."""
        return _BAR_HEIGHT


def _newest_first(each: SignatureAge) -> tuple[int, int, int, str]:
    return (each.runs_since, each.age, -each.finding_count, each.cluster)


def _most_flaky_first(each: FlakeRate) -> tuple[float, int, str, str]:
    return (-(each.flake_rate or 0.0), -each.flaky_count, each.scenario_id, each.target)


def _runs(totals: tuple[RunTotal, ...], history: History) -> tuple[RunLine, ...]:
    hrefs = {each.run_id: each.href for each in history.runs}
    by_run: dict[str, list[RunTotal]] = defaultdict(list)
    for total in totals:
        by_run[total.run_id].append(total)
    in_turn = sorted(by_run.values(), key=lambda of: (of[0].started_at, of[0].run_id))
    counts = [_counted(of) for of in in_turn]
    highest = max((sum(_troubles(each).values()) for each in counts), default=0)
    return tuple(
        RunLine(
            run_id=of[0].run_id,
            href=hrefs.get(of[0].run_id, ""),
            started_at=instant(of[0].started_at),
            harness=of[0].harness_commit or of[0].harness_version,
            ended=of[0].ended or "cut short",
            targets=tuple(sorted(of, key=lambda each: each.target)),
            counts=count,
            segments=_segments(_troubles(count), highest),
        )
        for of, count in zip(in_turn, counts, strict=True)
    )


def _counted(totals: list[RunTotal]) -> Counter[str]:
    names = (*COUNTED, "unexpected", "stale", "flaky", "scenario_count")
    return Counter({name: sum(getattr(each, name) for each in totals) for name in names})


def _troubles(counts: Counter[str]) -> dict[str, int]:
    return {name: counts[name] for name in COUNTED if name not in {"conforms", "not_applicable"}}


def _segments(counts: dict[str, int], highest: int) -> tuple[Segment, ...]:
    segments: list[Segment] = []
    bottom = float(_BAR_HEIGHT)
    for name, count in counts.items():
        if count:
            height = max(1.5, _BAR_HEIGHT * count / highest)
            bottom -= height
            segments.append(Segment(style=name.replace("_", "-"), top=bottom, height=height))
    return tuple(segments)
