"""Conversion of objects with a structure's fields to bytes.

A writer takes a value and returns its bytes; for numbers, writers are those of `struct`.
"""

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final, TypeAlias
from uuid import UUID

from reference_coordinator.core.parts import AnswerTooLargeError, is_in_parts, part_written
from reference_coordinator.wire.entities import FieldShape, UnwritableResponseError, describe, field_shapes

_Writer: TypeAlias = Callable[[Any], bytes]

_THROTTLE_TIME: Final = "throttle_time"
_TAGGED: Final = frozenset({"supported_features", "finalized_features_epoch", "finalized_features"})
"""Tagged response fields that are written; the others are hints about possible leaders."""
_UNTOLD: Final = ((), -1)
"""The values of tagged fields that are not written."""
_ITEMS_AT_ONCE: Final = 256
"""Items per chunk. Otherwise a huge array would also exist in pieces, which take three times its memory."""
_ONE_BYTE_VARINTS: Final = 0x80
_NO_TAGS: Final = b"\0"
_ONE_BYTE: Final = tuple(bytes((value,)) for value in range(_ONE_BYTE_VARINTS))
_NO_TOPIC_ID: Final = bytes(16)
_MISSING: Final = b"\xff"
_PRESENT: Final = b"\x01"

_write_int16: Final = struct.Struct(">h").pack
_write_uint16: Final = struct.Struct(">H").pack
_write_int32: Final = struct.Struct(">i").pack
_write_int64: Final = struct.Struct(">q").pack
_NOT_THROTTLED: Final = _write_int32(0)


def write_entity(entity: Any, message: object) -> bytes:
    """Write a message, or any object with its fields, as one of kio's classes.

    Fields that the version lacks are left out; `throttle_time` is always 0, since no client is throttled.

    Raises:
        UnwritableResponseError: a value does not fit.
        AnswerTooLargeError: it is made part by part, and has too many bytes.
    """
    try:
        return _entity_writer(entity)(message)
    except AnswerTooLargeError:
        raise
    except Exception as error:
        raise UnwritableResponseError(f"{describe(entity)} cannot be written: {error!r}") from error


def _write_unsigned_varint(value: int) -> bytes:
    if value < _ONE_BYTE_VARINTS:
        return _ONE_BYTE[value]
    low_first = bytearray()
    while value >= _ONE_BYTE_VARINTS:
        low_first.append(value & (_ONE_BYTE_VARINTS - 1) | _ONE_BYTE_VARINTS)
        value >>= 7
    low_first.append(value)
    return bytes(low_first)


def _write_compact_bytes(value: bytes | None) -> bytes:
    return _NO_TAGS if value is None else _write_unsigned_varint(len(value) + 1) + value


def _write_compact_text(value: str | None) -> bytes:
    if value is None:
        return _NO_TAGS
    encoded = value.encode()
    return _write_unsigned_varint(len(encoded) + 1) + encoded


def _write_legacy_bytes(value: bytes | None) -> bytes:
    return _write_int32(-1) if value is None else _write_int32(len(value)) + value


def _write_legacy_text(value: str | None) -> bytes:
    if value is None:
        return _write_int16(-1)
    encoded = value.encode()
    return _write_int16(len(encoded)) + encoded


def _write_uuid(topic_id: str | None) -> bytes:
    return _NO_TOPIC_ID if topic_id is None else UUID(topic_id).bytes


def _write_instant(at_ms: int | None) -> bytes:
    return _write_int64(-1 if at_ms is None else at_ms)


_FIXED: Final[Mapping[str, _Writer]] = MappingProxyType(
    {
        "bool": struct.Struct(">?").pack,
        "int8": struct.Struct(">b").pack,
        "int16": _write_int16,
        "uint16": _write_uint16,
        "int32": _write_int32,
        "int64": _write_int64,
        "error_code": _write_int16,
        "uuid": _write_uuid,
        "datetime_i64": _write_instant,
        "timedelta_i32": _write_int32,
    }
)
_VARIABLE: Final[Mapping[tuple[str, bool], _Writer]] = MappingProxyType(
    {
        ("string", False): _write_legacy_text,
        ("string", True): _write_compact_text,
        ("bytes", False): _write_legacy_bytes,
        ("bytes", True): _write_compact_bytes,
        ("records", False): _write_legacy_bytes,
        ("records", True): _write_compact_bytes,
    }
)


