"""The pages about client scripts: the matrix with its libraries, and a page for each script."""

from collections import Counter
from pathlib import Path
from typing import Final

from harness.report.model.clients_page import (
    CONVERSATIONS,
    SCRIPTS,
    client_attention,
    client_matrix,
    columns_of,
    not_compared,
    script_page,
    tallies,
)
from harness.report.model.clients_script import client_sections
from harness.report.model.phrases import headline
from harness.report.site.clients_soak import soak_site
from harness.report.site.pages import NavItem, Pages
from harness.results.client_results import ClientsRun
from harness.results.exit_code import ENDED_COMPLETE
from harness.results.status import mark

CLIENTS_PAGE: Final = "clients.html"
ALONE: Final = (NavItem(file="index.html", name="Clients"),)
"""The navigation of a run with client scripts only."""


def clients_site_alone(run: ClientsRun) -> Path:
    """Write the site of a run of client scripts alone into its folder, and return the index."""
    if run.soak_s:
        return soak_site(run)
    pages = Pages(run.folder, run.run_id, banner=clients_banner(run), nav=ALONE)
    return clients_pages(run, pages, "index.html")


def clients_banner(run: ClientsRun) -> str:
    """Return a warning if client scripts did not complete; empty if they did."""
    if run.ended == ENDED_COMPLETE:
        return ""
    return f"The client scripts did not finish: {run.ended}. This page shows what was recorded until then."


def clients_pages(run: ClientsRun, pages: Pages, matrix: str = CLIENTS_PAGE) -> Path:
    """Write the pages about client scripts into a site, and return the page of the matrix.

    Args:
        run: the client scripts.
        pages: the site's pages.
        matrix: the file of the page with the matrix.
    """
    for name in (SCRIPTS, CONVERSATIONS):
        pages.fresh_folder(name)
    for script_id in sorted({each.script_id for each in run.results}):
        pages.write(
            script_page(script_id),
            "client_script.html.j2",
            script=run.scripts[script_id],
            sections=client_sections(run, script_id),
            libraries=run.libraries,
            matrix=matrix,
        )
    return pages.write(matrix, "clients.html.j2", **_matrix(run))


def _matrix(run: ClientsRun) -> dict[str, object]:
    counted = tallies(run)
    return {
        "clients": run,
        "headline": headline(Counter(each.status for each in run.results)),
        "exit_code": run.exit_code,
        "attention": client_attention(run),
        "columns": columns_of(run),
        "groups": client_matrix(run),
        "tallies": counted,
        "outcome_counts": Counter(each.outcome for each in run.results),
        "expectation_counts": Counter(mark(each) for each in run.results),
        "compared_count": sum(each.compared for each in counted),
        "not_compared": not_compared(run),
        "replayed": sum(each.replayed for each in counted),
    }
