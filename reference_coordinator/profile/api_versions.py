"""The API versions that each release advertises, and those that the reference serves."""

from collections.abc import Mapping
from enum import IntEnum, unique
from functools import cache
from types import MappingProxyType
from typing import Final

from reference_coordinator.core.values import value
from reference_coordinator.profile.behaviours import Version
from reference_coordinator.profile.profiles import Profile


@unique
class Api(IntEnum):
    """The APIs that the reference serves, by Kafka's keys. Source: ApiKeys (4.3.1)."""

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DELETE_RECORDS = 21
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    WRITE_TXN_MARKERS = 27
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_ACLS = 29
    CREATE_ACLS = 30
    CREATE_PARTITIONS = 37
    DESCRIBE_CONFIGS = 32
    DESCRIBE_LOG_DIRS = 35
    DELETE_GROUPS = 42
    INCREMENTAL_ALTER_CONFIGS = 44
    OFFSET_DELETE = 47
    DESCRIBE_QUORUM = 55
    DESCRIBE_CLUSTER = 60
    DESCRIBE_TRANSACTIONS = 65
    LIST_TRANSACTIONS = 66
    CONSUMER_GROUP_HEARTBEAT = 68
    CONSUMER_GROUP_DESCRIBE = 69
    LIST_CONFIG_RESOURCES = 74
    DESCRIBE_TOPIC_PARTITIONS = 75
    SHARE_GROUP_HEARTBEAT = 76
    SHARE_GROUP_DESCRIBE = 77
    DESCRIBE_SHARE_GROUP_OFFSETS = 90
    ALTER_SHARE_GROUP_OFFSETS = 91
    DELETE_SHARE_GROUP_OFFSETS = 92
    SHARE_FETCH = 78
    SHARE_ACKNOWLEDGE = 79
    INITIALIZE_SHARE_GROUP_STATE = 83
    READ_SHARE_GROUP_STATE = 84
    WRITE_SHARE_GROUP_STATE = 85
    DELETE_SHARE_GROUP_STATE = 86
    READ_SHARE_GROUP_STATE_SUMMARY = 87
    STREAMS_GROUP_HEARTBEAT = 88
    STREAMS_GROUP_DESCRIBE = 89
    STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE = 93


@value
class VersionRange:
    """A range of versions of one API, both ends included."""

    min_version: int
    max_version: int

    def __contains__(self, version: int) -> bool:
        return self.min_version <= version <= self.max_version


ApiRanges = Mapping[Api, VersionRange]
"""The versions that a broker advertises, in the order of Kafka's keys."""

_Advertised = tuple[tuple[Version, int, int], ...]


def _ranges(text: str) -> _Advertised:
    """Parse `2.4: 0-6, 4.0.1: 2-9`: an API's versions from each release on, or `none` if not yet present."""
    rows = []
    for release, versions in (row.split(": ") for row in text.split(", ")):
        major, minor, patch = map(int, f"{release}.0".split(".")[:3])
        lowest, highest = (0, -1) if versions == "none" else map(int, versions.split("-"))
        rows.append(((major, minor, patch), lowest, highest))
    return tuple(rows)


