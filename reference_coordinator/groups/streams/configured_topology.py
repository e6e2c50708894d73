"""A topology applied to the topics of the cluster: the number of tasks and the missing topics."""

from collections.abc import Iterable, Mapping
from enum import IntEnum, unique

from reference_coordinator.core.errors import IllegalStateError
from reference_coordinator.core.map_order import in_java_hash_map_order, utf16_order
from reference_coordinator.core.metadata_image import MetadataImage
from reference_coordinator.core.streams_records import KeyValue, Subtopology, TopicInfo
from reference_coordinator.core.values import value
from reference_coordinator.groups.streams.partition_counts import (
    TopicConfigurationError,
    decide_partition_counts,
)
from reference_coordinator.groups.streams.topology import StreamsTopology, source_topics

_TOPICS_NAMED = 3


@unique
class Status(IntEnum):
    """A status in a heartbeat response. Source: StreamsGroupHeartbeatResponse.Status (4.4.0)."""

    STALE_TOPOLOGY = 0
    MISSING_SOURCE_TOPICS = 1
    INCORRECTLY_PARTITIONED_TOPICS = 2
    MISSING_INTERNAL_TOPICS = 3
    SHUTDOWN_APPLICATION = 4
    ASSIGNMENT_DELAYED = 5
    MISSING_CLIENT_TAGS = 6


@value
class ConfiguredSubtopology:
    """A subtopology with known partition counts. Source: ConfiguredSubtopology (4.3.1)."""

    number_of_tasks: int
    subtopology: Subtopology
    """The subtopology with the decided partition counts."""

    @property
    def is_stateful(self) -> bool:
        """Whether the tasks have state to replicate. Source: TopologyMetadata#isStateful (4.3.1)."""
        return bool(self.subtopology.state_changelog_topics)


@value
class ConfiguredTopology:
    """A topology configured for the cluster, or the reason why not. Source: ConfiguredTopology (4.3.1)."""

    topology_epoch: int
    subtopologies: Mapping[str, ConfiguredSubtopology] | None
    """In the order of their ids. None if the partition counts could not be decided."""
    internal_topics_to_be_created: tuple[TopicInfo, ...] = ()
    status: Status | None = None
    """The reason why the topology cannot run, or None if it can."""
    status_detail: str = ""

    @property
    def is_ready(self) -> bool:
        """Whether its tasks can be assigned. Source: ConfiguredTopology#isReady (4.3.1)."""
        return self.status is None


def configure_topics(topology: StreamsTopology, image: MetadataImage) -> ConfiguredTopology:
    """Determine the numbers of tasks and the missing internal topics.

    Raises:
        CoordinatorError: STREAMS_INVALID_TOPOLOGY, if no partition count can be valid.

    Source: InternalTopicManager#configureTopics (4.3.1).
    """
    try:
        _throw_on_missing_source_topics(topology, image)
        decided = decide_partition_counts(topology, image)
        known = {**decided, **{name: each.num_partitions for name, each in image.topics.items()}}
        configured = {
            key: _from_persisted_subtopology(topology.subtopologies[key], decided, known)
            for key in sorted(topology.subtopologies, key=utf16_order)
        }
        missing = _missing_internal_topics(configured.values(), topology, image)
    except TopicConfigurationError as failure:
        return ConfiguredTopology(
            topology_epoch=topology.topology_epoch,
            subtopologies=None,
            status=Status[failure.status],
            status_detail=str(failure),
        )
    names = in_java_hash_map_order([each.name for each in missing])
    return ConfiguredTopology(
        topology_epoch=topology.topology_epoch,
        subtopologies=configured,
        internal_topics_to_be_created=missing,
        status=Status.MISSING_INTERNAL_TOPICS if missing else None,
        status_detail=f"Internal topics are missing: {summarize_topics(names)}" if missing else "",
    )


def summarize_topics(names: list[str]) -> str:
    """Return the first of several topics, and the number of the others.

    Source: InternalTopicManager#summarizeTopics (4.3.1).
    """
    more = len(names) - _TOPICS_NAMED
    return ", ".join(names[:_TOPICS_NAMED]) + (f" and {more} additional topics" if more > 0 else "")


def _throw_on_missing_source_topics(topology: StreamsTopology, image: MetadataImage) -> None:
    """Source: InternalTopicManager#throwOnMissingSourceTopics (4.3.1)."""
    named = {topic for each in topology.subtopologies.values() for topic in each.source_topics}
    missing = sorted(named - image.topics.keys(), key=utf16_order)
    if missing:
        raise TopicConfigurationError(
            Status.MISSING_SOURCE_TOPICS.name, f"Source topics {summarize_topics(missing)} are missing."
        )


def _from_persisted_subtopology(
    subtopology: Subtopology, decided: Mapping[str, int], known: Mapping[str, int]
) -> ConfiguredSubtopology:
    """Source: InternalTopicManager#fromPersistedSubtopology (4.3.1)."""
    return ConfiguredSubtopology(
        number_of_tasks=max(known[each] for each in source_topics(subtopology)),
        subtopology=Subtopology(
            subtopology_id=subtopology.subtopology_id,
            source_topics=tuple(sorted(set(subtopology.source_topics), key=utf16_order)),
            repartition_sink_topics=tuple(sorted(set(subtopology.repartition_sink_topics), key=utf16_order)),
            repartition_source_topics=_infos(subtopology.repartition_source_topics, decided),
            state_changelog_topics=_infos(subtopology.state_changelog_topics, decided),
        ),
    )


def _infos(topics: Iterable[TopicInfo], decided: Mapping[str, int]) -> tuple[TopicInfo, ...]:
    """Return internal topics with their decided partition counts, sorted by name.

    Decided in: InternalTopicManager#fromPersistedTopicInfo (4.3.1).
    """
    infos = {
        each.name: TopicInfo(
            name=each.name,
            partitions=each.partitions or decided[each.name],
            replication_factor=each.replication_factor,
            topic_configs=_in_map_order(each.topic_configs or ()),
        )
        for each in topics
    }
    if len(infos) < len(tuple(topics)):
        raise IllegalStateError("an internal topic is named twice")
    return tuple(infos[each] for each in sorted(infos, key=utf16_order))


def _in_map_order(configs: tuple[KeyValue, ...]) -> tuple[KeyValue, ...]:
    by_key = {each.key: each for each in configs}
    return tuple(by_key[each] for each in in_java_hash_map_order(tuple(by_key)))


def _missing_internal_topics(
    subtopologies: Iterable[ConfiguredSubtopology], topology: StreamsTopology, image: MetadataImage
) -> tuple[TopicInfo, ...]:
    """Source: InternalTopicManager#missingInternalTopics (4.3.1)."""
    expected = {
        info.name: info
        for each in subtopologies
        for info in (*each.subtopology.repartition_source_topics, *each.subtopology.state_changelog_topics)
    }
    for name in topology.required_topics & expected.keys() & image.topics.keys():
        wanted, found = expected[name].partitions, image.topics[name].num_partitions
        if wanted != found:
            raise TopicConfigurationError(
                Status.INCORRECTLY_PARTITIONED_TOPICS.name,
                f"Existing topic {name} has different number of partitions: expected {wanted}, found {found}",
            )
    return tuple(expected[each] for each in sorted(expected.keys() - image.topics.keys()))
