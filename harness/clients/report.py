"""Report the results of client scripts: pages, Markdown, JUnit, and the terminal."""

from functools import partial
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from harness.clients.conversations import write_conversations
from harness.report.exports.markdown import write_junit_of_clients, write_summary_of_clients
from harness.report.model.clients import account, columns_of, tallies
from harness.report.site.run_site import clients_site_alone
from harness.results.client_results import ClientResult, ClientsRun, clients_folder, load_clients
from harness.verdict import Outcome

_STYLES: Final = {
    Outcome.DIVERGES: "red",
    Outcome.HARNESS_ERROR: "red",
    Outcome.INDETERMINATE: "yellow",
    Outcome.NOT_APPLICABLE: "dim",
}


def write_report(path: Path) -> Path:
    """Write all reports of a run of client scripts alone, and return the index page.

    Raises:
        ReportError: a file of the run is missing or damaged.
        TraceError: a journal is damaged.
    """
    run = load_clients(path)
    write_summary_of_clients(run)
    write_junit_of_clients(run)
    index = clients_site_alone(run)
    write_conversations(run, path)
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


def print_results(console: Console, *, run: ClientsRun) -> None:
    """Print a table of scripts, details of nonconforming ones or violations of invariants, and the counts."""
    say = partial(console.print, markup=False, highlight=False, soft_wrap=True)
    columns = columns_of(run)
    table = Table("script", *[f"{each.record.spec}\n{each.library}" for each in columns], box=None)
    by_place = {each.place: each for each in run.results}
    for script_id in dict.fromkeys(each.script_id for each in run.results):
        places = [(column.record.spec, script_id, column.library) for column in columns]
        table.add_row(script_id, *[_cell(by_place.get(place)) for place in places])
    console.print(table)
    for each in run.results:
        if each.outcome is not Outcome.CONFORMS or each.violations:
            _, *reported = account(run, each)
            say("", f"{each.script_id}, {each.library}, {each.target}: {each.outcome}", *reported, sep="\n")
    for tally in tallies(run):
        counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(tally.counts.items()))
        say(f"{tally.column.record.spec}, {tally.column.library}: {counts}")


def _cell(result: ClientResult | None) -> str:
    if result is None:
        return ""
    style = _STYLES.get(result.outcome)
    return f"[{style}]{result.outcome}[/]" if style else result.outcome.value
