"""References that differ from a profile in some behaviours, to find which behaviours cause a change."""

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from typing_extensions import override

from harness.targets.reference.behaviours import behaviour_sheet
from harness.targets.reference.target import PREPARATION, ReferenceTarget, reference_profile
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

    @property
    def key(self) -> str:
        """A text that is equal for references that answer alike."""
        behaviours = sorted(each.name for each in self._profile.behaviours)
        return " ".join((self._profile.name, self._profile.coordinator.name, *behaviours))

    def has(self, behaviour: str) -> bool:
        """Return whether the reference has a behaviour, by its name in lower case."""
        return self._profile.has(Behaviour[behaviour.upper()])


class _NotedBehaviours(frozenset[Behaviour]):
    """The behaviours of a profile, which note what they are asked for, whether the profile has it or not."""

    noted: set[Behaviour]

    @override
    def __contains__(self, behaviour: object) -> bool:
        assert isinstance(behaviour, Behaviour)
        self.noted.add(behaviour)
        return super().__contains__(behaviour)


class AskedTarget(VariantTarget):
    """A reference that notes which behaviours a conversation asks for: no others can change it."""

    def __init__(self, profile: Profile) -> None:
        super().__init__(profile)
        self._prepared: set[Behaviour] = set()
        self._asked: dict[str, set[Behaviour]] = {}

    @override
    def profile_in(self, scenario_id: str) -> Profile:
        behaviours = _NotedBehaviours(self._profile.behaviours)
        behaviours.noted = self._prepared if scenario_id == PREPARATION else set()
        self._asked[scenario_id] = behaviours.noted
        return replace(self._profile, behaviours=behaviours)

    def asked_in(self, scenario_id: str) -> frozenset[str]:
        """Return the names of the behaviours that a scenario's last conversation asked for.

        The coordinator always counts, since it is read without asking.
        """
        asked = self._prepared | self._asked.get(scenario_id, set())
        return frozenset((COORDINATOR, *(each.name.lower() for each in asked)))


def reference_of(profile: str) -> VariantTarget:
    """Return the reference with a profile; raise `TargetError` if there is none with that name."""
    return VariantTarget(reference_profile(profile))


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
