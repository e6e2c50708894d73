"""What consumers say to each other inside JoinGroup and SyncGroup, in bytes.

Coordinators parse subscriptions of the protocol type `consumer`, and both of them where groups go from one
protocol to the other. Source: ConsumerProtocolSubscription.json, ConsumerProtocolAssignment.json (4.3.1).
"""

import struct
from collections.abc import Mapping, Sequence
from typing import Final

_OWNED_PARTITIONS_SINCE: Final = 1
_GENERATION_SINCE: Final = 2
_RACK_SINCE: Final = 3
_NULL: Final = -1


def subscription(*topics: str, version: int = 0, owned: Mapping[str, Sequence[int]] | None = None) -> bytes:
    """Return what a consumer subscribes to; from v1 on also what it owns, nothing unless that is named."""
    parts = [struct.pack(">hi", version, len(topics)), *map(_text, topics), struct.pack(">i", _NULL)]
    if version >= _OWNED_PARTITIONS_SINCE:
        parts.append(_partitions(owned or {}))
    if version >= _GENERATION_SINCE:
        parts.append(struct.pack(">i", _NULL))
    if version >= _RACK_SINCE:
        parts.append(struct.pack(">h", _NULL))
    return b"".join(parts)


def assignment(topic: str, *partitions: int, version: int = 0, user_data: bytes | None = None) -> bytes:
    """Return an assignment of one topic, as a leader gives it to a member; data are of a custom assignor."""
    return assignment_of({topic: partitions}, version=version, user_data=user_data)


def assignment_of(
    partitions: Mapping[str, Sequence[int]], *, version: int = 0, user_data: bytes | None = None
) -> bytes:
    """Return an assignment of any topics, or of none."""
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
