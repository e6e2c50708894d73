"""All reports of a run, in one call."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from harness.report.allure.pages import AllurePages, render_allure
from harness.report.allure.results import write_allure_results
from harness.report.exports.junit import junit_of
from harness.report.exports.markdown import summary_of
from harness.report.model.run_data import Run
from harness.report.site.run_site import site_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """Where the reports are."""

    index: Path
    junit: Path
    summary: Path
    allure_results: Path | None
    """None where Allure was not asked for."""
    allure_index: Path | None
    allure_problem: str | None
    """Why Allure's own pages are missing although they were asked for."""


def render_all(run_dir: Path, *, allure: bool) -> Rendered:
    """Write every report of a run whose tables were built.

    Raises:
        ReportError: the run folder or a table is missing or damaged.
    """
    run = Run.load(run_dir)
    results = write_allure_results(run_dir) if allure else None
    with ThreadPoolExecutor(1) as beside:
        # Allure makes its pages in a process of its own, which leaves a core for ours.
        pages = beside.submit(render_allure, run_dir) if allure else None
        index, junit, summary = site_of(run), junit_of(run), summary_of(run)
    made = AllurePages(index=None, problem=None) if pages is None else pages.result()
    return Rendered(
        index=index,
        junit=junit,
        summary=summary,
        allure_results=results,
        allure_index=made.index,
        allure_problem=made.problem,
    )
