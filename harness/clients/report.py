"""What came of client scripts, for people: pages, Markdown, JUnit, and the terminal."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from harness.clients.conversations import write_conversations
from harness.clients.judge import ClientJudgement, Mismatch
from harness.report.exports.clients import clients_markdown, write_junit_of_clients
from harness.report.site.clients_site import clients_site_alone
from harness.results.client_results import clients_folder, load_clients
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


def print_judgements(console: Console, judgements: Sequence[ClientJudgement]) -> None:
    """Print a table of scripts, what is to be said of those that do not conform, and the counts."""
    columns, rows = _table(judgements)
    table = Table("script", *["\n".join(column) for column in columns], box=None)
    for script, cells in rows:
        table.add_row(script, *[_cell(each) for each in cells])
    console.print(table)
    for each in _reported(judgements):
        for line in _lines(each):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    for (target, library), counts in sorted(_counts(judgements).items()):
        reported = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
        console.print(f"{target}, {library}: {reported}", markup=False, highlight=False, soft_wrap=True)


def _cell(judgement: ClientJudgement | None) -> str:
    if judgement is None:
        return ""
    style = _STYLES.get(judgement.outcome)
    return f"[{style}]{judgement.outcome}[/]" if style else str(judgement.outcome)


def _table(
    judgements: Sequence[ClientJudgement],
) -> tuple[list[tuple[str, str]], list[tuple[str, list[ClientJudgement | None]]]]:
    columns = list(dict.fromkeys((each.target, each.library) for each in judgements))
    by_place = {(each.script_id, each.target, each.library): each for each in judgements}
    scripts = sorted({each.script_id for each in judgements})
    return columns, [(script, [by_place.get((script, *column)) for column in columns]) for script in scripts]


def _reported(judgements: Sequence[ClientJudgement]) -> list[ClientJudgement]:
    """Return those of which there is more to say than that they conform."""
    return [each for each in judgements if each.outcome is not Outcome.CONFORMS or each.violations]


def _counts(judgements: Sequence[ClientJudgement]) -> dict[tuple[str, str], Counter[str]]:
    counts: dict[tuple[str, str], Counter[str]] = {}
    for each in judgements:
        counts.setdefault((each.target, each.library), Counter())[each.outcome] += 1
    return counts


def _lines(judgement: ClientJudgement) -> list[str]:
    title = f"{judgement.script_id}, {judgement.library}, {judgement.target}: {judgement.outcome}"
    return [
        "",
        title,
        *([judgement.because] if judgement.because else []),
        *[_line(each) for each in judgement.mismatches],
        *[f"against the reference: {_line(each)}" for each in judgement.differences],
        *[
            f"on the wire, by the {each.party}: {each.invariant}: {each.detail}"
            for each in judgement.violations
        ],
        *[f"in the replay, event {each.position}: {each.says}" for each in judgement.replays],
    ]


def _line(mismatch: Mismatch) -> str:
    return f"step {mismatch.step}, {mismatch.text}: {mismatch.says}"
