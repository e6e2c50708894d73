"""Comparison of two answers field by field, without random values and with unordered lists sorted."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from harness.apis.table import descriptor
from harness.invariants.exchange import Fields
from harness.trace.canonical import Json, sort_key, sort_key_fields

_LEFT_OUT: Final = frozenset(("throttle_time_ms", "client_host", "error_message", "status_detail"))
"""Fields that depend on quotas, on the tap's address and on the wording of errors and statuses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceAnswer:
    """An answer that the machine gave."""

    operation: int
    """The index of the operation that it answers."""
    fields: Fields
    """The fields that are compared."""
    permitted: Mapping[str, tuple[object, ...]] = field(default_factory=dict)
    """Other permitted values, by top-level field."""
    is_as_recorded: bool = False
    """Whether its bytes equal the recorded answer; its fields are not decoded then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlike:
    """A field that two answers differ in."""

    field: str
    expected: str
    actual: str


def comparable(api: str, fields: Fields, group_id: str) -> Fields:
    """Return the fields of an answer to compare: entries of this group only, without random values."""
    name = descriptor(api).group_entries
    entries = fields.get(name)
    if isinstance(entries, Sequence):
        mine = [each for each in entries if "group_id" not in each or each["group_id"] == group_id]
        fields = {**fields, name: mine}
    compared = _compared(api, "", fields)
    assert isinstance(compared, dict)
    return compared


def all_unlike(expected: ReferenceAnswer, actual: Fields) -> Iterator[Unlike]:
    """Yield the fields that differ and may not."""
    for name in [*expected.fields, *(each for each in actual if each not in expected.fields)]:
        ours, theirs = expected.fields.get(name), actual.get(name)
        if theirs != ours and theirs not in expected.permitted.get(name, ()):
            yield from _differences(name, ours, theirs)


def _compared(api: str, path: str, value: object) -> Json:
    if isinstance(value, Mapping):
        parent = f"{path}." if path else ""
        return {
            name: _compared(api, f"{parent}{name}", each)
            for name, each in value.items()
            if name not in _LEFT_OUT
        }
    if not isinstance(value, Sequence) or isinstance(value, str):
        assert value is None or isinstance(value, str | int | float), f"a message has no {type(value)}"
        return value
    kept = [_compared(api, f"{path}[]", each) for each in value]
    key = sort_key_fields(api, path)
    return kept if key is None else sorted(kept, key=lambda each: sort_key(each, key))


def _differences(path: str, expected: object, actual: object) -> Iterator[Unlike]:
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        for name in [*expected, *(each for each in actual if each not in expected)]:
            if expected.get(name) != actual.get(name):
                yield from _differences(f"{path}.{name}", expected.get(name), actual.get(name))
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for index, (ours, theirs) in enumerate(zip(expected, actual, strict=True)):
            if ours != theirs:
                yield from _differences(f"{path}[{index}]", ours, theirs)
    else:
        yield Unlike(field=path, expected=_json(expected), actual=_json(actual))


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
