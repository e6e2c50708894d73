"""All reports of a run, in one call."""

from dataclasses import dataclass
from pathlib import Path

from harness.report.allure import write_allure_results
from harness.report.allure_pages import AllurePages, render_allure
from harness.report.junit import junit_of
from harness.report.markdown import summary_of
from harness.report.run_data import Run
from harness.report.site import site_of


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
    index = site_of(run)
    results = write_allure_results(run_dir) if allure else None
    pages = render_allure(run_dir) if allure else AllurePages(index=None, problem=None)
    return Rendered(
        index=index,
        junit=junit_of(run),
        summary=summary_of(run),
        allure_results=results,
        allure_index=pages.index,
        allure_problem=pages.problem,
    )
