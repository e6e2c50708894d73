"""What changed from one version to the next, for people: on the terminal and in Markdown."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.diff.paths import unequal_leaves
from harness.diff.seen import leaf_text
from harness.report.field_rows import readable
from harness.report.phrases import links_in, shortened
from harness.report.run_data import Run
from harness.spark.rows import BehaviourChange
from harness.trace.events import EventKind

FILE_NAME: Final = "matrix.md"
_VALUE_LENGTH_MAX: Final = 160
_LEAF_COUNT_MAX: Final = 4
"""Fields told of one change; its scenario's page has all."""
_ROW_COUNT_MAX: Final = 60
"""Scenarios that the terminal lists; the file has all."""
_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>#|~&])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change of one scenario, in words."""

    row: BehaviourChange
    place: str
    """Where it was first seen, e.g. `step 8, Heartbeat v4`."""
    contrasts: tuple[str, ...]
    """A line a field: what it was and what it became."""
    explanation: str
    """The named behaviours with their sources, or why there are none."""

    @property
    def in_short(self) -> str:
        """The named behaviours, or why there are none."""
        return ", ".join(self.row.behaviours) or self.explanation


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionStep:
    """What changed from one target to the next."""

    from_target: str
    to_target: str
    changes: tuple[Change, ...]

    @property
    def unexplained(self) -> int:
        """How many of them nothing explains."""
        return sum(not change.row.is_explained for change in self.changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """All changes of a run, in the order of scenarios and, within one, of targets."""

    run: Run
    changes: tuple[Change, ...]

    @classmethod
    def of(cls, run: Run) -> "Changes":
        """Put the changes of a run into words."""
        return cls(run=run, changes=tuple(_change(row) for row in run.changes))

    @property
    def unexplained(self) -> tuple[Change, ...]:
        """Those of which at least one side is not as it should be."""
        return tuple(change for change in self.changes if not change.row.is_explained)

    def by_scenario(self) -> Mapping[str, Sequence[Change]]:
        """Gather the changes of each scenario."""
        found: dict[str, list[Change]] = defaultdict(list)
        for change in self.changes:
            found[change.row.scenario_id].append(change)
        return found

    def by_step(self) -> tuple["VersionStep", ...]:
        """Gather the changes from each target to the one after it."""
        order = {target: index for index, target in enumerate(self.run.header.targets)}
        found: dict[tuple[str, str], list[Change]] = defaultdict(list)
        for change in self.changes:
            found[change.row.from_target, change.row.to_target].append(change)
        pairs = sorted(found, key=lambda pair: (order.get(pair[1], -1), order.get(pair[0], -1)))
        return tuple(
            VersionStep(from_target=pair[0], to_target=pair[1], changes=tuple(found[pair])) for pair in pairs
        )

    @property
    def sentence(self) -> str:
        """How much changed, in one sentence."""
        unexplained = len(self.unexplained)
        return (
            f"{len(self.by_scenario())} of {len(self.run.scripts)} scenarios changed with some version, "
            f"{len(self.changes)} changes in all, {unexplained or 'none'} of them unexplained."
        )

    def known_as(self, scenario_id: str) -> str:
        """Return the KAFKA-numbers and KIPs that a scenario is about, or nothing."""
        script = self.run.scripts.get(scenario_id)
        return ", ".join(links_in(f"{script.source} {script.title} {script.notes}")) if script else ""


def _change(row: BehaviourChange) -> Change:
    api = f"{row.api} v{row.api_version}" if row.api else None
    return Change(
        row=row,
        place=", ".join(part for part in (f"step {row.first_step}", api) if part),
        contrasts=tuple(_contrasts(row)),
        explanation=_explanation(row),
    )


def _contrasts(row: BehaviourChange) -> Iterator[str]:
    if row.from_kind != row.to_kind or row.from_kind != EventKind.RESPONSE:
        yield f"{_happening(row.from_kind)} → {_happening(row.to_kind)}"
        return
    leaves = unequal_leaves(json.loads(row.from_canonical or "{}"), json.loads(row.to_canonical or "{}"))
    for path, before, after in leaves[:_LEAF_COUNT_MAX]:
        yield f"{path}: {_value(leaf_text(before))} → {_value(leaf_text(after))}"
    if len(leaves) > _LEAF_COUNT_MAX:
        yield f"and {len(leaves) - _LEAF_COUNT_MAX} more fields"


def _happening(kind: str | None) -> str:
    return "nothing, for the conversation had ended" if kind is None else kind


def _value(text: str) -> str:
    return shortened(readable(text), _VALUE_LENGTH_MAX)


def _explanation(row: BehaviourChange) -> str:
    if not row.is_explained:
        sides = ((row.from_target, row.from_outcome), (row.to_target, row.to_outcome))
        return f"unexplained: {', '.join(f'{target} {outcome}' for target, outcome in sides)}"
    named = zip(row.behaviours, row.sources, strict=True)
    return ", ".join(f"{name} ({source})" for name, source in named) or "by the profiles"


def print_changes(run_dir: Path, console: Console) -> None:
    """Print how much changed with each version, then what, a scenario a line."""
    changes = Changes.of(Run.load(run_dir))
    console.print(_step_table(changes))
    for change in changes.unexplained:
        console.print(Text(f"✗ {_line(change)}", "red"), soft_wrap=True)
        for contrast in change.contrasts:
            console.print(Text(f"    {contrast}"), soft_wrap=True)
    by_scenario = changes.by_scenario()
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for title in ("scenario", "changed in", "explained by"):
        table.add_column(title, overflow="fold")
    for scenario_id, found in list(by_scenario.items())[:_ROW_COUNT_MAX]:
        versions = ", ".join(change.row.to_target.removeprefix("kafka-") for change in found)
        reasons = dict.fromkeys((*(change.in_short for change in found), changes.known_as(scenario_id)))
        table.add_row(*(Text(each) for each in (scenario_id, versions, "; ".join(filter(None, reasons)))))
    console.print(table)
    if len(by_scenario) > _ROW_COUNT_MAX:
        console.print(f"… and {len(by_scenario) - _ROW_COUNT_MAX} more scenarios; {FILE_NAME} has all.")
    console.print(Text(changes.sentence, "bold red" if changes.unexplained else "bold green"))


def _step_table(changes: Changes) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("from")
    table.add_column("to")
    table.add_column("scenarios that changed", justify="right")
    table.add_column("unexplained", justify="right")
    for step in changes.by_step():
        unexplained = Text(str(step.unexplained or "·"), "red" if step.unexplained else "")
        table.add_row(step.from_target, step.to_target, str(len(step.changes)), unexplained)
    return table


def _line(change: Change) -> str:
    row = change.row
    return f"{row.scenario_id}: {row.from_target} → {row.to_target}, {change.place}; {change.explanation}"


def write_changes(run_dir: Path) -> Path:
    """Write what changed as Markdown, and return the file."""
    changes = Changes.of(Run.load(run_dir))
    path = run_dir / FILE_NAME
    path.write_text("\n".join(_markdown(changes)) + "\n", encoding="utf-8", errors="backslashreplace")
    return path


def _markdown(changes: Changes) -> Iterator[str]:
    yield f"# What changed between versions: run {_escaped(changes.run.header.run_id)}"
    yield ""
    yield _escaped(changes.sentence)
    yield ""
    yield "| from | to | scenarios that changed | unexplained |"
    yield "| --- | --- | --: | --: |"
    for step in changes.by_step():
        names = f"{_escaped(step.from_target)} | {_escaped(step.to_target)}"
        yield f"| {names} | {len(step.changes)} | {step.unexplained} |"
    yield ""
    yield "## Unexplained"
    yield ""
    if not changes.unexplained:
        yield "None: on either side of every change, the version does what it is held against."
    for change in changes.unexplained:
        yield from _item(change)
    yield ""
    yield "## By scenario"
    for scenario_id, found in changes.by_scenario().items():
        yield ""
        known_as = changes.known_as(scenario_id)
        yield f"### {_escaped(scenario_id)}" + (f" ({known_as})" if known_as else "")
        yield ""
        script = changes.run.scripts.get(scenario_id)
        if script:
            yield _escaped(script.title)
            yield ""
        for change in found:
            yield from _item(change)


def _item(change: Change) -> Iterator[str]:
    row = change.row
    named = "" if row.is_explained else f"{_escaped(row.scenario_id)}: "
    yield (
        f"- {named}**{_escaped(row.from_target)} → {_escaped(row.to_target)}** at {_escaped(change.place)}, "
        f"{row.step_count} {'answer' if row.step_count == 1 else 'answers'} in all; "
        f"{_escaped(change.explanation)}"
    )
    for contrast in change.contrasts:
        yield f"  - {_escaped(contrast)}"
    if not row.is_explained:
        yield f"  - bytes before: `{row.from_raw or 'none'}`"
        yield f"  - bytes after: `{row.to_raw or 'none'}`"


def _escaped(value: str) -> str:
    """Make text of what a target may have sent: no markup, no mention, no new line."""
    return _SPECIAL.sub(r"\\\1", " ".join(value.split()))
