"""Reading of whole messages, whose arrays are checked against the bytes that are left.

kio reserves memory for as many elements as an array announces, before it reads the first one. A count of four
billion ends the process, and nothing in Python can catch that. So every count is checked here first.
"""

import contextlib
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from kio.serial import entity_reader

from harness.wire.errors import CutShort, WireError
from harness.wire.schema import Shape, unwrapped

_Skip: TypeAlias = Callable[[bytes, int], int]
"""Returns the position after what begins at a position. IndexError: the bytes end before."""

_SIZES: Final[Mapping[str, int]] = MappingProxyType(
    {
        "bool": 1,
        "int8": 1,
        "int16": 2,
        "uint16": 2,
        "int32": 4,
        "int64": 8,
        "datetime_i64": 8,
        "float64": 8,
        "uuid": 16,
    }
)
_SIZE_BYTES: Final = 4
_SIZED: Final[Mapping[str, int]] = MappingProxyType(
    {"string": 2, "bytes": _SIZE_BYTES, "records": _SIZE_BYTES}
)
"""The bytes of the size in front of a value, in versions that are not flexible."""
_VARINT_BITS: Final = 7
_VARINT_BITS_MAX: Final = 5 * _VARINT_BITS
_VARINT_MORE: Final = 1 << _VARINT_BITS


def read_message(shape: Shape, payload: bytes) -> tuple[Any, Any, int]:
    """Read a frame, and return its header, its message, and the position behind the message.

    Raises:
        CutShort: an array announces more elements than bytes are left.
        Exception: kio's errors, which have no common base, for bytes that are not the message.
    """
    assert shape.header is not None
    header, begin = entity_reader(shape.header)(payload, 0)
    twin: Any = shape.twin
    if _has_array(twin):
        # kio says better what is missing.
        with contextlib.suppress(IndexError):
            _structure(twin)(payload, begin)
    body, size = entity_reader(twin)(payload, begin)
    return header, body, begin + size


@cache
def _has_array(twin: Any) -> bool:
    for field in dataclasses.fields(twin):
        _, item, is_array = unwrapped(field.type)
        if is_array or ("kafka_type" not in field.metadata and _has_array(item)):
            return True
    return False


@cache
def _structure(twin: Any) -> _Skip:
    """Return the function that skips a structure, and checks the counts of the arrays in it."""
    fields = dataclasses.fields(twin)
    flexible: bool = twin.__flexible__
    skips = [_field(each, flexible=flexible) for each in fields if "tag" not in each.metadata]
    tagged = {
        each.metadata["tag"]: _field(each, flexible=flexible) for each in fields if "tag" in each.metadata
    }
    steps = _merged(skips)
    if flexible:
        steps = (*steps, _tags(tagged))

    def skip(frame: bytes, position: int) -> int:
        for step in steps:
            position = position + step if isinstance(step, int) else step(frame, position)
        return position

    return skip


def _merged(skips: Sequence[int | _Skip]) -> tuple[int | _Skip, ...]:
    """Join fields of fixed size that follow each other."""
    merged: list[int | _Skip] = []
    for each in skips:
        last = merged[-1] if merged else None
        if isinstance(each, int) and isinstance(last, int):
            merged[-1] = last + each
        else:
            merged.append(each)
    return tuple(merged)


def _field(field: dataclasses.Field[Any], *, flexible: bool) -> int | _Skip:
    """Return the size of a field, or the function that skips it."""
    nullable, item, is_array = unwrapped(field.type)
    skip: int | _Skip
    if "kafka_type" not in field.metadata:
        skip = _structure(item)
        if nullable and not is_array:
            skip = _nullable(skip)
    else:
        kafka_type = field.metadata["kafka_type"]
        skip = _SIZES.get(kafka_type) or _sized(flexible=flexible, size_bytes=_SIZED[kafka_type])
    return _array(skip, flexible=flexible) if is_array else skip


def _nullable(skip: _Skip) -> _Skip:
    """Return the function that skips a structure with a byte before it, which is negative for null."""
    return lambda frame, position: position + 1 if frame[position] & 0x80 else skip(frame, position + 1)


def _sized(*, flexible: bool, size_bytes: int) -> _Skip:
    """Return the function that skips a text or bytes with their size in front."""

    def skip(frame: bytes, position: int) -> int:
        size, position = _count(frame, position, flexible=flexible, size_bytes=size_bytes)
        return position + max(size, 0)

    return skip


def _array(item: int | _Skip, *, flexible: bool) -> _Skip:
    def skip(frame: bytes, position: int) -> int:
        count, position = _count(frame, position, flexible=flexible, size_bytes=_SIZE_BYTES)
        left = max(len(frame) - position, 0)
        if count > left:
            raise CutShort(f"{count} elements are announced in {left} bytes")
        if isinstance(item, int):
            return position + max(count, 0) * item
        for _ in range(count):
            position = item(frame, position)
        return position

    return skip


def _tags(tagged: Mapping[int, int | _Skip]) -> _Skip:
    """Return the function that skips a section of tagged fields as kio does: a known one by its content."""

    def skip(frame: bytes, position: int) -> int:
        count, position = _varint(frame, position)
        for _ in range(count):
            tag, position = _varint(frame, position)
            size, position = _varint(frame, position)
            known = tagged.get(tag, size)
            position = position + known if isinstance(known, int) else known(frame, position)
        return position

    return skip


def _count(frame: bytes, position: int, *, flexible: bool, size_bytes: int) -> tuple[int, int]:
    """Read a count, which is negative for null."""
    if flexible:
        count, position = _varint(frame, position)
        return count - 1, position
    end = position + size_bytes
    if end > len(frame):
        raise IndexError
    return int.from_bytes(frame[position:end], signed=True), end


def _varint(frame: bytes, position: int) -> tuple[int, int]:
    """Source: ByteUtils#readUnsignedVarint (4.4.0)."""
    value = 0
    for shift in range(0, _VARINT_BITS_MAX, _VARINT_BITS):
        byte = frame[position]
        position += 1
        value |= (byte & (_VARINT_MORE - 1)) << shift
        if byte < _VARINT_MORE:
            return value, position
    raise WireError("a variable-length number has more than five bytes")
