"""The JSON Schema of a script, derived from the classes of `harness.scenario.script` and `values`.

A script is nested, and its values have tags for what JSON cannot express (`{"$ref": ["ana", "member_id"]}`),
so the flat columns of `harness.trace.schema` cannot describe it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Final, Union, get_args, get_origin

from harness.scenario.script import STEP_TYPES, ActorSheet, Placement, Script, Step
from harness.scenario.values import TAGGED, AnswerRef, GroupRef, Pattern, Ref, Value
from harness.trace.schema import DIALECT, object_schema

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Schema = dict[str, Any]

_ONLY_IF_GIVEN: Final = frozenset(("placements", "of", "principal"))
"""Keys that are left out if they would be empty."""
_PLAIN: Final[Mapping[object, str]] = {str: "string", int: "integer", bool: "boolean", NoneType: "null"}
_NAMES: Final[Mapping[object, str]] = {bytes: "Bytes", Value: "Value", Pattern: "Pattern"}
"""Definitions whose names are not derived from their types."""
_QUOTED: Final[Mapping[object, object]] = {
    "Ref | AnswerRef": Ref | AnswerRef,
    "str | GroupRef": str | GroupRef,
    "tuple[Pattern, ...]": tuple[Pattern, ...],
}
"""Quoted annotations, which name types that are defined later in their module."""
_IN_VALUES: Final = ("Ref", "AnswerRef", "Plus", "GroupRef", "TopicId", "ProducedBatch")
"""Tagged values that a request may have; the other tags occur only in expectations."""


def _named(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _list_of(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _map_to(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


def _type_schema(hint: Any) -> Schema:  # noqa: ANN401 - an annotation
    """Return the schema of a field in JSON, by its annotation."""
    hint = _QUOTED.get(hint, hint)
    origin, parts = get_origin(hint), get_args(hint)
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if hint == Step:
        return {"oneOf": [_named(name) for name in STEP_TYPES]}
    if origin is tuple:
        return _list_of(_type_schema(parts[0]))
    if origin is Mapping:
        return _map_to(_type_schema(parts[1]))
    if origin in (Union, UnionType):
        if all(part in _PLAIN for part in parts):
            return {"type": [_PLAIN[part] for part in parts]}
        return {"anyOf": [_type_schema(part) for part in parts]}
    return _named(_NAMES.get(hint) or hint.__name__)


def script_schema() -> Schema:
    """Return the JSON Schema (2020-12) of what `script_to_json` writes."""
    return {
        "$schema": DIALECT,
        **_record(Script),
        "$defs": {
            **{name: _step(name, cls) for name, cls in STEP_TYPES.items()},
            **{cls.__name__: _record(cls) for cls in (ActorSheet, Placement)},
            **{cls.__name__: _tagged(tag, cls) for tag, cls in TAGGED.items()},
            "Bytes": {
                "title": "Bytes",
                "description": "Bytes, in hexadecimal digits.",
                "type": "object",
                "properties": {"$bytes": {"type": "string", "pattern": "^([0-9a-f]{2})*$"}},
                "required": ["$bytes"],
                "additionalProperties": False,
            },
            "Value": _value("Value", "A value in a request.", _IN_VALUES),
            "Pattern": _value(
                "Pattern",
                "A value in an expected response. An object pins only the fields that it names.",
                [cls.__name__ for cls in TAGGED.values()],
            ),
        },
    }


def _record(cls: "type[DataclassInstance]", *, first: Schema | None = None) -> Schema:
    """Return the schema of a class that is written as an object with a key for each field."""
    types = {each.name: _type_schema(each.type) for each in fields(cls)}
    return object_schema(cls, {**(first or {}), **types}, optional=_ONLY_IF_GIVEN)


def _step(name: str, cls: "type[DataclassInstance]") -> Schema:
    text = {"type": "string", "description": "The step as text; readers of a script ignore it."}
    return _record(cls, first={"step": {"const": name}, "text": text})


def _tagged(tag: str, cls: "type[DataclassInstance]") -> Schema:
    """Return the schema of a tagged value: its fields in their order, under its tag."""
    assert all(field.default is MISSING for field in fields(cls)), f"all fields of {cls} are written"
    items = [_type_schema(each.type) for each in fields(cls)]
    content: Schema = {"type": "array", "minItems": len(items), "maxItems": len(items)}
    return object_schema(cls, {tag: {**content, "prefixItems": items} if items else content})


def _value(name: str, description: str, tagged: Iterable[str]) -> Schema:
    """Return the schema of a field's value, which may be plain, contain several values, or be tagged."""
    return {
        "title": name,
        "description": description,
        "anyOf": [
            {"type": ["string", "integer", "boolean", "null"]},
            _list_of(_named(name)),
            {**_map_to(_named(name)), "propertyNames": {"pattern": "^[^$]"}},
            *[_named(each) for each in ("Bytes", *tagged)],
        ],
    }
