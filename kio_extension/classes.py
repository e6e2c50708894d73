"""Conversion of Kafka's message definitions to dataclasses in kio's style.

kio has Kafka's names of fields, in snake_case, but represents some numbers by objects: an `ErrorCode` for
`ErrorCode`, and a timedelta for a number of milliseconds, whose name then lacks `Ms`.
"""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

from kio.index import UnknownAPIKey, UnknownEntity
from kio.index import load_request_schema as load_request_of_kio
from kio.index import load_response_schema as load_response_of_kio
from kio.schema.errors import ErrorCode
from kio.schema.index import api_key_map as api_key_map_of_kio
from kio.schema.request_header import v1 as legacy_request_header
from kio.schema.request_header import v2 as flexible_request_header
from kio.schema.response_header import v0 as legacy_response_header
from kio.schema.response_header import v1 as flexible_response_header
from kio.static.constants import EntityType
from kio.static.primitive import i8, i16, i32, i32Timedelta, i64, i64Timedelta, u16

from kio_extension.definitions import Field, message

api_key_map: Final[Mapping[int, str]] = MappingProxyType(
    {**api_key_map_of_kio, 93: "streams_group_topology_description_update"}
)
"""Names of APIs in snake_case, by Kafka's keys."""
_API_VERSIONS: Final = 18
_MILLISECONDS: Final = re.compile(r"(?<=[a-z])Ms$")
_WORD: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_PYTHON_TYPES: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "bool": bool,
        "int8": i8,
        "int16": i16,
        "uint16": u16,
        "int32": i32,
        "int64": i64,
        "string": str,
        "uuid": UUID,
        "error_code": ErrorCode,
        "timedelta_i32": i32Timedelta,
        "timedelta_i64": i64Timedelta,
    }
)
_DURATIONS: Final[Mapping[str, str]] = MappingProxyType({"int32": "timedelta_i32", "int64": "timedelta_i64"})
_NAMES_OF_KIO: Final[Mapping[tuple[int, str], str]] = MappingProxyType(
    {
        # Kafka has renamed these fields in all versions since kio's classes were made.
        (28, "GenerationIdOrMemberEpoch"): "generation_id",
        (88, "AcceptableRecoveryLagLegacy"): "acceptable_recovery_lag",
    }
)
_NULL: Final = "null"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Making:
    """The data that all classes of one body share."""

    api_key: int
    version: int
    attributes: Mapping[str, Any]
    """kio's class variables, except the type of the entity."""


def load_request_schema(api_key: int, version: int) -> type[Any]:
    """Return the class of a request body; raise kio's `UnknownEntity` if there is none."""
    try:
        return load_request_of_kio(api_key, version)
    except (UnknownAPIKey, UnknownEntity) as unknown:
        made = made_class(api_key, version, EntityType.request)
        if made is None:
            raise UnknownEntity(f"{api_key}, {version}") from unknown
        return made


def load_response_schema(api_key: int, version: int) -> type[Any]:
    """Return the class of a response body; raise kio's `UnknownEntity` if there is none."""
    try:
        return load_response_of_kio(api_key, version)
    except (UnknownAPIKey, UnknownEntity) as unknown:
        made = made_class(api_key, version, EntityType.response)
        if made is None:
            raise UnknownEntity(f"{api_key}, {version}") from unknown
        return made


@cache
def made_class(api_key: int, version: int, kind: EntityType) -> type[Any] | None:
    """Make the class of a body, whether or not kio has it; return None if no definition has that version.

    Source: the header versions are those of ApiMessageTypeGenerator#generateHeaderVersion (4.4.0).
    """
    name = "".join(part.capitalize() for part in api_key_map[api_key].split("_"))
    body = message(f"{name}{kind.name.capitalize()}")
    if body is None or version not in body.valid_versions:
        return None
    flexible = version in body.flexible_versions
    header: Any
    if kind is EntityType.request:
        header = flexible_request_header.RequestHeader if flexible else legacy_request_header.RequestHeader
    else:
        # A client must be able to read this response before it knows the broker's versions.
        has_tags = flexible and api_key != _API_VERSIONS
        module = flexible_response_header if has_tags else legacy_response_header
        header = module.ResponseHeader
    making = _Making(
        api_key=api_key,
        version=version,
        attributes={
            "__version__": i16(version),
            "__flexible__": flexible,
            "__api_key__": i16(api_key),
            "__header_schema__": header,
        },
    )
    return _class(making, body.name, body.fields, kind)


def _class(making: _Making, name: str, fields: Sequence[Field], kind: EntityType) -> type[Any]:
    return dataclasses.make_dataclass(
        name,
        [_field(making, each) for each in fields if making.version in each.versions],
        namespace={**making.attributes, "__type__": kind, "__module__": __name__},
        frozen=True,
        kw_only=True,
    )


def _field(making: _Making, field: Field) -> tuple[str, Any, Any]:
    metadata: dict[str, object] = {}
    if field.fields:
        annotation: Any = _class(making, field.type, field.fields, EntityType.nested)
    else:
        metadata["kafka_type"] = _kafka_type(field)
        annotation = _PYTHON_TYPES[_kafka_type(field)]
    if field.is_array:
        annotation = tuple[annotation, ...]
    # kio represents the UUID of zeros by None.
    if making.version in field.nullable_versions or field.type == "uuid":
        annotation = annotation | None
    is_tagged = making.version in field.tagged_versions
    if is_tagged:
        metadata["tag"] = field.tag
    default = _default(field, is_tagged=is_tagged)
    return _name(making, field), annotation, dataclasses.field(default=default, metadata=metadata)


def _name(making: _Making, field: Field) -> str:
    kept = _NAMES_OF_KIO.get((making.api_key, field.name))
    if kept is not None:
        return kept
    name = _MILLISECONDS.sub("", field.name) if field.type in _DURATIONS else field.name
    return _WORD.sub("_", name).lower()


def _kafka_type(field: Field) -> str:
    if field.name == "ErrorCode":
        return "error_code"
    return _DURATIONS.get(field.type, field.type) if _MILLISECONDS.search(field.name) else field.type


def _default(field: Field, *, is_tagged: bool) -> Any:
    """Return a field's default value; an untagged structure has none."""
    if field.is_array:
        return () if is_tagged or not field.fields else dataclasses.MISSING
    if field.default is None:
        return dataclasses.MISSING
    if field.default == _NULL:
        return None
    kafka_type = _kafka_type(field)
    match kafka_type:
        case "string":
            return field.default
        case "bool":
            return field.default == "true"
        case "error_code":
            return ErrorCode(int(field.default))
        case "timedelta_i32" | "timedelta_i64":
            return _PYTHON_TYPES[kafka_type].parse(timedelta(milliseconds=int(field.default)))
        case _:
            return _PYTHON_TYPES[kafka_type](int(field.default))
