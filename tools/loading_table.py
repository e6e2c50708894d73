"""What each API answered while a coordinator loaded: `python tools/loading_table.py RUN… > TABLE.md`.

The runs are of `loading/version`, on brokers that can be paused in the midst of their load. The table shows
actual answers, not expected ones; a cell that differs from the reference's shows both.
"""

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from harness.results.stored_data import open_folder
from harness.scenario.script import PauseAt, ResumeFrom, step_text
from harness.targets.base.interface import Breakpoint
from harness.trace.completeness import refuse_lost_events
from harness.trace.embedded import stored_fields
from harness.trace.events import Event, EventKind, RunKind
from harness.trace.files import RunFolder, read_events
from harness.wire.schema import API_NAMES

Asked: TypeAlias = tuple[str, int]
"""An API and its version."""
Answers: TypeAlias = Mapping[Asked, frozenset[str]]
_PAUSES: Final = step_text(PauseAt(point=Breakpoint.LOADING.value))
_RESUMES: Final = step_text(ResumeFrom(point=Breakpoint.LOADING.value))
_HEAD: Final = """# What each API answers while a coordinator loads

Made by `tools/loading_table.py` from runs in which brokers were paused in the midst of their load.
"per" says where in the response the code was; two codes in a cell both occurred.
A dash marks a version that the broker does not serve.
"""


@dataclass(slots=True, kw_only=True)
class LoadingTable:
    """The answers of several targets and of their references, over any number of runs."""

    runs: int = 0
    answers: dict[str, dict[Asked, set[str]]] = field(default_factory=dict)
    """The targets' answers, by target spec."""
    oracles: dict[str, dict[Asked, set[str]]] = field(default_factory=dict)
    """The reference's answers, by the same specs."""

    def add(self, folder: RunFolder) -> None:
        """Add what a run's targets answered.

        Raises:
            TraceError: the folder is not a run's, or the run has lost events since it ended.
        """
        folder.read_run()
        refuse_lost_events(folder)
        self.runs += 1
        for target in folder.targets():
            headers = folder.read_headers(target)
            oracle = next((header.oracle for header in headers if header.oracle), None)
            if oracle is not None:
                spec = headers[0].spec
                _merge(self.answers.setdefault(spec, {}), _answers(folder, target))
                _merge(self.oracles.setdefault(spec, {}), _answers(folder, oracle))

    @property
    def differing(self) -> Sequence[str]:
        """The cells in which a target and its reference answer differently, as texts for people."""
        return [
            f"{spec}: {api} v{version}"
            for spec, answers in self.answers.items()
            for (api, version), said in sorted(answers.items())
            if said != self.oracles[spec].get((api, version), set())
        ]

    def markdown(self) -> str:
        """Return the table as Markdown; versions of an API with the same answers share a line."""
        specs = sorted(self.answers)
        lines = [_line(["API", *specs]), _line(["---"] * (len(specs) + 1))]
        asked = sorted({asked for answers in self.answers.values() for asked in answers}, key=_order)
        rows = [(one, [self._cell(spec, one) for spec in specs]) for one in asked]
        lines += [_line([_named(group), *cells]) for group, cells in _alike(rows)]
        return "\n".join([_HEAD, *lines, "", self._summary(), ""])

    def _cell(self, spec: str, asked: Asked) -> str:
        said = self.answers[spec].get(asked)
        expected = self.oracles[spec].get(asked)
        if said is None:
            return "-"
        reported = " or ".join(sorted(said))
        return (
            reported
            if said == expected
            else f"{reported} (reference: {' or '.join(sorted(expected or {'-'}))})"
        )

    def _summary(self) -> str:
        cells = sum(len(answers) for answers in self.answers.values())
        runs = "one run" if self.runs == 1 else f"{self.runs} runs"
        equal = f"{cells - len(self.differing)} of {cells} cells are what the reference answers, over {runs}."
        return equal if not self.differing else f"{equal} Others: {'; '.join(self.differing)}."


def _answers(folder: RunFolder, target: str) -> Answers:
    scenarios: dict[str, list[Event]] = defaultdict(list)
    for event in read_events(folder.events(target)):
        scenarios[event.scenario_id].append(event)
    found: dict[Asked, set[str]] = defaultdict(set)
    for events in scenarios.values():
        for event in _while_loading(events):
            assert event.api is not None
            assert event.api_version is not None
            found[event.api, event.api_version].add(_words(stored_fields(event)))
    return {asked: frozenset(said) for asked, said in found.items()}


def _while_loading(events: Iterable[Event]) -> Iterator[Event]:
    """Yield the answers between the broker action that starts the load and the end of the pause."""
    is_armed = is_loading = False
    for event in events:
        if event.kind == EventKind.CONTROL:
            is_loading = is_armed and event.note not in (_PAUSES, _RESUMES)
            is_armed = event.note == _PAUSES or (is_armed and event.note != _RESUMES)
        elif is_loading and event.kind == EventKind.RESPONSE:
            yield event


def _words(fields: object) -> str:
    """Describe which error codes a response has, and where; NONE is only listed if there is no other."""
    codes = list(_codes(fields, within=""))
    errors = {(code, within) for code, within in codes if code != "NONE"}
    if not codes:
        return "nothing that could say so"
    if not errors:
        return "NONE"
    on_top = {(code, within) for code, within in errors if not within}
    return ", ".join(f"{code}{within}" for code, within in sorted(on_top or errors))


def _codes(value: object, *, within: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        if isinstance(value.get("error_code"), str):
            yield value["error_code"], within
        for name, item in value.items():
            if isinstance(item, list):
                for each in item:
                    yield from _codes(each, within=f" per {_singular(name)}")


def _singular(name: str) -> str:
    return {"results": "group", "topics": "topic"}.get(name, name.removesuffix("s"))


def _order(asked: Asked) -> tuple[int, int]:
    keys = {name: key for key, name in API_NAMES.items()}
    return keys[asked[0]], asked[1]


def _alike(
    rows: Sequence[tuple[Asked, Sequence[str]]],
) -> Iterator[tuple[Sequence[Asked], Sequence[str]]]:
    group: list[Asked] = []
    for index, (asked, cells) in enumerate(rows):
        group.append(asked)
        following = rows[index + 1] if index + 1 < len(rows) else None
        if following is None or following[0][0] != asked[0] or following[1] != cells:
            yield tuple(group), cells
            group = []


def _named(group: Sequence[Asked]) -> str:
    (api, first), (_, last) = group[0], group[-1]
    return f"{api} v{first}" if first == last else f"{api} v{first} to v{last}"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _merge(into: dict[Asked, set[str]], answers: Answers) -> None:
    for asked, said in answers.items():
        into.setdefault(asked, set()).update(said)


def main() -> None:
    """Run the command line; the exit code is 1 if a target did not answer as the reference does."""
    table = LoadingTable()
    for path in map(Path, sys.argv[1:]):
        table.add(open_folder(path, RunKind.SUITES, made_by="run loading/version"))
    print(table.markdown(), end="")
    for cell in table.differing:
        print(f"{cell} is not what the reference answers", file=sys.stderr)
    sys.exit(bool(table.differing))


if __name__ == "__main__":
    main()
