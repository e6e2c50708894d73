"""The server-side assignors of consumer groups (KIP-848)."""

from collections.abc import Mapping
from typing import Final

from reference_coordinator.core.ids import MemberId, TopicId
from reference_coordinator.groups.consumer.assignors import range_assignor, uniform_assignor
from reference_coordinator.groups.consumer.assignors.group_spec import (
    Assignment,
    GroupSpec,
    MemberSubscription,
    PartitionAssignorError,
    SubscribedTopic,
    SubscriptionType,
)
from reference_coordinator.profile.profiles import Profile

__all__ = [
    "NAMES",
    "Assignment",
    "GroupSpec",
    "MemberSubscription",
    "PartitionAssignorError",
    "SubscribedTopic",
    "SubscriptionType",
    "assign",
]

NAMES: Final = (uniform_assignor.NAME, range_assignor.NAME)
"""The built-in assignors, in the order of Kafka's default configuration.

Source: GroupCoordinatorConfig.CONSUMER_GROUP_BUILTIN_ASSIGNORS.
"""


def assign(
    name: str, spec: GroupSpec, topics: Mapping[TopicId, SubscribedTopic], profile: Profile
) -> Mapping[MemberId, Assignment]:
    """Assign a group's partitions with the named assignor. Source: PartitionAssignor#assign (4.3.1).

    A member without an entry in the result has an empty assignment.

    Raises:
        PartitionAssignorError: a subscribed topic does not exist.
    """
    assert name in NAMES, "the coordinator refuses other names first"
    if name == range_assignor.NAME:
        return range_assignor.assign(spec, topics)
    return uniform_assignor.assign(spec, topics, profile)
