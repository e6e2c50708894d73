"""The results of each scenario in earlier runs of the archive, from the trend's tables."""

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

    def codes(self, judgement: Judgement) -> str:
        """Return a scenario's results on a target, one code for each run; empty if no run had it."""
        return self.results.get((judgement.target, judgement.scenario_id), "")

    def flake(self, judgement: Judgement) -> FlakeRate | None:
        """Return how often a result changed by itself; None if it never did."""
        return self.flakes.get((judgement.target, judgement.scenario_id))


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
