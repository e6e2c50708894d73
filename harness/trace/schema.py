"""What is derived from the trace's dataclasses: columns, a JSON Schema, and one strict line of JSON.

A record class is a dataclass whose fields have only the types of `ColumnType`. Its annotations and the
string under each field are the only source: JSON, Parquet and Spark schemas are derived from `columns`.
A field with a default was added later than its class: a file without the field means the default.
"""

import ast
import inspect
import json
import math
import re
import textwrap
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from enum import StrEnum
from functools import cache
from itertools import pairwise
from threading import Lock
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, TypeVar, get_args, get_type_hints

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

RecordT = TypeVar("RecordT", bound="DataclassInstance")
DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
"""The dialect of JSON Schema."""
NESTED_MAX: Final = 100
"""How deep JSON may be nested; the harness writes about a dozen levels."""
_TOO_DEEP: Final = "JSON that is nested too deep"
_ONE_PARSER: Final = Lock()
"""Acquired to parse source: CPython 3.11.7 raised a SystemError when several threads did so."""
_NO_BRACKETS: Final = re.compile(r"[^\[\]{}]+")


class TraceError(Exception):
    """A file of a run is missing, or violates its schema; the message names file and line."""


class ColumnType(StrEnum):
    """The types that a field of a record may have, with the names of JSON Schema, except for the last."""

    STRING = "string"
    INTEGER = "integer"
    """A 64-bit integer."""
    NUMBER = "number"
    """A finite double."""
    BOOLEAN = "boolean"
    STRINGS = "array of strings"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One field of a record."""

    name: str
    type: ColumnType
    nullable: bool
    description: str
    """The string under the field, or an empty string."""
    may_be_missing: bool = False
    """Whether a file may lack the column."""
    default: str | float | None = None
    """The value in files that lack the column."""


_COLUMN_TYPES: Final[dict[object, ColumnType]] = {
    str: ColumnType.STRING,
    int: ColumnType.INTEGER,
    float: ColumnType.NUMBER,
    bool: ColumnType.BOOLEAN,
    tuple[str, ...]: ColumnType.STRINGS,
}


_USUAL_TYPES: Final = {
    ColumnType.STRING: (str,),
    ColumnType.INTEGER: (int,),
    ColumnType.BOOLEAN: (bool,),
}
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def columns(cls: "type[DataclassInstance]") -> tuple[Column, ...]:
    """Return a record class's columns, in the order of its fields.

    Raises:
        TypeError: a field has a type that not every schema can express.
    """
    return _columns(cls)


@cache
def _columns(cls: type) -> tuple[Column, ...]:
    hints = get_type_hints(cls)
    descriptions = field_descriptions(cls)
    return tuple(_column(each, hints[each.name], descriptions.get(each.name, "")) for each in fields(cls))


@cache
def _names(cls: type) -> frozenset[str]:
    return frozenset(column.name for column in columns(cls))


@cache
def _with_usual_types(cls: type) -> tuple[tuple[Column, frozenset[type]], ...]:
    """Return a class's columns, each with the types whose values fit and need no closer look."""
    return tuple(
        (column, frozenset({*_USUAL_TYPES.get(column.type, ()), *((NoneType,) if column.nullable else ())}))
        for column in columns(cls)
    )


def _column(field: "Field[Any]", hint: object, description: str) -> Column:
    nullable = NoneType in get_args(hint)
    if nullable:
        (hint,) = (part for part in get_args(hint) if part is not NoneType)
    if hint not in _COLUMN_TYPES:
        raise TypeError(f"no schema can express the type of `{field.name}`: {hint}")
    return Column(
        name=field.name,
        type=_COLUMN_TYPES[hint],
        nullable=nullable,
        description=description,
        may_be_missing=field.default is not MISSING,
        default=None if field.default is MISSING else field.default,
    )


def field_descriptions(cls: type) -> dict[str, str]:
    """Read the string under each field from the source of a class and of its base classes."""
    descriptions = {}
    for part in reversed([part for part in cls.__mro__ if is_dataclass(part)]):
        with _ONE_PARSER:
            (definition,) = ast.parse(textwrap.dedent(inspect.getsource(part))).body
        assert isinstance(definition, ast.ClassDef)
        for statement, below in pairwise(definition.body):
            match statement, below:
                case (
                    ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str(text))),
                ):
                    descriptions[name] = inspect.cleandoc(text)
                case _:
                    pass
    return descriptions


def json_schema(cls: "type[DataclassInstance]") -> dict[str, object]:
    """Return the JSON Schema (2020-12) that every line of this record class obeys."""
    types = {column.name: _json_type(column) for column in columns(cls)}
    return {"$schema": DIALECT, **object_schema(cls, types)}


def object_schema(
    cls: type, types: Mapping[str, Mapping[str, Any]], *, optional: AbstractSet[str] = frozenset()
) -> dict[str, Any]:
    """Return the JSON Schema of a class that is written as an object.

    Args:
        cls: the class, a dataclass.
        types: the schemas of all possible keys, by name.
        optional: keys that may be missing.
    """
    descriptions = field_descriptions(cls)
    return {
        "title": cls.__name__,
        "description": inspect.cleandoc(cls.__doc__ or ""),
        "type": "object",
        "properties": {
            name: {**schema, **({"description": descriptions[name]} if name in descriptions else {})}
            for name, schema in types.items()
        },
        "required": [name for name in types if name not in optional],
        "additionalProperties": False,
    }


