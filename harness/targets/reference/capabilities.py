"""The capabilities of references, which are nearly all, and their default configuration."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from harness.targets.base.conformance import CONFORMANCE_CONFIG, QUICK_CONSUMER_GROUPS
from harness.targets.base.interface import Capability
from reference_coordinator.core.ids import CoordinatorFamily
from reference_coordinator.profile.profiles import Profile

_STANDARD_AUTHORIZER_SINCE: Final = (3, 3, 0)
"""Releases before it have another authorizer, which stores its entries in ZooKeeper."""


def reference_capabilities(profile: Profile) -> frozenset[Capability]:
    """Return the capabilities of a reference with a profile."""
    lacking: set[Capability] = set()
    if profile.coordinator is CoordinatorFamily.JAVA:
        # It marks a group Dead and removes it in one step, and loads partitions in random order.
        lacking |= {Capability.PAUSE_AT_DEAD, Capability.ORDERED_LOADS}
    if profile.version < _STANDARD_AUTHORIZER_SINCE:
        lacking.add(Capability.PRINCIPALS)
    return frozenset(Capability) - lacking


USUAL_CONFIG: Final[Mapping[str, str]] = MappingProxyType({**CONFORMANCE_CONFIG, **QUICK_CONSUMER_GROUPS})
"""The properties of all brokers that the harness starts, so that a broker and its oracle have the same."""
