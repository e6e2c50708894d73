"""All reports of a run, in one call."""

from dataclasses import dataclass
from pathlib import Path

from harness.report.allure import write_allure_results
from harness.report.allure_pages import AllurePages, render_allure
from harness.report.junit import write_junit
from harness.report.markdown import write_summary
from harness.report.site import render_site


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
    index = render_site(run_dir)
    results = write_allure_results(run_dir) if allure else None
    pages = render_allure(run_dir) if allure else AllurePages(index=None, problem=None)
    return Rendered(
        index=index,
        junit=write_junit(run_dir),
        summary=write_summary(run_dir),
        allure_results=results,
        allure_index=pages.index,
        allure_problem=pages.problem,
    )
