"""The reference that a broker is held against: same profile, same configuration."""

from collections.abc import Mapping
from dataclasses import dataclass

from harness.targets.base import CONFORMANCE_CONFIG, BrokerDescription
from harness.targets.reference import ReferenceTarget, reference_profile
from reference_coordinator.config import GroupCoordinatorConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Oracle:
    """A reference with the configuration that it is to share with a target's brokers."""

    target: ReferenceTarget
    profile: str
    """The profile's own name: `3.9` and `3.9.2` may be one."""
    base_config: Mapping[str, str]
    """Properties in which the target's brokers differ from what we tell every broker."""

    @property
    def name(self) -> str:
        """A slug, equal for equal oracles."""
        suffix = "".join(f"-{name}={value}" for name, value in sorted(self.base_config.items()))
        return self.target.name + suffix.replace(".", "-")


def oracle_for(description: BrokerDescription, own_config: Mapping[str, str]) -> Oracle:
    """Return the reference for a broker.

    Args:
        description: of the broker as it runs.
        own_config: the properties that scenarios asked for, which the oracle is given scenario by scenario.

    Raises:
        TargetError: the reference has no such profile.
    """
    known = GroupCoordinatorConfig.property_names()
    base_config = {
        name: value
        for name, value in description.broker_config.items()
        if name in known and name not in own_config and CONFORMANCE_CONFIG.get(name) != value
    }
    return Oracle(
        target=ReferenceTarget(description.profile, profile_in_spec=True),
        profile=reference_profile(description.profile).name,
        base_config=base_config,
    )
