"""The assignor `uniform`: sticky, and balanced over all topics together."""

from collections.abc import Mapping
from typing import Final

from reference_coordinator.core.ids import MemberId, TopicId
from reference_coordinator.groups.consumer.assignors.group_spec import (
    Assignment,
    GroupSpec,
    SubscribedTopic,
    SubscriptionType,
)
from reference_coordinator.groups.consumer.assignors.uniform_heterogeneous import (
    UniformHeterogeneousAssignmentBuilder,
)
from reference_coordinator.groups.consumer.assignors.uniform_homogeneous import (
    UniformHomogeneousAssignmentBuilder,
)
from reference_coordinator.profile.profiles import Profile

NAME: Final = "uniform"
"""Source: UniformAssignor.NAME."""


def assign(
    spec: GroupSpec, topics: Mapping[TopicId, SubscribedTopic], profile: Profile
) -> dict[MemberId, Assignment]:
    """Assign partitions with the builder for the subscription type. Source: UniformAssignor#assign (4.3.1).

    Raises:
        PartitionAssignorError: a subscribed topic does not exist.
    """
    if not spec.members:
        return {}
    if spec.subscription_type is SubscriptionType.HOMOGENEOUS:
        return UniformHomogeneousAssignmentBuilder(spec, topics, profile).build()
    return UniformHeterogeneousAssignmentBuilder(spec, topics).build()
