"""Rewrite the regression page of an existing site after a gate has decided on the run."""

from pathlib import Path

from harness.report.model.history import History
from harness.report.model.regression import Regression
from harness.report.model.run_data import Run
from harness.report.model.trend import TREND_FOLDER
from harness.report.site.pages import Pages, banner, navigation_of


def add_regression_page(folder: Path) -> None:
    """Write the page again if the folder has a run's site; otherwise nothing would link to it.

    Raises:
        ReportError: a table of the run, or its data on a baseline, is damaged.
    """
    if not (folder / "index.html").is_file():
        return
    run = Run.load(folder)
    trend_dir = folder / TREND_FOLDER
    history = History.load(trend_dir, folder)
    pages = Pages(folder, run.header.run_id, banner=banner(run.footer), nav=navigation_of(folder))
    pages.write("regression.html", "regression.html.j2", regression=Regression.of(run, trend_dir, history))
