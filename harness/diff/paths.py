"""Values of a response, named by their path, e.g. `members[0].assignment`."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, TypeAlias, TypeGuard

from harness.trace.canonical import FieldValue, Json
from harness.trace.schema import parsed_json

_BYTES: Final = "$bytes"
_PART: Final = re.compile(r"\[(?P<index>\d+)\]|(?P<name>[^.\[\]]+)")
_INDEX: Final = re.compile(r"\[\d+\]")
_RECENT_COUNT: Final = 256
"""How many parsed texts are kept: whoever judges a conversation reads its events more than once."""


class _Absent:
    def __repr__(self) -> str:
        return "absent"


ABSENT: Final = _Absent()
"""The value of a field that a response does not contain."""
Leaf: TypeAlias = "Json | _Absent"


@lru_cache(maxsize=_RECENT_COUNT)
def read_fields(text: str | None) -> Mapping[str, FieldValue]:
    """Parse an event's decoded fields, with bytes converted back from their JSON form."""
    fields = _with_bytes(parsed_json(text, where="decoded fields")) if text else {}
    if not isinstance(fields, dict):
        raise TypeError(f"decoded fields are an object, not {text!r}")
    return fields


def unindexed(path: str) -> str:
    """Return a path without indexes: `members[0].metadata` becomes `members[].metadata`."""
    return _INDEX.sub("[]", path)


def value_at(value: Json, path: str) -> Leaf:
    """Return the value at a path, or ABSENT."""
    found: Leaf = value
    for part in _PART.finditer(path):
        if part["index"] is not None:
            found = _item(found, int(part["index"]))
        else:
            found = found.get(part["name"], ABSENT) if isinstance(found, Mapping) else ABSENT
    return found


def is_within(path: str, outer: str) -> bool:
    """Return whether a path equals another path or continues it."""
    return path == outer or (path.startswith(outer) and path[len(outer)] in ".[")


def unequal_leaves(left: Leaf, right: Leaf, path: str = "") -> tuple[tuple[str, Leaf, Leaf], ...]:
    """Return every path at which two canonical responses differ, with the values on either side.

    Lists of different lengths differ as a whole: it is unknown which of their items is the extra one.
    """
    if _is_structure(left) and _is_structure(right):
        names = dict.fromkeys((*left, *right))
        return tuple(
            leaf
            for name in names
            for leaf in unequal_leaves(
                left.get(name, ABSENT), right.get(name, ABSENT), f"{path}.{name}" if path else name
            )
        )
    if _is_list(left) and _is_list(right) and len(left) == len(right):
        return tuple(
            leaf
            for index, (one, other) in enumerate(zip(left, right, strict=True))
            for leaf in unequal_leaves(one, other, f"{path}[{index}]")
        )
    return () if type(left) is type(right) and left == right else ((path, left, right),)


def _is_structure(value: Leaf) -> TypeGuard[Mapping[str, Json]]:
    return isinstance(value, Mapping) and _BYTES not in value


def _is_list(value: Leaf) -> TypeGuard[Sequence[Json]]:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _item(value: Leaf, index: int) -> Leaf:
    return value[index] if _is_list(value) and index < len(value) else ABSENT


def _with_bytes(value: Json) -> FieldValue:
    # Only what `json` makes is here: to ask for a `Mapping` would take several times as long.
    if isinstance(value, dict):
        if _BYTES in value:
            return bytes.fromhex(str(value[_BYTES]))
        return {name: _with_bytes(item) for name, item in value.items()}
    return [_with_bytes(item) for item in value] if isinstance(value, list) else value
