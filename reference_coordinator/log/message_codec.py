"""Keys and values of records as bytes, by Kafka's own message definitions.

kio serves the older records (`schemas`). It cannot skip a tagged field that it does not know, and it cannot
write a tagged structure that may be null; records of consumer groups have both.

Source: MessageDataGenerator (4.4.0).
"""

import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Final, TypeAlias
from uuid import UUID

from kio.serial.readers import read_unsigned_varint

from kio_extension.definitions import Field, Message, message
from reference_coordinator.core.java import MENDED
from reference_coordinator.core.values import value

Fields: TypeAlias = Mapping[str, Any]
"""Values by their fields' names in snake_case; arrays are tuples, structures mappings, UUIDs texts."""
_Read: TypeAlias = tuple[Any, int]
"""A value, and the position behind it."""

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
"""What comes before a text, or bytes, in a version that is not flexible."""
_TEXT_BYTES_MAX: Final = 0x7FFF
_UUID_BYTES: Final = 16
_MISSING: Final = b"\xff"
_MISSING_TAGGED: Final = b"\x00"
_PRESENT: Final = b"\x01"
_NULL: Final = "null"
_LOW_BITS: Final = 0x7F
_MORE: Final = 0x80


@value
class _Form:
    """In which version a message is written."""

    version: int
    is_flexible: bool


def message_type(name: str) -> int:
    """Return the type of the records that a message is the key of."""
    return _message(name).api_key


def write_message(name: str, version: int, values: Fields) -> bytes:
    """Return a message's bytes, without the version that stands before them.

    Raises:
        ValueError, TypeError, struct.error: a value does not fit its field.
    """
    definition = _message(name)
    buffer = bytearray()
    _write_fields(buffer, definition.fields, values, _form(definition, version))
    return bytes(buffer)


def read_message(name: str, version: int, content: bytes, position: int) -> Fields:
    """Return the message at a position; bytes behind it are not looked at, as in Kafka.

    Raises:
        ValueError, IndexError, struct.error: there is no such message.
    """
    definition = _message(name)
    fields: Fields
    fields, _ = _read_fields(content, position, definition.fields, _form(definition, version))
    return fields


@cache
def _message(name: str) -> Message:
    found = message(name)
    assert found is not None, f"no definition of {name}"
    return found


@cache
def _form(definition: Message, version: int) -> _Form:
    return _Form(version=version, is_flexible=version in definition.flexible_versions)


@cache
def _snake_case(name: str) -> str:
    return _WORD.sub("_", name).lower()


def _of_version(fields: Iterable[Field], form: _Form) -> Iterator[tuple[Field, bool]]:
    """The fields that a version has, each with whether it is tagged."""
    return ((each, form.version in each.tagged_versions) for each in fields if form.version in each.versions)


def _write_fields(buffer: bytearray, fields: tuple[Field, ...], values: Fields, form: _Form) -> None:
    tagged: list[Field] = []
    for field, is_tagged in _of_version(fields, form):
        if not is_tagged:
            _write_field(buffer, field, values[_snake_case(field.name)], form)
        elif not _is_default(field, values[_snake_case(field.name)]):
            tagged.append(field)
    if form.is_flexible:
        _write_unsigned_varint(buffer, len(tagged))
    for field in sorted(tagged, key=_tag):
        content = bytearray()
        written = values[_snake_case(field.name)]
        if field.fields and written is None:
            content += _MISSING_TAGGED
        else:
            _write_field(content, field, written, form)
        _write_unsigned_varint(buffer, _tag(field))
        _write_unsigned_varint(buffer, len(content))
        buffer += content


def _tag(field: Field) -> int:
    assert field.tag is not None, field.name
    return field.tag


def _is_default(field: Field, written: object) -> bool:
    if field.fields:
        return not written if field.is_array else written == _empty(field)
    if field.default == _NULL:
        return written is None
    return not written if field.default is None else str(written) == field.default


def _write_field(buffer: bytearray, field: Field, written: Any, form: _Form) -> None:  # noqa: ANN401 - a definition tells the type
    if written is None and form.version not in field.nullable_versions:
        raise TypeError(f"{field.name} is null, which it may not be")
    if field.is_array:
        _write_length(buffer, None if written is None else len(written), _NUMBERS["int32"], form)
        for each in written or ():
            _write_item(buffer, field, each, form)
    elif field.fields and form.version in field.nullable_versions:
        buffer += _MISSING if written is None else _PRESENT
        if written is not None:
            _write_item(buffer, field, written, form)
    else:
        _write_item(buffer, field, written, form)


def _write_item(buffer: bytearray, field: Field, written: Any, form: _Form) -> None:  # noqa: ANN401 - as above
    if field.fields:
        _write_fields(buffer, field.fields, written, form)
    elif field.type in _NUMBERS:
        buffer += _NUMBERS[field.type].pack(written)
    elif field.type == "uuid":
        buffer += UUID(written).bytes
    else:
        content = written.encode() if isinstance(written, str) else written
        if field.type == "string" and content is not None and len(content) > _TEXT_BYTES_MAX:
            raise ValueError(f"{field.name} has {len(content)} bytes, more than {_TEXT_BYTES_MAX}")
        _write_length(buffer, None if content is None else len(content), _LENGTHS[field.type], form)
        buffer += content or b""


