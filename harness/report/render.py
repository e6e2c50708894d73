"""Write all reports of a run in one call."""

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.extras import why_without
from harness.report.exports.junit import junit_of
from harness.report.exports.markdown import summary_of
from harness.report.model.run_data import Run
from harness.report.site.run_site import site_of
from harness.workers import workers

if TYPE_CHECKING:
    from harness.report.allure.pages import AllurePages


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """The paths of the reports, and the run that they are about."""

    run: Run
    index: Path
    junit: Path
    summary: Path
    allure_results: Path | None
    """None if Allure was not requested."""
    allure_index: Path | None
    allure_problem: str | None
    """Why Allure's own pages are missing although they were requested."""


def render_all(run_dir: Path, *, allure: bool, archive: Path | None = None) -> Rendered:
    """Write all reports of a run whose tables were built.

    Args:
        run_dir: the run's folder.
        allure: whether Allure's results and pages are wanted.
        archive: the archive of earlier runs; `runs` beside the run's folder if not given.

    Raises:
        ReportError: the run folder or a table is missing or damaged.
    """
    lacking = why_without("allure") if allure else None
    # Allure runs in another process, on a second core if there is one.
    with workers(1) if allure and lacking is None else nullcontext() as beside:
        pages = None if beside is None else beside.submit(_allure_of, run_dir, archive)
        run = Run.load(run_dir)
        index, junit, summary = site_of(run), junit_of(run), summary_of(run)
        results, made = (None, None) if pages is None else pages.result()
    return Rendered(
        run=run,
        index=index,
        junit=junit,
        summary=summary,
        allure_results=results,
        allure_index=None if made is None else made.index,
        allure_problem=lacking if made is None else made.problem,
    )


def _allure_of(run_dir: Path, archive: Path | None) -> "tuple[Path, AllurePages]":
    """Write Allure's results, and render its pages from them."""
    # A basic installation has no Allure.
    from harness.report.allure.pages import render_allure  # noqa: PLC0415 - as said
    from harness.report.allure.results import write_allure_results  # noqa: PLC0415 - likewise

    return write_allure_results(run_dir, archive), render_allure(run_dir)
