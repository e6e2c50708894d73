"""Publishing changes of topics and of groups' configurations to a broker's group coordinator."""

from collections.abc import Iterator

from reference_coordinator.broker.cluster_state import ClusterState
from reference_coordinator.broker.topics import Topic, Topics
from reference_coordinator.coordinator.coordinator import GroupCoordinator
from reference_coordinator.core.effects import Effect
from reference_coordinator.core.ids import Millis
from reference_coordinator.core.metadata_image import MetadataImage, TopicImage
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.group_configs import evaluate
from reference_coordinator.profile.profiles import Profile


class MetadataPublisher:
    """Publishes to the coordinator the changes since the last time.

    Kafka publishes new leaders before topics, but loads their logs in the background, so that a loader has
    the topics, too. Here topics come first.

    Source: BrokerMetadataPublisher#onMetadataUpdate (4.3.1).
    """

    def __init__(
        self,
        cluster: ClusterState,
        coordinator: GroupCoordinator,
        config: GroupCoordinatorConfig,
        profile: Profile,
    ) -> None:
        self._cluster = cluster
        self._coordinator = coordinator
        self._config = config
        self._profile = profile
        self._deletions = len(cluster.deletions)
        self._image = MetadataImage()
        """The topics that were published to the coordinator."""
        self._configs_version = 0

    def updates(self, *, now_ms: Millis) -> Iterator[tuple[Effect, ...]]:
        """Publish the changes one by one; the effects of each must be carried out before the next."""
        unseen = self._cluster.deletions[self._deletions :]
        self._deletions = len(self._cluster.deletions)
        for names in unseen:
            yield self._coordinator.topics_deleted(names, now_ms=now_ms)
        configs = self._cluster.group_configs
        seen, self._configs_version = self._configs_version, configs.version
        for group_id in configs.changed_since(seen):
            found = evaluate(configs.get(group_id), self._config, self._profile)
            yield self._coordinator.on_group_configs(group_id, found, now_ms=now_ms)
        topics, former = self._cluster.topics, self._image
        if topics.version != former.version:
            self._image = next_image(former, topics)
            changed = changed_topics(former, self._image, topics)
            yield self._coordinator.on_metadata_update(self._image, changed, now_ms=now_ms)


def next_image(image: MetadataImage, topics: Topics) -> MetadataImage:
    """Return an image updated with the changes since it was built. No broker here is in a rack.

    Source: MetadataDelta#apply (4.3.1).
    """
    known = dict(image.topics)
    for name in topics.changed_since(image.version):
        topic = topics.get(name)
        if topic is None:
            known.pop(name, None)
        else:
            known[name] = _topic_image(topic)
    return MetadataImage(version=topics.version, topics=known)


def changed_topics(former: MetadataImage, image: MetadataImage, topics: Topics) -> frozenset[str]:
    """Return the names of topics that are in only one image, or that differ between the two.

    Source: TopicsDelta#changedTopics, TopicsDelta#deletedTopicIds (4.3.1).
    """
    names = topics.changed_since(former.version)
    return frozenset(name for name in names if former.topics.get(name) != image.topics.get(name))


def _topic_image(topic: Topic) -> TopicImage:
    return TopicImage(name=topic.name, topic_id=topic.topic_id, num_partitions=topic.num_partitions)
