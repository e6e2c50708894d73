"""The partitions that a consumer's assignment contains."""

import struct
from typing import Final, TypeAlias

TopicPartition: TypeAlias = tuple[str, int]

_VERSION: Final = struct.Struct(">h")
_COUNT: Final = struct.Struct(">i")
_LENGTH: Final = struct.Struct(">h")


def owned(assignment: bytes) -> frozenset[TopicPartition] | None:
    """Return the partitions of a serialized assignment, or None where the bytes are not an assignment.

    Source: ConsumerProtocol#deserializeAssignment (4.3.1). Versions differ only after the partitions.
    """
    try:
        return frozenset(_partitions(assignment))
    except (struct.error, UnicodeDecodeError):
        return None


def _partitions(assignment: bytes) -> list[TopicPartition]:
    found: list[TopicPartition] = []
    (topic_count,) = _COUNT.unpack_from(assignment, _VERSION.size)
    position = _VERSION.size + _COUNT.size
    for _ in range(topic_count):
        (length,) = _LENGTH.unpack_from(assignment, position)
        position += _LENGTH.size
        topic = assignment[position : position + length].decode()
        position += length
        (partition_count,) = _COUNT.unpack_from(assignment, position)
        position += _COUNT.size
        partitions = struct.unpack_from(f">{max(0, partition_count)}i", assignment, position)
        position += _COUNT.size * len(partitions)
        found += ((topic, partition) for partition in partitions)
    return found
