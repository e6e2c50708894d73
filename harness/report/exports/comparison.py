"""Comparisons for people and programs: terminal, Markdown and JSON."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from textwrap import wrap
from typing import Final

from rich.console import Console
from rich.text import Text

from harness.report.model.changes import (
    Change,
    ChangeRow,
    Changes,
    VersionChange,
    contrast_lines,
    first_place,
    notes,
    reproduction_of,
    rows,
    sentence,
    status,
)
from harness.report.model.comparison import ClientChange, Comparison
from harness.report.model.phrases import counted, in_markdown, in_terminal, link_address, shortened
from harness.report.model.run_data import Run
from harness.results.client_impact import Effect
from harness.trace.files import write_whole

_QUIET: Final = "bright_black"
_LINK: Final = re.compile(r"\b(?:KAFKA|KIP)-\d+\b")


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Print what changed, the worst effect first; text from a target is never interpreted as markup."""
    for depth, text, style in _lines(comparison):
        indent = " " * depth
        folded = wrap(
            in_terminal(" ".join(text.split())),
            console.width,
            initial_indent=indent,
            subsequent_indent=f"{indent}  ",
        )
        for part in folded or [""]:
            console.print(Text(part, style), soft_wrap=True)
    shown = [row.changes[0] for row in rows(comparison) if row.changes]
    if shown:
        again = reproduction_of(comparison, shown[0].scenario_id)
        console.print(Text(f"See one again: {again}", _QUIET), soft_wrap=True)


def _lines(comparison: Comparison) -> Iterator[tuple[int, str, str]]:
    """Yield the lines of a comparison, each with its depth and style."""
    yield 0, f"{comparison.before} → {comparison.after}", "bold"
    yield 0, f"{sentence(comparison).capitalize()}.", ""
    for effect, found in groupby(rows(comparison), key=lambda row: row.effect):
        yield 0, "", ""
        yield 0, effect.value.capitalize(), "bold red" if effect == Effect.STOPS else "bold"
        for row in found:
            yield 0, f"• {row.says}", ""
            is_detailed = effect != Effect.NOBODY
            yield from ((2, text, "") for text in _facts(row) if is_detailed)
            if row.changes:
                yield 2, _shown_by(comparison, row), _QUIET
                yield from ((4, text, _QUIET) for text in contrast_lines(row.changes[0]) if is_detailed)
    yield 0, "", ""
    yield from ((0, f"{note[0].upper()}{note[1:]}.", "") for note in notes(comparison))


def _facts(row: ChangeRow) -> Iterator[str]:
    """Yield whom a row concerns, since when, and what to do, a line each."""
    yield from row.details
    for name, text in (("who", row.who), ("since", row.since), ("do", row.do)):
        if text:
            yield f"{name}: {text}"


def _shown_by(comparison: Comparison, row: ChangeRow) -> str:
    """Return the cause of a row, and the scenarios that show it."""
    first, more = row.changes[0], len(row.changes) - 1
    others = f", and {counted(more, 'more scenario')}" if more else ""
    latter = status(comparison, row)
    return f"{row.cause}{latter and f' ({latter})'}: {first.scenario_id}, {first_place(first)}{others}"


def comparisons_json(comparisons: Sequence[Comparison]) -> str:
    """Write comparisons as JSON."""
    return json.dumps(comparisons_data(comparisons), ensure_ascii=False, indent=2) + "\n"


def comparisons_data(comparisons: Sequence[Comparison]) -> list[dict[str, object]]:
    """Return comparisons as values for JSON."""
    return [
        {
            **asdict(each),
            "gained": sorted(each.gained),
            "lost": sorted(each.lost),
            "changes": [_change_json(each, change) for change in each.changes],
            "sentence": sentence(each),
            "rows": [_row_json(each, row) for row in rows(each)],
            "notes": list(notes(each)),
        }
        for each in comparisons
    ]


def _change_json(comparison: Comparison, change: ClientChange) -> dict[str, object]:
    return {**asdict(change), "cause": change.deviation if comparison.is_judgement else change.cause}


def _row_json(comparison: Comparison, row: ChangeRow) -> dict[str, object]:
    scenarios = [change.scenario_id for change in row.changes]
    return {**asdict(row), "changes": scenarios, "in_the_latter": status(comparison, row)}


def comparisons_markdown(comparisons: Sequence[Comparison]) -> str:
    """Write comparisons as Markdown."""
    return "\n".join(line for each in comparisons for line in _markdown(each)) + "\n"


def _markdown(comparison: Comparison) -> Iterator[str]:
    yield f"# {in_markdown(comparison.before)} → {in_markdown(comparison.after)}"
    yield ""
    yield f"{in_markdown(sentence(comparison)).capitalize()}."
    for effect, found in groupby(rows(comparison), key=lambda row: row.effect):
        yield from ("", f"## {effect.value.capitalize()}")
        for row in found:
            yield from _row(comparison, row)
    reported = list(notes(comparison))
    if reported:
        yield from ("", "## Notes", "", *(f"- {in_markdown(note)}" for note in reported))
    yield ""


