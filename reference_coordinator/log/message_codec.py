"""Encoding of the keys and values of records, driven by Kafka's own message definitions.

kio has no classes for records. It cannot skip an unknown tagged field, nor write a nullable tagged structure;
records of consumer groups have both.

Source: MessageDataGenerator (4.4.0).
"""

import re
import struct
from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Final, TypeAlias
from uuid import UUID

from kio.serial.readers import read_unsigned_varint

from kio_extension.definitions import Field, Message, message
from reference_coordinator.core.java import MENDED
from reference_coordinator.core.values import value

Fields: TypeAlias = Mapping[str, Any]
"""Values by field name in snake_case; arrays are tuples, structures are mappings, UUIDs are strings."""
_Read: TypeAlias = tuple[Any, int]
"""A value, and the position after it."""

_WORD: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NUMBERS: Final = MappingProxyType(
    {
        "bool": struct.Struct(">?"),
        "int8": struct.Struct(">b"),
        "int16": struct.Struct(">h"),
        "uint16": struct.Struct(">H"),
        "int32": struct.Struct(">i"),
        "int64": struct.Struct(">q"),
    }
)
_LENGTHS: Final = MappingProxyType({"string": _NUMBERS["int16"], "bytes": _NUMBERS["int32"]})
"""The length fields that precede strings and bytes in versions that are not flexible."""
_TEXT_BYTES_MAX: Final = 0x7FFF
_UUID_BYTES: Final = 16
_MISSING: Final = b"\xff"
_MISSING_TAGGED: Final = b"\x00"
_PRESENT: Final = b"\x01"
_NULL: Final = "null"
_LOW_BITS: Final = 0x7F
_MORE: Final = 0x80


@value
class _Column:
    """A field in one version of a message."""

    name: str
    type: str
    is_array: bool
    is_nullable: bool
    is_flexible: bool
    """Whether the version is flexible."""
    tag: int | None
    """None if the field is not tagged."""
    default: str | None
    columns: "tuple[_Column, ...]"
    """The fields of a structure; empty for a primitive."""


_Columns: TypeAlias = tuple[_Column, ...]


def message_type(name: str) -> int:
    """Return the type of the records whose key is a message."""
    return _message(name).api_key


def write_message(name: str, version: int, values: Fields) -> bytes:
    """Encode a message, without the version that precedes it.

    Raises:
        ValueError, TypeError, struct.error: a value does not fit its field.
    """
    buffer = bytearray()
    columns, is_flexible = _form(name, version)
    _write_fields(buffer, columns, values, is_flexible=is_flexible)
    return bytes(buffer)


def read_message(name: str, version: int, content: bytes, position: int) -> Fields:
    """Decode the message at a position; bytes after it are ignored, as in Kafka.

    Raises:
        ValueError, IndexError, struct.error: there is no such message.
    """
    columns, is_flexible = _form(name, version)
    fields: Fields
    fields, _ = _read_fields(content, position, columns, is_flexible=is_flexible)
    return fields


@cache
def _message(name: str) -> Message:
    found = message(name)
    assert found is not None, f"no definition of {name}"
    return found


@cache
def _form(name: str, version: int) -> tuple[_Columns, bool]:
    """Return the fields of a version of a message, and whether it is flexible."""
    definition = _message(name)
    is_flexible = version in definition.flexible_versions
    return _columns(definition.fields, version, is_flexible=is_flexible), is_flexible


def _columns(fields: Iterable[Field], version: int, *, is_flexible: bool) -> _Columns:
    return tuple(
        _Column(
            name=_WORD.sub("_", each.name).lower(),
            type=each.type,
            is_array=each.is_array,
            is_nullable=version in each.nullable_versions,
            is_flexible=is_flexible,
            tag=each.tag if version in each.tagged_versions else None,
            default=each.default,
            columns=_columns(each.fields, version, is_flexible=is_flexible),
        )
        for each in fields
        if version in each.versions
    )


def _write_fields(buffer: bytearray, columns: _Columns, values: Fields, *, is_flexible: bool) -> None:
    tagged: dict[int, _Column] = {}
    for column in columns:
        if column.tag is None:
            _write_field(buffer, column, values[column.name])
        elif not _is_default(column, values[column.name]):
            tagged[column.tag] = column
    if is_flexible:
        _write_unsigned_varint(buffer, len(tagged))
    for tag, column in sorted(tagged.items()):
        content = bytearray()
        written = values[column.name]
        if column.columns and written is None:
            content += _MISSING_TAGGED
        else:
            _write_field(content, column, written)
        _write_unsigned_varint(buffer, tag)
        _write_unsigned_varint(buffer, len(content))
        buffer += content


def _is_default(column: _Column, written: object) -> bool:
    if column.columns:
        return not written if column.is_array else written == _empty(column)
    if column.default == _NULL:
        return written is None
    return not written if column.default is None else str(written) == column.default


def _write_field(buffer: bytearray, column: _Column, written: Any) -> None:  # noqa: ANN401 - the definition determines the type
    if written is None and not column.is_nullable:
        raise TypeError(f"{column.name} is null, which it may not be")
    if column.is_array:
        _write_length(buffer, None if written is None else len(written), _NUMBERS["int32"], column)
        for each in written or ():
            _write_item(buffer, column, each)
    elif column.columns and column.is_nullable:
        buffer += _MISSING if written is None else _PRESENT
        if written is not None:
            _write_item(buffer, column, written)
    else:
        _write_item(buffer, column, written)


