"""The topology that the members of a streams group run, as they sent it."""

from collections.abc import Iterable, Mapping

from reference_coordinator.core.errors import IllegalStateError
from reference_coordinator.core.map_order import in_java_hash_map_order
from reference_coordinator.core.metadata_image import MetadataImage
from reference_coordinator.core.streams_records import Subtopology
from reference_coordinator.core.values import value
from reference_coordinator.groups.consumer.metadata import compute_group_hash


@value
class StreamsTopology:
    """The subtopologies of an application. Source: StreamsTopology (4.3.1)."""

    topology_epoch: int
    subtopologies: Mapping[str, Subtopology]
    """In the order of Kafka's map."""

    @property
    def source_topic_map(self) -> Mapping[str, Subtopology]:
        """The subtopology that reads each topic. Source: StreamsTopology#sourceTopicMap (4.3.1)."""
        return {
            topic: subtopology
            for subtopology in self.subtopologies.values()
            for topic in source_topics(subtopology)
        }

    @property
    def required_topics(self) -> frozenset[str]:
        """All topics except those only written to. Source: StreamsTopology#requiredTopics (4.3.1)."""
        return frozenset(
            topic
            for each in self.subtopologies.values()
            for topic in (*source_topics(each), *(info.name for info in each.state_changelog_topics))
        )


def source_topics(subtopology: Subtopology) -> tuple[str, ...]:
    """Return the topics that a subtopology reads, repartition topics last."""
    return (*subtopology.source_topics, *(each.name for each in subtopology.repartition_source_topics))


def streams_topology(epoch: int, subtopologies: Iterable[Subtopology]) -> StreamsTopology:
    """Return the topology of a request or record.

    Raises:
        IllegalStateError: the epoch is negative, or two subtopologies have the same id.

    Decided in: StreamsTopology#<init>, StreamsTopology#fromRecord (4.3.1).
    """
    if epoch < 0:
        raise IllegalStateError("Topology epoch must be non-negative.")
    listed = tuple(subtopologies)
    by_id = {each.subtopology_id: each for each in listed}
    if len(by_id) < len(listed):
        raise IllegalStateError("two subtopologies have one id")
    ordered = in_java_hash_map_order(tuple(by_id))
    return StreamsTopology(topology_epoch=epoch, subtopologies={key: by_id[key] for key in ordered})


def compute_metadata_hash(topology: StreamsTopology, image: MetadataImage) -> int:
    """Hash the existing topics of a topology.

    Source: StreamsGroup#computeMetadataHash (4.3.1).
    """
    return compute_group_hash(image.topics[each] for each in topology.required_topics if each in image.topics)
