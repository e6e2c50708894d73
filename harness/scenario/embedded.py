"""The subscriptions and assignments that consumers exchange inside JoinGroup and SyncGroup, in bytes.

Coordinators parse subscriptions of the protocol type `consumer`, and also assignments when a group is
converted from one protocol to the other.

Source: ConsumerProtocolSubscription.json, ConsumerProtocolAssignment.json (4.3.1).
"""

import struct
from collections.abc import Mapping, Sequence
from typing import Final

_OWNED_PARTITIONS_SINCE: Final = 1
_GENERATION_SINCE: Final = 2
_RACK_SINCE: Final = 3
_NULL: Final = -1


def subscription(
    *topics: str, version: int = 0, owned: Mapping[str, Sequence[int]] | None = None, rack: str | None = None
) -> bytes:
    """Return a consumer's subscription; v1 and later name its partitions, v3 and later its rack."""
    parts = [struct.pack(">hi", version, len(topics)), *map(_text, topics), struct.pack(">i", _NULL)]
    if version >= _OWNED_PARTITIONS_SINCE:
        parts.append(_partitions(owned or {}))
    if version >= _GENERATION_SINCE:
        parts.append(struct.pack(">i", _NULL))
    if version >= _RACK_SINCE:
        parts.append(struct.pack(">h", _NULL) if rack is None else _text(rack))
    return b"".join(parts)


def assignment(topic: str, *partitions: int, version: int = 0, user_data: bytes | None = None) -> bytes:
    """Return an assignment of one topic to a member; `user_data` is that of a custom assignor."""
    return assignment_of({topic: partitions}, version=version, user_data=user_data)


def assignment_of(
    partitions: Mapping[str, Sequence[int]], *, version: int = 0, user_data: bytes | None = None
) -> bytes:
    """Return an assignment of any number of topics."""
    size, data = (_NULL, b"") if user_data is None else (len(user_data), user_data)
    return struct.pack(">h", version) + _partitions(partitions) + struct.pack(">i", size) + data


def _partitions(partitions: Mapping[str, Sequence[int]]) -> bytes:
    named = (
        _text(topic) + struct.pack(f">i{len(indexes)}i", len(indexes), *indexes)
        for topic, indexes in partitions.items()
    )
    return struct.pack(">i", len(partitions)) + b"".join(named)


def _text(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack(">h", len(encoded)) + encoded
