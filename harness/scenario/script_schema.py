"""The JSON Schema of a script, derived from the classes of `harness.scenario.script` and `values`.

A script nests, and its values have tags for what JSON has no word for (`{"$ref": ["ana", "member_id"]}`), so
the flat columns of `harness.trace.schema` cannot say it.
"""

import inspect
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from typing import TYPE_CHECKING, Final

from harness.scenario.log_records import LogRecord
from harness.scenario.script import STEP_TYPES, ActorSheet, Placement, Script
from harness.scenario.values import TAGGED, GroupRef, Json, Pattern, Value
from harness.trace.schema import DIALECT, field_descriptions

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Schema = dict[str, Json]

_ONLY_IF_GIVEN: Final = frozenset(("placements", "of", "principal"))
"""Keys that are left out where they would be empty."""


def _named(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _list_of(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _map_to(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


_TYPES: Final[Mapping[object, Schema]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    bytes: _named("Bytes"),
    str | None: {"type": ["string", "null"]},
    int | None: {"type": ["integer", "null"]},
    tuple[str, ...]: _list_of({"type": "string"}),
    tuple[str | int, ...]: _list_of({"type": ["string", "integer"]}),
    Mapping[str, str]: _map_to({"type": "string"}),
    Mapping[str, Value]: _map_to(_named("Value")),
    Mapping[str, Pattern]: _map_to(_named("Pattern")),
    GroupRef: _named("GroupRef"),
    tuple[GroupRef, ...]: _list_of(_named("GroupRef")),
    tuple[LogRecord, ...]: _list_of(_map_to(_named("Value"))),
    tuple[ActorSheet, ...]: _list_of(_named("ActorSheet")),
    tuple[Placement, ...]: _list_of(_named("Placement")),
    "str | GroupRef": {"anyOf": [{"type": "string"}, _named("GroupRef")]},
    "Ref | AnswerRef": {"anyOf": [_named("Ref"), _named("AnswerRef")]},
    "tuple[Pattern, ...]": _list_of(_named("Pattern")),
}
"""How JSON writes a field, by its annotation."""
_STEPS: Final[Schema] = _list_of({"oneOf": [_named(name) for name in STEP_TYPES]})
_IN_VALUES: Final = ("Ref", "AnswerRef", "Plus", "GroupRef", "TopicId")
"""Tagged values that a request may have; the other tags stand in expectations alone."""


def script_schema() -> Schema:
    """Return the JSON Schema (2020-12) of what `script_to_json` writes.

    Raises:
        TypeError: a field's type is none that it can express.
    """
    return {
        "$schema": DIALECT,
        **_record(Script, further={}),
        "$defs": {
            **{name: _record(cls, further=_step_name(name)) for name, cls in STEP_TYPES.items()},
            **{cls.__name__: _record(cls, further={}) for cls in (ActorSheet, Placement)},
            **{cls.__name__: _tagged(tag, cls) for tag, cls in TAGGED.items()},
            "Bytes": _bytes(),
            "Value": _any_of("Value", _IN_VALUES, "A value in a request."),
            "Pattern": _any_of(
                "Pattern",
                [cls.__name__ for cls in TAGGED.values()],
                "A value in an expected response. An object pins only the fields that it names.",
            ),
        },
    }


def _record(cls: "type[DataclassInstance]", *, further: Mapping[str, Json]) -> Schema:
    """Say how a class is written as an object with a key for each field."""
    reported = field_descriptions(cls)
    properties = {each.name: _property(each, reported.get(each.name, "")) for each in fields(cls)}
    required = [name for name in properties if name not in _ONLY_IF_GIVEN]
    return {
        "title": cls.__name__,
        "description": inspect.cleandoc(cls.__doc__ or ""),
        "type": "object",
        "properties": {**further, **properties},
        "required": [*further, *required],
        "additionalProperties": False,
    }


def _step_name(name: str) -> Schema:
    reported = "The step as text; readers of a script ignore it."
    return {"step": {"const": name}, "text": {"type": "string", "description": reported}}


def _property(field: "Field[object]", description: str) -> Schema:
    schema = _STEPS if field.name == "steps" else _of_type(field)
    return {**schema, "description": description} if description else dict(schema)


def _of_type(field: "Field[object]") -> Schema:
    schema = _TYPES.get(field.type)
    if schema is None:
        raise TypeError(f"no schema can express the type of `{field.name}`: {field.type}")
    return schema


def _tagged(tag: str, cls: "type[DataclassInstance]") -> Schema:
    """Say how a tagged value is written: its fields in their order, under its tag."""
    items = [_of_type(field) for field in fields(cls)]
    assert all(field.default is MISSING for field in fields(cls)), f"all fields of {cls} are written"
    content: Schema = {"type": "array", "minItems": len(items), "maxItems": len(items)}
    return {
        "title": cls.__name__,
        "description": inspect.cleandoc(cls.__doc__ or ""),
        "type": "object",
        "properties": {tag: {**content, "prefixItems": items} if items else content},
        "required": [tag],
        "additionalProperties": False,
    }


def _bytes() -> Schema:
    digits: Schema = {"type": "string", "pattern": "^([0-9a-f]{2})*$"}
    return {
        "title": "Bytes",
        "description": "Bytes, in hexadecimal digits.",
        "type": "object",
        "properties": {"$bytes": digits},
        "required": ["$bytes"],
        "additionalProperties": False,
    }


def _any_of(name: str, tagged: "tuple[str, ...] | list[str]", description: str) -> Schema:
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
