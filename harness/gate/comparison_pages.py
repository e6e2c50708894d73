"""Comparisons for people and programs: terminal, Markdown, JSON, and a self-contained HTML page."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from rich.console import Console
from rich.text import Text

from harness.gate.comparison_model import UNKNOWN, ClientChange, ClientImpact, Comparison, findings
from harness.gate.comparison_words import (
    FIELD_COUNT_MAX,
    LATER,
    LATER_MEANING,
    NAME_COUNT_MAX,
    claim,
    contrast_lines,
    contrasts,
    links,
    meaning,
    place,
    remarks,
    reproduction_of,
    sentence,
    status_words,
    versions,
    whereabouts,
)
from harness.gate.words import plain
from harness.report.model.escaping import in_markdown
from harness.report.model.names import scenario_page, slug
from harness.results.answer_impact import consequence


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Print what changed, cause by cause; text from a target is never interpreted as markup."""

    def line(text: str, style: str = "", depth: int = 0) -> None:
        console.print(Text("  " * depth + plain(text), style), soft_wrap=True)

    line(f"{comparison.before} → {comparison.after}", "bold")
    for cause, changes in comparison.by_cause().items():
        line("")
        latter = status_words(comparison, cause)
        line(f"{cause}: {len(changes)}{f' ({latter} in the latter)' if latter else ''}", "bold")
        for text in filter(None, (meaning(cause), whereabouts(cause))):
            line(text, "bright_black", 1)
        for finding in findings(changes):
            if finding.way:
                line(finding.way, "bright_black", 1)
            line(f"a client notices: {finding.notice}", "", 1)
            for depth, text in _places(finding):
                line(text, "", depth)
    line("")
    for remark in remarks(comparison):
        line(remark, "bright_black")
    line(f"{sentence(comparison)}.", "bold")


def _places(finding: ClientImpact) -> Iterator[tuple[int, str]]:
    """Yield the places of a finding, with before and after for the example, as lines with their depth."""
    for number, change in enumerate(finding.changes):
        yield 2, f"{change.scenario_id}: {place(change)}"
        if number == 0:
            yield from ((3, each) for each in contrast_lines(change))


def comparisons_json(comparisons: Sequence[Comparison]) -> str:
    """Write comparisons as JSON."""
    content = [
        {
            **asdict(each),
            "gained": sorted(each.gained),
            "lost": sorted(each.lost),
            "changes": [_change_json(each, change) for change in each.changes],
            "sentence": sentence(each),
            "causes": {cause: len(changes) for cause, changes in each.by_cause().items()},
            "findings": [
                {
                    "cause": cause,
                    "meaning": meaning(cause),
                    "source": whereabouts(cause),
                    "in_the_latter": status_words(each, cause),
                    "way": finding.way,
                    "notice": finding.notice,
                    "scenarios": [change.scenario_id for change in finding.changes],
                }
                for cause, changes in each.by_cause().items()
                for finding in findings(changes)
            ],
        }
        for each in comparisons
    ]
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


def _change_json(comparison: Comparison, change: ClientChange) -> dict[str, object]:
    return {**asdict(change), "cause": comparison.cause_of(change), "notice": change.notice}


def comparisons_markdown(comparisons: Sequence[Comparison]) -> str:
    """Write comparisons as Markdown."""
    return (
        "\n".join(line for number, each in enumerate(comparisons) for line in _markdown(each, f"c{number}-"))
        + "\n"
    )


def _markdown(comparison: Comparison, prefix: str) -> Iterator[str]:
    yield f"# {in_markdown(comparison.before)} → {in_markdown(comparison.after)}"
    yield ""
    yield f"{_about(comparison)} {in_markdown(sentence(comparison)).capitalize()}."
    if comparison.changes:
        yield from _summary(comparison)
        for cause, changes in comparison.by_cause().items():
            yield from _chapter(comparison, cause, changes, prefix)
        if comparison.is_judgement:
            yield from _later(comparison)
        yield from ("", "## Every scenario", "", "| scenario | first seen | what it was → what it became |")
        yield "| --- | --- | --- |"
        yield from (_row(change, prefix) for change in comparison.changes)
    reported = list(remarks(comparison))
    if reported:
        yield from ("", "## Not compared", "", *(f"- {in_markdown(remark)}" for remark in reported))
    yield ""


def _about(comparison: Comparison) -> str:
    if comparison.is_judgement:
        return "How a coordinator differs from the reference, and what clients notice."
    return "What changes for clients of the group coordinator."


