"""JoinGroup requests after which, in some releases, a group neither progresses nor can be deleted."""

import struct
from collections.abc import Mapping, Sequence
from typing import Final

from harness.wire.codec import Fields, FieldValue

_SHORT: Final = struct.Struct(">h")
_INT: Final = struct.Struct(">i")


class _Impossible(Exception):  # noqa: N818 - what is looked for
    """An invalid length, or one that is larger than the rest."""


def wedges(fields: Fields) -> bool:
    """Return whether a JoinGroup may make its group stuck.

    It may if its votes are not the protocols that it supports, or if its subscription cannot be parsed for a
    reason other than missing bytes: a subscription that ends early counts as one to nothing.
    Source: ClassicGroup#selectProtocol, GroupMetadata#computeSubscribedTopics,
    ConsumerProtocol#deserializeSubscription (3.9.2).
    """
    protocols = [each for each in _items(fields.get("protocols")) if isinstance(each, Mapping)]
    names = [str(each.get("name")) for each in protocols]
    if len(names) != len(set(names)):
        return True
    read = (each.get("metadata") for each in protocols if fields.get("protocol_type") == "consumer")
    return any(isinstance(each, bytes) and not _can_be_read(each) for each in read)


def _can_be_read(subscription: bytes) -> bool:
    try:
        _read(subscription)
    except struct.error:
        return True
    except _Impossible:
        return False
    return True


def _read(data: bytes) -> None:
    """Parse a subscription's topics, user data and owned partitions; later bytes do no harm.

    Source: ConsumerProtocolSubscription.json.
    """
    (version,) = _SHORT.unpack_from(data)
    at = _SHORT.size
    (count,) = _INT.unpack_from(data, at)
    at += _INT.size
    _require(is_possible=0 <= count <= len(data) - at)
    for _ in range(count):
        at = _behind_text(data, at)
    (size,) = _INT.unpack_from(data, at)
    at += _INT.size + max(size, 0)
    _require(is_possible=at <= len(data))
    if version < 1:
        return
    (count,) = _INT.unpack_from(data, at)
    at += _INT.size
    _require(is_possible=0 <= count <= len(data) - at)
    for _ in range(count):
        at = _behind_text(data, at)
        (partitions,) = _INT.unpack_from(data, at)
        at += _INT.size * (1 + partitions)
        _require(is_possible=partitions >= 0 and at <= len(data))


def _behind_text(data: bytes, at: int) -> int:
    (size,) = _SHORT.unpack_from(data, at)
    at += _SHORT.size + size
    _require(is_possible=size >= 0 and at <= len(data))
    return at


def _require(*, is_possible: bool) -> None:
    if not is_possible:
        raise _Impossible


def _items(value: FieldValue) -> Sequence[FieldValue]:
    return value if isinstance(value, Sequence) and not isinstance(value, str | bytes) else ()
