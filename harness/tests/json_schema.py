"""As much of JSON Schema as our schemas use, to hold data to them; any other keyword is refused."""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

_TYPES: Final[Mapping[str, Callable[[object], bool]]] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}
_WORDS: Final = frozenset(("$schema", "$defs", "title", "description"))
_KEYWORDS: Final = (
    _WORDS
    | {"$ref", "type", "const", "anyOf", "oneOf", "pattern", "propertyNames"}
    | {*("properties", "required", "additionalProperties", "items", "prefixItems", "minItems", "maxItems")}
)


def complaints(value: object, schema: Mapping[str, Any], root: Mapping[str, Any] | None = None) -> list[str]:
    """Say where a value does not obey a schema, and by which keyword."""
    return list(_complaints(value, schema, schema if root is None else root))


def _complaints(value: object, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[str]:
    """Say it one by one: of a branch, the first is enough."""
    unknown = schema.keys() - _KEYWORDS
    assert not unknown, f"this reads no {sorted(unknown)}"
    while "$ref" in schema:
        schema = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    yield from _of_value(value, schema, root)
    if isinstance(value, dict):
        yield from _of_object(value, schema, root)
    if isinstance(value, list):
        yield from _of_array(value, schema, root)


def _of_value(value: object, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[str]:
    types = schema.get("type", [])
    if types and not any(_TYPES[name](value) for name in ([types] if isinstance(types, str) else types)):
        yield f"{value!r:.60} is no {types}"
    if "const" in schema and value != schema["const"]:
        yield f"{value!r:.60} is not {schema['const']!r}"
    if "pattern" in schema and isinstance(value, str) and not re.search(schema["pattern"], value):
        yield f"{value!r:.60} is not as {schema['pattern']}"
    for keyword in ("anyOf", "oneOf"):
        branches: list[Mapping[str, Any]] = schema.get(keyword, [])
        obeyed = (branch for branch in branches if not any(_complaints(value, branch, root)))
        count = len(list(islice(obeyed, 1 if keyword == "anyOf" else 2)))
        if branches and count != 1:
            reported = min((complaints(value, branch, root) for branch in branches), key=len)
            yield f"{value!r:.60} obeys no branch of {keyword}: {reported}"


def _of_object(
    value: Mapping[str, object], schema: Mapping[str, Any], root: Mapping[str, Any]
) -> Iterator[str]:
    properties = schema.get("properties", {})
    rest = schema.get("additionalProperties", {})
    yield from (f"lacks {name}" for name in schema.get("required", []) if name not in value)
    if rest is False:
        yield from (f"has {name}" for name in value if name not in properties)
    for name, item in value.items():
        yield from _complaints(name, schema.get("propertyNames", {}), root)
        if name in properties or rest is not False:
            yield from (f"{name}: {each}" for each in _complaints(item, properties.get(name, rest), root))


def _of_array(value: list[object], schema: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[str]:
    firsts = schema.get("prefixItems", [])
    for keyword, is_wrong in (("minItems", int.__lt__), ("maxItems", int.__gt__)):
        if keyword in schema and is_wrong(len(value), schema[keyword]):
            yield f"has {len(value)} items"
    for number, item in enumerate(value):
        below = firsts[number] if number < len(firsts) else schema.get("items", {})
        yield from (f"[{number}]: {each}" for each in _complaints(item, below, root))
