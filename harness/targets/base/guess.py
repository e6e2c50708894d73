"""Guess from the advertised API versions which Kafka release a broker behaves like."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from harness.targets.base.interface import ApiRange


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mark:
    """The release in which an API's newest version reached a number."""

    profile: str
    api_key: int
    version: int


_JOIN_GROUP: Final = 11
_MARKS: Final = (
    _Mark(profile="4.4", api_key=42, version=3),  # DeleteGroups
    _Mark(profile="4.2", api_key=8, version=10),  # OffsetCommit by topic id
    _Mark(profile="4.0", api_key=15, version=6),  # DescribeGroups
    _Mark(profile="3.9", api_key=10, version=6),  # FindCoordinator for share groups
    _Mark(profile="3.8", api_key=16, version=5),  # ListGroups by type
    _Mark(profile="3.7", api_key=8, version=9),  # OffsetCommit of a consumer group
    _Mark(profile="3.2", api_key=_JOIN_GROUP, version=9),  # SkipAssignment, KIP-814
    _Mark(profile="3.0", api_key=10, version=4),  # FindCoordinator in batches, KIP-699
    _Mark(profile="2.8", api_key=25, version=3),  # AddOffsetsToTxn
    _Mark(profile="2.7", api_key=25, version=2),
    _Mark(profile="2.6", api_key=16, version=4),  # ListGroups by state, KIP-518
    _Mark(profile="2.5", api_key=_JOIN_GROUP, version=7),  # protocol type, KIP-559
)
"""Newest first; each release's mark is one that all earlier ones lack. Rows VF-01 and VR-01 to VR-10."""
_OLDEST: Final = "2.4"
_JOIN_GROUP_MIN_OF_4_0_0: Final = 2
"""Only that release dropped the two oldest versions; the next patch restored them. Rows VF-01 and V-03."""
_JAVA_BY_CHOICE: Final = frozenset({"3.7", "3.8", "3.9"})
_PROTOCOLS: Final = "group.coordinator.rebalance.protocols"
_SINCE_4_3: Final = "group.consumer.assignment.interval.ms"
"""A property of 4.3 that 4.2, with equal API versions, lacks. Source: GroupCoordinatorConfig (4.3.1)."""


def guess_profile(api_ranges: Iterable[ApiRange], config: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the release whose group coordinator matches the advertised versions and the configuration best.

    This is the oldest release with the newest mark: 4.1 is taken for 4.0, and 3.3 to 3.6 for 3.2, since no
    API of the group coordinator changed its versions in between. 4.3 is taken for 4.2 unless the broker
    describes its configuration, which has one more property. A broker that is not Kafka may advertise any
    mixture; the result is then only a starting point. Where releases offer two coordinators, the rebalance
    protocols show which one it is: `consumer` needs the Java one.
    """
    release = _guess_release(api_ranges)
    if release == "4.2" and _SINCE_4_3 in config:
        return "4.3"
    protocols = config.get(_PROTOCOLS, "").split(",")
    return f"{release}-java" if release in _JAVA_BY_CHOICE and "consumer" in protocols else release


def _guess_release(api_ranges: Iterable[ApiRange]) -> str:
    ranges = {api.api_key: api for api in api_ranges}
    if _JOIN_GROUP in ranges and ranges[_JOIN_GROUP].min_version == _JOIN_GROUP_MIN_OF_4_0_0:
        return "4.0.0"
    newest = {api.api_key: api.max_version for api in ranges.values()}
    for mark in _MARKS:
        if newest.get(mark.api_key, -1) >= mark.version:
            return mark.profile
    return _OLDEST
