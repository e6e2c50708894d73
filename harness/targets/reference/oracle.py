"""The reference that a broker is compared with: same profile, same configuration."""

from collections.abc import Mapping
from dataclasses import dataclass

from harness.targets.base.interface import (
    BrokerDescription,
    Capability,
    Target,
    TargetError,
)
from harness.targets.reference.target import ReferenceTarget, reference_profile
from harness.targets.reference.usual import USUAL_CONFIG
from reference_coordinator.profile.api_versions import served_ranges
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.properties import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Oracle:
    """A reference with the configuration that it is to share with a target's brokers."""

    name: str
    """A slug, equal for oracles that are equal."""
    target: ReferenceTarget
    profile: str
    base_config: Mapping[str, str]
    """Properties in which the target's brokers differ from what we tell every broker."""


def oracle_for(target: Target, description: BrokerDescription) -> Oracle:
    """Return the reference for a target, told how one of its brokers runs.

    A broker that we configure has the properties that its oracle has anyway; one that we found running
    imposes its own.

    Raises:
        TargetError: the reference has no such profile, or takes no such configuration.
    """
    reference = ReferenceTarget(description.profile, profile_in_spec=True)
    is_ours = Capability.BROKER_CONFIG in target.capabilities
    try:
        reported = description.broker_config
        found = _imposed(reported) if target.is_external else _differing(reported)
        base_config = {} if is_ours else found
    except ConfigError as error:
        raise TargetError(f"{target.spec} has a configuration that the reference refuses: {error}") from error
    return Oracle(
        name=f"{reference.name}-as-{target.name}" if base_config or target.is_external else reference.name,
        target=reference,
        profile=description.profile,
        base_config=base_config,
    )


def is_same_profile(one: str, other: str) -> bool:
    """Tell whether two names stand for the same behaviour, as `4.4` and `4.4.0` do while it has one patch."""
    profiles = (reference_profile(one), reference_profile(other))
    behaviours = {(profile.coordinator, profile.behaviours) for profile in profiles}
    ranges = {tuple(served_ranges(profile).items()) for profile in profiles}
    return len(behaviours) == len(ranges) == 1


def _imposed(broker_config: Mapping[str, str]) -> Mapping[str, str]:
    """Return how a broker that we found differs from ours; what it does not tell is as in Kafka."""
    defaults = GroupCoordinatorConfig.from_properties({})
    untold = {
        name: str(getattr(defaults, name.replace(".", "_")))
        for name in USUAL_CONFIG
        if name not in broker_config
    }
    return _differing({**untold, **broker_config})


def _differing(broker_config: Mapping[str, str]) -> Mapping[str, str]:
    usual = GroupCoordinatorConfig.from_properties(USUAL_CONFIG)
    return {
        name: value
        for name, value in broker_config.items()
        if name in GroupCoordinatorConfig.property_names()
        and GroupCoordinatorConfig.from_properties({**USUAL_CONFIG, name: value}) != usual
    }
