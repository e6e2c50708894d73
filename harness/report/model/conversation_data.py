"""The conversations of one scenario, as data that its page loads when a reader opens one of them.

Most conversations conform and nobody opens them; rendered in full they would be nineteen twentieths of a
site. So a page contains the findings in words, and a script renders the conversations that are opened.
Data that many targets share, above all fields, are stored once.
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
        sections: one section for each target.
        script: the scenario's script in words.
        source: the script itself, as stored in the run.
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
    """Return one conversation for `static/talk.js`, without an oracle unless `further` names one.

    Args:
        name: the conversation's key on its page.
        steps: the steps of the conversation.
        texts: the texts of the script's steps, in order or by number.
        further: further values: `seen` for `static/clients.js`, `left_out` in words, the `oracle`.
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
    """Return data as a script that passes it to the page: the only way to load a file beside it from disk.

    The data is JSON in ASCII, without the character that begins a tag, so that it is never taken for markup.
    """
    content = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    return f"kc.arrive({json.dumps(path)},{content});\n"


class _Layouts:
    """The lists of events' fields, each stored once."""

    def __init__(self) -> None:
        self.all: list[list[object]] = []
        self._places: dict[tuple[int, bool], int] = {}
        self._kept: list[tuple[FieldRow, ...]] = []

    def place(self, fields: tuple[FieldRow, ...], *, is_flowing: bool) -> int:
        """Return the index of a list of fields, adding the list if it is new."""
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