def _write_length(buffer: bytearray, length: int | None, legacy: struct.Struct, form: _Form) -> None:
    if form.is_flexible:
        _write_unsigned_varint(buffer, 0 if length is None else length + 1)
    else:
        buffer += legacy.pack(-1 if length is None else length)


def _write_unsigned_varint(buffer: bytearray, number: int) -> None:
    while number > _LOW_BITS:
        buffer.append(number & _LOW_BITS | _MORE)
        number >>= 7
    buffer.append(number)


def _read_fields(content: bytes, position: int, fields: tuple[Field, ...], form: _Form) -> _Read:
    found: dict[str, Any] = {}
    tagged: dict[int, Field] = {}
    for field, is_tagged in _of_version(fields, form):
        name = _snake_case(field.name)
        if is_tagged:
            tagged[_tag(field)] = field
            found[name] = _default(field)
        else:
            found[name], position = _read_field(content, position, field, form)
    if not form.is_flexible:
        return found, position
    count, position = _read_unsigned_varint(content, position)
    for _ in range(count):
        tag, position = _read_unsigned_varint(content, position)
        size, position = _read_unsigned_varint(content, position)
        known = tagged.get(tag)
        if known is None:
            position = _end(content, position, size)
        elif known.fields and content[position : position + 1] == _MISSING_TAGGED:
            found[_snake_case(known.name)], position = None, position + 1
        else:
            found[_snake_case(known.name)], position = _read_field(content, position, known, form)
    return found, position


def _empty(field: Field) -> Fields:
    """Return a structure as Kafka's classes begin with it, also where its default is a plain null."""
    return {_snake_case(each.name): () if each.is_array else 0 for each in field.fields}


def _default(field: Field) -> int | Fields | tuple[()] | None:
    """Return what a tagged field is that is not there: in records a number, an array, a structure or null."""
    if field.fields and field.is_array:
        return ()
    if field.fields:
        return _empty(field)
    return None if field.default is None or field.default == _NULL else int(field.default)


def _read_field(content: bytes, position: int, field: Field, form: _Form) -> _Read:
    found: Any
    if field.is_array:
        found, position = _read_array(content, position, field, form)
    elif field.fields and form.version in field.nullable_versions:
        marker, position = _read_number(content, position, _NUMBERS["int8"])
        found = None
        if marker >= 0:
            found, position = _read_item(content, position, field, form)
    else:
        found, position = _read_item(content, position, field, form)
    if found is None and form.version not in field.nullable_versions:
        raise ValueError(f"{field.name} is null, which it may not be")
    return found, position


def _read_array(content: bytes, position: int, field: Field, form: _Form) -> _Read:
    length, position = _read_length(content, position, _NUMBERS["int32"], form)
    if length is None:
        return None, position
    _end(content, position, length)  # An item has a byte at least.
    items: list[Any] = []
    for _ in range(length):
        item, position = _read_item(content, position, field, form)
        if item is None:
            raise ValueError(f"an item of {field.name} is null, which it may not be")
        items.append(item)
    return tuple(items), position


def _read_item(content: bytes, position: int, field: Field, form: _Form) -> _Read:
    if field.fields:
        return _read_fields(content, position, field.fields, form)
    if field.type in _NUMBERS:
        return _read_number(content, position, _NUMBERS[field.type])
    if field.type == "uuid":
        end = _end(content, position, _UUID_BYTES)
        return str(UUID(bytes=content[position:end])), end
    length, position = _read_length(content, position, _LENGTHS[field.type], form)
    if length is None:
        return None, position
    end = _end(content, position, length)
    if field.type == "bytes":
        return content[position:end], end
    if length > _TEXT_BYTES_MAX:
        raise ValueError(f"{field.name} has {length} bytes, more than {_TEXT_BYTES_MAX}")
    return content[position:end].decode(errors=MENDED), end


def _read_length(content: bytes, position: int, legacy: struct.Struct, form: _Form) -> tuple[int | None, int]:
    if form.is_flexible:
        length, position = _read_unsigned_varint(content, position)
        length -= 1
    else:
        length, position = _read_number(content, position, legacy)
    return (None if length < 0 else length), position


def _read_number(content: bytes, position: int, number: struct.Struct) -> tuple[int, int]:
    return number.unpack_from(content, position)[0], position + number.size


def _read_unsigned_varint(content: bytes, position: int) -> tuple[int, int]:
    number, size = read_unsigned_varint(content, position)
    return int(number), position + size


def _end(content: bytes, position: int, length: int) -> int:
    end = position + length
    if end > len(content):
        raise ValueError(f"{length} bytes were announced, {len(content) - position} are there")
    return end
