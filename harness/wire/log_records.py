"""The encoding of records of `__consumer_offsets` as keys and values, in every version that ever existed.

It is for records that no coordinator of today writes; the reference has its own encoding.
"""

import struct
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from harness.wire.codec import Fields, FieldValue
from harness.wire.errors import WireError

_FIRST_FLEXIBLE: Final = 4
_OFFSET_TYPES: Final = (0, 1)
_GROUP_TYPE: Final = 2
_NO_TAGS: Final = b"\0"
_NUMBERS: Final[Mapping[str, str]] = {"int32": ">i", "int64": ">q"}


class _Field(NamedTuple):
    name: str
    kind: str
    first: int = 0
    last: int = 99
    """The versions that have the field."""


_OFFSET_KEY: Final = (_Field("group", "string"), _Field("topic", "string"), _Field("partition", "int32"))
_GROUP_KEY: Final = (_Field("group", "string"),)
_OFFSET_VALUE: Final = (
    _Field("offset", "int64"),
    _Field("leader_epoch", "int32", 3),
    _Field("metadata", "string"),
    _Field("commit_timestamp", "int64"),
    _Field("expire_timestamp", "int64", 1, 1),
)
"""Source: OffsetCommitValue.json (4.3.1)."""
_MEMBER: Final = (
    _Field("member_id", "string"),
    _Field("group_instance_id", "string", 3),
    _Field("client_id", "string"),
    _Field("client_host", "string"),
    _Field("rebalance_timeout", "int32", 1),
    _Field("session_timeout", "int32"),
    _Field("subscription", "bytes"),
    _Field("assignment", "bytes"),
)
_GROUP_VALUE: Final = (
    _Field("protocol_type", "string"),
    _Field("generation", "int32"),
    _Field("protocol", "string"),
    _Field("leader", "string"),
    _Field("current_state_timestamp", "int64", 2),
    _Field("members", "members"),
)
"""Source: GroupMetadataValue.json (4.3.1)."""


class EncodedRecord(NamedTuple):
    """A record's bytes; a tombstone has no value."""

    key: bytes
    value: bytes | None


def encode_record(record: Fields) -> EncodedRecord:
    """Encode a record.

    Args:
        record: `key` with its `type` and its fields, or with its `content` as bytes, and `value` with its
            `version` and its fields, or as bytes, or None. A value may name fields that its version lacks.

    Raises:
        WireError: a field is missing, or its value does not fit.
    """
    key, value = record["key"], record["value"]
    try:
        assert isinstance(key, Mapping)
        key_type = key["type"]
        assert isinstance(key_type, int)
        return EncodedRecord(_key(key_type, key), _value(key_type, value))
    except (KeyError, AssertionError, struct.error, OverflowError) as error:
        raise WireError(f"no record of __consumer_offsets: {error!r}") from error


def _key(key_type: int, key: Fields) -> bytes:
    content = key.get("content")
    if isinstance(content, bytes):
        return struct.pack(">h", key_type) + content
    fields = _OFFSET_KEY if key_type in _OFFSET_TYPES else _GROUP_KEY
    return struct.pack(">h", key_type) + _structure(fields, key, 0)


def _value(key_type: int, value: FieldValue) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    assert isinstance(value, Mapping)
    version = value["version"]
    assert isinstance(version, int)
    fields = _GROUP_VALUE if key_type == _GROUP_TYPE else _OFFSET_VALUE
    return struct.pack(">h", version) + _structure(fields, value, version)


def _structure(fields: Sequence[_Field], values: Fields, version: int) -> bytes:
    content = b"".join(
        _written(field.kind, values[field.name], version)
        for field in fields
        if field.first <= version <= field.last
    )
    return content + (_NO_TAGS if version >= _FIRST_FLEXIBLE else b"")


def _written(kind: str, value: FieldValue, version: int) -> bytes:
    if kind in _NUMBERS:
        return struct.pack(_NUMBERS[kind], value)
    if kind == "members":
        assert isinstance(value, Sequence)
        members = [_structure(_MEMBER, member, version) for member in value if isinstance(member, Mapping)]
        return _length(len(members), ">i", version) + b"".join(members)
    if value is None:
        return _length(-1, ">h", version)
    if isinstance(value, bytes):
        return _length(len(value), ">i", version) + value
    assert isinstance(value, str)
    text = value.encode()
    return _length(len(text), ">h", version) + text


def _length(length: int, plain: str, version: int) -> bytes:
    """Encode a length, -1 for null."""
    return unsigned_varint(length + 1) if version >= _FIRST_FLEXIBLE else struct.pack(plain, length)


def unsigned_varint(number: int) -> bytes:
    """Encode a number that is not negative. Source: ByteUtils#writeUnsignedVarint (3.9.2)."""
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    written.append(number)
    return bytes(written)
