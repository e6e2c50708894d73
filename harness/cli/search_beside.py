"""The answers that a search brought, beside those of a run's scenarios."""

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from harness.report.model.answer_coverage import pairs_beside
from harness.report.model.run_data import Run
from harness.report.site.answers_page import FILE_NAME, write_answers
from harness.report.site.pages import NavItem, Pages
from harness.results.run_kinds import open_folder
from harness.search.hunt import Harvest
from harness.trace.events import RunKind


@dataclass(frozen=True, slots=True, kw_only=True)
class BesideRun:
    """A run whose scenarios a search is shown beside."""

    run: Run
    folder: Path
    """Where the page goes."""

    @classmethod
    def read(cls, run: Path | None, folder: Path) -> "BesideRun | None":
        """Read the run; return None if none is named."""
        if run is None:
            return None
        return cls(run=Run.load(open_folder(run, RunKind.SUITES).path), folder=folder)


def write_beside(
    beside: BesideRun | None, harvest: Harvest, names: tuple[str, str], console: Console
) -> None:
    """Write the page of a search's answers, and print how many combinations both sides have."""
    if beside is None:
        return
    beside.folder.mkdir(parents=True, exist_ok=True)
    pages = Pages(beside.folder, names[0], nav=(NavItem(file=FILE_NAME, name="Coverage"),))
    page = write_answers(pages, harvest.answered, beside.run, where="search")
    pairs = pairs_beside(harvest.answered, beside.run.error_codes)
    both, alone = sum(each.is_in_both for each in pairs), sum(each.is_elsewhere_alone for each in pairs)
    console.print(
        f"combinations of API, version and error code: {both} in the search and in the scenarios, "
        f"{alone} in the search alone, {len(pairs) - both - alone} in the scenarios alone: {page}",
        soft_wrap=True,
        highlight=False,
        markup=False,
    )
