"""The reference that recordings are held against: a target's profile and configuration, and its state."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final, TypeAlias

from harness.targets.base import CONFORMANCE_CONFIG
from harness.targets.reference import reference_profile
from reference_coordinator.broker.cluster_state import Node
from reference_coordinator.broker.kafka_apis import KafkaApis
from reference_coordinator.classic.group import ClassicGroup
from reference_coordinator.core.choices import Choices
from reference_coordinator.group.shard import Shard
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.profiles import Profile

CLIENT_HOST: Final = "/127.0.0.1"
"""Of all clients."""
_TOLD_OF_GROUPS: Final = tuple(
    each.name
    for each in fields(ClassicGroup)
    if each.name not in ("profile", "choices", "previous_state", "current_state_timestamp_ms")
)
State: TypeAlias = tuple[object, ...]
"""What `repr` tells apart where groups or their offsets differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Specification:
    """One profile of the reference with one configuration."""

    profile: Profile
    config: GroupCoordinatorConfig

    def broker(self, choices: Choices) -> KafkaApis:
        """Return a broker of it, alone and without a network, that knows of no group yet."""
        node = Node(node_id=1, host="127.0.0.1", port=9092)
        return KafkaApis(config=self.config, profile=self.profile, choices=choices, node=node)


def specification(profile: str, broker_config: Mapping[str, str]) -> Specification:
    """Return the reference as a target is held against it; properties unknown to it are passed over."""
    known = GroupCoordinatorConfig.property_names()
    properties = {name: value for name, value in broker_config.items() if name in known}
    config = GroupCoordinatorConfig.from_properties({**CONFORMANCE_CONFIG, **properties})
    return Specification(profile=reference_profile(profile), config=config)


def state_of(shard: Shard) -> State:
    """Return the groups of a coordinator with their offsets, without what nothing that comes hangs on."""
    groups = [[(each, getattr(group, each)) for each in _TOLD_OF_GROUPS] for group in shard.groups()]
    offsets = [
        (partition, offset.offset)
        for group_id in shard.offsets.groups_with_any()
        for partition, offset in shard.offsets.of_group(group_id).items()
    ]
    return groups, offsets
