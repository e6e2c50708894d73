"""kio's classes, one per API and version, and lenient twins that decode and encode plain fields.

A twin has a kio class's fields in the same order with the same types on the wire, but an error code stays a
number, and a duration is a count of milliseconds: kio refuses unknown error codes, and a conformance harness
has to show exactly those. Field names are Kafka's in snake_case, so `session_timeout` of kio is
`session_timeout_ms` here.
"""

import dataclasses
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from types import MappingProxyType, UnionType
from typing import Any, Final
from uuid import UUID

from kio.schema.errors import ErrorCode
from kio.static.primitive import i16, i32, i64

from harness.wire.errors import WireError
from kio_extension import UnknownEntity, api_key_map, load_request_schema, load_response_schema

_UNMARKED_ERROR_CODES: Final = frozenset({"acknowledge_error_code"})
"""Fields that contain an error code, which kio treats as plain numbers."""
_NUMBERS: Final[Mapping[str, tuple[str, Any]]] = MappingProxyType(
    {
        "error_code": ("int16", i16),
        "timedelta_i32": ("int32", i32),
        "timedelta_i64": ("int64", i64),
    }
)
_ZEROS: Final[Mapping[str, object]] = MappingProxyType(
    {"string": "", "bytes": b"", "records": b"", "bool": False, "uuid": UUID(int=0), "float64": 0.0}
)
"""Kafka's defaults by type, if they are not the number 0."""
_NULL_BY_DEFAULT: Final[Mapping[str, str]] = MappingProxyType(
    {"ConsumerGroupHeartbeatRequest": "topic_partitions"}
)
"""By message, the array of structures that is null by default in Kafka, for APIs that the harness uses.

kio has no default for arrays of structures.
"""
_CARRIED_ATTRIBUTES: Final = (
    "__type__",
    "__version__",
    "__flexible__",
    "__api_key__",
    "__header_schema__",
)


def _camel(snake: str) -> str:
    return "".join(part.capitalize() for part in snake.split("_"))


API_KEYS: Final[Mapping[str, int]] = MappingProxyType(
    {_camel(name): key for key, name in api_key_map.items()}
)
"""Kafka's API names, e.g. `JoinGroup`, to their keys."""
API_NAMES: Final[Mapping[int, str]] = MappingProxyType({key: name for name, key in API_KEYS.items()})


def api_key(api: str) -> int:
    """Return an API's key; raises `WireError` for a name that Kafka does not have."""
    try:
        return API_KEYS[api]
    except KeyError:
        raise WireError(f"no API is called {api!r}; one is, for instance, 'JoinGroup'") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldShape:
    """One field of a twin, as it appears in plain data."""

    name: str
    """Kafka's name in snake_case."""
    attribute: str
    """The twin's attribute."""
    nested: "Shape | None"
    """The shape of the field's items, or of the field itself if it is a structure."""
    is_array: bool
    is_error_code: bool
    default: object
    """Kafka's default, which applies if no value is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A twin class with its fields by Kafka's names."""

    twin: type[Any]
    fields: Mapping[str, FieldShape]
    header: type[Any] | None
    flexible: bool


@cache
def request_shape(api: str, version: int) -> Shape:
    """Return the shape of a request body; raises `WireError` if kio does not have the version."""
    return _shape_of(api, version, load_request_schema)


@cache
def response_shape(api: str, version: int) -> Shape:
    """Return the shape of a response body; raises `WireError` if kio does not have the version."""
    return _shape_of(api, version, load_response_schema)


def has_version(api: str, version: int) -> bool:
    """Return whether that version of an API's request can be encoded and its response decoded."""
    try:
        request_shape(api, version)
        response_shape(api, version)
    except WireError:
        return False
    return True


def _shape_of(api: str, version: int, load: Any) -> Shape:
    try:
        return _twin(load(api_key(api), version))
    except UnknownEntity:
        raise WireError(f"kio knows no {api} v{version}") from None


@cache
def _twin(entity: Any) -> Shape:
    twins: list[tuple[str, Any, Any]] = []
    shapes: dict[str, FieldShape] = {}
    for field in dataclasses.fields(entity):
        twin_field, shape = _twin_field(field, is_null=_NULL_BY_DEFAULT.get(entity.__name__) == field.name)
        twins.append(twin_field)
        shapes[shape.name] = shape
    namespace = {name: getattr(entity, name) for name in _CARRIED_ATTRIBUTES if hasattr(entity, name)}
    # Nobody compares or prints a twin: the methods for it would take most of the time to make one.
    twin = dataclasses.make_dataclass(
        entity.__name__, twins, kw_only=True, repr=False, eq=False, namespace=namespace
    )
    return Shape(
        twin=twin,
        fields=MappingProxyType(shapes),
        header=namespace.get("__header_schema__"),
        flexible=entity.__flexible__,
    )


def _twin_field(field: dataclasses.Field[Any], *, is_null: bool) -> tuple[tuple[str, Any, Any], FieldShape]:
    kafka_type: str = field.metadata.get("kafka_type", "structure")
    nullable, inner, is_array = unwrapped(field.type)
    nested: Shape | None = (
        _twin(inner) if isinstance(inner, type) and dataclasses.is_dataclass(inner) else None
    )
    annotation: Any = field.type
    metadata = dict(field.metadata)
    if kafka_type in _NUMBERS:
        metadata["kafka_type"], number = _NUMBERS[kafka_type]
        annotation = _rewrap(number, nullable=nullable, is_array=is_array)
    elif nested is not None:
        annotation = _rewrap(nested.twin, nullable=nullable, is_array=is_array)
    is_duration = kafka_type.startswith("timedelta")
    default = None if is_null else _plain_default(field.default, nested)
    twin_field = dataclasses.field(default=default, metadata=metadata)
    return (field.name, annotation, twin_field), FieldShape(
        name=f"{field.name}_ms" if is_duration else field.name,
        attribute=field.name,
        nested=nested,
        is_array=is_array,
        is_error_code=kafka_type == "error_code" or field.name in _UNMARKED_ERROR_CODES,
        default=_kafka_default(default, kafka_type, is_array=is_array),
    )


def _kafka_default(default: Any, kafka_type: str, *, is_array: bool) -> object:
    """Return a field's default; a structure has none, since it must be given."""
    if default is not dataclasses.MISSING:
        return default
    if is_array:
        return ()
    return None if kafka_type == "structure" else _ZEROS.get(kafka_type, 0)


def unwrapped(annotation: Any) -> tuple[bool, Any, bool]:
    """Split an annotation into (may be null, the item's type, is an array)."""
    nullable = False
    if typing.get_origin(annotation) in (UnionType, typing.Union):
        arguments = [a for a in typing.get_args(annotation) if a is not type(None)]
        nullable = len(arguments) < len(typing.get_args(annotation))
        annotation = arguments[0] if len(arguments) == 1 else annotation
    if typing.get_origin(annotation) is tuple:
        return nullable, typing.get_args(annotation)[0], True
    return nullable, annotation, False


def _rewrap(inner: Any, *, nullable: bool, is_array: bool) -> Any:
    annotation = tuple[inner, ...] if is_array else inner
    return annotation | None if nullable else annotation


def _plain_default(default: Any, nested: Shape | None) -> Any:
    if isinstance(default, ErrorCode):
        return i16(int(default))
    if isinstance(default, timedelta):
        return i64(default // timedelta(milliseconds=1))
    if nested is not None and dataclasses.is_dataclass(default):
        return nested.twin()
    return default