def _write_item(buffer: bytearray, column: _Column, written: Any) -> None:  # noqa: ANN401 - as above
    if column.columns:
        _write_fields(buffer, column.columns, written, is_flexible=column.is_flexible)
    elif column.type in _NUMBERS:
        buffer += _NUMBERS[column.type].pack(written)
    elif column.type == "uuid":
        buffer += UUID(written).bytes
    else:
        content = written.encode() if isinstance(written, str) else written
        if column.type == "string" and content is not None and len(content) > _TEXT_BYTES_MAX:
            raise ValueError(f"{column.name} has {len(content)} bytes, more than {_TEXT_BYTES_MAX}")
        _write_length(buffer, None if content is None else len(content), _LENGTHS[column.type], column)
        buffer += content or b""


def _write_length(buffer: bytearray, length: int | None, legacy: struct.Struct, column: _Column) -> None:
    if column.is_flexible:
        _write_unsigned_varint(buffer, 0 if length is None else length + 1)
    else:
        buffer += legacy.pack(-1 if length is None else length)


def _write_unsigned_varint(buffer: bytearray, number: int) -> None:
    while number > _LOW_BITS:
        buffer.append(number & _LOW_BITS | _MORE)
        number >>= 7
    buffer.append(number)


def _read_fields(content: bytes, position: int, columns: _Columns, *, is_flexible: bool) -> _Read:
    found: dict[str, Any] = {}
    tagged: dict[int, _Column] = {}
    for column in columns:
        if column.tag is None:
            found[column.name], position = _read_field(content, position, column)
        else:
            tagged[column.tag] = column
            found[column.name] = _default(column)
    if not is_flexible:
        return found, position
    count, position = _read_unsigned_varint(content, position)
    for _ in range(count):
        tag, position = _read_unsigned_varint(content, position)
        size, position = _read_unsigned_varint(content, position)
        known = tagged.get(tag)
        if known is None:
            position = _end(content, position, size)
        elif known.columns and content[position : position + 1] == _MISSING_TAGGED:
            found[known.name], position = None, position + 1
        else:
            found[known.name], position = _read_field(content, position, known)
    return found, position


def _empty(column: _Column) -> Fields:
    """Return a structure with the initial values of Kafka's classes, even if its default is null."""
    return {each.name: () if each.is_array else 0 for each in column.columns}


def _default(column: _Column) -> int | Fields | tuple[()] | None:
    """Return the value of an absent tagged field: in records, a number, an array, a structure or null."""
    if column.columns and column.is_array:
        return ()
    if column.columns:
        return _empty(column)
    return None if column.default is None or column.default == _NULL else int(column.default)


def _read_field(content: bytes, position: int, column: _Column) -> _Read:
    found: Any
    number = _NUMBERS.get(column.type)
    if number is not None and not column.is_array:
        return number.unpack_from(content, position)[0], position + number.size
    if column.is_array:
        found, position = _read_array(content, position, column)
    elif column.columns and column.is_nullable:
        marker, position = _read_number(content, position, _NUMBERS["int8"])
        found = None
        if marker >= 0:
            found, position = _read_item(content, position, column)
    else:
        found, position = _read_item(content, position, column)
    if found is None and not column.is_nullable:
        raise ValueError(f"{column.name} is null, which it may not be")
    return found, position


def _read_array(content: bytes, position: int, column: _Column) -> _Read:
    length, position = _read_length(content, position, _NUMBERS["int32"], column)
    if length is None:
        return None, position
    _end(content, position, length)  # An item has at least one byte.
    items: list[Any] = []
    for _ in range(length):
        item, position = _read_item(content, position, column)
        if item is None:
            raise ValueError(f"an item of {column.name} is null, which it may not be")
        items.append(item)
    return tuple(items), position


def _read_item(content: bytes, position: int, column: _Column) -> _Read:
    number = _NUMBERS.get(column.type)
    if number is not None:
        return _read_number(content, position, number)
    if column.columns:
        return _read_fields(content, position, column.columns, is_flexible=column.is_flexible)
    if column.type == "uuid":
        end = _end(content, position, _UUID_BYTES)
        return str(UUID(bytes=content[position:end])), end
    length, position = _read_length(content, position, _LENGTHS[column.type], column)
    if length is None:
        return None, position
    end = _end(content, position, length)
    if column.type == "bytes":
        return content[position:end], end
    if length > _TEXT_BYTES_MAX:
        raise ValueError(f"{column.name} has {length} bytes, more than {_TEXT_BYTES_MAX}")
    return content[position:end].decode(errors=MENDED), end


def _read_length(
    content: bytes, position: int, legacy: struct.Struct, column: _Column
) -> tuple[int | None, int]:
    if column.is_flexible:
        length, position = _read_unsigned_varint(content, position)
        length -= 1
    else:
        length, position = _read_number(content, position, legacy)
    return (None if length < 0 else length), position


def _read_number(content: bytes, position: int, number: struct.Struct) -> tuple[int, int]:
    return number.unpack_from(content, position)[0], position + number.size


def _read_unsigned_varint(content: bytes, position: int) -> tuple[int, int]:
    number = content[position]
    if number <= _LOW_BITS:
        return number, position + 1
    number, size = read_unsigned_varint(content, position)
    return int(number), position + size


def _end(content: bytes, position: int, length: int) -> int:
    end = position + length
    if end > len(content):
        raise ValueError(f"{length} bytes were announced, {len(content) - position} are there")
    return end
