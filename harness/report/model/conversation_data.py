"""The conversations of one scenario, as data that its page asks for once a reader opens one of them.

Most conversations go as they should and nobody opens them; laid out in full they would be nineteen twentieths
of a site. So a page has what was found in words, and a script lays out what is opened. What many targets have
in common, the fields above all, is kept once.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Final

from harness.report.model.conversation import (
    ARROWS,
    DifferenceText,
    EventCell,
    EventRow,
    StepRows,
    TargetSection,
)
from harness.report.model.field_rows import FieldRow, Mark
from harness.report.model.names import css_name
from harness.report.model.run_data import ScriptPage

_MARKS: Final = tuple(Mark)
_Data = dict[str, object]


def conversation_data(sections: Iterable[TargetSection], script: ScriptPage | None, source: object) -> _Data:
    """Return the conversations of a scenario, by target, for `static/talk.js`.

    Args:
        sections: one for each target.
        script: of the scenario, as people read it.
        source: the script itself, as the run keeps it.
    """
    layouts = _Layouts()
    return {
        "arrows": {css_name(kind): arrow for kind, arrow in ARROWS.items()},
        "marks": [mark.value for mark in _MARKS],
        "script": source,
        "texts": [step.text for step in script.steps] if script else [],
        "targets": {
            section.judgement.target: {
                "oracle": section.judgement.oracle,
                "first": section.first_difference_anchor,
                "before": [_step(step, layouts) for step in section.before],
                "after": [_step(step, layouts) for step in section.after],
            }
            for section in sections
        },
        "layouts": layouts.all,
    }


def lone_conversation_data(
    name: str,
    steps: Iterable[StepRows],
    *,
    texts: Iterable[str] | Mapping[int, str] = (),
    further: _Data | None = None,
) -> _Data:
    """Return one conversation for `static/talk.js`, with no oracle beside it unless `further` names one.

    Args:
        name: what it is filed under on its page.
        steps: what was said.
        texts: of the script's steps, or by a step's number.
        further: what else is told of it: `seen` for `static/clients.js`, `left_out` in words, the `oracle`.
    """
    layouts = _Layouts()
    after = [_step(step, layouts) for step in steps]
    return {
        "arrows": {css_name(kind): arrow for kind, arrow in ARROWS.items()},
        "marks": [mark.value for mark in _MARKS],
        "script": None,
        "texts": dict(texts) if isinstance(texts, Mapping) else list(texts),
        "targets": {name: {"oracle": None, "first": "", "before": [], "after": after, **(further or {})}},
        "layouts": layouts.all,
    }


def as_script(path: str, data: object) -> str:
    """Return data as a script that hands it over: the one way to load a file beside a page from disk.

    It is JSON, in ASCII and without the sign that begins a tag, so that nothing of it is ever anything else.
    """
    content = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    return f"kc.arrive({json.dumps(path)},{content});\n"


class _Layouts:
    """The fields of events, each list of them once."""

    def __init__(self) -> None:
        self.all: list[list[object]] = []
        self._places: dict[tuple[int, bool], int] = {}
        self._kept: list[tuple[FieldRow, ...]] = []

    def place(self, fields: tuple[FieldRow, ...], *, is_flowing: bool) -> int:
        """Return where a list of fields stands among all."""
        key = (id(fields), is_flowing)
        if key not in self._places:
            self._places[key] = len(self.all)
            self._kept.append(fields)
            self.all.append([int(is_flowing), [_field(each) for each in fields]])
        return self._places[key]


def _field(field: FieldRow) -> list[object]:
    reported: list[object] = [field.depth, field.key, _MARKS.index(field.mark), field.oracle]
    return reported if field.target == field.oracle else [*reported, field.target]


def _step(step: StepRows, layouts: _Layouts) -> list[object]:
    return [step.index, [_row(row, layouts) for row in step.rows]]


def _row(row: EventRow, layouts: _Layouts) -> list[object]:
    fields = layouts.place(row.fields, is_flowing=row.is_flowing) if row.fields else -1
    flags = row.is_different + 2 * row.is_kind_different
    reported = [_finding(each) for each in row.findings]
    return [_cell(row.oracle), _cell(row.target), flags, fields, reported, row.actor, row.api]


def _cell(cell: EventCell | None) -> object:
    if cell is None:
        return 0
    reported = [cell.kind, cell.headline, cell.at, cell.elapsed, cell.note, cell.raw, cell.decoded]
    while not reported[-1]:
        reported.pop()
    return reported


def _finding(finding: DifferenceText) -> list[object]:
    flags = finding.is_first + 2 * finding.is_lenient
    return [
        finding.place,
        finding.difference_class,
        finding.against,
        finding.expected,
        finding.actual,
        flags,
    ]
