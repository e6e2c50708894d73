"""The topics of the cluster, as the coordinator sees them."""

from collections.abc import Mapping
from dataclasses import field

from reference_coordinator.core.ids import TopicId
from reference_coordinator.core.values import value


@value
class TopicImage:
    """A topic in the metadata image. Source: CoordinatorMetadataImage.TopicMetadata (4.3.1)."""

    name: str
    topic_id: TopicId
    num_partitions: int
    racks: tuple[tuple[str, ...], ...] = ()
    """By partition, the rack of each replica, with repetitions. Empty if there are no racks.

    Source: KRaftCoordinatorMetadataImage.KraftTopicMetadata#partitionRacks (4.3.1).
    """


@value
class MetadataImage:
    """A snapshot of all topics. Source: CoordinatorMetadataImage (4.3.1)."""

    version: int = 0
    """Increases with every change, like the offset of a metadata record."""
    topics: Mapping[str, TopicImage] = field(default_factory=dict)
    """By name."""

    def by_id(self, topic_id: TopicId) -> TopicImage | None:
        """Return the topic with an id, or None if it does not exist any more."""
        return next((each for each in self.topics.values() if each.topic_id == topic_id), None)