_ADVERTISED: Final[Mapping[Api, _Advertised]] = MappingProxyType(
    {
        Api.PRODUCE: _ranges("2.4: 0-8, 2.8: 0-9, 3.7: 0-10, 3.8: 0-11, 4.0: 3-12, 4.1: 3-13"),
        Api.FETCH: _ranges(
            "2.4: 0-11, 2.7: 0-12, 3.1: 0-13, 3.5: 0-15, 3.7: 0-16, 3.9: 0-17, 4.0: 4-17, 4.1: 4-18"
        ),
        Api.LIST_OFFSETS: _ranges("2.4: 0-5, 2.8: 0-6, 3.0: 0-7, 3.5: 0-8, 3.9: 0-9, 4.0: 1-10, 4.2: 1-11"),
        Api.METADATA: _ranges("2.4: 0-9, 2.8: 0-11, 3.1: 0-12, 4.0: 0-13"),
        Api.OFFSET_COMMIT: _ranges("2.4: 0-8, 3.7: 0-9, 4.0: 2-9, 4.2: 2-10"),
        Api.OFFSET_FETCH: _ranges("2.4: 0-6, 2.5: 0-7, 3.0: 0-8, 3.7: 0-9, 4.0: 1-9, 4.2: 1-10"),
        Api.FIND_COORDINATOR: _ranges("2.4: 0-3, 3.0: 0-4, 3.8: 0-5, 3.9: 0-6"),
        Api.JOIN_GROUP: _ranges("2.4: 0-6, 2.5: 0-7, 3.2: 0-9, 4.0: 2-9, 4.0.1: 0-9"),
        Api.HEARTBEAT: _ranges("2.4: 0-4"),
        Api.LEAVE_GROUP: _ranges("2.4: 0-4, 3.2: 0-5"),
        Api.SYNC_GROUP: _ranges("2.4: 0-4, 2.5: 0-5"),
        Api.DESCRIBE_GROUPS: _ranges("2.4: 0-5, 4.0: 0-6"),
        Api.LIST_GROUPS: _ranges("2.4: 0-3, 2.6: 0-4, 3.8: 0-5"),
        Api.API_VERSIONS: _ranges("2.4: 0-3, 3.9: 0-4, 4.4: 0-5"),
        Api.CREATE_TOPICS: _ranges("2.4: 0-5, 2.7: 0-6, 2.8: 0-7, 4.0: 2-7"),
        Api.DELETE_TOPICS: _ranges("2.4: 0-4, 2.7: 0-5, 2.8: 0-6, 4.0: 1-6"),
        Api.DELETE_RECORDS: _ranges("2.4: 0-1, 2.6: 0-2"),
        Api.INIT_PRODUCER_ID: _ranges("2.4: 0-2, 2.5: 0-3, 2.7: 0-4, 3.8: 0-5"),
        Api.OFFSET_FOR_LEADER_EPOCH: _ranges("2.4: 0-3, 2.8: 0-4, 4.0: 2-4"),
        Api.ADD_PARTITIONS_TO_TXN: _ranges("2.4: 0-1, 2.7: 0-2, 2.8: 0-3, 3.5: 0-4, 3.8: 0-5"),
        Api.ADD_OFFSETS_TO_TXN: _ranges("2.4: 0-1, 2.7: 0-2, 2.8: 0-3, 3.8: 0-4"),
        Api.END_TXN: _ranges("2.4: 0-1, 2.7: 0-2, 2.8: 0-3, 3.8: 0-4, 4.0: 0-5"),
        Api.WRITE_TXN_MARKERS: _ranges("2.4: 0-0, 2.8: 0-1, 4.0: 1-1, 4.2: 1-2"),
        Api.TXN_OFFSET_COMMIT: _ranges("2.4: 0-2, 2.5: 0-3, 3.8: 0-4, 4.0: 0-5, 4.4: 0-6"),
        Api.DESCRIBE_ACLS: _ranges("2.4: 0-1, 2.5: 0-2, 3.3: 0-3, 4.0: 1-3"),
        Api.CREATE_ACLS: _ranges("2.4: 0-1, 2.5: 0-2, 3.3: 0-3, 4.0: 1-3"),
        Api.CREATE_PARTITIONS: _ranges("2.4: 0-1, 2.5: 0-2, 2.7: 0-3"),
        Api.DELETE_GROUPS: _ranges("2.4: 0-2, 4.4: 0-3"),
        Api.OFFSET_DELETE: _ranges("2.4: 0-0"),
        Api.DESCRIBE_CLUSTER: _ranges("2.4: none, 2.8: 0-0, 3.7: 0-1, 4.0: 0-2"),
        Api.DESCRIBE_CONFIGS: _ranges("2.4: 0-2, 2.6: 0-3, 2.8: 0-4, 4.0: 1-4"),
        Api.DESCRIBE_LOG_DIRS: _ranges("2.4: 0-1, 2.6: 0-2, 3.2: 0-3, 3.3: 0-4, 4.0: 1-4, 4.3: 1-5"),
        # Only brokers with KRaft serve it. The profiles of older releases are brokers with ZooKeeper.
        Api.DESCRIBE_QUORUM: _ranges("2.4: none, 3.3: 0-1, 3.9: 0-2"),
        Api.INCREMENTAL_ALTER_CONFIGS: _ranges("2.4: 0-1"),
        Api.DESCRIBE_TRANSACTIONS: _ranges("2.4: none, 3.0: 0-0"),
        Api.LIST_TRANSACTIONS: _ranges("2.4: none, 3.0: 0-0, 3.8: 0-1, 4.1: 0-2"),
        Api.CONSUMER_GROUP_HEARTBEAT: _ranges("2.4: none, 3.7: 0-0, 4.0: 0-1"),
        Api.CONSUMER_GROUP_DESCRIBE: _ranges("2.4: none, 3.8: 0-0, 4.0: 0-1"),
        Api.LIST_CONFIG_RESOURCES: _ranges("2.4: none, 3.7: 0-0, 4.1: 0-1"),
        Api.DESCRIBE_TOPIC_PARTITIONS: _ranges("2.4: none, 3.8: 0-0"),
        Api.SHARE_GROUP_HEARTBEAT: _ranges("2.4: none, 4.1: 1-1"),
        Api.SHARE_GROUP_DESCRIBE: _ranges("2.4: none, 4.1: 1-1"),
        Api.DESCRIBE_SHARE_GROUP_OFFSETS: _ranges("2.4: none, 4.1: 0-0, 4.2: 0-1"),
        Api.ALTER_SHARE_GROUP_OFFSETS: _ranges("2.4: none, 4.1: 0-0"),
        Api.DELETE_SHARE_GROUP_OFFSETS: _ranges("2.4: none, 4.1: 0-0"),
        Api.SHARE_FETCH: _ranges("2.4: none, 4.1: 1-1, 4.2: 1-2"),
        Api.SHARE_ACKNOWLEDGE: _ranges("2.4: none, 4.1: 1-1, 4.2: 1-2"),
        Api.INITIALIZE_SHARE_GROUP_STATE: _ranges("2.4: none, 4.1: 0-0"),
        Api.READ_SHARE_GROUP_STATE: _ranges("2.4: none, 4.1: 0-0"),
        Api.WRITE_SHARE_GROUP_STATE: _ranges("2.4: none, 4.1: 0-0, 4.2: 0-1"),
        Api.DELETE_SHARE_GROUP_STATE: _ranges("2.4: none, 4.1: 0-0"),
        Api.READ_SHARE_GROUP_STATE_SUMMARY: _ranges("2.4: none, 4.1: 0-0, 4.2: 0-1"),
        Api.STREAMS_GROUP_HEARTBEAT: _ranges("2.4: none, 4.2: 0-0, 4.4: 0-1"),
        Api.STREAMS_GROUP_DESCRIBE: _ranges("2.4: none, 4.2: 0-0, 4.4: 0-1"),
        Api.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE: _ranges("2.4: none, 4.4: 0-0"),
    }
)
"""By API, the version ranges and the releases in which they changed.

Source: the message definitions of each release.
"""

