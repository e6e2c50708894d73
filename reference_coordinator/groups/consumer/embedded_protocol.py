"""The protocol that consumers speak to each other inside JoinGroup and SyncGroup.

The coordinator reads and writes it only where a consumer group has classic members.
"""

import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice, permutations
from typing import Final

from reference_coordinator.core.effects import Permitted
from reference_coordinator.core.errors import IllegalStateError
from reference_coordinator.core.ids import TopicId
from reference_coordinator.core.java import MENDED
from reference_coordinator.core.metadata_image import MetadataImage
from reference_coordinator.core.values import value
from reference_coordinator.groups.classic.subscription import ProtocolReader, SubscriptionSchemaError
from reference_coordinator.groups.consumer.current_assignment import OwnedPartitions
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.profile.profiles import Profile

_HIGHEST_SUPPORTED_VERSION: Final = 3
_OWNED_PARTITIONS_SINCE: Final = 1
_GENERATION_SINCE: Final = 2
_RACK_SINCE: Final = 3
_NULL: Final = -1
_MOST_ORDERS: Final = 24
_ORDER_REASON: Final = "topics come in the order of a hash map by their ids, which chance chooses"

_NamedPartitions = tuple[tuple[str, tuple[int, ...]], ...]


@value
class ConsumerProtocolSubscription:
    """What a consumer subscribes to, and what it has. Source: ConsumerProtocolSubscription.json (4.3.1)."""

    topics: tuple[str, ...]
    owned_partitions: _NamedPartitions = ()
    rack_id: str | None = None


@value
class ConsumerProtocolAssignment:
    """What a consumer is to have. Source: ConsumerProtocolAssignment.json (4.3.1)."""

    assigned_partitions: _NamedPartitions
    user_data: bytes | None = None


def deserialize_consumer_protocol_subscription(data: bytes, profile: Profile) -> ConsumerProtocolSubscription:
    """Read a subscription of any version.

    Raises:
        SubscriptionSchemaError: too few bytes, or a negative version.
        IllegalStateError: a length that is negative or beyond the end, where a release does not catch it.

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
    """Read an assignment of any version.

    Raises:
        SubscriptionSchemaError: too few bytes, or a negative version.
        IllegalStateError: a length that is negative or beyond the end, where a release does not catch it.

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
    """Have a length beyond the end fail as too few bytes do, where Kafka catches RuntimeException."""
    try:
        yield
    except IllegalStateError as failure:
        if profile.has(Behaviour.MALFORMED_SUBSCRIPTION_THROWS):
            raise
        raise SubscriptionSchemaError(str(failure)) from failure


def deserialize_version(reader: ProtocolReader) -> int:
    """Read the version that all begins with; a later one than is known counts as the last known.

    Raises:
        SubscriptionSchemaError: too few bytes, or a negative version.

    Source: ConsumerProtocol#deserializeVersion, ConsumerProtocol#checkAssignmentVersion (4.3.1).
    """
    try:
        version = reader.int16()
    except SubscriptionSchemaError as failure:
        message = "Buffer underflow while parsing consumer protocol's header"
        raise SubscriptionSchemaError(message) from failure
    if version < 0:
        # Only who writes an assignment in that version tells a client of it.
        raise SubscriptionSchemaError(f"Unsupported assignment version: {version}")
    return min(version, _HIGHEST_SUPPORTED_VERSION)


def serialize_assignment(assignment: _NamedPartitions, *, version: int) -> bytes:
    """Write an assignment. Source: ConsumerProtocol#serializeAssignment (4.3.1)."""
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
    """Write an assignment in the version of a member's subscription.

    Raises:
        SubscriptionSchemaError: the subscription has too few bytes for a version.
    """
    version = deserialize_version(ProtocolReader(metadata))
    named = ((image.by_id(topic_id), each) for topic_id, each in partitions.items())
    known = tuple((topic.name, tuple(sorted(each))) for topic, each in named if topic is not None)
    return serialize_assignment(known, version=version)


def permitted_assignments(assignment: bytes) -> tuple[Permitted, ...]:
    """What else an assignment of several topics may be, of many topics a part of it.

    Decided in: Utils#toConsumerProtocolAssignment (4.3.1).
    """
    version = deserialize_version(ProtocolReader(assignment))
    topics = _assignment(ProtocolReader(assignment)).assigned_partitions
    if len(topics) <= 1:
        return ()
    orders = islice(permutations(topics), _MOST_ORDERS)
    any_of = tuple(serialize_assignment(each, version=version) for each in orders)
    return (Permitted(field="assignment", any_of=any_of, reason=_ORDER_REASON),)


def to_topic_partitions(owned: _NamedPartitions, image: MetadataImage) -> OwnedPartitions:
    """Partitions by the ids of their topics; topics that are no more are left out.

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
