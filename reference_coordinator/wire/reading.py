"""Conversion of bytes to structures.

A reader takes a frame and a position in it, and returns a value with the position after it.
"""

import struct
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from kio.serial import readers

from reference_coordinator.core.java import MENDED, as_int
from reference_coordinator.wire.entities import FieldShape, MalformedRequestError, describe, field_shapes

_Reader: TypeAlias = Callable[[bytes, int], tuple[Any, int]]
_Tags: TypeAlias = tuple[tuple[int, bytes], ...]

_ONE_BYTE_VARINTS: Final = 0x80
"""A varint below this is a single byte, as nearly all lengths are."""
_NO_TAGS: Final[_Tags] = ()
_TEXT_BYTES_MAX: Final = 0x7FFF
"""Source: MessageDataGenerator#generateVariableLengthReader (4.3.1)."""
ELEMENTS_MAX: Final = 50_000
"""The most elements in all arrays of one request. Kafka accepts more, but this server has one thread, so
other clients wait while it reads a request.
"""


class _Elements:
    """Counts the elements left to the arrays of the current request."""

    left = ELEMENTS_MAX


def _take_elements(length: int, frame: bytes, position: int) -> None:
    """Refuse an array that is too long, before memory is allocated for it.

    Source: MessageDataGenerator#generateVariableLengthReader (4.3.1).
    """
    if length > len(frame) - position:
        raise MalformedRequestError(f"{length} elements were announced in {len(frame) - position} bytes")
    _Elements.left -= length
    if _Elements.left < 0:
        raise MalformedRequestError(f"a request has more than {ELEMENTS_MAX} elements")


class ReadEntity(dict[str, Any]):
    """A structure as it was read: fields by kio's names, and the unknown tagged fields."""

    __slots__ = ("unknown_tags",)

    unknown_tags: _Tags


def read_entity(entity: Any, frame: bytes, offset: int) -> tuple[ReadEntity, int]:
    """Read one of kio's entity classes; return it with the offset after it.

    Raises:
        MalformedRequestError: the bytes are not that structure.
    """
    _Elements.left = ELEMENTS_MAX
    try:
        return _entity_reader(entity)(frame, offset)
    except MalformedRequestError:
        raise
    except Exception as error:
        # Any exception is about the bytes, which may be hostile, and kio documents no common base class.
        raise MalformedRequestError(f"not a {describe(entity)}: {error!r}") from error


def skip_tags(frame: bytes, offset: int) -> int:
    """Return the offset after a section of tagged fields; raise `MalformedRequestError` if there is none."""
    _Elements.left = ELEMENTS_MAX
    try:
        return _read_unknown_tags(frame, offset)[1]
    except Exception as error:
        raise MalformedRequestError(f"not a section of tagged fields: {error!r}") from error


def _read_unsigned_varint(frame: bytes, offset: int) -> tuple[int, int]:
    first = frame[offset]
    if first < _ONE_BYTE_VARINTS:
        return first, offset + 1
    value, size = readers.read_unsigned_varint(frame, offset)
    return as_int(value), offset + size


def _read_unknown_tags(frame: bytes, offset: int) -> tuple[_Tags, int]:
    # This broker uses no tagged field of requests, so all of them are unknown to it.
    count, position = _read_unsigned_varint(frame, offset)
    if not count:
        return _NO_TAGS, position
    _take_elements(count, frame, position)
    tags: list[tuple[int, bytes]] = []
    for _ in range(count):
        tag, position = _read_unsigned_varint(frame, position)
        length, position = _read_unsigned_varint(frame, position)
        content, position = _slice(frame, position, length)
        tags.append((tag, content))
    return tuple(tags), position


def _slice(frame: bytes, offset: int, length: int) -> tuple[bytes, int]:
    end = offset + length
    if not offset <= end <= len(frame):
        raise MalformedRequestError(f"{length} bytes were announced, {max(len(frame) - offset, 0)} came")
    return frame[offset:end], end


def _fixed(layout: str) -> _Reader:
    packed = struct.Struct(layout)
    unpack, size = packed.unpack_from, packed.size

    def read(frame: bytes, offset: int) -> tuple[Any, int]:
        return unpack(frame, offset)[0], offset + size

    return read


_read_int8: Final = _fixed(">b")
_read_int16: Final = _fixed(">h")
_read_int32: Final = _fixed(">i")


def _read_legacy_bytes(frame: bytes, offset: int) -> tuple[bytes | None, int]:
    length, position = _read_int32(frame, offset)
    return (None, position) if length < 0 else _slice(frame, position, length)


