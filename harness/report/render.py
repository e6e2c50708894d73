"""Write all reports of a run in one call."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from harness.report.allure.pages import AllureLevel, render_allure
from harness.report.exports.markdown import write_junit, write_summary
from harness.report.model.run_data import Run
from harness.report.site.run_site import site_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """The paths of the reports, and the run that they are about."""

    run: Run
    index: Path
    summary: Path
    allure_problem: str | None
    """Why there are no pages of Allure's; None if they are there, or were not requested."""


def render_all(run_dir: Path, *, allure: AllureLevel) -> Rendered:
    """Write all reports of a judged run, with as much as `allure` says for Allure; nothing needs Spark.

    Raises:
        ReportError: a file of the run, or a table of an earlier report, is missing or damaged.
    """
    run = Run.load(run_dir)
    # Allure's pages are made by a process of its own, on a second core if there is one.
    with ThreadPoolExecutor(1) as beside:
        pages = None if allure is AllureLevel.OFF else beside.submit(render_allure, run, allure)
        index, summary = site_of(run), write_summary(run)
        write_junit(run)
    problem = None if pages is None else pages.result()
    return Rendered(run=run, index=index, summary=summary, allure_problem=problem)
