"""Profiles: each one is the behaviour of one release of Kafka.

The coordinator calls `profile.has(Behaviour.…)` and never compares versions. Where the two coordinator
families differ in the *order* of steps, the code has both orders, under a `match` on `profile.coordinator`.
"""

import re
from typing import Final

from reference_coordinator.core.values import value
from reference_coordinator.profile.behaviours import OLDEST, TABLE, Behaviour, CoordinatorFamily, Version

__all__ = ["Behaviour", "CoordinatorFamily", "Profile", "UnknownProfileError", "profile_for"]

_JAVA_BY_CHOICE_SINCE: Final = (3, 7, 0)
_JAVA_ONLY_SINCE: Final = (4, 0, 0)
_NEWEST_PATCH: Final = 999
_VERSION: Final = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?(-java)?")


@value
class Profile:
    """The behaviour of one release of Kafka."""

    name: str
    """The name as requested, e.g. `3.9` or `3.9-java`."""
    version: Version
    """The patch number is 999 if the name has none."""
    coordinator: CoordinatorFamily
    behaviours: frozenset[Behaviour]

    def has(self, behaviour: Behaviour) -> bool:
        """Return whether the release has a behaviour."""
        return behaviour in self.behaviours


class UnknownProfileError(ValueError):
    """There is no profile with a name. The message lists valid names."""


def profile_for(version: str) -> Profile:
    """Return the profile of a release: `2.4` to `4.4` and later, `3.9.2`, or `3.9-java`.

    A release without a patch number means its newest patch. `-java` selects the Java coordinator where it
    is optional (3.7 to 3.9). Later releases behave like the last known one.

    Raises:
        UnknownProfileError: the name is not a release, is before 2.4, or has no Java coordinator.
    """
    parts = _VERSION.fullmatch(version)
    if parts is None:
        raise UnknownProfileError(
            f"{version!r} is no profile; give a release such as 2.8.2, 3.9, 3.9-java or 4.4."
        )
    number = (
        int(parts[1]),
        int(parts[2]),
        _NEWEST_PATCH if parts[3] is None else int(parts[3]),
    )
    family = _family(version, number, asks_for_java=parts[4] is not None)
    behaviours = frozenset(
        row.behaviour for row in TABLE if any(span.contains(number, family) for span in row.spans)
    )
    return Profile(name=version, version=number, coordinator=family, behaviours=behaviours)


def _family(name: str, version: Version, *, asks_for_java: bool) -> CoordinatorFamily:
    if version < OLDEST:
        raise UnknownProfileError(f"{name!r} is too old; profiles begin with 2.4.")
    if asks_for_java and version < _JAVA_BY_CHOICE_SINCE:
        raise UnknownProfileError(f"{name!r} has no Java coordinator; the first is 3.7-java.")
    if asks_for_java or version >= _JAVA_ONLY_SINCE:
        return CoordinatorFamily.JAVA
    return CoordinatorFamily.SCALA