def _read_compact_bytes(frame: bytes, offset: int) -> tuple[bytes | None, int]:
    length_plus_one = frame[offset]
    end = offset + length_plus_one
    if 0 < length_plus_one < _ONE_BYTE_VARINTS and end <= len(frame):
        return frame[offset + 1 : end], end
    length_plus_one, position = _read_unsigned_varint(frame, offset)
    return (None, position) if length_plus_one <= 0 else _slice(frame, position, length_plus_one - 1)


def _read_legacy_text(frame: bytes, offset: int) -> tuple[str | None, int]:
    """Read a text with a two-byte length, which is negative for null."""
    length, position = _read_int16(frame, offset)
    if length < 0:
        return None, position
    content, position = _slice(frame, position, length)
    return content.decode(errors=MENDED), position


def _read_compact_text(frame: bytes, offset: int) -> tuple[str | None, int]:
    content, position = _read_compact_bytes(frame, offset)
    if content is None:
        return None, position
    if len(content) > _TEXT_BYTES_MAX:
        raise MalformedRequestError(f"a text of {len(content)} bytes is longer than {_TEXT_BYTES_MAX}")
    return str(content, "utf-8", MENDED), position


def _read_uuid(frame: bytes, offset: int) -> tuple[Any, int]:
    value, size = readers.read_uuid(frame, offset)
    return value, offset + size


_FIXED: Final[Mapping[str, _Reader]] = MappingProxyType(
    {
        "bool": _fixed(">?"),
        "int8": _read_int8,
        "int16": _read_int16,
        "uint16": _fixed(">H"),
        "int32": _read_int32,
        "int64": _fixed(">q"),
        "timedelta_i32": _read_int32,
        "timedelta_i64": _fixed(">q"),
        "uuid": _read_uuid,
    }
)
_VARIABLE: Final[Mapping[tuple[str, bool], _Reader]] = MappingProxyType(
    {
        ("string", False): _read_legacy_text,
        ("string", True): _read_compact_text,
        ("bytes", False): _read_legacy_bytes,
        ("bytes", True): _read_compact_bytes,
        ("records", False): _read_legacy_bytes,
        ("records", True): _read_compact_bytes,
    }
)


@cache
def _entity_reader(entity: Any) -> Callable[[bytes, int], tuple[ReadEntity, int]]:
    flexible: bool = entity.__flexible__
    fields = tuple(
        (shape.name, _field_reader(shape, flexible=flexible), shape.is_nullable)
        for shape in field_shapes(entity)
        if not shape.is_tagged
    )

    def read(frame: bytes, offset: int) -> tuple[ReadEntity, int]:
        values = ReadEntity()
        for name, read_field, is_nullable in fields:
            value, offset = read_field(frame, offset)
            if value is None and not is_nullable:
                raise MalformedRequestError(f"{name} is null, which it may not be")
            values[name] = value
        if flexible:
            values.unknown_tags, offset = _read_unknown_tags(frame, offset)
        else:
            values.unknown_tags = _NO_TAGS
        return values, offset

    return read


def _field_reader(shape: FieldShape, *, flexible: bool) -> _Reader:
    read_item: _Reader
    if shape.entity is not None:
        read_item = _entity_reader(shape.entity)
        if not shape.is_array:
            return _nullable_entity_reader(read_item) if shape.is_nullable else read_item
    elif shape.kafka_type in _FIXED:
        read_item = _FIXED[shape.kafka_type]
    else:
        read_item = _VARIABLE[shape.kafka_type, flexible]
        if shape.is_array:
            read_item = _refusing_null(read_item, shape.name)
    return _array_reader(read_item, flexible=flexible) if shape.is_array else read_item


def _nullable_entity_reader(read_entity_there: _Reader) -> _Reader:
    """Return a reader of a nullable structure, with a byte before it that shows whether it is present."""

    def read(frame: bytes, offset: int) -> tuple[Any, int]:
        is_there, position = _read_int8(frame, offset)
        return read_entity_there(frame, position) if is_there >= 0 else (None, position)

    return read


def _array_reader(read_item: _Reader, *, flexible: bool) -> _Reader:
    def read(frame: bytes, offset: int) -> tuple[tuple[Any, ...] | None, int]:
        if flexible:
            length_plus_one, position = _read_unsigned_varint(frame, offset)
            length = length_plus_one - 1
        else:
            length, position = _read_int32(frame, offset)
        if length < 0:
            return None, position
        _take_elements(length, frame, position)
        items: list[Any] = []
        for _ in range(length):
            item, position = read_item(frame, position)
            items.append(item)
        return tuple(items), position

    return read


def _refusing_null(read: _Reader, name: str) -> _Reader:
    def read_some(frame: bytes, offset: int) -> tuple[Any, int]:
        read_value = read(frame, offset)
        if read_value[0] is None:
            raise MalformedRequestError(f"{name} is null, which it may not be")
        return read_value

    return read_some