def _summary(comparison: Comparison) -> Iterator[str]:
    what = "what differs" if comparison.is_judgement else "cause | in the latter"
    yield from (
        "",
        f"| {what} | scenarios | a client notices |",
        f"| ---{' | ---' * what.count('|')} | --: | --- |",
    )
    for cause, changes in comparison.by_cause().items():
        latter = "" if comparison.is_judgement else f" {status_words(comparison, cause)} |"
        for finding in findings(changes):
            detail = (
                f": {in_markdown(finding.detail)}" if finding.detail and not comparison.is_judgement else ""
            )
            cells = (f"{in_markdown(cause)}{detail}", in_markdown(finding.notice))
            yield f"| {cells[0]} |{latter} {len(finding.changes)} | {cells[1]} |"


def _chapter(
    comparison: Comparison, cause: str, changes: Sequence[ClientChange], prefix: str
) -> Iterator[str]:
    yield from ("", f"## {in_markdown(cause)}")
    latter = status_words(comparison, cause)
    has = f"In the latter it is {latter}." if latter else ""
    if comparison.is_judgement:
        has = versions(changes)
    reported = " ".join(text for text in (meaning(cause), has, whereabouts(cause)) if text)
    if reported:
        yield from ("", in_markdown(reported))
    numbers = [f"[{name}]({address})" for name, address in links(cause)]
    if numbers:
        yield from ("", ", ".join(numbers))
    for finding in findings(changes):
        yield from _finding(comparison, finding, prefix)


def _finding(comparison: Comparison, finding: ClientImpact, prefix: str) -> Iterator[str]:
    example = finding.changes[0]
    if finding.way:
        yield from ("", in_markdown(finding.way))
    yield from ("", f"**A client notices:** {in_markdown(finding.notice)}", "")
    yield f"Example: {_linked(example, prefix)}, {in_markdown(place(example))}. {in_markdown(claim(example))}"
    yield from ("", "| field | before | after |", "| --- | --- | --- |")
    for path, was, became in contrasts(example):
        yield f"| {in_markdown(path)} | {in_markdown(was)} | {in_markdown(became)} |"
    if len(example.fields) > FIELD_COUNT_MAX:
        yield f"| … {len(example.fields) - FIELD_COUNT_MAX} more | | |"
    if comparison.specs:
        yield from ("", f"`{reproduction_of(comparison, example.scenario_id)}`")
    others = [_linked(change, prefix) for change in finding.changes[1 : NAME_COUNT_MAX + 1]]
    if others:
        rest = len(finding.changes) - 1 - len(others)
        more = f" and {rest} more, which are listed at the end" if rest else ""
        yield from ("", f"Also in {', '.join(others)}{more}.")


def _later(comparison: Comparison) -> Iterator[str]:
    found = comparison.later()
    if not found:
        return
    yield from (
        "",
        f"## {LATER}",
        "",
        LATER_MEANING,
        "",
        "| what differs | scenarios | a client notices | for example |",
    )
    yield "| --- | --: | --- | --- |"
    for name, seen in found.items():
        change, contrast = seen[0]
        reported = in_markdown(consequence(contrast))
        yield f"| {in_markdown(name)} | {len(seen)} | {reported} | {in_markdown(change.scenario_id)} |"


def _linked(change: ClientChange, prefix: str) -> str:
    return f"[{in_markdown(change.scenario_id)}](#{prefix}{slug(change.scenario_id)})"


def _row(change: ClientChange, prefix: str) -> str:
    judged = (
        ""
        if change.before_outcome == change.after_outcome
        else f"; {change.before_outcome} → {change.after_outcome}"
    )
    anchor = f'<a id="{prefix}{slug(change.scenario_id)}"></a>'
    reported = "<br>".join(in_markdown(line) for line in contrast_lines(change))
    return (
        f"| {anchor}{in_markdown(change.scenario_id)} | {in_markdown(place(change))}{judged} | {reported} |"
    )


def comparisons_html(comparisons: Sequence[Comparison], *, pages: str | None = None) -> str:
    """Return comparisons as one HTML page, with the site's own style and no scripts.

    Args:
        comparisons: the comparisons to show, in this order.
        pages: the path from the page to the run's scenario pages; if None, they are not linked.
    """
    environment = Environment(
        loader=PackageLoader("harness.gate"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = (files("harness.report.site") / "static" / "site.css").read_text(encoding="utf-8")
    environment.filters.update(
        place=place,
        contrasts=contrasts,
        contrast_lines=contrast_lines,
        meaning=meaning,
        whereabouts=whereabouts,
        findings=findings,
        claim=claim,
        consequence=consequence,
        links=links,
        anchor=slug,
    )
    return environment.get_template("diff.html.j2").render(
        comparisons=comparisons,
        sentence=sentence,
        about=_about,
        status=status_words,
        versions=versions,
        remarks=remarks,
        reproduction_of=reproduction_of,
        page_of=lambda scenario_id: "" if pages is None else f"{pages}/{scenario_page(scenario_id)}",
        field_count_max=FIELD_COUNT_MAX,
        later=LATER,
        later_meaning=LATER_MEANING,
        unknown=UNKNOWN,
        style=Markup(style),  # noqa: S704 - our own file
    )
