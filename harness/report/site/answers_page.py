"""The page of answers by API, version and error code: those of captures or of a search, beside scenarios."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from harness.report.model.answer_coverage import Answered, pairs_beside
from harness.report.model.coverage import heat_tables
from harness.report.model.run_data import Run
from harness.report.site.pages import Pages
from harness.spark.rows import ErrorCodeCount

FILE_NAME: Final = "coverage.html"


def write_answers(pages: Pages, answered: Mapping[Answered, int], run: Run | None, *, where: str) -> Path:
    """Write the page, and return its path.

    Args:
        pages: the pages to which it belongs.
        answered: how often each combination was answered.
        run: a run whose scenarios are shown beside them, if any.
        where: `captures` or `search`.
    """
    counts = [
        ErrorCodeCount(
            run_id="", target=where, api=api, api_version=version, error_code=code, response_count=count
        )
        for (api, version, code), count in answered.items()
    ]
    return pages.write(
        FILE_NAME,
        "answers.html.j2",
        where=where,
        pairs=pairs_beside(answered, () if run is None else run.error_codes),
        run_name="" if run is None else run.header.run_id,
        heat=heat_tables(counts),
    )
