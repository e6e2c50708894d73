"""A summary in Markdown for pipelines to show beside their jobs, within the size that they accept."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from harness.diff.model import Judgement
from harness.report.exports.clients import client_lines
from harness.report.model.escaping import in_markdown, in_terminal
from harness.report.model.longest import longest_scenarios
from harness.report.model.losses import is_lost, losses, verdict_line
from harness.report.model.phrases import place, shortened
from harness.report.model.run_data import Run
from harness.report.model.tables import applicable_count
from harness.report.site.pages import banner
from harness.results.status import NEEDS_ATTENTION, shown, status_of

SIZE_MAX: Final = 1_000_000
"""In bytes; GitHub refuses a step summary of one MiB or more."""


def write_summary(run_dir: Path) -> Path:
    """Write a run's summary, and return the file."""
    return summary_of(Run.load(run_dir))


def summary_of(run: Run) -> Path:
    """Write the summary of a loaded run, and return the file."""
    concerning = [each for each in run.judgements if status_of(each) in NEEDS_ATTENTION and not is_lost(each)]
    concerning.sort(key=lambda each: NEEDS_ATTENTION.index(status_of(each)))
    text = "\n".join(_head(run))
    for index, judgement in enumerate(concerning):
        entry = "\n".join(_entry(run, judgement))
        if len(text.encode(errors="replace")) + len(entry.encode(errors="replace")) > SIZE_MAX:
            text += f"\n\n… and {len(concerning) - index} more; see the report."
            break
        text += f"\n{entry}"
    if run.clients is not None:
        further = "\n".join(("", "", "## Clients", "", *client_lines(run.clients)))
        text += further if len(text.encode(errors="replace")) + len(further) < SIZE_MAX else ""
    path = run.directory / "summary.md"
    path.write_text(f"{text}\n", encoding="utf-8", errors="backslashreplace")
    return path


def _head(run: Run) -> Iterator[str]:
    yield f"# Conformance run {in_markdown(run.header.run_id)}"
    yield ""
    if incomplete := banner(run.footer):
        yield f"> **{in_markdown(incomplete)}**"
        yield ""
    sentence = verdict_line(run)
    yield f"{sentence[0].upper()}{sentence[1:]}."
    yield ""
    for loss in losses(run.judgements):
        yield f"- {in_markdown(str(loss))}"
        yield ""
    yield "| target | conforms / applicable | lenient | diverges | indeterminate | not applicable | errors | unexpected | stale | flaky |"  # noqa: E501 - a row of a table is one line
    yield "| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: |"
    for each in run.targets:
        figures = (
            f"{each.conforms} / {applicable_count(each)}",
            *(each.lenient, each.diverges, each.indeterminate, each.not_applicable),
            *(each.harness_error, each.unexpected, each.stale, each.flaky),
        )
        yield f"| {in_markdown(each.target)} | {' | '.join(str(figure) for figure in figures)} |"
    yield ""
    for longest in longest_scenarios(run):
        yield f"- Longest on {in_markdown(longest.target)}: {in_markdown(str(longest))}"


def _entry(run: Run, judgement: Judgement) -> Iterator[str]:
    finding = run.first_difference(judgement)
    yield ""
    where = f"{in_markdown(judgement.scenario_id)} on {in_markdown(judgement.target)}"
    often = f", {reported}" if (reported := shown(judgement)) else ""
    yield f"### {where}: {status_of(judgement).value}{often}"
    yield ""
    yield in_markdown(judgement.title)
    yield ""
    if finding:
        yield f"First difference: {in_markdown(place(finding))}: {in_markdown(run.contrast(finding))}."
    else:
        yield in_markdown(shortened(judgement.reason))
    command = run.repetition(judgement)
    yield ""
    yield "\n".join(f"    {in_terminal(line)}" for line in command.splitlines())