def in_brief(comparison: Comparison) -> Iterator[str]:
    """Yield what clients notice as lines of Markdown, the worst effect first."""
    yield f"## {in_markdown(comparison.before)} → {in_markdown(comparison.after)}"
    yield from ("", f"{in_markdown(sentence(comparison)).capitalize()}.", "")
    for row in rows(comparison):
        if row.effect != Effect.NOBODY:
            facts = "; ".join(filter(None, (*row.details, row.who, row.since, row.do)))
            yield f"- **{row.effect.value.capitalize()}**: {in_markdown(row.says)} ({_linked(facts)})"
    yield from (f"- {in_markdown(note)}" for note in notes(comparison))


def _row(comparison: Comparison, row: ChangeRow) -> Iterator[str]:
    yield from ("", in_markdown(row.says), "")
    yield from (f"- {_linked(text)}" for text in _facts(row))
    if not row.changes:
        return
    example = row.changes[0]
    yield f"- {_linked(_shown_by(comparison, row))}"
    yield from (f"  - {in_markdown(line)}" for line in contrast_lines(example))
    if row.effect != Effect.NOBODY and comparison.specs:
        yield f"  - `{reproduction_of(comparison, example.scenario_id)}`"


def _linked(text: str) -> str:
    """Return text as Markdown, with links from KIPs and KAFKA-numbers."""
    return _LINK.sub(lambda found: f"[{found[0]}]({link_address(found[0])})", in_markdown(text))


FILE_NAME: Final = "matrix.md"


def print_changes(run_dir: Path, console: Console) -> None:
    """Print what changed with each version, and what is not explained in full."""
    changes = Changes.of(Run.load(run_dir))
    for step in changes.by_step():
        print_comparison(step.comparison, console)
        console.print()
    for change in changes.unexplained:
        console.print(Text(f"✗ {_line(change)}", "red"), soft_wrap=True)
        for line in change.contrasts:
            console.print(Text(f"    {line}"), soft_wrap=True)
        console.print(Text(f"    {change.reproduction}", "bright_black"), soft_wrap=True)
    console.print(Text(changes.sentence, "bold red" if changes.unexplained else "bold green"))


def _line(change: Change) -> str:
    targets = f"{change.from_target} → {change.to_target}"
    return f"{change.scenario_id}: {targets}, {change.place}; {change.explanation}"


def write_changes(run_dir: Path) -> Path:
    """Write what changed as Markdown and as JSON, and return the former file."""
    changes = Changes.of(Run.load(run_dir))
    comparisons = [step.comparison for step in changes.by_step()]
    text = "\n".join((*_changes_markdown(changes), comparisons_markdown(comparisons)))
    write_whole(run_dir / FILE_NAME, text)
    content = {
        "against": changes.against,
        "comparisons": comparisons_data(comparisons),
        "findings": [_finding(each) for each in changes.findings],
    }
    write_whole(run_dir / "matrix.json", json.dumps(content, ensure_ascii=False, indent=2) + "\n")
    return run_dir / FILE_NAME


def _finding(finding: VersionChange) -> dict[str, object]:
    judgement = finding.judgement
    return {
        "scenario_id": judgement.scenario_id,
        "target": judgement.target,
        "outcome": judgement.outcome,
        "signature": judgement.signature,
        "place": finding.place,
        "reported": finding.reported,
        "reproduction": finding.reproduction,
    }


def _changes_markdown(changes: Changes) -> Iterator[str]:
    yield f"# What changed between versions: run {in_markdown(changes.run.header.run_id)}"
    yield ""
    yield in_markdown(changes.sentence)
    yield ""
    if changes.unexplained:
        yield from ("## Unexplained", "")
    for change in changes.unexplained:
        yield f"- {in_markdown(_line(change))}"
        yield from (f"  - {in_markdown(line)}" for line in change.contrasts)
        yield f"  - bytes before: `{change.seen.before_bytes or 'none'}`"
        yield f"  - bytes after: `{change.seen.after_bytes or 'none'}`"
        yield f"  - again: `{change.reproduction}`"
    if changes.against:
        yield from _against(changes)


def _against(changes: Changes) -> Iterator[str]:
    yield from ("", f"## Compared with {in_markdown(changes.against or '')}", "")
    if not changes.findings:
        yield "Nothing differs."
    for each in changes.findings:
        judgement = each.judgement
        where = f" at {in_markdown(each.place)}" if each.place else ""
        yield (
            f"- {in_markdown(judgement.scenario_id)} on **{in_markdown(judgement.target)}**, "
            f"{judgement.outcome}{where}: {in_markdown(shortened(each.reported))}"
        )
        yield f"  - again: `{each.reproduction}`"
    yield ""
