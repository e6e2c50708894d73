"""What became of each scenario in earlier runs of the archive, as the trend's tables have it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, Self

from harness.diff.model import Judgement
from harness.report.model.codes import ABSENT, code
from harness.report.model.tables import has_table, read_columns, read_rows
from harness.results.status import mark
from harness.spark.trend_rows import FlakeRate, RunTotal, VerdictCell

RUN_COUNT_MAX: Final = 30
"""Runs that a strip shows, the newest of all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRun:
    """One run of the archive."""

    run_id: str
    started_at: str
    href: str
    """Its site, from a page at the root of this one; empty where its folder is not beside this run's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The results of the newest runs, and how often each changed by itself."""

    runs: tuple[PastRun, ...]
    """From the oldest to the newest."""
    results: Mapping[tuple[str, str], str]
    """By target and scenario id: a code for each run."""
    flakes: Mapping[tuple[str, str], FlakeRate]
    """By target and scenario id, where a result ever changed by itself."""

    @classmethod
    def nothing(cls) -> Self:
        """Return the history of a run that has none."""
        return cls(runs=(), results={}, flakes={})

    @classmethod
    def load(cls, trend_dir: Path, site: Path) -> Self:
        """Read the history from the trend's tables, for a site in a folder; none where there are none.

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

    def codes(self, judgement: Judgement) -> str:
        """Return what became of a scenario with a target, a code for each run; nothing where none had it."""
        return self.results.get((judgement.target, judgement.scenario_id), "")

    def flake(self, judgement: Judgement) -> FlakeRate | None:
        """Return how often a result changed by itself, if it ever did."""
        return self.flakes.get((judgement.target, judgement.scenario_id))


def is_flaky(rate: FlakeRate) -> bool:
    """Tell whether a result ever changed by itself, within a run or from one to the next."""
    return bool(rate.flip_count or rate.flaky_count)


def site_beside(site: Path, run_id: str) -> str:
    """Return the way from a run's site to that of another run beside it; nothing where it has none."""
    beside = site.parent / run_id
    is_there = beside.name == run_id and (beside / "index.html").is_file()
    return f"../{run_id}/" if is_there else ""


class _ResultMark(NamedTuple):
    """What a result is marked by."""

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
