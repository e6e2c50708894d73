"""What the coordinator knows of the cluster's topics."""

from collections.abc import Mapping
from dataclasses import field

from reference_coordinator.core.ids import TopicId
from reference_coordinator.core.values import value


@value
class TopicImage:
    """A topic as the metadata image has it. Source: CoordinatorMetadataImage.TopicMetadata (4.3.1)."""

    name: str
    topic_id: TopicId
    num_partitions: int
    racks: tuple[tuple[str, ...], ...] = ()
    """For each partition, the racks of its replicas, one as often as replicas are in it; or nothing at all.

    Source: KRaftCoordinatorMetadataImage.KraftTopicMetadata#partitionRacks (4.3.1).
    """


@value
class MetadataImage:
    """All topics at one point of the cluster's history. Source: CoordinatorMetadataImage (4.3.1)."""

    version: int = 0
    """Grows with every change, as the offset of a metadata record does."""
    topics: Mapping[str, TopicImage] = field(default_factory=dict)
    """By name."""

    def by_id(self, topic_id: TopicId) -> TopicImage | None:
        """The topic of that id; None where there is none any more."""
        return next((each for each in self.topics.values() if each.topic_id == topic_id), None)
