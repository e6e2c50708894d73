"""The partitions of a share group whose state at the share coordinator exists, is initialized or deleted."""

from collections.abc import Iterable, Mapping
from dataclasses import field

from reference_coordinator.core.ids import Millis, TopicId
from reference_coordinator.core.metadata_image import MetadataImage
from reference_coordinator.core.share_records import (
    ShareGroupStatePartitionMetadataRecord,
    TopicPartitionsInfo,
)
from reference_coordinator.core.values import value

_UNKNOWN = "<UNKNOWN>"


@value
class InitMapValue:
    """Partitions of one topic. Source: ShareGroup.InitMapValue (4.3.1)."""

    name: str
    partitions: frozenset[int]
    timestamp_ms: Millis
    """When the record was written or loaded."""


InitMap = Mapping[TopicId, InitMapValue]


@value
class ShareGroupStatePartitionMetadataInfo:
    """One group's partitions by state. Source: ShareGroup.ShareGroupStatePartitionMetadataInfo (4.3.1)."""

    initializing_topics: InitMap = field(default_factory=dict)
    initialized_topics: InitMap = field(default_factory=dict)
    deleting_topics: frozenset[TopicId] = frozenset()


def info_of(
    record: ShareGroupStatePartitionMetadataRecord, now_ms: Millis
) -> ShareGroupStatePartitionMetadataInfo:
    """Convert a record, with the current time. Decided in: GroupMetadataManager#replay (4.3.1)."""
    return ShareGroupStatePartitionMetadataInfo(
        initializing_topics=_init_map(record.initializing_topics, now_ms),
        initialized_topics=_init_map(record.initialized_topics, now_ms),
        deleting_topics=frozenset(each.topic_id for each in record.deleting_topics),
    )


def _init_map(topics: Iterable[TopicPartitionsInfo], now_ms: Millis) -> InitMap:
    return {
        each.topic_id: InitMapValue(
            name=each.topic_name, partitions=frozenset(each.partitions), timestamp_ms=now_ms
        )
        for each in topics
    }


def combine_init_maps(first: InitMap, second: InitMap) -> InitMap:
    """Return the partitions of both maps. The second's names and timestamps take precedence.

    Source: GroupMetadataManager#combineInitMaps (4.3.1).
    """
    combined = dict(first)
    for topic_id, each in second.items():
        before = first[topic_id].partitions if topic_id in first else frozenset[int]()
        combined[topic_id] = InitMapValue(
            name=each.name, partitions=before | each.partitions, timestamp_ms=each.timestamp_ms
        )
    return combined


def without_partitions(topics: InitMap, removed: Mapping[TopicId, frozenset[int]]) -> InitMap:
    """Return the map without some partitions and without topics that have none left."""
    left = {
        topic_id: InitMapValue(
            name=each.name,
            partitions=each.partitions - removed.get(topic_id, frozenset()),
            timestamp_ms=each.timestamp_ms,
        )
        for topic_id, each in topics.items()
    }
    return {topic_id: each for topic_id, each in left.items() if each.partitions}


def attach_topic_name(topic_ids: Iterable[TopicId], image: MetadataImage) -> Mapping[TopicId, str]:
    """Return topics with their names, or with a placeholder for topics that do not exist.

    Source: GroupMetadataManager#attachTopicName (4.3.1).
    """
    found = {topic_id: image.by_id(topic_id) for topic_id in topic_ids}
    return {topic_id: _UNKNOWN if topic is None else topic.name for topic_id, topic in found.items()}
