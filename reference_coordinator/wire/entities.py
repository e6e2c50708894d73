"""kio's classes read and written field by field.

Reading is done here, with kio's readers of primitives, because Kafka accepts what kio's entity reader
refuses: a tagged field that no schema knows is skipped (JoinGroup's are even kept and compared), text
that is not UTF-8 is mended, and durations may be any number. Writing is kio's own.
"""

import dataclasses
import io
import typing
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from types import MappingProxyType, UnionType
from typing import Any, Final, TypeAlias
from uuid import UUID

from kio.serial import entity_writer, readers
from kio.static.primitive import i32Timedelta

_Reader: TypeAlias = Callable[[bytes, int], tuple[Any, int]]


class MalformedRequestError(Exception):
    """A frame is no request that this broker serves; Kafka closes the connection that brought it.

    Too short, null where nothing may be null, an unknown API, or a version that is not served. Bytes
    beyond the request are no fault: Kafka does not look at them.
    """


class UnwritableResponseError(Exception):
    """A response does not fit its fields on the wire, e.g. a text beyond 32767 bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadEntity:
    """A structure as it was read: fields by kio's names, and the tagged fields that no schema knows."""

    values: Mapping[str, Any]
    unknown_tags: tuple[tuple[int, bytes], ...]

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def get(self, name: str, default: Any) -> Any:
        """Return a field, or the default in a version that lacks it."""
        return self.values.get(name, default)


def read_entity(entity: Any, frame: bytes, offset: int) -> tuple[ReadEntity, int]:
    """Read one of kio's entity classes; return it with the number of bytes that it took.

    Raises:
        MalformedRequestError: the bytes are not that structure.
    """
    with _reading(f"{entity.__name__} v{entity.__version__}"):
        return _entity_reader(entity)(frame, offset)


def write_entity(entity: Any, message: object) -> bytes:
    """Write a message, or any object with its fields, as one of kio's classes.

    Fields that the version lacks are left out; `throttle_time` is always 0, since nobody is throttled.

    Raises:
        UnwritableResponseError: a value does not fit.
    """
    buffer = io.BytesIO()
    try:
        entity_writer(entity)(buffer, _builder(entity)(message))
    except Exception as error:
        raise UnwritableResponseError(
            f"{entity.__name__} v{entity.__version__} cannot be written: {error!r}"
        ) from error
    return buffer.getvalue()


def skip_tags(frame: bytes, offset: int) -> int:
    """Return the size of a section of tagged fields; `MalformedRequestError` where there is none."""
    with _reading("section of tagged fields"):
        return _read_unknown_tags(frame, offset)[1]


@contextmanager
def _reading(what: str) -> Iterator[None]:
    try:
        yield
    except MalformedRequestError:
        raise
    except Exception as error:
        # kio reads hostile bytes: whatever it raises is about them, and it documents no common base.
        raise MalformedRequestError(f"not a {what}: {error!r}") from error


def _read_unknown_tags(frame: bytes, offset: int) -> tuple[tuple[tuple[int, bytes], ...], int]:
    # No request served here has a tagged field, so none is known.
    count, size = readers.read_unsigned_varint(frame, offset)
    tags: list[tuple[int, bytes]] = []
    for _ in range(count):
        tag, tag_size = readers.read_unsigned_varint(frame, offset + size)
        length, length_size = readers.read_unsigned_varint(frame, offset + size + tag_size)
        content, _ = _slice(frame, offset + size + tag_size + length_size, length)
        tags.append((tag, content))
        size += tag_size + length_size + length
    return tuple(tags), size


def _read_legacy_text(frame: bytes, offset: int) -> tuple[str | None, int]:
    """Read a text with a two-byte length, null where that is negative."""
    length, size = readers.read_int16(frame, offset)
    if length < 0:
        return None, size
    content, _ = _slice(frame, offset + size, length)
    return content.decode(errors="replace"), size + length


def _read_compact_text(frame: bytes, offset: int) -> tuple[str | None, int]:
    content, size = readers.read_compact_string_as_bytes_nullable(frame, offset)
    return None if content is None else content.decode(errors="replace"), size


def _read_legacy_bytes(frame: bytes, offset: int) -> tuple[bytes | None, int]:
    length, size = readers.read_int32(frame, offset)
    if length < 0:
        return None, size
    content, _ = _slice(frame, offset + size, length)
    return content, size + length


def _slice(frame: bytes, offset: int, length: int) -> tuple[bytes, int]:
    content = frame[offset : offset + length]
    if len(content) < length:
        raise MalformedRequestError(f"{length} bytes were announced, {len(content)} came")
    return content, length


