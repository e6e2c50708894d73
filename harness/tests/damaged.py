"""What may become of a folder on disk: its files, and single values within them."""

import json
import os
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from harness.trace.plain_files import COMPRESSED, read_plain, zstd

_DEEP: Final = 100_000
_DEEP_BUT_READ: Final = 900
"""As deep as Python's own reader still goes."""
_RECORDS: Final = frozenset({".json", ".jsonl"})
_PATTERNS: Final = ("*.json", "*.jsonl", "*.zst", "journal*", "*.parquet", "*.pcap")
_REPORTS: Final = frozenset({"data"})
"""Folders that a report writes, and nobody reads again."""


@dataclass(frozen=True, slots=True)
class Damage:
    """One thing that is done to a folder."""

    name: str
    do: Callable[[Path], object]
    """Takes the folder."""
    is_structural: bool
    """Whether a part of the folder is lost or cannot be read, and not only one value is another."""


def damages(folder: Path, *, seed: int, count: int) -> list[Damage]:
    """Return so many damages: each kind for each file, a sample if these are too many, then single values."""
    chance = random.Random(seed)
    files = sorted(
        {
            each.relative_to(folder)
            for pattern in _PATTERNS
            for each in folder.rglob(pattern)
            if _REPORTS.isdisjoint(each.relative_to(folder).parts)
        }
    )
    found = list(_structural(files))
    if len(found) > count:
        return chance.sample(found, count)
    records = [each for each in files if not _RECORDS.isdisjoint(each.suffixes)]
    for number in range(count - len(found)):
        file = chance.choice(records or files)
        changer = _value_changer if records else _byte_changer
        change = changer(random.Random(chance.random()))
        found.append(Damage(f"value {number} {file}", _changing(file, change), is_structural=False))
    return found


def _structural(files: list[Path]) -> Iterator[Damage]:
    for file in files:
        for name, change in _OF_FILES.items():
            yield Damage(f"{name} {file}", _changing(file, change), is_structural=True)
            if file.suffix == COMPRESSED:
                yield Damage(f"{name}, as stored, {file}", _changing_bytes(file, change), is_structural=True)
        for name, put in SPECIAL.items():
            yield Damage(f"{name} {file}", _replacing(file, put), is_structural=True)
        if ".jsonl" in file.suffixes:
            yield Damage(f"a line less {file}", _changing(file, without_last_line), is_structural=True)


def without_last_line(content: bytes) -> bytes:
    """Return lines but for the last."""
    return b"".join(content.splitlines(keepends=True)[:-1])


_OF_FILES: Final[Mapping[str, Callable[[bytes], bytes | None]]] = {
    "gone": lambda _: None,
    "empty": lambda _: b"",
    "half": lambda old: old[: len(old) // 2],
    "a byte less": lambda old: old[: len(old.rstrip()) - 1],
    "nested": lambda _: b"[" * _DEEP,
    "nested objects": lambda _: b'{"a":' * _DEEP,
    "nested and closed": lambda _: b"[" * _DEEP_BUT_READ + b"]" * _DEEP_BUT_READ + b"\n",
    "null": lambda _: b"null\n",
    "no UTF-8": lambda old: old[:20] + b"\xff\xfe" + old[20:],
    "zeros": lambda old: bytes(len(old)),
}


def rewrite(path: Path, change: Callable[[bytes], bytes | None]) -> None:
    """Change what is in a file, which is compressed again if it was; None deletes it."""
    content = change(read_plain(path))
    if content is None:
        path.unlink()
    else:
        path.write_bytes(zstd.compress(content) if path.suffix == COMPRESSED else content)


def _changing(file: Path, change: Callable[[bytes], bytes | None]) -> Callable[[Path], object]:
    return lambda folder: rewrite(folder / file, change)


def _changing_bytes(file: Path, change: Callable[[bytes], bytes | None]) -> Callable[[Path], object]:
    def damage(folder: Path) -> None:
        path = folder / file
        content = change(path.read_bytes())
        if content is None:
            path.unlink()
        else:
            path.write_bytes(content)

    return damage


SPECIAL: Final[Mapping[str, Callable[[Path], object]]] = {
    "a pipe": os.mkfifo,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a folder": lambda path: path.mkdir(),
    "a link to nothing": lambda path: path.symlink_to("nothing"),
}
"""What may stand where a file belongs."""


def _replacing(file: Path, put: Callable[[Path], object]) -> Callable[[Path], object]:
    def damage(folder: Path) -> None:
        (folder / file).unlink()
        put(folder / file)

    return damage


def _byte_changer(chance: random.Random) -> Callable[[bytes], bytes]:
    """Return what puts another byte in the place of one."""

    def change(old: bytes) -> bytes:
        at = chance.randrange(len(old))
        return old[:at] + bytes((chance.randrange(256),)) + old[at + 1 :]

    return change


def _value_changer(chance: random.Random) -> Callable[[bytes], bytes]:
    """Return what puts something else in the place of one value of one line."""

    def change(old: bytes) -> bytes:
        if b"\n" in old.strip() and old.lstrip()[:1] == b"{" and old.count(b"\n{"):
            lines = old.splitlines()
            at = chance.randrange(len(lines))
            lines[at] = change(lines[at]).strip()
            return b"\n".join(lines) + b"\n"
        return _changed_text(old.decode(), chance).encode() + b"\n"

    return change


def _changed_text(text: str, chance: random.Random) -> str:
    try:
        content = json.loads(text)
    except ValueError:
        return text
    return json.dumps(_changed(content, chance))


def _changed(content: Any, chance: random.Random) -> object:  # noqa: ANN401 - JSON
    """Return it with a value somewhere in it replaced; JSON within a text is gone into."""
    if isinstance(content, dict) and content and chance.random() < 0.95:
        name = chance.choice(sorted(content))
        return content | {name: _changed(content[name], chance)}
    if isinstance(content, list) and content and chance.random() < 0.95:
        at = chance.randrange(len(content))
        return [*content[:at], _changed(content[at], chance), *content[at + 1 :]]
    if isinstance(content, str) and content[:1] in ("{", "[") and chance.random() < 0.9:
        return _changed_text(content, chance)
    nested: object = 1
    for _ in range(_DEEP_BUT_READ // 3):
        nested = [nested]
    others: tuple[object, ...] = (
        *(None, -1, 2**70, 1e308, "x", "", [], {}, [1], {"a": 1}, True, "{", nested),
        json.dumps(nested),
    )
    return chance.choice(others)
