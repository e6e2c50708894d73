"""Summaries in Markdown for pipelines to show beside their jobs, by cause, within the size that they take."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from harness.report.exports.comparison import in_brief
from harness.report.model.cause_groups import (
    CauseGroup,
    cause_groups,
    longest_scenarios,
    losses,
    verdict_line,
)
from harness.report.model.changes import Changes
from harness.report.model.clients import ClientAttention, account, client_attention, not_compared, tallies
from harness.report.model.phrases import counted, in_markdown, in_terminal, place, shortened
from harness.report.model.run_data import Run, applicable_count
from harness.report.site.pages import banner
from harness.results.client_impact import impact_of
from harness.results.client_judgements import column_name
from harness.results.client_results import ClientsRun
from harness.results.status import ResultStatus, shown, status_of
from harness.trace.files import write_whole
from harness.verdict import Outcome

SIZE_MAX: Final = 60_000
"""In bytes; GitHub refuses a comment of 64 KiB and a step summary of 1 MiB."""
_ALIKE_MAX: Final = 20
"""How many other results of a cause are named."""
_OUTCOMES: Final = (
    *(Outcome.CONFORMS, Outcome.DIVERGES, Outcome.INDETERMINATE, Outcome.NOT_APPLICABLE),
    Outcome.HARNESS_ERROR,
)


def write_summary(run: Run) -> Path:
    """Write the summary of a run, and return the file."""
    blocks = [_of_cause(run, group) for group in cause_groups(run, has_lost=False)]
    blocks += ["\n".join(("", *in_brief(step.comparison))) for step in Changes.of(run).by_step()]
    if run.clients is not None:
        table, *scripts = _of_clients(run.clients)
        blocks += [f"\n## Clients\n\n{table}", *scripts]
    return _written(run.directory, _head(run), blocks)


def write_summary_of_clients(run: ClientsRun) -> Path:
    """Write the summary of a run of client scripts alone, and return the file."""
    head = (f"# Clients {in_markdown(run.run_id)}", "", f"`{run.command.replace('`', ' ')}`", "")
    skipped = Counter(each.because for each in run.results if each.status is ResultStatus.SKIPPED)
    reasons = {"Not applicable": skipped.most_common(), "Not compared with the reference": not_compared(run)}
    counts = [
        "\n".join(
            ("", f"## {title}", "", *(f"- {count} results: {in_markdown(why)}" for why, count in found))
        )
        for title, found in reasons.items()
        if found
    ]
    table, *scripts = _of_clients(run)
    return _written(run.folder, (*head, table), [*counts, *scripts])


def _written(folder: Path, head: Iterable[str], blocks: Sequence[str]) -> Path:
    path = folder / "summary.md"
    text = fitted("\n".join(head), blocks, "see the report")
    write_whole(path, text.encode(errors="backslashreplace").decode())
    return path


def fitted(head: str, blocks: Sequence[str], where: str) -> str:
    """Return a text with as many of its blocks as fit into `SIZE_MAX`, and where the others are."""
    text, room = head, SIZE_MAX - _size(head)
    for index, block in enumerate(blocks):
        room -= _size(block) + 1
        if room < 0:
            return f"{text}\n\n… and {len(blocks) - index} more; {where}.\n"
        text += f"\n{block}"
    return f"{text}\n"


def _size(text: str) -> int:
    return len(text.encode(errors="backslashreplace"))


def block(
    heading: str,
    *,
    title: str = "",
    says: str,
    noticed: str = "",
    alike: Sequence[str] = (),
    after: Iterable[str] = (),
) -> str:
    """Return all that is said of one cause.

    Args:
        heading: what the block is about; it is Markdown.
        title: the claim of the first result.
        says: what was found there.
        noticed: what a client notices of it.
        alike: the other results of this cause.
        after: lines of Markdown, such as how to repeat it.
    """
    lines = ["", f"### {heading}", *(("", f"*{in_markdown(title)}*") if title else ())]
    lines += ["", in_markdown(shortened(says))]
    if noticed:
        lines += ["", f"What a client notices: {in_markdown(noticed)}"]
    if alike:
        more = len(alike) - _ALIKE_MAX
        named = [f"- {in_markdown(each)}" for each in alike[:_ALIKE_MAX]]
        named += [f"- and {more} more"] if more > 0 else []
        lines += ["", *folded(f"the same in {counted(len(alike), 'more result')}", named)]
    return "\n".join((*lines, "", *after))


def folded(title: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield lines of Markdown that a reader has to unfold."""
    yield from (f"<details><summary>{title}</summary>", "", *lines, "", "</details>")


def _head(run: Run) -> Iterator[str]:
    yield f"# Conformance run {in_markdown(run.header.run_id)}"
    yield ""
    if incomplete := banner(run.footer):
        yield f"> **{in_markdown(incomplete)}**"
        yield ""
    sentence = verdict_line(run)
    yield f"{sentence[0].upper()}{sentence[1:]}."
    yield ""
    for loss in losses(run):
        yield f"- {in_markdown(shortened(str(loss)))}"
        yield from (f"  - {in_markdown(line)}" for line in loss.last_words)
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
    for target, longest in longest_scenarios(run).items():
        yield f"- Longest on {in_markdown(target)}: {in_markdown(longest)}"


def _of_cause(run: Run, group: CauseGroup) -> str:
    judgement, finding = group.first, group.difference
    where = f"{in_markdown(judgement.scenario_id)} on {in_markdown(judgement.target)}"
    often = f", {reported}" if (reported := shown(judgement)) else ""
    return block(
        f"{where}: {status_of(judgement).value}{often}",
        title=judgement.title,
        says=f"{place(finding)}: {run.contrast(finding)}." if finding else judgement.reason,
        noticed=impact_of(finding) if finding else "",
        alike=[f"{each.scenario_id} on {each.target}" for each in group.others],
        after=[f"    {in_terminal(line)}" for line in run.repetition(judgement).splitlines()],
    )


def _of_clients(run: ClientsRun) -> Iterator[str]:
    """Yield a table of the counts of client scripts' results, and a block for each that needs attention."""
    lines = [
        "| target, library | conforms | diverges | indeterminate | not applicable | errors | compared | violations |",  # noqa: E501 - a row of a table is one line
        "| --- | --: | --: | --: | --: | --: | --: | --: |",
    ]
    for each in tallies(run):
        figures = (*(each.counts[outcome] for outcome in _OUTCOMES), each.compared, each.violations.total())
        name = in_markdown(column_name(each.column.record.name, each.column.library))
        lines.append(f"| {name} | {' | '.join(str(figure) for figure in figures)} |")
    yield "\n".join(lines)
    yield from (_of_client(run, each) for each in client_attention(run))


def _of_client(run: ClientsRun, item: ClientAttention) -> str:
    where = f"{in_markdown(item.result.script_id)} with {in_markdown(item.column.library)}"
    title, *found = account(run, item.result)
    return block(
        f"{where} on {in_markdown(item.column.record.name)}: {item.result.status.value}",
        title=title,
        says=found[0] if found else item.says,
        after=[
            *(f"- {in_markdown(shortened(line))}" for line in found[1:_ALIKE_MAX]),
            "",
            f"    {' '.join(item.reproduction.splitlines())}",
        ],
    )
