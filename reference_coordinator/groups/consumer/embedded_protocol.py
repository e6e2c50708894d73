"""The protocol between consumers that is embedded in JoinGroup and SyncGroup.

The coordinator reads and writes it only if a consumer group has classic members.
"""

import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice, permutations
from typing import Final

from reference_coordinator.core.errors import IllegalStateError
from reference_coordinator.core.ids import TopicId
from reference_coordinator.core.java import MENDED
from reference_coordinator.core.metadata_image import MetadataImage
from reference_coordinator.core.values import value
from reference_coordinator.groups.classic.answers import MOST_ORDERS
from reference_coordinator.groups.classic.subscription import ProtocolReader, SubscriptionSchemaError
from reference_coordinator.groups.consumer.current_assignment import OwnedPartitions
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.profile.profiles import Profile

_HIGHEST_SUPPORTED_VERSION: Final = 3
_OWNED_PARTITIONS_SINCE: Final = 1
_GENERATION_SINCE: Final = 2
_RACK_SINCE: Final = 3
_NULL: Final = -1

_NamedPartitions = tuple[tuple[str, tuple[int, ...]], ...]


@value
class ConsumerProtocolSubscription:
    """A consumer's topics and owned partitions. Source: ConsumerProtocolSubscription.json (4.3.1)."""

    topics: tuple[str, ...]
    owned_partitions: _NamedPartitions = ()
    rack_id: str | None = None


@value
class ConsumerProtocolAssignment:
    """A consumer's assigned partitions. Source: ConsumerProtocolAssignment.json (4.3.1)."""

    assigned_partitions: _NamedPartitions
    user_data: bytes | None = None


def deserialize_consumer_protocol_subscription(data: bytes, profile: Profile) -> ConsumerProtocolSubscription:
    """Parse a subscription of any version.

    Raises:
        SubscriptionSchemaError: there are too few bytes, or the version is negative.
        IllegalStateError: a length is negative or exceeds the data, in releases that do not catch that.

    Source: ConsumerProtocol#deserializeConsumerProtocolSubscription (4.3.1).
    """
    with _runtime_exceptions(profile):
        return _subscription(ProtocolReader(data))


def _subscription(reader: ProtocolReader) -> ConsumerProtocolSubscription:
    version = deserialize_version(reader)
    topics = tuple(_text(reader) for _ in range(_count(reader)))
    _nullable_bytes(reader)
    owned = _partitions(reader) if version >= _OWNED_PARTITIONS_SINCE else ()
    if version >= _GENERATION_SINCE:
        reader.int32()
    rack_id = _nullable_text(reader) if version >= _RACK_SINCE else None
    return ConsumerProtocolSubscription(topics=topics, owned_partitions=owned, rack_id=rack_id)


def deserialize_consumer_protocol_assignment(data: bytes, profile: Profile) -> ConsumerProtocolAssignment:
    """Parse an assignment of any version.

    Raises:
        SubscriptionSchemaError: there are too few bytes, or the version is negative.
        IllegalStateError: a length is negative or exceeds the data, in releases that do not catch that.

    Source: ConsumerProtocol#deserializeConsumerProtocolAssignment (4.3.1).
    """
    with _runtime_exceptions(profile):
        return _assignment(ProtocolReader(data))


def _assignment(reader: ProtocolReader) -> ConsumerProtocolAssignment:
    deserialize_version(reader)
    partitions = _partitions(reader)
    return ConsumerProtocolAssignment(assigned_partitions=partitions, user_data=_nullable_bytes(reader))


@contextmanager
def _runtime_exceptions(profile: Profile) -> Iterator[None]:
    """Convert IllegalStateError to SubscriptionSchemaError in releases that catch RuntimeException."""
    try:
        yield
    except IllegalStateError as failure:
        if profile.has(Behaviour.MALFORMED_SUBSCRIPTION_THROWS):
            raise
        raise SubscriptionSchemaError(str(failure)) from failure


def deserialize_version(reader: ProtocolReader) -> int:
    """Read the version at the beginning. Return the highest supported one if it is newer.

    Raises:
        SubscriptionSchemaError: there are too few bytes, or the version is negative.

    Source: ConsumerProtocol#deserializeVersion, ConsumerProtocol#checkAssignmentVersion (4.3.1).
    """
    try:
        version = reader.int16()
    except SubscriptionSchemaError as failure:
        message = "Buffer underflow while parsing consumer protocol's header"
        raise SubscriptionSchemaError(message) from failure
    if version < 0:
        # A client receives this message only if an assignment was to be written in this version.
        raise SubscriptionSchemaError(f"Unsupported assignment version: {version}")
    return min(version, _HIGHEST_SUPPORTED_VERSION)


def serialize_assignment(assignment: _NamedPartitions, *, version: int) -> bytes:
    """Encode an assignment. Source: ConsumerProtocol#serializeAssignment (4.3.1)."""
    parts = [struct.pack(">hi", version, len(assignment))]
    for topic, partitions in assignment:
        name = topic.encode()
        parts.append(struct.pack(f">h{len(name)}si", len(name), name, len(partitions)))
        parts.append(struct.pack(f">{len(partitions)}i", *partitions))
    parts.append(struct.pack(">i", _NULL))
    return b"".join(parts)


def assignment_like(
    metadata: bytes, partitions: Mapping[TopicId, Iterable[int]], image: MetadataImage
) -> bytes:
    """Encode an assignment in the version of a member's subscription.

    Raises:
        SubscriptionSchemaError: the subscription is too short for a version, or the version is negative.
    """
    version = deserialize_version(ProtocolReader(metadata))
    named = ((image.by_id(topic_id), each) for topic_id, each in partitions.items())
    known = tuple((topic.name, tuple(sorted(each))) for topic, each in named if topic is not None)
    return serialize_assignment(known, version=version)


def assignment_orders(assignment: bytes) -> tuple[bytes, ...]:
    """Return an assignment with each permitted order of its topics, its own first; at most `MOST_ORDERS`.

    Decided in: Utils#toConsumerProtocolAssignment (4.3.1).
    """
    version = deserialize_version(ProtocolReader(assignment))
    topics = _assignment(ProtocolReader(assignment)).assigned_partitions
    if len(topics) <= 1:
        return ()
    orders = islice(permutations(topics), MOST_ORDERS)
    return tuple(serialize_assignment(each, version=version) for each in orders)


def to_topic_partitions(owned: _NamedPartitions, image: MetadataImage) -> OwnedPartitions:
    """Return partitions by topic id. Topics that no longer exist are left out.

    Source: Utils#toTopicPartitions (4.3.1).
    """
    return tuple(
        (image.topics[name].topic_id, partitions) for name, partitions in owned if name in image.topics
    )


def _partitions(reader: ProtocolReader) -> _NamedPartitions:
    return tuple(
        (_text(reader), tuple(reader.int32() for _ in range(_count(reader)))) for _ in range(_count(reader))
    )


def _count(reader: ProtocolReader) -> int:
    count = reader.int32()
    if count < 0 or count > reader.remaining:
        raise IllegalStateError("Tried to allocate a collection beyond the end")
    return count


def _text(reader: ProtocolReader) -> str:
    return reader.sized(reader.int16()).decode(errors=MENDED)


def _nullable_text(reader: ProtocolReader) -> str | None:
    size = reader.int16()
    return None if size < 0 else reader.sized(size).decode(errors=MENDED)


def _nullable_bytes(reader: ProtocolReader) -> bytes | None:
    size = reader.int32()
    return None if size < 0 else reader.sized(size)
