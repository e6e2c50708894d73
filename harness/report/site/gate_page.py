"""The gate's decision as a page of the run's site, from the `gate.json` that the gate left in a folder."""

from pathlib import Path
from typing import Final

from harness.report.model.clients_page import SCRIPTS
from harness.report.model.gate_data import read_decision
from harness.report.site.pages import Pages, navigation_of

PAGE: Final = "gate.html"
_COMPLAINT_COUNT_MAX: Final = 300
"""Complaints laid out; the file has all."""


def gate_page(folder: Path, pages: Pages) -> Path:
    """Write the page of the decision that a folder has, or that there is none.

    Raises:
        ReportError: the file is no decision.
    """
    return pages.write(
        PAGE,
        "gate.html.j2",
        decision=read_decision(folder),
        has_site=any((folder / name).is_dir() for name in ("scenarios", SCRIPTS)),
        complaint_count_max=_COMPLAINT_COUNT_MAX,
    )


def add_gate_page(folder: Path, run_id: str) -> Path:
    """Write the page of a decision that was just made; one of its run's pages where these are beside it."""
    has_site = (folder / "index.html").is_file()
    return gate_page(folder, Pages(folder, run_id, nav=navigation_of(folder) if has_site else ()))
