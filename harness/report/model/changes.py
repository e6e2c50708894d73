"""Changes from one version to the next, for people: on the terminal and in Markdown."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.diff.model import Judgement
from harness.diff.paths import unequal_leaves
from harness.diff.raw_difference import leaf_text
from harness.report.model.escaping import in_markdown
from harness.report.model.field_rows import readable
from harness.report.model.phrases import links_in, place, shortened
from harness.report.model.run_data import Run
from harness.results.status import NEEDS_ATTENTION, status_of
from harness.spark.rows import BehaviourChange
from harness.trace.embedded import canonical_fields
from harness.trace.events import EventKind
from harness.trace.files import RunFolder
from harness.wire.schema import API_NAMES

FILE_NAME: Final = "matrix.md"
_VALUE_LENGTH_MAX: Final = 160
_LEAF_COUNT_MAX: Final = 4
"""The number of fields shown of one change; its scenario's page has all."""
_ROW_COUNT_MAX: Final = 60
"""The number of scenarios that the terminal lists; the file has all."""
_BY_PROFILES: Final = "each matches its release; no single named behaviour explains the change"
_NOT_ATTRIBUTED: Final = "each matches its release; not attributed to behaviours yet, which `diff` does"
_ADVERTISED: Final = "each advertises the versions that its release serves"
_API_ROW: Final = re.compile(r"api_keys\[(\d+)\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change of one scenario, in words."""

    row: BehaviourChange
    place: str
    """Where the change first shows, e.g. `step 8, Heartbeat v4`."""
    contrasts: tuple[str, ...]
    """One line for each field, with its values before and after."""
    causes: tuple[str, ...]
    """The named behaviours, each with its source; one phrase if there are none."""
    reproduction: str
    """A command line that reproduces the change."""

    @property
    def explanation(self) -> str:
        """The named behaviours with their sources, or why there are none."""
        return ", ".join(self.causes)


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionChange:
    """A difference between one target and the target that all others are compared with."""

    judgement: Judgement
    place: str
    reported: str
    """What was expected and what came, or why the conversation broke off."""
    reproduction: str
    """A command line that reproduces the difference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionStep:
    """The changes from one target to the next."""

    from_target: str
    to_target: str
    changes: tuple[Change, ...]

    @property
    def unexplained(self) -> int:
        """The number of unexplained changes."""
        return sum(not change.row.is_explained for change in self.changes)

    @property
    def causes(self) -> Mapping[str, int]:
        """The number of changes with each explanation, the most frequent first; a change may have several."""
        reported = Counter(cause for change in self.changes for cause in change.causes)
        return dict(reported.most_common())


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseCounts:
    """The number of changes with one cause."""

    name: str
    counts: tuple[int, ...]
    """The number of changes, for each step from a target to the next."""

    @property
    def total(self) -> int:
        """The total over all steps."""
        return sum(self.counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """All changes of a run, in the order of scenarios and, within one, of targets."""

    run: Run
    changes: tuple[Change, ...]
    against: str | None
    """Name of the target that all others are compared with; None if each has its own reference."""
    findings: tuple[VersionChange, ...]
    """The differences from that target, by scenario; none if there is no such target."""
    is_attributed: bool
    """Whether the search for named behaviours was made."""

    @classmethod
    def of(cls, run: Run) -> "Changes":
        """Return the changes of a run in words."""
        measured = {each.target: run.measure_of(each.target) for each in run.targets}
        is_attributed = RunFolder(run.directory).attributions.is_file()
        return cls(
            run=run,
            changes=tuple(_change(run, row, is_attributed=is_attributed) for row in run.changes),
            is_attributed=is_attributed,
            against=next((measure.target for measure in measured.values() if measure), None),
            findings=tuple(
                _finding(run, each)
                for each in run.judgements
                if measured[each.target]
                and (run.first_difference(each) or status_of(each) in NEEDS_ATTENTION)
            ),
        )

    @property
    def unexplained(self) -> tuple[Change, ...]:
        """The changes in which at least one side does not behave as expected."""
        return tuple(change for change in self.changes if not change.row.is_explained)

    def by_scenario(self) -> Mapping[str, Sequence[Change]]:
        """Group the changes by scenario."""
        found: dict[str, list[Change]] = defaultdict(list)
        for change in self.changes:
            found[change.row.scenario_id].append(change)
        return found

    def by_step(self) -> tuple["VersionStep", ...]:
        """Group the changes by step from one target to the next."""
        order = {target: index for index, target in enumerate(self.run.header.targets)}
        found: dict[tuple[str, str], list[Change]] = defaultdict(list)
        for change in self.changes:
            found[change.row.from_target, change.row.to_target].append(change)
        pairs = sorted(found, key=lambda pair: (order.get(pair[1], -1), order.get(pair[0], -1)))
        return tuple(
            VersionStep(from_target=pair[0], to_target=pair[1], changes=tuple(found[pair])) for pair in pairs
        )

    def by_cause(self) -> tuple[CauseCounts, ...]:
        """Count the changes of each cause for each step of `by_step`, the most frequent cause first."""
        steps = [step.causes for step in self.by_step()]
        names = dict.fromkeys(name for causes in steps for name in causes)
        found = [
            CauseCounts(name=name, counts=tuple(causes.get(name, 0) for causes in steps)) for name in names
        ]
        return tuple(sorted(found, key=lambda each: -each.total))

    @property
    def sentence(self) -> str:
        """One sentence on how much changed."""
        unexplained = len(self.unexplained)
        return (
            f"{len(self.by_scenario())} of {len(self.run.scripts)} scenarios changed with some version, "
            f"{len(self.changes)} {'change' if len(self.changes) == 1 else 'changes'} in all, "
            f"{unexplained or 'none'} of them unexplained."
        )

    def known_as(self, scenario_id: str) -> str:
        """Return the KAFKA-numbers and KIPs that a scenario is about; empty if there are none."""
        script = self.run.scripts.get(scenario_id)
        return ", ".join(links_in(f"{script.source} {script.title} {script.notes}")) if script else ""


def _change(run: Run, row: BehaviourChange, *, is_attributed: bool) -> Change:
    api = f"{row.api} v{row.api_version}" if row.api else None
    return Change(
        row=row,
        place=", ".join(part for part in (f"step {row.first_step}", api) if part),
        contrasts=tuple(_contrasts(row)),
        causes=_causes(row, is_attributed=is_attributed),
        reproduction=run.repetition_of_change(row),
    )


def _finding(run: Run, judgement: Judgement) -> VersionChange:
    difference = run.first_difference(judgement)
    return VersionChange(
        judgement=judgement,
        place=place(difference) if difference else "",
        reported=run.contrast(difference) if difference else judgement.reason,
        reproduction=run.repetition(judgement),
    )


def _contrasts(row: BehaviourChange) -> Iterator[str]:
    if row.from_kind != row.to_kind or row.from_kind != EventKind.RESPONSE:
        yield f"{_happening(row.from_kind)} → {_happening(row.to_kind)}"
        return
    answers = canonical_fields(row.from_canonical), canonical_fields(row.to_canonical)
    leaves = unequal_leaves(*answers)
    for path, before, after in leaves[:_LEAF_COUNT_MAX]:
        yield f"{_with_api_name(path, answers[1])}: {_value(leaf_text(before))} → {_value(leaf_text(after))}"
    if len(leaves) > _LEAF_COUNT_MAX:
        yield f"and {len(leaves) - _LEAF_COUNT_MAX} more fields"


def _with_api_name(path: str, answer: Mapping[str, object]) -> str:
    """Replace an index in the list of an ApiVersions response with the API's name."""
    found = _API_ROW.match(path)
    rows = answer.get("api_keys")
    if found is None or not isinstance(rows, list) or int(found[1]) >= len(rows):
        return path
    key = rows[int(found[1])].get("api_key")
    return f"api_keys[{API_NAMES.get(key, key)}]{path[found.end() :]}"


def _happening(kind: str | None) -> str:
    return "nothing, since the conversation had ended" if kind is None else kind


def _value(text: str) -> str:
    return shortened(readable(text), _VALUE_LENGTH_MAX)


def _causes(row: BehaviourChange, *, is_attributed: bool) -> tuple[str, ...]:
    if not row.is_explained:
        sides = ((row.from_target, row.from_outcome), (row.to_target, row.to_outcome))
        return (f"unexplained: {', '.join(f'{target} {outcome}' for target, outcome in sides)}",)
    named = zip(row.behaviours, row.sources, strict=True)
    reported = tuple(f"{name} ({source})" for name, source in named)
    if reported or row.api == "ApiVersions":
        return reported or (_ADVERTISED,)
    return (_BY_PROFILES if is_attributed else _NOT_ATTRIBUTED,)


def print_changes(run_dir: Path, console: Console) -> None:
    """Print how much changed with each version, then the changes, one line for each scenario."""
    changes = Changes.of(Run.load(run_dir))
    console.print(_step_table(changes))
    for change in changes.unexplained:
        console.print(Text(f"✗ {_line(change)}", "red"), soft_wrap=True)
        for line in change.contrasts:
            console.print(Text(f"    {line}"), soft_wrap=True)
        console.print(Text(f"    {change.reproduction}", "bright_black"), soft_wrap=True)
    by_scenario = changes.by_scenario()
    for scenario_id, found in list(by_scenario.items())[:_ROW_COUNT_MAX]:
        versions = ", ".join(change.row.to_target.removeprefix("kafka-") for change in found)
        reported = [name for change in found for name in change.row.behaviours or (change.explanation,)]
        reasons = dict.fromkeys((*reported, changes.known_as(scenario_id)))
        explained = f" changed in {versions}: {', '.join(filter(None, reasons))}"
        console.print(Text.assemble((scenario_id, "bold"), explained), soft_wrap=True)
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
    yield f"# What changed between versions: run {in_markdown(changes.run.header.run_id)}"
    yield ""
    yield in_markdown(changes.sentence)
    yield ""
    yield "| from | to | scenarios that changed | unexplained |"
    yield "| --- | --- | --: | --: |"
    for step in changes.by_step():
        names = f"{in_markdown(step.from_target)} | {in_markdown(step.to_target)}"
        yield f"| {names} | {len(step.changes)} | {step.unexplained} |"
    yield ""
    yield "## Unexplained"
    yield ""
    if not changes.unexplained:
        yield "None: both versions of every change match their references."
    for change in changes.unexplained:
        yield from _item(change)
    yield ""
    if changes.against:
        yield from _against(changes)
    yield "## By scenario"
    for scenario_id, found in changes.by_scenario().items():
        yield ""
        known_as = changes.known_as(scenario_id)
        yield f"### {in_markdown(scenario_id)}" + (f" ({known_as})" if known_as else "")
        yield ""
        script = changes.run.scripts.get(scenario_id)
        if script:
            yield in_markdown(script.title)
            yield ""
        for change in found:
            yield from _item(change)


def _against(changes: Changes) -> Iterator[str]:
    yield f"## Compared with {in_markdown(changes.against or '')}"
    yield ""
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


def _item(change: Change) -> Iterator[str]:
    row = change.row
    named = "" if row.is_explained else f"{in_markdown(row.scenario_id)}: "
    yield (
        f"- {named}**{in_markdown(row.from_target)} → {in_markdown(row.to_target)}** "
        f"at {in_markdown(change.place)}, "
        f"{row.step_count} {'answer' if row.step_count == 1 else 'answers'} in all; "
        f"{in_markdown(change.explanation)}"
    )
    for line in change.contrasts:
        yield f"  - {in_markdown(line)}"
    if not row.is_explained:
        yield f"  - bytes before: `{row.from_raw or 'none'}`"
        yield f"  - bytes after: `{row.to_raw or 'none'}`"
    yield f"  - again: `{change.reproduction}`"
