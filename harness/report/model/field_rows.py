"""Two JSON documents, side by side and field by field."""

import json
import re
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from enum import StrEnum
from functools import lru_cache
from itertools import zip_longest
from typing import Final, NamedTuple, TypeGuard

from harness.trace.schema import TraceError, parsed_json

COMPACT_LENGTH_MAX: Final = 56
"""A list or object that is equal on both sides and not longer than this is shown on one line."""

ALIGNED_SIZE_MAX: Final = 1_000_000
"""Lists of different lengths are compared index by index if the product of their lengths is larger."""

BYTES: Final = "$bytes"
"""Key of the object that represents bytes in a trace; its value is their hexadecimal digits."""
_BYTES_IN_JSON: Final = re.compile(r'\{"\$bytes": "([0-9a-f]*)"\}')
_IN_ONE_LINE: Final = json.JSONEncoder(ensure_ascii=False).encode

TEXT_LENGTH_MIN: Final = 3
"""Fewer bytes may be printable by chance."""


class Mark(StrEnum):
    """How a field of the target compares with the oracle's."""

    SAME = "same"
    DIFFERS = "differs"
    """The checker recorded a difference here."""
    LENIENT = "lenient"
    """The checker recorded a difference here that clients should not notice."""
    TOLERATED = "tolerated"
    """The values differ but the checker recorded no difference: it is permitted, or has no meaning."""


class FieldRow(NamedTuple):
    """One field on both sides; a side that lacks it has None."""

    depth: int
    key: str
    mark: Mark
    oracle: str | None
    target: str | None


_ABSENT: Final = object()
"""The value of a missing field; null is a value of its own."""


@lru_cache(maxsize=8192)
def aligned_fields(
    oracle: str | None, target: str | None, marks: tuple[tuple[str, Mark], ...] = ()
) -> tuple[FieldRow, ...]:
    """Return two JSON texts side by side; a side without any fields is None, and then nothing is marked.

    The checker's marks have paths (`members[0].assignment`), and also apply to what is below.
    """
    if oracle is None and target is None:
        return ()
    left, right = _parsed(oracle), _parsed(target)
    rows = tuple(_children("", left, right, 0, dict(marks), Mark.SAME))
    if oracle is not None and target is not None:
        return rows
    return tuple(row._replace(mark=Mark.SAME) for row in rows)


@lru_cache(maxsize=8192)
def flat_fields(oracle: str | None, target: str | None) -> tuple[FieldRow, ...]:
    """Return two JSON objects side by side, with each top-level field on one line, however long it is."""
    left, right = _parsed(oracle), _parsed(target)
    if not _are_containers(left, right):
        return aligned_fields(oracle, target)
    return tuple(
        _leaf(str(key), a, b, 0, _mark(Mark.SAME, a, b) if oracle and target else Mark.SAME)
        for key, a, b in _members(left, right)
    )


def compact(value: object) -> str:
    """Return a value on one line: names of error codes without quotes, bytes as digits and text."""
    if isinstance(value, str) and value.isupper() and value.replace("_", "").isalnum():
        return value
    return _BYTES_IN_JSON.sub(lambda found: _bytes_text(found[1]), _IN_ONE_LINE(value))


def readable(text: str) -> str:
    """Return JSON text in the form of `compact`; text that is not JSON is returned unchanged."""
    try:
        return compact(parsed_json(text, where="a value"))
    except TraceError:
        return text


def _bytes_text(digits: str) -> str:
    if not digits:
        return "no bytes"
    try:
        text = bytes.fromhex(digits).decode("ascii")
    except ValueError:
        return f"0x{digits}"
    is_text = text.isprintable() and len(text) >= TEXT_LENGTH_MIN
    return f'0x{digits} "{text}"' if is_text else f"0x{digits}"


def _is_bytes(value: object) -> TypeGuard[dict[str, str]]:
    return isinstance(value, dict) and value.keys() == {BYTES}


def _parsed(text: str | None) -> object:
    try:
        return _ABSENT if text is None else parsed_json(text, where="fields")
    except TraceError:
        return text


def _children(
    path: str, left: object, right: object, depth: int, marks: Mapping[str, Mark], inherited: Mark
) -> Iterator[FieldRow]:
    """Yield rows for the contents of two values, or for the values themselves if they have no contents."""
    if not _are_containers(left, right):
        yield _leaf("", left, right, depth, _mark(marks.get(path, inherited), left, right))
        return
    for key, a, b in _members(left, right):
        child_path = f"{path}[{key}]" if isinstance(key, int) else f"{path}.{key}".removeprefix(".")
        name = f"[{key}]" if isinstance(key, int) else key
        mark = marks.get(child_path, Mark.SAME if a == b else inherited)
        if _stands_in_one_line(a, b):
            yield _leaf(name, a, b, depth, _mark(mark, a, b))
        else:
            is_one_sided = a is _ABSENT or b is _ABSENT
            of_its_own = mark if is_one_sided else marks.get(child_path, Mark.SAME)
            yield FieldRow(depth=depth, key=name, oracle=_heading(a), target=_heading(b), mark=of_its_own)
            yield from _children(child_path, a, b, depth + 1, marks, mark)


def _leaf(key: str, left: object, right: object, depth: int, mark: Mark) -> FieldRow:
    return FieldRow(depth=depth, key=key, oracle=_text(left), target=_text(right), mark=mark)


def _mark(recorded: Mark, left: object, right: object) -> Mark:
    if recorded is Mark.SAME and left != right:
        return Mark.TOLERATED
    return recorded


def _text(value: object) -> str | None:
    return None if value is _ABSENT else compact(value)


def _heading(value: object) -> str | None:
    """Return the text beside a name whose fields follow: empty, unless there are no fields."""
    if value is _ABSENT:
        return None
    return "" if value else compact(value)


def _are_containers(left: object, right: object) -> bool:
    """Return whether both sides are objects, or both lists, with contents; one side may be absent."""
    if _is_bytes(left) or _is_bytes(right):
        return False
    kinds = {type(value) for value in (left, right) if value is not _ABSENT}
    return kinds in ({dict}, {list}) and (bool(left) or bool(right))


def _stands_in_one_line(left: object, right: object) -> bool:
    if not _are_containers(left, right):
        return True
    return left == right and len(compact(left)) <= COMPACT_LENGTH_MAX


def _members(left: object, right: object) -> Iterator[tuple[int | str, object, object]]:
    if isinstance(left, list) or isinstance(right, list):
        yield from _items(left if isinstance(left, list) else [], right if isinstance(right, list) else [])
        return
    one, other = (side if isinstance(side, dict) else {} for side in (left, right))
    for name in {**one, **other}:
        yield name, one.get(name, _ABSENT), other.get(name, _ABSENT)


def _items(left: list[object], right: list[object]) -> Iterator[tuple[int, object, object]]:
    """Yield the items of two lists: index by index, or with equal items aligned if one list is longer."""
    if len(left) == len(right) or not 0 < len(left) * len(right) <= ALIGNED_SIZE_MAX:
        blocks = [(0, len(left), 0, len(right))]
    else:
        one, other = ([json.dumps(item, sort_keys=True) for item in side] for side in (left, right))
        blocks = [
            (i, i_end, j, j_end)
            for _, i, i_end, j, j_end in SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
        ]
    for i, i_end, j, j_end in blocks:
        for at, to in zip_longest(range(i, i_end), range(j, j_end)):
            a = _ABSENT if at is None else left[at]
            b = _ABSENT if to is None else right[to]
            place = at if to is None else to
            assert place is not None, "the longer one has an item there"
            yield place, a, b
