"""The output on a terminal when a run has ended: a table, the worst results, and where to read on."""

from collections import Counter
from pathlib import Path
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from harness.diff.model import Judgement
from harness.diff.target_pattern import is_reference
from harness.report.model.escaping import in_terminal
from harness.report.model.longest import longest_scenarios
from harness.report.model.losses import REMEDY, is_lost, losses, verdict_line
from harness.report.model.phrases import GLYPHS, disagreement, expectation_entry, place, shortened
from harness.report.model.run_data import Run
from harness.report.model.tables import applicable_count, has_table
from harness.report.model.without_tables import load_verdict
from harness.report.site.pages import banner
from harness.results.status import NEEDS_ATTENTION, RED, ResultStatus, shown, status_of
from harness.spark.rows import TargetSummary
from harness.verdict import DifferenceClass, Expectation, Outcome

RESULT_COUNT_MAX: Final = 10
VALUE_LENGTH_MAX: Final = 160
_LOG_COLUMNS: Final = 1_000
_EXTERNAL: Final = "external:"
_STYLES: Final = {
    Outcome.CONFORMS: "green",
    Outcome.LENIENT: "cyan",
    Outcome.NOT_APPLICABLE: "bright_black",
    Outcome.INDETERMINATE: "yellow",
    Outcome.DIVERGES: "red",
    Outcome.HARNESS_ERROR: "magenta",
}


def print_summary(run: Run, console: Console) -> None:
    """Print the summary of a run with tables, and where its pages are."""
    _print_run(run, console)
    console.print(_plain(f"Report: {run.directory / 'index.html'}"), soft_wrap=True)


def print_verdict(run_dir: Path, console: Console) -> None:
    """Print the summary of a judged run without tables, from the checker's files."""
    _print_run(load_verdict(run_dir), console)
    console.print(_plain(f"Run: {run_dir}"), soft_wrap=True)


def _print_run(run: Run, console: Console) -> None:
    """Print a summary; text from a target never acts as markup or as a control sequence."""
    table = _table(run)
    if not console.is_terminal:
        # A log is said to have 80 columns, but cuts no line short.
        table.width = Measurement.get(console, console.options.update_width(_LOG_COLUMNS), table).maximum
    console.print(table, crop=console.is_terminal)
    _print_longest(run, console)
    telling = [each for each in run.judgements if status_of(each) in NEEDS_ATTENTION and not is_lost(each)]
    telling.sort(key=lambda each: NEEDS_ATTENTION.index(status_of(each)))
    for judgement in telling[:RESULT_COUNT_MAX]:
        _print_result(run, judgement, console)
    if len(telling) > RESULT_COUNT_MAX:
        console.print(f"… and {len(telling) - RESULT_COUNT_MAX} more; {_who_has_them(run)} has them all.\n")
    _print_entry(run, telling, console)
    lost = losses(run.judgements)
    if not lost and (incomplete := banner(run.footer)):
        console.print(_plain(incomplete, "bold yellow"), soft_wrap=True)
    sentence = verdict_line(run)
    standings = Counter(status_of(each) for each in run.results)
    is_bad = any(standings[each] for each in RED) or "no verdict" in sentence
    style = "bold red" if is_bad else "bold yellow" if standings[ResultStatus.FLAKY] else "bold green"
    console.print(_plain(f"{sentence[0].upper()}{sentence[1:]}.", style))
    for loss in lost:
        console.print(_plain(f"  {loss}", "yellow"), soft_wrap=True)
    external = {each.target for each in run.targets if each.spec.startswith(_EXTERNAL)}
    if any("Remedy: " not in loss.cause and loss.target in external for loss in lost):
        console.print(_plain(f"  {REMEDY}."))


def _who_has_them(run: Run) -> str:
    return "the report" if has_table(run.directory, "verdict_matrix") else "judgements.jsonl"


