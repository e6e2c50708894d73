"""Kafka's message definitions as values: the fields' names, types and versions.

Source: MessageSpec, FieldSpec and Versions of Kafka's generator (4.4.0).
"""

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Self, TypeAlias

_SCHEMAS: Final = Path(__file__).with_name("schemas")
_COMMENT: Final = re.compile(r"^\s*//.*$", re.MULTILINE)
_NO_VERSION: Final = "none"
_ARRAY: Final = "[]"
_NULL: Final = "null"
_CommonFields: TypeAlias = dict[str, list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Versions:
    """A range of versions. `last` is None if the range is open; both are None if it is empty."""

    first: int | None
    last: int | None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `3`, `3-5`, `3+` or `none`."""
        if text == _NO_VERSION:
            return cls(None, None)
        if text.endswith("+"):
            return cls(int(text[:-1]), None)
        first, _, last = text.partition("-")
        return cls(int(first), int(last or first))

    def __contains__(self, version: int) -> bool:
        if self.first is None:
            return False
        return self.first <= version and (self.last is None or version <= self.last)


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of a message, or of a structure in one."""

    name: str
    """In CamelCase, as Kafka writes it."""
    type: str
    """The name of a primitive or a structure; for an array, that of its items."""
    is_array: bool
    versions: Versions
    nullable_versions: Versions
    tagged_versions: Versions
    tag: int | None
    default: str | None
    """The text `null` for null; None if the definition has no default."""
    fields: "tuple[Field, ...]"
    """The fields of a structure; empty for a primitive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A request's or a response's body, or a record's key or value, in all its versions."""

    name: str
    api_key: int
    """The key of the API; for a record, its type."""
    valid_versions: Versions
    flexible_versions: Versions
    fields: tuple[Field, ...]


@cache
def message(name: str) -> Message | None:
    """Return the message with a name such as `OffsetFetchRequest`; None if `schemas/` lacks it.

    A record's key and value are messages too: `ConsumerGroupMetadataKey`, `ConsumerGroupMetadataValue`.
    """
    file = _SCHEMAS / f"{name}.json"
    if not file.is_file():
        return None
    schema = json.loads(_COMMENT.sub("", file.read_text(encoding="utf-8")))
    return Message(
        name=schema["name"],
        api_key=schema["apiKey"],
        valid_versions=Versions.parse(schema["validVersions"]),
        flexible_versions=Versions.parse(schema["flexibleVersions"]),
        fields=tuple(_field(each, _common_fields(schema)) for each in schema["fields"]),
    )


def _common_fields(schema: dict[str, Any]) -> _CommonFields:
    """Return the fields of structures that a message uses more than once."""
    return {each["name"]: each["fields"] for each in schema.get("commonStructs", ())}


def _field(schema: dict[str, Any], common: _CommonFields) -> Field:
    item_type = schema["type"].removeprefix(_ARRAY)
    return Field(
        name=schema["name"],
        type=item_type,
        is_array=item_type != schema["type"],
        # One tagged field has only `taggedVersions`.
        versions=Versions.parse(schema.get("versions") or schema["taggedVersions"]),
        nullable_versions=Versions.parse(schema.get("nullableVersions", _NO_VERSION)),
        tagged_versions=Versions.parse(schema.get("taggedVersions", _NO_VERSION)),
        tag=schema.get("tag"),
        default=_default(schema),
        fields=tuple(_field(each, common) for each in schema.get("fields", common.get(item_type, ()))),
    )


def _default(schema: dict[str, Any]) -> str | None:
    # Some definitions have the text "null" for null, others have null itself.
    if "default" not in schema:
        return None
    return _NULL if schema["default"] is None else str(schema["default"])
