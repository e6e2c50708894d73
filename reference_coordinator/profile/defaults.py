"""Kafka's default values of the coordinator's properties, by release."""

from collections.abc import Iterator, Mapping
from typing import Final

from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.profiles import Profile

_PROTOCOLS: Final = "group.coordinator.rebalance.protocols"
_POLICY: Final = "group.consumer.migration.policy"
_NOT_KAFKAS: Final = frozenset({"group.coordinator.append.linger.ms"})
"""Properties for which the reference has a default of its own."""
FEATURES: Final = frozenset({"group.version", "share.version", "streams.version"})
"""Levels of features, which are not properties, and which a cluster has rather than a broker."""
_SINCE_4_3: Final = ".assignment.interval.ms"
"""How properties end that came with 4.3. Source: GroupCoordinatorConfig (4.3.1)."""
_SINCE: Final[tuple[tuple[str, tuple[int, int]], ...]] = (
    ("group.streams.acceptable.recovery.lag", (4, 4)),
    ("group.streams.num.warmup.replicas", (4, 4)),
    ("group.streams.rack.aware.", (4, 4)),
    ("group.streams.task.offset.", (4, 4)),
    ("errors.deadletterqueue.", (4, 4)),
    ("group.streams.", (4, 1)),
    ("group.share.", (4, 1)),
    ("group.consumer.regex.", (4, 0)),
    ("group.consumer.", (3, 7)),
    (_PROTOCOLS, (3, 7)),
)
"""The first release with properties, by how their names begin; the first row that fits counts."""
_PROTOCOLS_SINCE: Final = (
    ((4, 1), "classic,consumer,streams"),
    ((4, 0), "classic,consumer"),
    ((3, 7), "classic"),
)
"""Source: GroupCoordinatorConfig#GROUP_COORDINATOR_REBALANCE_PROTOCOLS_DEFAULT (3.9.2, 4.0.2, 4.3.1)."""
_MIGRATES_SINCE: Final = (4, 0)
"""Source: GroupCoordinatorConfig#CONSUMER_GROUP_MIGRATION_POLICY_DEFAULT (3.9.2, 4.0.2)."""


def default_properties(profile: Profile) -> Mapping[str, str]:
    """Return the properties that a release has, with Kafka's defaults; without the levels of features."""
    return dict(_defaults(profile.version[:2]))


def _defaults(release: tuple[int, ...]) -> Iterator[tuple[str, str]]:
    for name, value in GroupCoordinatorConfig().reported().items():
        if name in FEATURES | _NOT_KAFKAS or release < _first_release(name):
            continue
        if name == _PROTOCOLS:
            yield name, next(each for since, each in _PROTOCOLS_SINCE if release >= since)
        elif name == _POLICY and release < _MIGRATES_SINCE:
            yield name, "disabled"
        else:
            yield name, value


def _first_release(name: str) -> tuple[int, int]:
    if name.endswith(_SINCE_4_3):
        return (4, 3)
    return next((since for begin, since in _SINCE if name.startswith(begin)), (0, 0))
