"""What came of client scripts, for people: pages, Markdown, JUnit, and the terminal."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from harness.clients.conversations import write_conversations
from harness.report.exports.clients import clients_markdown, write_junit_of_clients
from harness.report.site.clients_site import clients_site_alone
from harness.results.client_results import ClientResult, Remark, clients_folder, load_clients
from harness.trace.files import write_whole
from harness.verdict import Outcome

_STYLES: Final = {
    Outcome.DIVERGES: "red",
    Outcome.HARNESS_ERROR: "red",
    Outcome.INDETERMINATE: "yellow",
    Outcome.NOT_APPLICABLE: "dim",
}


def write_report(path: Path) -> Path:
    """Write everything that people read of a run of client scripts alone, and return its index.

    Raises:
        ReportError: a file of the run is missing or damaged.
        TraceError: a journal is damaged.
    """
    run = load_clients(path)
    write_whole(path / "summary.md", clients_markdown(run))
    write_junit_of_clients(run)
    index = clients_site_alone(run)
    write_conversations(run, path)
    return index


def write_conversations_beside(run_dir: Path) -> None:
    """Write what the pages about client scripts load, where the run of wire suites has any.

    Raises:
        ReportError: a file of the run is missing or damaged.
        TraceError: a journal is damaged.
    """
    folder = clients_folder(run_dir)
    if folder is not None:
        write_conversations(load_clients(folder), run_dir)


def print_results(console: Console, results: Sequence[ClientResult]) -> None:
    """Print a table of scripts, what is to be said of those that do not conform, and the counts."""
    columns, rows = _table(results)
    table = Table("script", *["\n".join(column) for column in columns], box=None)
    for script, cells in rows:
        table.add_row(script, *[_cell(each) for each in cells])
    console.print(table)
    for each in _reported(results):
        for line in _lines(each):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    for (target, library), counts in sorted(_counts(results).items()):
        reported = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
        console.print(f"{target}, {library}: {reported}", markup=False, highlight=False, soft_wrap=True)


def _cell(result: ClientResult | None) -> str:
    if result is None:
        return ""
    style = _STYLES.get(Outcome(result.outcome))
    return f"[{style}]{result.outcome}[/]" if style else str(result.outcome)


def _table(
    results: Sequence[ClientResult],
) -> tuple[list[tuple[str, str]], list[tuple[str, list[ClientResult | None]]]]:
    columns = list(dict.fromkeys((each.target, each.library) for each in results))
    by_place = {(each.script_id, each.target, each.library): each for each in results}
    scripts = sorted({each.script_id for each in results})
    return columns, [(script, [by_place.get((script, *column)) for column in columns]) for script in scripts]


def _reported(results: Sequence[ClientResult]) -> list[ClientResult]:
    """Return those of which there is more to say than that they conform."""
    return [each for each in results if each.outcome != Outcome.CONFORMS or each.violations]


def _counts(results: Sequence[ClientResult]) -> dict[tuple[str, str], Counter[str]]:
    counts: dict[tuple[str, str], Counter[str]] = {}
    for each in results:
        counts.setdefault((each.target, each.library), Counter())[each.outcome] += 1
    return counts


def _lines(result: ClientResult) -> list[str]:
    title = f"{result.script_id}, {result.library}, {result.target}: {result.outcome}"
    return [
        "",
        title,
        *([result.foreseen] if result.foreseen else []),
        *([result.because] if result.because else []),
        *[_line(each) for each in result.mismatches],
        *[f"against the reference: {_line(each)}" for each in result.differences],
        *[f"on the wire, by the {each.party}: {each.invariant}: {each.detail}" for each in result.violations],
        *[f"in the replay, event {each.position}: {each.says}" for each in result.replays],
    ]


def _line(remark: Remark) -> str:
    return f"step {remark.step}, {remark.text}: {remark.says}"