_DECODABLE: Final[Mapping[Api, VersionRange]] = MappingProxyType(
    {
        Api.PRODUCE: VersionRange(min_version=3, max_version=13),
        Api.FETCH: VersionRange(min_version=4, max_version=18),
        Api.LIST_OFFSETS: VersionRange(min_version=1, max_version=11),
        Api.OFFSET_FOR_LEADER_EPOCH: VersionRange(min_version=2, max_version=4),
        Api.CREATE_TOPICS: VersionRange(min_version=2, max_version=7),
        Api.DESCRIBE_CONFIGS: VersionRange(min_version=1, max_version=4),
        Api.DESCRIBE_ACLS: VersionRange(min_version=1, max_version=3),
        Api.CREATE_ACLS: VersionRange(min_version=1, max_version=3),
    }
)
"""The APIs of which the reference decodes fewer versions than Kafka. Other versions are not advertised."""


_UNSTABLE: Final[Mapping[Api, _Advertised]] = MappingProxyType(
    {
        Api.SHARE_GROUP_HEARTBEAT: _ranges("2.4: none, 4.0: 0-0, 4.1: 1-1"),
        Api.SHARE_GROUP_DESCRIBE: _ranges("2.4: none, 4.0: 0-0, 4.1: 1-1"),
    }
)
"""The ranges of a broker that is configured to serve previews, as far as the reference supports them."""


@cache
def served_ranges(profile: Profile, *, previews: bool = False) -> ApiRanges:
    """Return what a broker of the release advertises, without what the reference cannot serve."""
    advertised = {**_ADVERTISED, **_UNSTABLE} if previews else _ADVERTISED
    served = {api: _served(advertised[api], api, profile.version) for api in advertised}
    return MappingProxyType({api: versions for api, versions in served.items() if versions is not None})


def _served(advertised: _Advertised, api: Api, version: Version) -> VersionRange | None:
    """Return the served versions of an API, or None if the reference serves none."""
    _, lowest, highest = max(row for row in advertised if row[0] <= version)
    decodable = _DECODABLE.get(api, VersionRange(min_version=lowest, max_version=highest))
    if highest < decodable.min_version:
        return None
    return VersionRange(
        min_version=max(lowest, decodable.min_version),
        max_version=min(highest, decodable.max_version),
    )