def _json_type(column: Column) -> dict[str, object]:
    name = "array" if column.type is ColumnType.STRINGS else column.type.value
    schema: dict[str, object] = {"type": [name, "null"] if column.nullable else name}
    return {**schema, "items": {"type": "string"}} if column.type is ColumnType.STRINGS else schema


def to_json(record: "DataclassInstance") -> str:
    """Write a record as one line of JSON, without the newline.

    Raises:
        TypeError: the record contains something that its class does not declare.
        ValueError: the record contains a number that is not finite.
    """
    content = {}
    for column, usual in _with_usual_types(type(record)):
        value = getattr(record, column.name)
        if type(value) not in usual:
            value = list(value) if isinstance(value, tuple) else value
            if (complaint := _complaint(column, value)) is not None:
                raise TypeError(f"{type(record).__name__}: {complaint}")
        content[column.name] = value
    return _ENCODER.encode(content)


def to_content(record: "DataclassInstance") -> dict[str, object]:
    """Return a record as a dict that `json` can write, with its fields in their order."""
    content = {}
    for field in fields(record):
        value = getattr(record, field.name)
        content[field.name] = list(value) if isinstance(value, tuple) else value
    return content


def from_json(cls: type[RecordT], line: str | bytes, *, where: str = "a record") -> RecordT:
    """Read a record from one line of JSON.

    Args:
        cls: the record's class.
        line: a JSON object with exactly the fields of the class; those with a default may be missing.
        where: file and line for the message, e.g. `events.jsonl:17`.

    Raises:
        TraceError: the line is not JSON, or a key is missing, unknown, or of another type.
    """
    return from_content(cls, parsed_json(line, where=where), where=where)


def parsed_json(text: str | bytes, *, where: str) -> Any:  # noqa: ANN401 - JSON, which callers know the shape of
    """Parse JSON from a file, or from a field of a record. The only function that does.

    Raises:
        TraceError: the text is not JSON, or is nested deeper than anything that the harness writes.
    """
    try:
        content: object = json.loads(text)
    except ValueError as error:
        raise TraceError(f"{where}: no JSON ({error})") from error
    except RecursionError as error:
        raise TraceError(f"{where}: {_TOO_DEEP}") from error
    if _is_too_deep(text):
        raise TraceError(f"{where}: {_TOO_DEEP}")
    return content


def _is_too_deep(text: str | bytes) -> bool:
    """Return whether JSON is nested too deep for functions that walk through it."""
    if isinstance(text, bytes):
        if text.count(b"[") + text.count(b"{") <= NESTED_MAX:
            return False
        text = text.decode(errors="replace")
    if text.count("[") + text.count("{") <= NESTED_MAX:
        return False
    outside_texts = text.replace("\\\\", "").replace('\\"', "").split('"')[::2]
    brackets = _NO_BRACKETS.sub("", "".join(outside_texts))
    for _ in range(NESTED_MAX):
        if not brackets:
            return False
        brackets = brackets.replace("[]", "").replace("{}", "")
    return bool(brackets)


def json_object(text: str | bytes, *, where: str) -> dict[str, Any]:
    """Parse a JSON object from a file, or from a field of a record.

    Raises:
        TraceError: the text is not a JSON object.
    """
    content = parsed_json(text, where=where)
    if not isinstance(content, dict):
        raise TraceError(f"{where}: no JSON object")
    return content


def from_content(cls: type[RecordT], content: object, *, where: str) -> RecordT:
    """Make a record from parsed JSON, as strictly as `from_json` does."""
    if not isinstance(content, dict):
        raise TraceError(f"{where}: no JSON object")
    if (complaint := _key_complaint(cls, content.keys())) is not None:
        raise TraceError(f"{where}: {complaint}")
    values: dict[str, object] = {}
    for column, usual in _with_usual_types(cls):
        value = content.get(column.name, column.default)
        if type(value) not in usual:
            if (complaint := _complaint(column, value)) is not None:
                raise TraceError(f"{where}: {complaint}")
            value = _as_declared(column, value)
        values[column.name] = value
    return cls(**values)


def _as_declared(column: Column, value: object) -> object:
    """Restore types that JSON does not distinguish: a tuple from a list, a float from an integer."""
    match column.type, value:
        case ColumnType.STRINGS, list():
            return tuple(value)
        case ColumnType.NUMBER, int():
            return float(value)
        case _:
            return value


def _key_complaint(cls: "type[DataclassInstance]", found: AbstractSet[object]) -> str | None:
    if found == _names(cls):
        return None
    known = columns(cls)
    missing = [each.name for each in known if each.name not in found and not each.may_be_missing]
    unknown = sorted(str(name) for name in found - {each.name for each in known})
    parts = [f"lacks {', '.join(missing)}"] if missing else []
    parts += [f"has unknown {', '.join(unknown)}"] if unknown else []
    return f"{cls.__name__} {' and '.join(parts)}" if parts else None


def _complaint(column: Column, value: object) -> str | None:
    """Return what is wrong with a field's value, or None."""
    if _fits(column, value):
        return None
    wanted = f"{column.type.value} or null" if column.nullable else column.type.value
    return f"`{column.name}` must be {wanted}, not {value!r:.80}"


def _fits(column: Column, value: object) -> bool:
    if value is None:
        return column.nullable
    match column.type:
        case ColumnType.STRING:
            return isinstance(value, str)
        case ColumnType.INTEGER:
            return isinstance(value, int) and not isinstance(value, bool)
        case ColumnType.NUMBER:
            return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        case ColumnType.BOOLEAN:
            return isinstance(value, bool)
        case ColumnType.STRINGS:
            return isinstance(value, list) and all(isinstance(part, str) for part in value)
