"""The input of an assignor: a consumer group and its topics."""

from base64 import urlsafe_b64encode
from collections.abc import Collection, Mapping
from enum import Enum, auto
from typing import TypeAlias

from reference_coordinator.core.ids import MemberId, TopicId
from reference_coordinator.core.java_hash_map import JavaHashMap
from reference_coordinator.core.values import value

Assignment: TypeAlias = Mapping[TopicId, tuple[int, ...]]
"""Partitions by topic. Topics and partitions are in the order of Kafka's map and sets, which is also their
order in records. The order does not matter for equality."""


class SubscriptionType(Enum):
    """Whether all members subscribe to the same topics. Source: SubscriptionType (4.3.1)."""

    HOMOGENEOUS = auto()
    HETEROGENEOUS = auto()


@value
class MemberSubscription:
    """A member as input of an assignor. Source: MemberSubscriptionAndAssignmentImpl (4.3.1)."""

    instance_id: str | None = None
    rack_id: str | None = None
    """Not used by any assignor."""
    subscribed_topic_ids: tuple[TopicId, ...]
    """The ids of the subscribed topics that exist, in the iteration order of the set of their names."""
    num_missing_topics: int = 0
    """How many of the subscribed topics do not exist. They affect the initial size of Kafka's maps."""
    assignment: Assignment
    """The member's previous target assignment, in the order of its record."""

    @property
    def num_subscribed_names(self) -> int:
        """The number of topics that the member subscribes to. Decided in: TopicIds#size (4.3.1)."""
        return len(self.subscribed_topic_ids) + self.num_missing_topics


@value
class GroupSpec:
    """A group whose partitions an assignor assigns. Source: GroupSpecImpl (4.3.1)."""

    members: JavaHashMap[MemberId, MemberSubscription]
    """In the iteration order of Kafka's map."""
    subscription_type: SubscriptionType
    assigned_partitions: Collection[tuple[TopicId, int]]
    """The partitions in the target assignment so far, also of members that are replaced.

    A member that takes another instance id replaces the member that had it, with that one's assignment. What
    it had before belongs to nobody then, and still counts as assigned.

    Decided in: GroupSpecImpl#isPartitionAssigned, ModernGroup#invertedTargetAssignment (4.3.1).
    """


@value
class SubscribedTopic:
    """A topic from the metadata image, without racks, which no assignor uses.

    Source: SubscribedTopicDescriberImpl (4.3.1).
    """

    num_partitions: int


class PartitionAssignorError(Exception):
    """The assignor could not compute an assignment. Source: PartitionAssignorException (4.3.1)."""


def unknown_topic(topic_id: TopicId) -> PartitionAssignorError:
    """Return the error of `uniform` for a subscribed topic that does not exist.

    Decided in: UniformHomogeneousAssignmentBuilder#build (4.3.1), Uuid#toString (4.3.1).
    """
    text = urlsafe_b64encode(bytes.fromhex(topic_id.replace("-", ""))).decode().rstrip("=")
    return PartitionAssignorError(
        f"Members are subscribed to topic {text} which doesn't exist in the topic metadata."
    )