_FIXED: Final[Mapping[str, _Reader]] = MappingProxyType(
    {
        "bool": readers.read_boolean,
        "int8": readers.read_int8,
        "int16": readers.read_int16,
        "int32": readers.read_int32,
        "int64": readers.read_int64,
        "timedelta_i32": readers.read_int32,
        "timedelta_i64": readers.read_int64,
        "uuid": readers.read_uuid,
    }
)
_VARIABLE: Final[Mapping[tuple[str, bool], _Reader]] = MappingProxyType(
    {
        ("string", False): _read_legacy_text,
        ("string", True): _read_compact_text,
        ("bytes", False): _read_legacy_bytes,
        ("bytes", True): readers.read_compact_string_as_bytes_nullable,
    }
)


@cache
def _entity_reader(entity: Any) -> _Reader:
    fields = tuple(
        (field.name, _field_reader(field, flexible=entity.__flexible__))
        for field in dataclasses.fields(entity)
    )

    def read(frame: bytes, offset: int) -> tuple[ReadEntity, int]:
        values: dict[str, Any] = {}
        position = offset
        for name, read_field in fields:
            values[name], size = read_field(frame, position)
            position += size
        tags, size = _read_unknown_tags(frame, position) if entity.__flexible__ else ((), 0)
        return ReadEntity(values=values, unknown_tags=tags), position + size - offset

    return read


def _field_reader(field: dataclasses.Field[Any], *, flexible: bool) -> _Reader:
    assert "tag" not in field.metadata, "no request served here has a tagged field"
    nullable, inner, is_array = _unwrap(field.type)
    kafka_type: str = field.metadata.get("kafka_type", "")
    read_item: _Reader
    if _is_entity(inner):
        read_item = _entity_reader(inner)
    elif kafka_type in _FIXED:
        read_item = _FIXED[kafka_type]
    else:
        read_item = _VARIABLE[kafka_type, flexible]
        if is_array or not nullable:
            read_item = _refusing_null(read_item, field.name)
    if not is_array:
        return read_item
    read_array = _array_reader(read_item, flexible=flexible)
    return read_array if nullable else _refusing_null(read_array, field.name)


def _array_reader(read_item: _Reader, *, flexible: bool) -> _Reader:
    def read(frame: bytes, offset: int) -> tuple[tuple[Any, ...] | None, int]:
        if flexible:
            length_plus_one, size = readers.read_unsigned_varint(frame, offset)
            length = length_plus_one - 1
        else:
            length, size = readers.read_int32(frame, offset)
        if length < 0:
            return None, size
        items: list[Any] = []
        for _ in range(length):
            item, item_size = read_item(frame, offset + size)
            items.append(item)
            size += item_size
        return tuple(items), size

    return read


def _refusing_null(read: _Reader, name: str) -> _Reader:
    def read_some(frame: bytes, offset: int) -> tuple[Any, int]:
        value, size = read(frame, offset)
        if value is None:
            raise MalformedRequestError(f"{name} is null, which it may not be")
        return value, size

    return read_some


_Converter: TypeAlias = Callable[[Any], Any]
_NOT_THROTTLED: Final = i32Timedelta.parse(timedelta(0))


@cache
def _builder(entity: Any) -> _Converter:
    names: list[str] = []
    converters: list[_Converter] = []
    for field in dataclasses.fields(entity):
        # Only ApiVersions has tagged response fields for what the reference lacks: features.
        if field.name == "throttle_time" or "tag" in field.metadata:
            continue
        names.append(field.name)
        converters.append(_converter(field))
    throttled = any(field.name == "throttle_time" for field in dataclasses.fields(entity))

    def build(message: Any) -> Any:
        arguments = {
            name: convert(getattr(message, name)) for name, convert in zip(names, converters, strict=True)
        }
        if throttled:
            arguments["throttle_time"] = _NOT_THROTTLED
        return entity(**arguments)

    return build


def _converter(field: dataclasses.Field[Any]) -> _Converter:
    _, inner, is_array = _unwrap(field.type)
    convert = _item_converter(inner, field.metadata.get("kafka_type", ""))
    if not is_array:
        return convert
    return lambda items: None if items is None else tuple(convert(item) for item in items)


def _item_converter(inner: Any, kafka_type: str) -> _Converter:
    if _is_entity(inner):
        return _builder(inner)
    if kafka_type == "uuid":
        return lambda topic_id: None if topic_id is None else UUID(topic_id)
    return lambda value: value


def _is_entity(annotation: Any) -> bool:
    return dataclasses.is_dataclass(annotation)


def _unwrap(annotation: Any) -> tuple[bool, Any, bool]:
    """Split an annotation of kio's into (may be null, the item's type, is an array)."""
    nullable = typing.get_origin(annotation) is UnionType
    if nullable:
        (annotation,) = (each for each in typing.get_args(annotation) if each is not type(None))
    is_array = typing.get_origin(annotation) is tuple
    return nullable, typing.get_args(annotation)[0] if is_array else annotation, is_array