@cache
def _entity_writer(entity: Any) -> _Writer:
    flexible: bool = entity.__flexible__
    tagged = [shape for shape in field_shapes(entity) if shape.is_tagged and shape.name in _TAGGED]
    shapes = [shape for shape in field_shapes(entity) if not shape.is_tagged]
    names = [shape.name for shape in shapes]
    end = (_NO_TAGS,) if flexible and not tagged else ()
    write_tags = _tags_writer(tagged) if tagged else None
    throttle_at = names.index(_THROTTLE_TIME) if _THROTTLE_TIME in names else None
    if throttle_at is not None:
        del shapes[throttle_at]
    get = _getter(tuple(shape.name for shape in shapes))
    writers = tuple(_field_writer(shape, flexible=flexible) for shape in shapes)

    def write(message: Any) -> bytes:
        parts = [write_field(value) for write_field, value in zip(writers, get(message), strict=True)]
        if throttle_at is not None:
            parts.insert(throttle_at, _NOT_THROTTLED)
        parts += end
        if write_tags is not None:
            parts.append(write_tags(message))
        return b"".join(parts)

    return write


def _tags_writer(shapes: Iterable[FieldShape]) -> _Writer:
    writers = [(shape.name, shape.tag or 0, _field_writer(shape, flexible=True)) for shape in shapes]

    def write(message: Any) -> bytes:
        fields = []
        for name, tag, write_field in writers:
            value = getattr(message, name)
            if value not in _UNTOLD:
                written = write_field(value)
                fields.append(_write_unsigned_varint(tag) + _write_unsigned_varint(len(written)) + written)
        return _write_unsigned_varint(len(fields)) + b"".join(fields)

    return write


def _getter(names: tuple[str, ...]) -> Callable[[Any], Iterable[Any]]:
    """Return a function that returns all fields of an object at once."""
    get: Callable[[Any], Any] = attrgetter(*names)
    return get if len(names) > 1 else lambda message: (get(message),)


def _field_writer(shape: FieldShape, *, flexible: bool) -> _Writer:
    write_item: _Writer
    if shape.entity is not None:
        write_item = _entity_writer(shape.entity)
        if not shape.is_array:
            return _nullable_entity_writer(write_item) if shape.is_nullable else write_item
    elif shape.kafka_type in _FIXED:
        write_item = _FIXED[shape.kafka_type]
    else:
        write_item = _VARIABLE[shape.kafka_type, flexible]
        if shape.is_array or not shape.is_nullable:
            write_item = _refusing_null(write_item, shape.name)
    if not shape.is_array:
        return write_item
    write_array = _array_writer(write_item, flexible=flexible)
    return write_array if shape.is_nullable else _refusing_null(write_array, shape.name)


def _nullable_entity_writer(write_entity_there: _Writer) -> _Writer:
    """Return a writer of a nullable structure, with a byte before it that shows whether it is present."""

    def write(value: Any) -> bytes:
        return _MISSING if value is None else _PRESENT + write_entity_there(value)

    return write


def _array_writer(write_item: _Writer, *, flexible: bool) -> _Writer:
    def write_length(length: int) -> bytes:
        return _write_unsigned_varint(length + 1) if flexible else _write_int32(length)

    def write(items: Sequence[Any] | None) -> bytes:
        if items is None:
            return write_length(-1)
        if len(items) <= _ITEMS_AT_ONCE and not is_in_parts():
            return write_length(len(items)) + b"".join([write_item(item) for item in items])
        return _write_many(write_length(len(items)), write_item, items)

    def write_numbers(items: Iterable[int] | None) -> bytes:
        if items is None:
            return write_length(-1)
        numbers = tuple(items)
        return write_length(len(numbers)) + struct.pack(f">{len(numbers)}i", *numbers)

    # A Metadata of all topics has three such arrays for each partition.
    return write_numbers if write_item is _write_int32 else write


def _write_many(length: bytes, write_item: _Writer, items: Sequence[Any]) -> bytes:
    written = bytearray(length)
    at_once = 1 if is_in_parts() else _ITEMS_AT_ONCE
    for start in range(0, len(items), at_once):
        written += b"".join([write_item(item) for item in items[start : start + at_once]])
        part_written(len(written))
    return bytes(written)


def _refusing_null(write: _Writer, name: str) -> _Writer:
    def write_some(value: Any) -> bytes:
        if value is None:
            raise TypeError(f"{name} is null, which it may not be")
        return write(value)

    return write_some
