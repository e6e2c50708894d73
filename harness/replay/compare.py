"""Two answers, field by field, without what is chance, and with what Kafka leaves unordered sorted."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from harness.trace.canonical import sort_key_fields

_LEFT_OUT: Final = frozenset(("throttle_time_ms", "client_host", "error_message"))
"""Quotas, the tap's address, and the wording of errors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternatives:
    """An answer of the reference, and what else may stand in its top-level fields."""

    fields: Mapping[str, object]
    permitted: Mapping[str, tuple[object, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlike:
    """A field that two answers differ in."""

    field: str
    expected: str
    actual: str


def comparable(api: str, fields: Mapping[str, object]) -> Mapping[str, object]:
    """Return the fields of an answer that are to be compared."""
    compared = _compared(api, "", fields)
    assert isinstance(compared, dict)
    return compared


def unlike(expected: Alternatives, actual: Mapping[str, object]) -> Unlike | None:
    """Return the first field that differs, unless it may; None if nothing does."""
    for name in [*expected.fields, *(each for each in actual if each not in expected.fields)]:
        ours, theirs = expected.fields.get(name), actual.get(name)
        if theirs == ours or theirs in expected.permitted.get(name, ()):
            continue
        return next(_differences(name, ours, theirs))
    return None


def _compared(api: str, path: str, value: object) -> object:
    if isinstance(value, Mapping):
        parent = f"{path}." if path else ""
        return {
            name: _compared(api, f"{parent}{name}", each)
            for name, each in value.items()
            if name not in _LEFT_OUT
        }
    if not isinstance(value, list):
        return value
    kept = [_compared(api, f"{path}[]", each) for each in value]
    key = sort_key_fields(api, path)
    return kept if key is None else sorted(kept, key=lambda each: _sorted_by(each, key))


def _sorted_by(item: object, key: tuple[str, ...]) -> tuple[tuple[bool, int, str], ...]:
    assert isinstance(item, Mapping)
    parts = [item.get(name) for name in key]
    return tuple(
        (isinstance(part, int), part if isinstance(part, int) else 0, json.dumps(part, sort_keys=True))
        for part in (*parts, item)
    )


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
