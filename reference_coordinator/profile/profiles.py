"""A profile is one release of Kafka, by what it does.

The coordinator asks `profile.has(Behaviour.…)` and never compares versions. What differs between the
two coordinator families in the *order* of steps is written out twice, under a `match` on
`profile.coordinator`.
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
    """One release of Kafka, by what it does."""

    name: str
    """As it was asked for, e.g. `3.9` or `3.9-java`."""
    version: Version
    """A release without a patch number has 999 there."""
    coordinator: CoordinatorFamily
    behaviours: frozenset[Behaviour]

    def has(self, behaviour: Behaviour) -> bool:
        """Whether this release behaves so."""
        return behaviour in self.behaviours


class UnknownProfileError(ValueError):
    """No profile goes by that name; the message says which do."""


def profile_for(version: str) -> Profile:
    """The profile of a release: `2.4` to `4.4` and later, `3.9.2`, or `3.9-java`.

    A release without a patch number stands for its newest patch. `-java` asks for the Java
    coordinator where it is a choice (3.7 to 3.9). Later releases behave as the last one known.

    Raises:
        UnknownProfileError: not a release, one before 2.4, or one without a Java coordinator.
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
