"""What the assignor is told of a share group, and what it hands back."""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from reference_coordinator.core.ids import MemberId, TopicId
from reference_coordinator.core.map_order import uuid_hash_code
from reference_coordinator.core.values import value
from reference_coordinator.groups.consumer.assignors.group_spec import SubscriptionType
from reference_coordinator.groups.share.member import AssignedPartitions

_INT_MASK: Final = 0xFFFFFFFF


class TopicIdPartition(NamedTuple):
    """A partition of a topic. Source: TopicIdPartition (4.3.1)."""

    topic_id: TopicId
    partition: int


@value
class ShareMemberSpec:
    """A member as the assignor sees it."""

    subscribed_topic_ids: tuple[TopicId, ...]
    """Of those subscribed topics that exist, in the order of their names' set."""
    names_topics: bool
    """Whether it subscribes to anything, be it to topics that do not exist."""
    assignment: AssignedPartitions
    """What it was to have before."""


@value
class ShareGroupSpec:
    """A group for which partitions are to be assigned. Source: GroupSpecImpl (4.3.1)."""

    members: Mapping[MemberId, ShareMemberSpec]
    """In the order of Kafka's map."""
    subscription_type: SubscriptionType
    assignable: Mapping[TopicId, tuple[int, ...]]
    """The partitions of each topic that may be assigned, ascending."""

    def target_partitions(self, topic_ids: Iterable[TopicId]) -> list[TopicIdPartition]:
        """The partitions of topics that may be assigned, topic after topic."""
        return [
            TopicIdPartition(topic_id, partition)
            for topic_id in topic_ids
            for partition in self.assignable.get(topic_id, ())
        ]


def topic_id_partition_hash_code(partition: TopicIdPartition) -> int:
    """The hash of a partition, as an unsigned 32-bit number.

    Decided in: TopicIdPartition#hashCode (4.3.1).
    """
    return (31 * uuid_hash_code(partition.topic_id) + partition.partition) & _INT_MASK


def by_topic(partitions: Iterable[TopicIdPartition]) -> AssignedPartitions:
    """Partitions, topic by topic."""
    found: dict[TopicId, set[int]] = {}
    for each in partitions:
        found.setdefault(each.topic_id, set()).add(each.partition)
    return {topic_id: frozenset(each) for topic_id, each in found.items()}