def _table(run: Run) -> Table:
    """Return a table of counts with a row for each target; columns with only zeros are left out."""
    counts = {summary.target: _counts(summary) for summary in run.targets}
    headings = [heading for heading in _HEADINGS if any(each[heading] for each in counts.values())]
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("target", overflow="fold")
    table.add_column("conforms / applicable", justify="right", no_wrap=True)
    for heading in headings:
        table.add_column(Text(heading, _HEADINGS[heading]), justify="right", min_width=_word_length(heading))
    for summary in run.targets:
        table.add_row(
            _plain(summary.target, "bold"),
            Text(f"{summary.conforms} / {applicable_count(summary)}"),
            *(Text(str(counts[summary.target][heading] or "·")) for heading in headings),
        )
    return table


def _word_length(heading: str) -> int:
    """Return the least width of a heading: a part of a word does not tell what is counted."""
    return max(map(len, heading.split()))


_HEADINGS: Final = {
    **{f"{GLYPHS[each]} {each.value}": _STYLES[each] for each in Outcome if each is not Outcome.CONFORMS},
    Expectation.UNEXPECTED.value: "bold",
    Expectation.STALE.value: "bold",
    ResultStatus.FLAKY.value: "yellow",
}
"""The style of each heading, in the order of the columns."""


def _counts(summary: TargetSummary) -> dict[str, int]:
    figures = (
        summary.not_applicable,
        summary.lenient,
        summary.indeterminate,
        summary.diverges,
        summary.harness_error,
        summary.unexpected,
        summary.stale,
        summary.flaky,
    )
    return dict(zip(_HEADINGS, figures, strict=True))


def _print_longest(run: Run, console: Console) -> None:
    """Print each target's longest conversation."""
    found = longest_scenarios(run)
    for each in found:
        console.print(_plain(f"longest on {each.target}: {each}", "bright_black"), soft_wrap=True)
    if found:
        console.print()


def _print_result(run: Run, judgement: Judgement, console: Console) -> None:
    """Print a result in three lines: the result, its first difference, and how to repeat it."""
    outcome = Outcome(judgement.outcome)
    what = Text.assemble(
        (f"{GLYPHS[outcome]} {status_of(judgement).value} ", _STYLES[outcome]),
        _plain(judgement.scenario_id, "bold"),
        " on ",
        _plain(judgement.target, "bold"),
        f", {often}" if (often := shown(judgement)) else "",
    )
    finding = run.first_difference(judgement)
    found = f"{place(finding)}: {run.contrast(finding)}" if finding else judgement.reason
    if finding and finding.difference_class == DifferenceClass.TIMING and run.times_of(finding) is None:
        found = judgement.reason  # without tables, only the checker's reason contains the measured time
    command = run.repetition(judgement)
    console.print(what, soft_wrap=True)
    console.print(_plain(f"  {shortened(found, VALUE_LENGTH_MAX)}"), soft_wrap=True)
    console.print(_plain(f"  {command}\n", "bright_black"), soft_wrap=True)


_FORESEEABLE: Final = (ResultStatus.FAILED, ResultStatus.INDETERMINATE, ResultStatus.FLAKY)


def _print_entry(run: Run, concerning: list[Judgement], console: Console) -> None:
    """Print an entry for the first unexpected difference; the pages have entries for the others."""
    for each in concerning:
        if each.outcome == Outcome.DIVERGES and (advice := disagreement(each)):
            console.print(_plain(f"{advice}\n"), soft_wrap=True)
            break
    failed = [
        each for each in concerning if status_of(each) in _FORESEEABLE and not is_reference(each.target)
    ]
    if not failed:
        return
    console.print("To list the first as known, with a reason and a link:", style="bright_black")
    for line in expectation_entry(failed[0], run.target(failed[0].target)).splitlines():
        console.print(_plain(f"  {line}"), soft_wrap=True)
    console.print()


def _plain(value: str, style: str = "") -> Text:
    """Return text from a target with its control characters written as escapes."""
    body = value.removesuffix("\n")
    return Text(in_terminal(body) + value[len(body) :], style)
