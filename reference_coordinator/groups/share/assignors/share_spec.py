"""The input of the assignor of share groups, and helpers for its output."""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from reference_coordinator.core.ids import MemberId, TopicId
from reference_coordinator.core.java_hash_map import JavaHashMap, JavaHashSet
from reference_coordinator.core.map_order import int_hash_code, uuid_hash_code
from reference_coordinator.core.values import value
from reference_coordinator.groups.consumer.assignors.assignor_helpers import AssignmentMap
from reference_coordinator.groups.consumer.assignors.group_spec import SubscriptionType
from reference_coordinator.groups.share.member import AssignedPartitions

_INT_MASK: Final = 0xFFFFFFFF


class TopicIdPartition(NamedTuple):
    """A partition of a topic. Source: TopicIdPartition (4.3.1)."""

    topic_id: TopicId
    partition: int


@value
class ShareMemberSpec:
    """A member as input of the assignor."""

    subscribed_topic_ids: tuple[TopicId, ...]
    """The ids of the subscribed topics that exist, in the iteration order of the set of their names."""
    names_topics: bool
    """Whether the member subscribes to any topics, including ones that do not exist."""
    assignment: AssignedPartitions
    """The member's previous target assignment."""


@value
class ShareGroupSpec:
    """A group whose partitions the assignor assigns. Source: GroupSpecImpl (4.3.1)."""

    members: Mapping[MemberId, ShareMemberSpec]
    """In the order of Kafka's map."""
    subscription_type: SubscriptionType
    assignable: Mapping[TopicId, tuple[int, ...]]
    """The partitions of each topic that may be assigned, in ascending order."""

    def target_partitions(self, topic_ids: Iterable[TopicId]) -> list[TopicIdPartition]:
        """Return the assignable partitions of topics, in the order of the topics."""
        return [
            TopicIdPartition(topic_id, partition)
            for topic_id in topic_ids
            for partition in self.assignable.get(topic_id, ())
        ]


def topic_id_partition_hash_code(partition: TopicIdPartition) -> int:
    """Return the Java hash code of a partition, as an unsigned 32-bit integer.

    Decided in: TopicIdPartition#hashCode (4.3.1).
    """
    return (31 * uuid_hash_code(partition.topic_id) + partition.partition) & _INT_MASK


def by_topic(partitions: Iterable[TopicIdPartition]) -> AssignedPartitions:
    """Group partitions by topic, in the order of Java's maps."""
    found: AssignmentMap = JavaHashMap(uuid_hash_code)
    for each in partitions:
        found.compute_if_absent(each.topic_id, lambda: JavaHashSet(int_hash_code)).add(each.partition)
    return found
