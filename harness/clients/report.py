"""Report the results of client scripts, with the conversations that their pages load."""

from pathlib import Path

from harness.clients.conversations import write_conversations
from harness.report.exports.markdown import write_junit, write_summary
from harness.report.model.run_data import Run
from harness.report.site.run_site import site_of
from harness.results.client_results import clients_folder, load_clients


def write_report(run: Run) -> Path:
    """Write all reports of a run of client scripts alone, and return the index page.

    Raises:
        ReportError: a file of the run is damaged.
        TraceError: a journal is damaged.
    """
    assert run.clients is not None, "it is one of client scripts"
    write_summary(run)
    write_junit(run)
    index = site_of(run)
    write_conversations(run.clients, run.directory)
    return index


def write_conversations_beside(run_dir: Path) -> None:
    """Write the data that the pages about client scripts load, if the run of wire suites has any scripts.

    Raises:
        ReportError: a file of the run is missing or damaged.
        TraceError: a journal is damaged.
    """
    folder = clients_folder(run_dir)
    if folder is not None:
        write_conversations(load_clients(folder), run_dir)
