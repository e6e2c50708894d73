"""The metadata that a consumer group stores about its subscribed topics."""

import struct
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from reference_coordinator.core.consumer_records import TopicMetadata
from reference_coordinator.core.java import as_long
from reference_coordinator.core.map_order import utf16_length, utf16_order, uuid_order
from reference_coordinator.core.metadata_image import MetadataImage, TopicImage
from reference_coordinator.core.values import value
from reference_coordinator.core.xxh3 import xxh3_64
from reference_coordinator.profile.profiles import Behaviour, Profile

_TOPIC_HASH_MAGIC_BYTE: Final = b"\0"
_REMEMBERED_TOPICS: Final = 4096


@value
class SubscriptionMetadata:
    """The metadata of the subscribed topics that exist: a hash, or until 4.0 the topics themselves."""

    metadata_hash: int = 0
    """A signed 64-bit integer."""
    topics: frozenset[TopicMetadata] = frozenset()


def compute_subscription_metadata(
    names: Iterable[str], image: MetadataImage, profile: Profile
) -> SubscriptionMetadata:
    """Compute the subscription metadata that a group stores about its topics.

    Source: ModernGroup#computeSubscriptionMetadata (4.0.2), ModernGroup#computeMetadataHash (4.3.1).
    """
    topics = [image.topics[name] for name in names if name in image.topics]
    if profile.has(Behaviour.SUBSCRIPTION_METADATA_IS_HASHED):
        return SubscriptionMetadata(metadata_hash=compute_group_hash(topics))
    return SubscriptionMetadata(
        topics=frozenset(
            TopicMetadata(topic_id=each.topic_id, topic_name=each.name, num_partitions=each.num_partitions)
            for each in topics
        )
    )


def compute_group_hash(topics: Iterable[TopicImage]) -> int:
    """Hash topics independently of their order. Source: Utils#computeGroupHash (4.3.1)."""
    hashes = [compute_topic_hash(each) for each in sorted(topics, key=lambda topic: topic.name)]
    if not hashes:
        return 0
    return as_long(xxh3_64(b"".join(struct.pack("<q", each) for each in hashes)))


@lru_cache(maxsize=_REMEMBERED_TOPICS)
def compute_topic_hash(topic: TopicImage) -> int:
    """Hash a topic with its partitions and their racks.

    Source: Utils#computeTopicHash (4.3.1), HashStream64#putString (hash4j 0.22.0).
    """
    most, least = uuid_order(topic.topic_id)
    parts = [_TOPIC_HASH_MAGIC_BYTE, struct.pack("<qq", most, least), _string(topic.name)]
    parts.append(struct.pack("<i", topic.num_partitions))
    for partition in range(topic.num_partitions):
        parts.append(struct.pack("<i", partition))
        for rack in sorted(topic.racks[partition] if topic.racks else (), key=utf16_order):
            parts += [struct.pack("<i", utf16_length(rack)), _string(rack)]
    return as_long(xxh3_64(b"".join(parts)))


def _string(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass") + struct.pack("<i", utf16_length(text))
