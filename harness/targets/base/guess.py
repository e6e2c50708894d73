"""Guess from the advertised API versions which Kafka release a broker behaves like."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from harness.targets.base.interface import ApiRange
from harness.wire.schema import API_NAMES


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mark:
    """The release in which an API's newest version reached a number."""

    profile: str
    api_key: int
    version: int


_JOIN_GROUP: Final = 11
_MARKS: Final = tuple(
    _Mark(profile=profile, api_key=key, version=version)
    for key, since in {
        8: {"3.7": 9, "4.2": 10},  # OffsetCommit: of a consumer group, by topic id
        9: {"2.5": 7, "3.0": 8, "3.7": 9, "4.2": 10},  # OffsetFetch
        10: {"3.0": 4, "3.8": 5, "3.9": 6},  # FindCoordinator: in batches, for share groups
        _JOIN_GROUP: {"2.5": 7, "3.2": 9},  # KIP-559, KIP-814
        13: {"3.2": 5},  # LeaveGroup
        14: {"2.5": 5},  # SyncGroup
        15: {"4.0": 6},  # DescribeGroups
        16: {"2.6": 4, "3.8": 5},  # ListGroups: by state (KIP-518), by type
        22: {"2.5": 3, "2.7": 4, "3.8": 5},  # InitProducerId
        24: {"2.7": 2, "2.8": 3, "3.5": 4, "3.8": 5},  # AddPartitionsToTxn
        25: {"2.7": 2, "2.8": 3, "3.8": 4},  # AddOffsetsToTxn
        26: {"2.7": 2, "2.8": 3, "3.8": 4, "4.0": 5},  # EndTxn
        28: {"2.5": 3, "3.8": 4, "4.0": 5, "4.4": 6},  # TxnOffsetCommit
        42: {"4.4": 3},  # DeleteGroups
        66: {"3.8": 1, "4.1": 2},  # ListTransactions
    }.items()
    for profile, version in since.items()
)
"""The releases in which the coordinators' APIs got new versions. Rows VF-01 and VR-01 to VR-10."""
_OLDEST: Final = "2.4"
_JOIN_GROUP_MIN_OF_4_0_0: Final = 2
"""Only that release dropped the two oldest versions; the next patch restored them. Rows VF-01 and V-03."""
_JAVA_BY_CHOICE: Final = frozenset({"3.7", "3.8", "3.9"})
_PROTOCOLS: Final = "group.coordinator.rebalance.protocols"
_SINCE_4_3: Final = "group.consumer.assignment.interval.ms"
"""A property of 4.3 that 4.2, with equal API versions, lacks. Source: GroupCoordinatorConfig (4.3.1)."""


def guess_profile(api_ranges: Iterable[ApiRange], config: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the release whose coordinators match the advertised versions and the configuration best.

    All marks of the APIs that are advertised count alike. Where several releases contradict equally few, it
    is the oldest if there is no contradiction, and else the newest, since a broker that is not Kafka lags
    behind in its versions rather than in its answers. So 3.3 and 3.4 are taken for 3.2, and 3.6 for 3.5. 4.3
    is taken for 4.2 unless the broker describes its configuration, which has one more property. Where
    releases offer two coordinators, the rebalance protocols show which one it is: `consumer` needs the Java
    one.
    """
    ranges = {api.api_key: api for api in api_ranges}
    found = [(len(_contradicting(ranges, each)), each) for each in _RELEASES]
    fewest = min(count for count, _ in found)
    best = [each for count, each in found if count == fewest]
    release = best[-1] if fewest else best[0]
    joins = ranges.get(_JOIN_GROUP)
    if release == "4.0" and joins is not None and joins.min_version == _JOIN_GROUP_MIN_OF_4_0_0:
        return "4.0.0"
    if release == "4.2" and _SINCE_4_3 in config:
        return "4.3"
    protocols = config.get(_PROTOCOLS, "").split(",")
    return f"{release}-java" if release in _JAVA_BY_CHOICE and "consumer" in protocols else release


def guess_in_words(profile: str, api_ranges: Iterable[ApiRange]) -> str:
    """Return a sentence about a guessed profile, with the advertised versions that contradict it."""
    ranges = {api.api_key: api for api in api_ranges}
    release = ".".join(profile.partition("-")[0].split(".")[:2])
    by_api: dict[int, _Mark] = {}
    for mark in _contradicting(ranges, release):
        # The newest of what it has too early, and the oldest of what it lacks.
        if mark.api_key not in by_api or _has(ranges, mark):
            by_api[mark.api_key] = mark
    against = ", ".join(
        f"{API_NAMES[key]} v{ranges[key].max_version} "
        f"({'from' if _has(ranges, mark) else 'before'} {mark.profile})"
        for key, mark in by_api.items()
    )
    contradicted = f"; it contradicts {against}" if against else ""
    guess = f"profile {profile} is a guess from the advertised ApiVersions"
    return f"{guess}{contradicted}; --profile states another"


def _has(ranges: Mapping[int, ApiRange], mark: _Mark) -> bool:
    return ranges[mark.api_key].max_version >= mark.version


def _contradicting(ranges: Mapping[int, ApiRange], release: str) -> Sequence[_Mark]:
    """Return the marks that a release has and the advertised versions lack, or the other way round."""
    return [
        mark
        for mark in _MARKS
        if mark.api_key in ranges and _has(ranges, mark) != (_number(mark.profile) <= _number(release))
    ]


def _number(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")))


_RELEASES: Final = sorted({_OLDEST, *(mark.profile for mark in _MARKS)}, key=_number)
"""The releases that can be told apart, oldest first."""
