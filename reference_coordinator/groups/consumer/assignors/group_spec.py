"""What an assignor is told of a consumer group and its topics."""

from base64 import urlsafe_b64encode
from collections.abc import Mapping
from enum import Enum, auto
from typing import TypeAlias

from reference_coordinator.core.ids import MemberId, TopicId
from reference_coordinator.core.values import value

Assignment: TypeAlias = Mapping[TopicId, tuple[int, ...]]
"""Partitions by topic. Topics and partitions stand in the order of Kafka's map and sets, which is also the
order in which a record lists them; two assignments are the same whatever their order."""


class SubscriptionType(Enum):
    """Whether all members subscribe to the same topics. Source: SubscriptionType (4.3.1)."""

    HOMOGENEOUS = auto()
    HETEROGENEOUS = auto()


@value
class MemberSubscription:
    """A member as an assignor sees it. Source: MemberSubscriptionAndAssignmentImpl (4.3.1)."""

    instance_id: str | None = None
    rack_id: str | None = None
    """No assignor reads it."""
    subscribed_topic_ids: tuple[TopicId, ...]
    """Of those subscribed topics that exist, in the order in which the set of their names iterates."""
    num_missing_topics: int = 0
    """How many of its subscribed topics do not exist: they count where Kafka sizes a map."""
    assignment: Assignment
    """What the member has by the target assignment before, in the order of its record."""

    @property
    def num_subscribed_names(self) -> int:
        """How many topics it names. Decided in: TopicIds#size (4.3.1)."""
        return len(self.subscribed_topic_ids) + self.num_missing_topics


@value
class GroupSpec:
    """A group for which partitions are to be assigned. Source: GroupSpecImpl (4.3.1)."""

    members: Mapping[MemberId, MemberSubscription]
    """In the order in which they were put into Kafka's map, or a `JavaHashMap` of them, which knows more."""
    subscription_type: SubscriptionType


@value
class SubscribedTopic:
    """A topic as the metadata image describes it, without racks, which no assignor reads.

    Source: SubscribedTopicDescriberImpl (4.3.1).
    """

    num_partitions: int


class PartitionAssignorError(Exception):
    """An assignor cannot assign. Source: PartitionAssignorException (4.3.1)."""


def unknown_topic(topic_id: TopicId) -> PartitionAssignorError:
    """What `uniform` says of a subscribed topic that does not exist.

    Decided in: UniformHomogeneousAssignmentBuilder#build (4.3.1), Uuid#toString (4.3.1).
    """
    text = urlsafe_b64encode(bytes.fromhex(topic_id.replace("-", ""))).decode().rstrip("=")
    return PartitionAssignorError(
        f"Members are subscribed to topic {text} which doesn't exist in the topic metadata."
    )
