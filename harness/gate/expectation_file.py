"""Edits of expectation files that leave the rest as its author wrote it: comments, order, formatting.

Values are changed with tomlkit, which preserves their surroundings. Entries are removed line by line, each
with the comment directly above it, because TOML parsers assign such a comment to the entry before. After
every edit the result is parsed again; it is refused unless it has exactly the intended entries.
"""

import json
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT

from harness.diff.expectations import Entry, ExpectationError, SourcedEntry, load_expectations
from harness.diff.judge import TargetInfo

_ENTRY: Final = re.compile(r"\s*\[\[\s*expect\s*\]\]\s*(#.*)?")


class EditError(Exception):
    """A file cannot be changed as requested; the message says why, and what to do by hand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocatedEntry:
    """An entry and its exact place in a file."""

    path: Path
    index: int
    """The entry's number in its file, from 0."""
    entry: Entry
    covered: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """As in a `SourcedEntry`."""

    @property
    def place(self) -> str:
        """The entry's file and number, as used in messages."""
        return f"{self.path}, entry {self.index + 1}"

    def concerns(self, scenario_id: str, info: TargetInfo) -> bool:
        """Return whether the entry covers a scenario with a target, or a client script with a library."""
        return self.sourced().concerns(scenario_id, info)

    def sourced(self) -> SourcedEntry:
        """Return the entry in the checker's form, with a source that is unique across files."""
        return SourcedEntry(entry=self.entry, source=self.place, covered=self.covered)


def located_entries(paths: Sequence[Path]) -> tuple[LocatedEntry, ...]:
    """Read expectation files.

    Raises:
        ExpectationError: a file is wrong; the message has the faults of all files.
    """
    faults: list[str] = []
    found: list[LocatedEntry] = []
    for path in paths:
        try:
            sourced = load_expectations([path])
        except ExpectationError as error:
            faults.append(str(error))
            continue
        found += [
            LocatedEntry(path=path, index=index, entry=one.entry, covered=one.covered)
            for index, one in enumerate(sourced)
        ]
    if faults:
        raise ExpectationError("\n".join(faults))
    return tuple(found)


def without_entries(text: str, indexes: Collection[int]) -> str:
    """Remove entries, each with the comment directly above it.

    Raises:
        EditError: the file is written in a way that this function cannot handle.
    """
    lines = text.splitlines(keepends=True)
    starts = _starts(lines)
    entries = _entries(text)
    if len(starts) != len(entries):
        raise EditError("its entries are not written as [[expect]], one a line; change it by hand")
    nexts = [*starts[1:], len(lines)]
    gone = {
        line
        for index, (start, following) in enumerate(zip(starts, nexts, strict=True))
        if index in indexes
        for line in range(start, _end(lines, start, following))
    }
    kept = "".join(line for number, line in enumerate(lines) if number not in gone)
    wanted = [entry for index, entry in enumerate(entries) if index not in indexes]
    return _verified(kept.rstrip("\n") + "\n" if kept.strip() else kept, wanted)


def with_values(text: str, index: int, values: Mapping[str, str | list[str]]) -> str:
    """Change or add values of an entry.

    Raises:
        EditError: the file is written in a way that this function cannot handle.
    """
    wanted = _entries(text)
    wanted[index] = {**wanted[index], **values}
    try:
        document = tomlkit.parse(text)
    except TOMLKitError as error:
        raise EditError(f"the file cannot be changed: {error}") from error
    tables = document["expect"]
    if not isinstance(tables, AoT):
        raise EditError("its entries are not written as [[expect]]; change it by hand")
    for key, value in values.items():
        tables[index][key] = value
    return _verified(tomlkit.dumps(document), wanted)


def with_entry(text: str, entry: str) -> str:
    """Append an entry after all others.

    Raises:
        EditError: the file is written in a way that this function cannot handle.
    """
    wanted = [*_entries(text), *_entries(entry)]
    head = text.rstrip("\n")
    return _verified(f"{head}\n\n{entry}" if head else entry, wanted)


def covered_text(text: str, covered: Mapping[str, Collection[str]]) -> str:
    """Return the file beside an expectation file of that text: by cause of its entries, what they cover."""
    entries = [Entry.model_validate(each) for each in _entries(text)]
    causes = {cause for entry in entries for cause in entry.causes}
    content = {cause: sorted(covered[cause]) for cause in sorted(causes)}
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


def _starts(lines: Sequence[str]) -> list[int]:
    """Return the line on which each entry begins, with the comment directly above it."""
    starts: list[int] = []
    for number, line in enumerate(lines):
        if _ENTRY.fullmatch(line.rstrip("\n")):
            start = number
            while start > 0 and lines[start - 1].lstrip().startswith("#"):
                start -= 1
            # A comment at the top of a file is about the file.
            starts.append(number if start == 0 and not starts else start)
    return starts


def _end(lines: Sequence[str], start: int, following: int) -> int:
    """Return the line after an entry; a separate comment between two entries belongs to neither."""
    end = following
    while end > start and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    while end < following and not lines[end].strip():
        end += 1
    return end


def _entries(text: str) -> list[dict[str, object]]:
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise EditError(f"the file is not TOML: {error}") from error
    entries = content.get("expect", [])
    return list(entries)


def _verified(text: str, wanted: Sequence[Mapping[str, object]]) -> str:
    try:
        is_right = _entries(text) == list(wanted)
    except EditError:
        is_right = False
    if not is_right:
        raise EditError("the file is written in a way that cannot be changed safely; change it by hand")
    return text
