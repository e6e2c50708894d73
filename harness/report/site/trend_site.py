"""The pages of a trend that belongs to no single run: the trend, and the changes of the newest runs."""

from pathlib import Path

from harness.report.model.history import History
from harness.report.model.regression import Regression
from harness.report.model.trend import Trend
from harness.report.site.pages import TREND_NAVIGATION, Pages


def render_trend(trend_dir: Path) -> Path:
    """Write the pages beside the tables of a trend, and return the trend page.

    Raises:
        ReportError: a table is missing or damaged.
    """
    history = History.load(trend_dir, trend_dir)
    pages = Pages(trend_dir, f"{len(history.runs)} runs of an archive", nav=TREND_NAVIGATION)
    pages.write("regression.html", "regression.html.j2", regression=Regression.of_trend(trend_dir, history))
    return pages.write("trend.html", "trend.html.j2", trend=Trend.load(trend_dir, history))
