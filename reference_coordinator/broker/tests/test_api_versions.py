"""What is advertised, as live brokers advertised it."""

import pytest

from reference_coordinator.profile.api_versions import Api, VersionRange, served_ranges
from reference_coordinator.profile.profiles import profile_for
from reference_coordinator.tests.wire_broker import WireBroker

KAFKA_3_9_2 = {
    Api.PRODUCE: (0, 11),
    Api.FETCH: (0, 17),
    Api.LIST_OFFSETS: (0, 9),
    Api.METADATA: (0, 12),
    Api.OFFSET_COMMIT: (0, 9),
    Api.OFFSET_FETCH: (0, 9),
    Api.FIND_COORDINATOR: (0, 6),
    Api.JOIN_GROUP: (0, 9),
    Api.HEARTBEAT: (0, 4),
    Api.LEAVE_GROUP: (0, 5),
    Api.SYNC_GROUP: (0, 5),
    Api.DESCRIBE_GROUPS: (0, 5),
    Api.LIST_GROUPS: (0, 5),
    Api.API_VERSIONS: (0, 4),
    Api.CREATE_TOPICS: (0, 7),
    Api.DELETE_TOPICS: (0, 6),
    Api.DELETE_RECORDS: (0, 2),
    Api.INIT_PRODUCER_ID: (0, 5),
    Api.OFFSET_FOR_LEADER_EPOCH: (0, 4),
    Api.ADD_PARTITIONS_TO_TXN: (0, 5),
    Api.ADD_OFFSETS_TO_TXN: (0, 4),
    Api.END_TXN: (0, 4),
    Api.WRITE_TXN_MARKERS: (0, 1),
    Api.TXN_OFFSET_COMMIT: (0, 4),
    Api.DELETE_GROUPS: (0, 2),
    Api.CREATE_PARTITIONS: (0, 3),
    Api.OFFSET_DELETE: (0, 0),
    Api.DESCRIBE_CLUSTER: (0, 1),
    Api.DESCRIBE_ACLS: (0, 3),
    Api.CREATE_ACLS: (0, 3),
    Api.DESCRIBE_CONFIGS: (0, 4),
    Api.DESCRIBE_LOG_DIRS: (0, 4),
    Api.DESCRIBE_QUORUM: (0, 2),
    Api.INCREMENTAL_ALTER_CONFIGS: (0, 1),
    Api.DESCRIBE_TRANSACTIONS: (0, 0),
    Api.LIST_TRANSACTIONS: (0, 1),
    Api.CONSUMER_GROUP_HEARTBEAT: (0, 0),
    Api.CONSUMER_GROUP_DESCRIBE: (0, 0),
    Api.LIST_CONFIG_RESOURCES: (0, 0),
    Api.DESCRIBE_TOPIC_PARTITIONS: (0, 0),
}
KAFKA_4_3_1 = KAFKA_3_9_2 | {
    Api.PRODUCE: (0, 13),
    Api.FETCH: (4, 18),
    Api.LIST_OFFSETS: (1, 11),
    Api.OFFSET_FOR_LEADER_EPOCH: (2, 4),
    Api.DESCRIBE_CLUSTER: (0, 2),
    Api.METADATA: (0, 13),
    Api.DESCRIBE_ACLS: (1, 3),
    Api.CREATE_ACLS: (1, 3),
    Api.OFFSET_COMMIT: (2, 10),
    Api.OFFSET_FETCH: (1, 10),
    Api.DESCRIBE_GROUPS: (0, 6),
    Api.CREATE_TOPICS: (2, 7),
    Api.DELETE_TOPICS: (1, 6),
    Api.END_TXN: (0, 5),
    Api.WRITE_TXN_MARKERS: (1, 2),
    Api.TXN_OFFSET_COMMIT: (0, 5),
    Api.DESCRIBE_CONFIGS: (1, 4),
    Api.DESCRIBE_LOG_DIRS: (1, 5),
    Api.LIST_TRANSACTIONS: (0, 2),
    Api.CONSUMER_GROUP_HEARTBEAT: (0, 1),
    Api.CONSUMER_GROUP_DESCRIBE: (0, 1),
    Api.LIST_CONFIG_RESOURCES: (0, 1),
    Api.SHARE_GROUP_HEARTBEAT: (1, 1),
    Api.SHARE_GROUP_DESCRIBE: (1, 1),
    Api.SHARE_FETCH: (1, 2),
    Api.SHARE_ACKNOWLEDGE: (1, 2),
    Api.INITIALIZE_SHARE_GROUP_STATE: (0, 0),
    Api.READ_SHARE_GROUP_STATE: (0, 0),
    Api.WRITE_SHARE_GROUP_STATE: (0, 1),
    Api.DELETE_SHARE_GROUP_STATE: (0, 0),
    Api.READ_SHARE_GROUP_STATE_SUMMARY: (0, 1),
    Api.DESCRIBE_SHARE_GROUP_OFFSETS: (0, 1),
    Api.ALTER_SHARE_GROUP_OFFSETS: (0, 0),
    Api.DELETE_SHARE_GROUP_OFFSETS: (0, 0),
    Api.STREAMS_GROUP_HEARTBEAT: (0, 0),
    Api.STREAMS_GROUP_DESCRIBE: (0, 0),
}
KAFKA_4_4_0 = KAFKA_4_3_1 | {
    Api.API_VERSIONS: (0, 5),
    Api.TXN_OFFSET_COMMIT: (0, 6),
    Api.DELETE_GROUPS: (0, 3),
    Api.STREAMS_GROUP_HEARTBEAT: (0, 1),
    Api.STREAMS_GROUP_DESCRIBE: (0, 1),
    Api.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE: (0, 0),
}
NOT_DECODED_BELOW = {
    Api.PRODUCE: 3,
    Api.FETCH: 4,
    Api.LIST_OFFSETS: 1,
    Api.OFFSET_FOR_LEADER_EPOCH: 2,
    Api.CREATE_TOPICS: 2,
    Api.DESCRIBE_ACLS: 1,
    Api.CREATE_ACLS: 1,
    Api.DESCRIBE_CONFIGS: 1,
}


