"""As much of JSON Schema as our schemas use, to hold data to them; any other keyword is refused."""

import re
from collections.abc import Callable, Iterator, Mapping
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
    root = schema if root is None else root
    unknown = schema.keys() - _KEYWORDS
    assert not unknown, f"this reads no {sorted(unknown)}"
    if "$ref" in schema:
        return complaints(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root)
    found = [*_of_value(value, schema, root)]
    if isinstance(value, dict):
        found += _of_object(value, schema, root)
    if isinstance(value, list):
        found += _of_array(value, schema, root)
    return found


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
        count = sum(_obeys(value, branch, root) for branch in branches)
        if branches and (count == 0 or (keyword == "oneOf" and count > 1)):
            reported = min((complaints(value, branch, root) for branch in branches), key=len)
            yield f"{value!r:.60} obeys no branch of {keyword}: {reported}"


def _obeys(value: object, schema: Mapping[str, Any], root: Mapping[str, Any]) -> bool:
    """Say whether a value obeys a branch; a constant that differs tells at once, whatever else there is."""
    while "$ref" in schema:
        schema = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    if isinstance(value, dict):
        constants = {
            name: each["const"] for name, each in schema.get("properties", {}).items() if "const" in each
        }
        if any(name in value and value[name] != constant for name, constant in constants.items()):
            return False
    return not complaints(value, schema, root)


def _of_object(value: Mapping[str, object], schema: Mapping[str, Any], root: Mapping[str, Any]) -> list[str]:
    properties = schema.get("properties", {})
    found = [f"lacks {name}" for name in schema.get("required", []) if name not in value]
    for name, item in value.items():
        found += complaints(name, schema.get("propertyNames", {}), root)
        rest = schema.get("additionalProperties", {})
        if name in properties or rest is not False:
            found += [f"{name}: {each}" for each in complaints(item, properties.get(name, rest), root)]
        else:
            found.append(f"has {name}")
    return found


def _of_array(value: list[object], schema: Mapping[str, Any], root: Mapping[str, Any]) -> list[str]:
    firsts = schema.get("prefixItems", [])
    found = [
        f"has {len(value)} items"
        for keyword, is_wrong in (("minItems", int.__lt__), ("maxItems", int.__gt__))
        if keyword in schema and is_wrong(len(value), schema[keyword])
    ]
    for number, item in enumerate(value):
        below = firsts[number] if number < len(firsts) else schema.get("items", {})
        found += [f"[{number}]: {each}" for each in complaints(item, below, root)]
    return found
