"""What came of client scripts, for people: Markdown, a page, and the terminal."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from jinja2 import Environment
from rich.console import Console
from rich.table import Table

from harness.clients.judge import Judgement, Mismatch
from harness.trace.files import write_whole
from harness.verdict import Outcome

_STYLE: Final = Path(__file__).parents[1] / "report" / "static" / "site.css"
_STYLES: Final = {
    Outcome.DIVERGES: "red",
    Outcome.HARNESS_ERROR: "red",
    Outcome.INDETERMINATE: "yellow",
    Outcome.NOT_APPLICABLE: "dim",
}
_PAGE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Clients {{ run_id }}</title>
<style>{{ style }}</style></head><body><main>
<h1>Clients</h1>
<p><code>{{ command }}</code></p>
<table><thead><tr><th>script</th>
{% for column in columns %}<th>{{ column | join(", ") }}</th>{% endfor %}</tr></thead>
<tbody>{% for script, cells in rows %}<tr><td>{{ script }}</td>
{% for each in cells %}<td>{% if each %}{{ each.outcome }}{% endif %}</td>{% endfor %}</tr>
{% endfor %}</tbody></table>
{% for each in told %}<section>
<h2>{{ each.script_id }}, {{ each.library }}, {{ each.target }}: {{ each.outcome }}</h2>
{% if each.because %}<p>{{ each.because }}</p>{% endif %}
{% for one in each.mismatches %}<p>Step {{ one.step }}, {{ one.text }}: {{ one.says }}</p>{% endfor %}
{% for one in each.differences %}
<p>Against the reference: step {{ one.step }}, {{ one.text }}: {{ one.says }}</p>{% endfor %}
{% for one in each.violations %}
<p>On the wire, by the {{ one.party }}: {{ one.invariant }}: {{ one.detail }}</p>{% endfor %}
</section>{% endfor %}
</main></body></html>
"""


def write_report(path: Path, *, run_id: str, command: str, judgements: Sequence[Judgement]) -> None:
    """Write `summary.md` and `index.html` into a run's folder."""
    write_whole(path / "summary.md", _markdown(run_id, command, judgements))
    page = Environment(autoescape=True).from_string(_PAGE)
    columns, rows = _table(judgements)
    text = page.render(
        run_id=run_id,
        command=command,
        columns=columns,
        rows=rows,
        told=_told(judgements),
        style=_STYLE.read_text(encoding="utf-8"),
    )
    write_whole(path / "index.html", text)


def print_judgements(console: Console, judgements: Sequence[Judgement]) -> None:
    """Print a table of scripts, what is to be said of those that do not conform, and the counts."""
    columns, rows = _table(judgements)
    table = Table("script", *["\n".join(column) for column in columns], box=None)
    for script, cells in rows:
        table.add_row(script, *[_cell(each) for each in cells])
    console.print(table)
    for each in _told(judgements):
        for line in _lines(each):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    for (target, library), counts in sorted(_counts(judgements).items()):
        told = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
        console.print(f"{target}, {library}: {told}", markup=False, highlight=False, soft_wrap=True)


def _cell(judgement: Judgement | None) -> str:
    if judgement is None:
        return ""
    style = _STYLES.get(judgement.outcome)
    return f"[{style}]{judgement.outcome}[/]" if style else str(judgement.outcome)


def _table(
    judgements: Sequence[Judgement],
) -> tuple[list[tuple[str, str]], list[tuple[str, list[Judgement | None]]]]:
    columns = list(dict.fromkeys((each.target, each.library) for each in judgements))
    by_place = {(each.script_id, each.target, each.library): each for each in judgements}
    scripts = sorted({each.script_id for each in judgements})
    return columns, [(script, [by_place.get((script, *column)) for column in columns]) for script in scripts]


def _told(judgements: Sequence[Judgement]) -> list[Judgement]:
    """Return those of which there is more to say than that they conform."""
    return [each for each in judgements if each.outcome is not Outcome.CONFORMS or each.violations]


def _counts(judgements: Sequence[Judgement]) -> dict[tuple[str, str], Counter[str]]:
    counts: dict[tuple[str, str], Counter[str]] = {}
    for each in judgements:
        counts.setdefault((each.target, each.library), Counter())[each.outcome] += 1
    return counts


def _lines(judgement: Judgement) -> list[str]:
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
    ]


def _line(mismatch: Mismatch) -> str:
    return f"step {mismatch.step}, {mismatch.text}: {mismatch.says}"


def _markdown(run_id: str, command: str, judgements: Sequence[Judgement]) -> str:
    columns, rows = _table(judgements)
    lines = [
        f"# Clients {run_id}",
        "",
        f"`{command}`",
        "",
        "| script | " + " | ".join(", ".join(column) for column in columns) + " |",
        "| --- " * (len(columns) + 1) + "|",
        *[
            f"| {script} | " + " | ".join(each.outcome if each else "" for each in cells) + " |"
            for script, cells in rows
        ],
    ]
    for each in _told(judgements):
        _, title, *told = _lines(each)
        lines += ["", f"## {title}", "", *[f"- {line}" for line in told]]
    broken = sum(len(each.violations) for each in judgements)
    lines += ["", "## Invariants", "", f"{broken} violations of invariants in what was tapped."]
    lines += ["", "## Compared with the reference", ""]
    compared = Counter((each.target, each.compared) for each in judgements)
    lines += [f"- {target}: {count} scripts: {what}" for (target, what), count in sorted(compared.items())]
    return "\n".join(lines) + "\n"
