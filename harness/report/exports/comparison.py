"""Comparisons for people and programs: terminal, Markdown and JSON."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import cache
from itertools import groupby
from pathlib import Path
from textwrap import wrap
from typing import Final

from jinja2 import Environment
from rich.console import Console
from rich.text import Text

from harness.report.model.changes import ChangeRow, notes, rows, sentence, status, versions
from harness.report.model.comparison import Comparison
from harness.report.model.phrases import counted, in_markdown, link_address, shortened, templates
from harness.report.model.run_data import Run, applicable_count
from harness.results.client_impact import Effect
from harness.results.status import shown, status_of
from harness.terminal import in_terminal
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
        again = comparison.again[shown[0].scenario_id]
        console.print(Text(f"See one again: {again}", _QUIET), soft_wrap=True)


def _lines(comparison: Comparison) -> Iterator[tuple[int, str, str]]:
    """Yield lines, each with its depth and style."""
    yield 0, f"{comparison.before} → {comparison.after}", "bold"
    yield 0, f"{sentence(comparison).capitalize()}.", ""
    for effect, found in groupby(rows(comparison), key=lambda row: row.effect):
        yield 0, "", ""
        yield 0, effect.value.capitalize(), "bold red" if effect == Effect.STOPS else "bold"
        for row in found:
            yield 0, f"• {row.says}", ""
            is_detailed = effect != Effect.NOBODY
            yield from ((2, text, "") for text in row.facts if is_detailed)
            if row.changes:
                yield 2, _shown_by(row, comparison), _QUIET
                yield from ((4, text, _QUIET) for text in row.changes[0].contrasts if is_detailed)
    yield 0, "", ""
    yield from ((0, f"{note[0].upper()}{note[1:]}.", "") for note in notes(comparison))


def _shown_by(row: ChangeRow, comparison: Comparison) -> str:
    """Return the cause of a row, and the scenarios that show it."""
    first, more = row.changes[0], len(row.changes) - 1
    others = f", and {counted(more, 'more scenario')}" if more else ""
    latter = status(comparison, row)
    return f"{row.cause}{latter and f' ({latter})'}: {first.scenario_id}, {first.place}{others}"


def comparisons_json(comparisons: Sequence[Comparison]) -> str:
    """Write comparisons as JSON."""
    return json.dumps([_data(each) for each in comparisons], ensure_ascii=False, indent=2) + "\n"


def _data(comparison: Comparison) -> dict[str, object]:
    return {
        **asdict(comparison),
        "gained": sorted(comparison.gained),
        "lost": sorted(comparison.lost),
        "changes": [
            {**asdict(change), "cause": change.deviation if comparison.is_judgement else change.cause}
            for change in comparison.changes
        ],
        "sentence": sentence(comparison),
        "rows": [
            {
                **asdict(row),
                "changes": [change.scenario_id for change in row.changes],
                "in_the_latter": status(comparison, row),
            }
            for row in rows(comparison)
        ],
        "notes": list(notes(comparison)),
    }


def comparisons_markdown(comparisons: Sequence[Comparison]) -> str:
    """Write comparisons as Markdown."""
    return markdown("comparison.md.j2", comparisons=comparisons) + "\n\n"


def write_versions(run: Run) -> Path:
    """Write what changed between a run's targets as Markdown and as JSON, and return the former file."""
    comparisons = versions(run)
    write_whole(run.directory / "matrix.json", comparisons_json(comparisons))
    write_whole(run.directory / "matrix.md", comparisons_markdown(comparisons))
    return run.directory / "matrix.md"


def markdown(template: str, **values: object) -> str:
    """Return the Markdown of a template; what is not of our own words passes the filter `md`."""
    return _environment().get_template(template).render(**values).rstrip("\n")


@cache
def _environment() -> Environment:
    environment = templates("harness.report.exports", escapes=False)
    environment.filters.update(
        md=in_markdown,
        linked=_linked,
        counted=counted,
        rows=rows,
        notes=notes,
        sentence=sentence,
        shown_by=_shown_by,
        short=shortened,
        in_terminal=in_terminal,
        applicable=applicable_count,
        status=status_of,
        shown=shown,
    )
    return environment


def _linked(text: str) -> str:
    return _LINK.sub(lambda found: f"[{found[0]}]({link_address(found[0])})", text)