@pytest.mark.parametrize(
    ("version", "observed"), [("3.9.2", KAFKA_3_9_2), ("4.3.1", KAFKA_4_3_1), ("4.4.0", KAFKA_4_4_0)]
)
def test_a_profile_advertises_what_the_release_was_seen_to_advertise(
    version: str, observed: dict[Api, tuple[int, int]]
) -> None:
    served = served_ranges(profile_for(version))

    assert {api: (each.min_version, each.max_version) for api, each in served.items()} == {
        api: (max(lowest, NOT_DECODED_BELOW.get(api, 0)), highest)
        for api, (lowest, highest) in observed.items()
    }


@pytest.mark.parametrize(
    ("version", "api", "expected"),
    [
        ("2.4", Api.PRODUCE, (3, 8)),
        ("2.8", Api.FETCH, (4, 12)),
        ("2.7", Api.DESCRIBE_CLUSTER, None),
        ("2.8", Api.DESCRIBE_CLUSTER, (0, 0)),
        ("4.1", Api.LIST_OFFSETS, (1, 10)),
        ("2.4", Api.JOIN_GROUP, (0, 6)),
        ("2.5", Api.JOIN_GROUP, (0, 7)),
        ("3.2", Api.JOIN_GROUP, (0, 9)),
        ("4.0.0", Api.JOIN_GROUP, (2, 9)),
        ("4.0.1", Api.JOIN_GROUP, (0, 9)),
        ("2.4", Api.SYNC_GROUP, (0, 4)),
        ("3.1", Api.LEAVE_GROUP, (0, 4)),
        ("3.4", Api.FIND_COORDINATOR, (0, 4)),
        ("2.4", Api.OFFSET_FETCH, (0, 6)),
        ("3.7", Api.OFFSET_COMMIT, (0, 9)),
        ("4.1", Api.OFFSET_COMMIT, (2, 9)),
        ("4.2", Api.OFFSET_COMMIT, (2, 10)),
        ("2.4", Api.LIST_GROUPS, (0, 3)),
        ("2.4", Api.TXN_OFFSET_COMMIT, (0, 2)),
        ("2.5", Api.TXN_OFFSET_COMMIT, (0, 3)),
        ("2.7", Api.ADD_OFFSETS_TO_TXN, (0, 2)),
        ("2.4", Api.WRITE_TXN_MARKERS, (0, 0)),
        ("2.8", Api.WRITE_TXN_MARKERS, (0, 1)),
        ("3.8", Api.INIT_PRODUCER_ID, (0, 5)),
        ("4.1", Api.SHARE_GROUP_HEARTBEAT, (1, 1)),
        ("4.1", Api.DESCRIBE_SHARE_GROUP_OFFSETS, (0, 0)),
    ],
)
def test_a_range_changes_in_the_release_that_changed_it(
    version: str, api: Api, expected: tuple[int, int] | None
) -> None:
    served = served_ranges(profile_for(version)).get(api)

    assert (None if served is None else (served.min_version, served.max_version)) == expected


def test_a_preview_is_served_where_it_is_asked_for() -> None:
    first = VersionRange(min_version=0, max_version=0)

    assert Api.SHARE_GROUP_HEARTBEAT not in served_ranges(profile_for("4.0"))
    assert served_ranges(profile_for("4.0"), previews=True)[Api.SHARE_GROUP_HEARTBEAT] == first
    assert served_ranges(profile_for("4.1"), previews=True) == served_ranges(profile_for("4.1"))


SOFTWARE = {"client_software_name": "tests", "client_software_version": "1"}


@pytest.mark.parametrize(("version", "level"), [("3.9.2", None), ("4.0", 2), ("4.3.1", 2)])
def test_clients_hear_of_consumer_groups_and_transactions_of_version_2_where_the_release_has_them(
    version: str, level: int | None
) -> None:
    reported = WireBroker(version).connect().ask("api_versions", 4, **SOFTWARE)

    finalized = [(each.name, each.max_version_level) for each in reported.finalized_features]
    assert finalized == ([] if level is None else [("group.version", 1), ("transaction.version", level)])
    assert (reported.finalized_features_epoch < 0) == (level is None)


@pytest.mark.parametrize(
    ("api_version", "supported"),
    [(3, []), (4, [("group.version", 0, 1), ("transaction.version", 0, 2)])],
)
def test_who_cannot_read_that_a_level_may_be_0_is_not_reported_which_levels_there_are(
    api_version: int, supported: list[tuple[str, int, int]]
) -> None:
    reported = WireBroker("4.3.1").connect().ask("api_versions", api_version, **SOFTWARE)

    assert [
        (each.name, each.min_version, each.max_version) for each in reported.supported_features
    ] == supported
    assert [each.name for each in reported.finalized_features] == ["group.version", "transaction.version"]


def test_a_feature_at_level_0_is_supported_and_not_finalized() -> None:
    reported = WireBroker("4.3.1", **{"group.version": "0"}).connect().ask("api_versions", 4, **SOFTWARE)

    assert [each.name for each in reported.supported_features] == ["group.version", "transaction.version"]
    assert [each.name for each in reported.finalized_features] == ["transaction.version"]
