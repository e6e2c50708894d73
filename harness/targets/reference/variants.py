"""References that differ from a profile in some behaviours, to find which behaviours cause a change."""

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from harness.targets.reference.behaviours import behaviour_sheet
from harness.targets.reference.target import ReferenceTarget, reference_profile
from reference_coordinator.profile.behaviour import Behaviour
from reference_coordinator.profile.profiles import Profile

COORDINATOR: Final = "coordinator"
"""Among the names of behaviours: the order of steps in which the two coordinators differ."""
_COORDINATOR_SOURCE: Final = "KIP-848"


class VariantTarget(ReferenceTarget):
    """The reference with a profile that no release has."""

    def __init__(self, profile: Profile) -> None:
        super().__init__(profile.name)
        self._profile = profile

    @property
    def profile(self) -> Profile:
        """The profile with its behaviours."""
        return self._profile

    def has(self, behaviour: str) -> bool:
        """Return whether the reference has a behaviour, by its name in lower case."""
        return self._profile.has(Behaviour[behaviour.upper()])


def differing_behaviours(one: str, other: str) -> tuple[str, ...]:
    """Return the names of the behaviours in which two profiles differ, in alphabetical order.

    Raises:
        TargetError: there is no such profile.
    """
    return differing(VariantTarget(reference_profile(one)), VariantTarget(reference_profile(other)))


def differing(one: VariantTarget, other: VariantTarget) -> tuple[str, ...]:
    """Return the names of the behaviours in which two references differ, in alphabetical order."""
    profiles = one.profile, other.profile
    names = {behaviour.name.lower() for behaviour in profiles[0].behaviours ^ profiles[1].behaviours}
    if profiles[0].coordinator is not profiles[1].coordinator:
        names.add(COORDINATOR)
    return tuple(sorted(names))


def behaviour_source(name: str) -> str:
    """Return where Kafka implements a behaviour: a KAFKA-number, or class and method."""
    return _COORDINATOR_SOURCE if name == COORDINATOR else behaviour_sheet(name).source


def variant(base: str, behaviours: Collection[str], *, of: str) -> VariantTarget:
    """Return the reference with one profile, with some behaviours taken from another profile."""
    return variant_of(
        VariantTarget(reference_profile(base)), behaviours, VariantTarget(reference_profile(of))
    )


def variant_of(base: VariantTarget, behaviours: Collection[str], of: VariantTarget) -> VariantTarget:
    """Return a reference with some behaviours taken from another one."""
    profile, other = base.profile, of.profile
    switched = frozenset(Behaviour[name.upper()] for name in behaviours if name != COORDINATOR)
    coordinator = other.coordinator if COORDINATOR in behaviours else profile.coordinator
    kept = (profile.behaviours - switched) | (other.behaviours & switched)
    return VariantTarget(replace(profile, coordinator=coordinator, behaviours=kept))


def flipped(base: VariantTarget, behaviour: str) -> VariantTarget:
    """Return a reference with one behaviour flipped: added if the base lacks it, else removed.

    Raises:
        TargetError: there is no such behaviour.
    """
    name = behaviour_sheet(behaviour).name
    profile = base.profile
    return VariantTarget(replace(profile, behaviours=profile.behaviours ^ {Behaviour[name.upper()]}))
