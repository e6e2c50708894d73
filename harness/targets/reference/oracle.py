"""The reference that a broker is compared with, with the same profile and configuration."""

from collections.abc import Mapping
from dataclasses import dataclass

from harness.targets.base.interface import (
    BrokerDescription,
    Capability,
    Target,
    TargetError,
)
from harness.targets.reference.capabilities import USUAL_CONFIG
from harness.targets.reference.target import ReferenceTarget, reference_profile
from reference_coordinator.profile.api_versions import served_ranges
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.properties import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Oracle:
    """A reference with the configuration that it shares with a target's brokers."""

    name: str
    """A name that is valid as a file name, and equal for equal oracles."""
    target: ReferenceTarget
    profile: str
    base_config: Mapping[str, str]
    """Properties of the target's brokers that differ from those of all brokers of the harness."""


def oracle_for(target: Target, description: BrokerDescription) -> Oracle:
    """Return the oracle of a target, from the description of one of its brokers.

    A broker that the harness configures has the properties of its oracle anyway. An external broker imposes
    those that it is taken to have.

    Raises:
        TargetError: the reference has no such profile, or does not accept the configuration.
    """
    reference = ReferenceTarget(description.profile, profile_in_spec=True)
    is_ours = Capability.BROKER_CONFIG in target.capabilities
    try:
        base_config = {} if is_ours else _differing(description.broker_config)
    except ConfigError as error:
        raise TargetError(f"{target.spec} has a configuration that the reference refuses: {error}") from error
    return Oracle(
        name=f"{reference.name}-as-{target.name}" if base_config or target.is_external else reference.name,
        target=reference,
        profile=description.profile,
        base_config=base_config,
    )


def is_same_profile(one: str, other: str) -> bool:
    """Return whether two names mean the same behaviour, as `4.4` and `4.4.0` do while it has one patch."""
    profiles = (reference_profile(one), reference_profile(other))
    behaviours = {(profile.coordinator, profile.behaviours) for profile in profiles}
    ranges = {tuple(served_ranges(profile).items()) for profile in profiles}
    return len(behaviours) == len(ranges) == 1


def _differing(broker_config: Mapping[str, str]) -> Mapping[str, str]:
    usual = GroupCoordinatorConfig.from_properties(USUAL_CONFIG)
    return {
        name: value
        for name, value in broker_config.items()
        if name in GroupCoordinatorConfig.property_names()
        and GroupCoordinatorConfig.from_properties({**USUAL_CONFIG, name: value}) != usual
    }
