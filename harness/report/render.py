"""Write all reports of a run in one call."""

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from harness.report.allure.pages import AllureLevel, AllurePages, render_allure
from harness.report.exports.markdown import write_junit, write_summary
from harness.report.model.run_data import Run
from harness.report.site.run_site import site_of
from harness.workers import workers


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """The paths of the reports, and the run that they are about."""

    run: Run
    index: Path
    junit: Path
    summary: Path
    allure: AllurePages | None
    """None if Allure was not requested."""


def render_all(run_dir: Path, *, allure: AllureLevel) -> Rendered:
    """Write all reports of a judged run; nothing of them needs Spark.

    Args:
        run_dir: the run's folder.
        allure: how much of it Allure gets.

    Raises:
        ReportError: a file of the run, or a table of an earlier report, is missing or damaged.
    """
    # Allure runs in another process, on a second core if there is one.
    with nullcontext() if allure is AllureLevel.OFF else workers(1) as beside:
        pages = None if beside is None else beside.submit(_allure_of, run_dir, allure)
        run = Run.load(run_dir)
        index, junit, summary = site_of(run), write_junit(run), write_summary(run)
        made = None if pages is None else pages.result()
    return Rendered(run=run, index=index, junit=junit, summary=summary, allure=made)


def _allure_of(run_dir: Path, level: AllureLevel) -> AllurePages:
    return render_allure(Run.load(run_dir), level)
