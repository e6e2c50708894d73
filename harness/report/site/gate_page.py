"""The gate's decision as a page of the run's site, from the `gate.json` in a folder."""

from pathlib import Path
from typing import Final

from harness.report.model.clients_page import SCRIPTS
from harness.report.model.gate_data import read_decision
from harness.report.site.pages import Pages, navigation_of

PAGE: Final = "gate.html"
_COMPLAINT_COUNT_MAX: Final = 300
"""The number of complaints shown; the file has all."""


def gate_page(folder: Path, pages: Pages) -> Path:
    """Write the page of the decision in a folder; without a decision, the page says so.

    Raises:
        ReportError: the file is not a decision.
    """
    return pages.write(
        PAGE,
        "gate.html.j2",
        decision=read_decision(folder),
        has_site=any((folder / name).is_dir() for name in ("scenarios", SCRIPTS)),
        complaint_count_max=_COMPLAINT_COUNT_MAX,
    )


def add_gate_page(folder: Path, run_id: str) -> Path:
    """Write the page of a new decision, as part of the run's site if the folder has one."""
    has_site = (folder / "index.html").is_file()
    return gate_page(folder, Pages(folder, run_id, nav=navigation_of(folder) if has_site else ()))
