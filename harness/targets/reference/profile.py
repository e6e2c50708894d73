"""The reference for the comparison of recordings: a target's profile and configuration, and its state."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Final, TypeAlias

from harness.targets.base.conformance import CONFORMANCE_CONFIG
from harness.targets.reference.target import reference_profile
from harness.trace.schema import TraceError
from reference_coordinator.broker.cluster_state import Node
from reference_coordinator.broker.kafka_apis import KafkaApis
from reference_coordinator.broker.share_group_apis import is_share_group_protocol_enabled
from reference_coordinator.broker.streams_group_apis import is_streams_group_protocol_enabled
from reference_coordinator.core.choices import Choices, DeterministicChoices
from reference_coordinator.core.timers import Timers
from reference_coordinator.groups.group import Group
from reference_coordinator.offsets.shard import CoordinatorShard
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.defaults import default_properties
from reference_coordinator.profile.profiles import Profile
from reference_coordinator.profile.properties import ConfigError
from reference_coordinator.runtime.deadlines import Deadline, TimerKey

CLIENT_HOST: Final = "/127.0.0.1"
"""The host of all clients."""
_NOT_COMPARED_OF_GROUPS: Final = ("profile", "choices", "previous_state", "current_state_timestamp_ms")
State: TypeAlias = tuple[object, ...]
"""A value whose `repr` differs where groups or their offsets differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceProfile:
    """The reference with one profile and one configuration."""

    profile: Profile
    config: GroupCoordinatorConfig

    @property
    def has_consumer_groups(self) -> bool:
        """Whether the release has consumer groups that are not only a preview."""
        return self.profile.has(Behaviour.CONSUMER_GROUPS)

    def has_groups(self, kind: str) -> bool:
        """Whether release and configuration have groups of a kind that are not only a preview."""
        broker = self.broker(DeterministicChoices()).broker
        match kind:
            case "share":
                return is_share_group_protocol_enabled(broker)
            case "streams":
                return is_streams_group_protocol_enabled(broker)
            case _:
                return self.has_consumer_groups

    def first_member_epoch(self, kind: str) -> int:
        """Return the epoch in the answer to the first member of a new group of a kind."""
        begins_later = self.profile.has(Behaviour.GROUP_EPOCH_STARTS_AT_ONE)
        skips = kind == "streams" and self.profile.has(Behaviour.STREAMS_FIRST_EPOCH_SKIPPED)
        return 2 if begins_later or skips else 1

    def broker(self, choices: Choices, timers: Timers[TimerKey, Deadline] | None = None) -> KafkaApis:
        """Return a single broker of it, without a network and without groups."""
        node = Node(node_id=1, host="127.0.0.1", port=9092)
        return KafkaApis(config=self.config, profile=self.profile, choices=choices, node=node, timers=timers)


def specification(
    profile: str, broker_config: Mapping[str, str], *, defaults: Mapping[str, str] = CONFORMANCE_CONFIG
) -> ReferenceProfile:
    """Return the reference that a target is compared with; unknown properties are ignored.

    Args:
        profile: the profile's name.
        broker_config: the target's properties.
        defaults: the target's properties where `broker_config` does not set others.
    """
    config = GroupCoordinatorConfig.from_properties({**defaults, **coordinator_properties(broker_config)})
    return ReferenceProfile(profile=reference_profile(profile), config=config)


def coordinator_properties(broker_config: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of a broker that the reference knows; no secret is among them."""
    known = GroupCoordinatorConfig.property_names()
    return {name: value for name, value in broker_config.items() if name in known}


def kafka_defaults(profile: str) -> Mapping[str, str]:
    """Return the properties that a profile's release has, with Kafka's defaults.

    Raises:
        TargetError: the reference has no such profile.
    """
    return default_properties(reference_profile(profile))


def why_no_property(name: str, value: str) -> str | None:
    """Return why Kafka's coordinator has no such property, feature or value; None if it has."""
    try:
        GroupCoordinatorConfig.from_properties({name: value})
    except ConfigError as error:
        return str(error)
    return None


def stored_specification(
    profile: str,
    broker_config: Mapping[str, str],
    *,
    where: str,
    defaults: Mapping[str, str] = CONFORMANCE_CONFIG,
) -> ReferenceProfile:
    """Return the reference that a stored target is compared with.

    Args:
        profile: the profile's name.
        broker_config: the target's properties.
        where: where the properties come from, for messages.
        defaults: the target's properties where `broker_config` does not set others.

    Raises:
        TraceError: Kafka would not accept the stored configuration.
        TargetError: the reference has no such profile.
    """
    try:
        return specification(profile, broker_config, defaults=defaults)
    except ConfigError as error:
        raise TraceError(f"{where}: {error}") from error


def state_of(shard: CoordinatorShard) -> State:
    """Return a coordinator's groups and offsets, without fields that do not affect later answers."""
    groups = [_state_of_group(group) for group in shard.groups()]
    offsets = [
        (partition, offset.offset)
        for group_id in shard.offsets.groups_with_any()
        for partition, offset in shard.offsets.of_group(group_id).items()
    ]
    return groups, offsets


def _state_of_group(group: Group) -> list[tuple[str, object]]:
    return [(name, getattr(group, name)) for name in _compared_of(type(group))]


@cache
def _compared_of(kind: type[Group]) -> tuple[str, ...]:
    known = fields(kind)  # type: ignore[arg-type] # every type of group is a dataclass
    return tuple(each.name for each in known if each.name not in _NOT_COMPARED_OF_GROUPS)
