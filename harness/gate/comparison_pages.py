"""Comparisons for people and programs: terminal, Markdown, JSON, and an HTML page that needs nothing else."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from importlib.resources import files
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from rich.console import Console
from rich.text import Text

from harness.gate.comparison import UNKNOWN, ClientChange, Comparison
from harness.gate.words import escaped, plain
from harness.report.field_rows import readable
from harness.report.phrases import link_address, links_in, shortened
from harness.targets.base import TargetError
from harness.targets.behaviours import behaviour_sheet
from harness.targets.variants import COORDINATOR
from harness.trace.events import EventKind

_FIELD_COUNT_MAX: Final = 4
"""Fields told of one change in a table; JSON has all."""
_NAME_COUNT_MAX: Final = 6
"""Scenarios named of those that could not be compared; JSON has all."""
_VALUE_LENGTH_MAX: Final = 160


def sentence(comparison: Comparison) -> str:
    """Say in one sentence how much changed."""
    changed = len(comparison.changes)
    unknown = len(comparison.by_cause().get(UNKNOWN, ()))
    held = changed + comparison.same_count
    if not changed:
        return f"none of {held} scenarios changed"
    causes = f", {unknown or 'none'} of them for an unknown cause" if comparison.is_explained else ""
    return f"{changed} of {held} scenarios are answered otherwise{causes}"


def remarks(comparison: Comparison) -> Iterator[str]:
    """Say what could not be compared."""
    for names, what in (
        (comparison.newly_held, "could be held only with the latter"),
        (comparison.held_no_more, "could be held only with the former"),
        (comparison.only_after, "are in the latter's run alone"),
        (comparison.only_before, "are in the former's run alone"),
        (comparison.rewritten, "were rewritten in between, and are not compared"),
    ):
        if names:
            more = f" and {len(names) - _NAME_COUNT_MAX} more" if len(names) > _NAME_COUNT_MAX else ""
            yield f"{len(names)} scenarios {what}: {', '.join(names[:_NAME_COUNT_MAX])}{more}"


def place(change: ClientChange) -> str:
    """Say where a change is first seen."""
    version = "" if change.api_version is None else f" v{change.api_version}"
    more = f", and in {change.answer_count - 1} more" if change.answer_count > 1 else ""
    return f"step {change.step}, {change.api}{version}{more}"


def contrasts(change: ClientChange) -> tuple[str, ...]:
    """Say what it was and what it became, a line a field."""
    if not change.fields:
        return (f"{_happening(change.before_kind)} → {_happening(change.after_kind)}",)
    told = [
        f"{each.path}: {_value(each.before)} → {_value(each.after)}"
        for each in change.fields[:_FIELD_COUNT_MAX]
    ]
    rest = len(change.fields) - _FIELD_COUNT_MAX
    return (*told, f"and {rest} more fields") if rest > 0 else tuple(told)


def _happening(kind: str | None) -> str:
    if kind is None:
        return "nothing, for the conversation had ended"
    return "an answer" if kind == EventKind.RESPONSE else kind


def _value(text: str) -> str:
    return shortened(readable(text), _VALUE_LENGTH_MAX)


def meaning(cause: str) -> str:
    """Say what named behaviours are; nothing for a cause that is none."""
    told = []
    for name in cause.split(", "):
        if name == COORDINATOR:
            told.append("The Scala and the Java coordinator take steps in another order.")
            continue
        try:
            told.append(behaviour_sheet(name).meaning)
        except TargetError:
            continue
    return " ".join(told)


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Print what changed, an API after the other; nothing that a target sent acts as markup."""

    def line(text: str, style: str = "") -> None:
        console.print(Text(text, style), soft_wrap=True)

    line(plain(f"{comparison.before} → {comparison.after}"), "bold")
    for api, changes in comparison.by_api().items():
        line(f"\n{api}: {len(changes)}", "bold")
        for change in changes:
            line(f"  {change.scenario_id}: {place(change)}")
            for each in contrasts(change):
                line(f"    {plain(each)}")
            line(f"    cause: {_cause(change)}", "bright_black")
    line("")
    for remark in remarks(comparison):
        line(remark, "bright_black")
    line(f"{sentence(comparison)}.", "bold")


def _cause(change: ClientChange) -> str:
    return change.cause + (f" ({', '.join(change.sources)})" if change.sources else "")


def comparisons_json(comparisons: Sequence[Comparison]) -> str:
    """Write comparisons as JSON."""
    content = [
        {
            **asdict(each),
            "sentence": sentence(each),
            "causes": {cause: len(changes) for cause, changes in each.by_cause().items()},
        }
        for each in comparisons
    ]
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


def comparisons_markdown(comparisons: Sequence[Comparison]) -> str:
    """Write comparisons as Markdown."""
    return "\n".join(line for each in comparisons for line in _markdown(each)) + "\n"


def _markdown(comparison: Comparison) -> Iterator[str]:
    yield f"# {escaped(comparison.before)} → {escaped(comparison.after)}"
    yield ""
    yield f"What a client sees change: {escaped(sentence(comparison))}."
    yield ""
    for remark in remarks(comparison):
        yield f"- {escaped(remark)}"
    if not comparison.changes:
        return
    yield "## By cause"
    yield ""
    yield "| cause | scenarios | what it is |"
    yield "| --- | --: | --- |"
    for cause, changes in comparison.by_cause().items():
        yield f"| {escaped(cause)} | {len(changes)} | {escaped(meaning(cause))} |"
    for api, changes in comparison.by_api().items():
        yield ""
        yield f"## {escaped(api)}"
        for change in changes:
            yield from _item(change)


def _item(change: ClientChange) -> Iterator[str]:
    yield ""
    yield f"### {escaped(change.scenario_id)}"
    yield ""
    yield escaped(change.title)
    yield ""
    yield f"- {escaped(place(change))}"
    for each in contrasts(change):
        yield f"  - {escaped(each)}"
    yield f"- cause: {escaped(_cause(change))}"
    if change.before_outcome != change.after_outcome:
        yield f"- judged: {change.before_outcome} → {change.after_outcome}"


def comparisons_html(comparisons: Sequence[Comparison]) -> str:
    """Write comparisons as one page, with the site's own style and no script at all."""
    environment = Environment(
        loader=PackageLoader("harness.gate"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = (files("harness.report") / "static" / "site.css").read_text(encoding="utf-8")
    environment.filters.update(
        place=place,
        contrasts=contrasts,
        meaning=meaning,
        links=lambda text: [(each, link_address(each)) for each in links_in(text)],
    )
    return environment.get_template("diff.html.j2").render(
        comparisons=comparisons,
        sentence=sentence,
        remarks=remarks,
        unknown=UNKNOWN,
        style=Markup(style),  # noqa: S704 - our own file
    )
