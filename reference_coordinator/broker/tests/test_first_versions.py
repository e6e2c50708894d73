"""Versions that 4.0 dropped: where offsets of version 0 are kept, and from when an offset ages."""

from typing import Any

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.tests.wire_broker import WireClient, connected

UNKNOWN = Errors.UNKNOWN_TOPIC_OR_PARTITION
REFUSED = Errors.UNSUPPORTED_VERSION


def commit(
    client: WireClient, version: int, offsets: dict[int, Any], *, group_id: str = "g"
) -> dict[int, int]:
    """Commit to `orders` for nobody in particular, by partition an offset or fields; return the errors."""
    partitions = tuple(
        {
            "partition_index": index,
            **(reported if isinstance(reported, dict) else {"committed_offset": reported}),
        }
        for index, reported in offsets.items()
    )
    topics = ({"name": "orders", "partitions": partitions},)
    member = {} if version == 0 else {"generation_id_or_member_epoch": -1}
    answer = client.ask("offset_commit", version, group_id=group_id, topics=topics, **member)
    return {each.partition_index: each.error_code for each in answer.topics[0].partitions}


def fetch(client: WireClient, version: int, *indexes: int, group_id: str = "g") -> dict[int, tuple[int, int]]:
    """Fetch from `orders`; return offsets and errors."""
    topics = ({"name": "orders", "partition_indexes": indexes},)
    answer = client.ask("offset_fetch", version, group_id=group_id, topics=topics)
    return {
        each.partition_index: (each.committed_offset, each.error_code) for each in answer.topics[0].partitions
    }


def test_zookeeper_keeps_offsets_of_version_0_apart_from_the_group() -> None:
    client = connected("2.8.2")

    assert commit(client, 0, {0: 7, 99: 1}) == {0: Errors.NONE, 99: UNKNOWN}
    assert commit(client, 1, {1: 8}) == {1: Errors.NONE}

    assert fetch(client, 0, 0, 1, 99) == {0: (7, Errors.NONE), 1: (-1, UNKNOWN), 99: (-1, UNKNOWN)}
    assert fetch(client, 1, 0, 1) == {0: (-1, Errors.NONE), 1: (8, Errors.NONE)}


def test_zookeeper_keeps_offsets_over_a_restart_and_by_group() -> None:
    client = connected("3.2")
    commit(client, 0, {0: 7})

    client.broker.restart()
    client.reconnect()

    assert fetch(client, 0, 0) == {0: (7, Errors.NONE)}
    assert fetch(client, 0, 0, group_id="other") == {0: (-1, UNKNOWN)}


@pytest.mark.parametrize("profile", ["3.3", "3.9.2", "3.9-java"])
def test_without_zookeeper_version_0_is_refused_for_all_partitions(profile: str) -> None:
    client = connected(profile)

    assert commit(client, 0, {0: 7, 99: 1}) == {0: REFUSED, 99: REFUSED}
    assert commit(client, 0, {99: 1}) == {99: UNKNOWN}
    assert fetch(client, 0, 0) == {0: (-1, REFUSED)}


@pytest.mark.parametrize("group_id", ["", "a//b", "/a", "..", "a\x01"])
def test_an_id_that_is_no_path_fails(group_id: str) -> None:
    client = connected("2.4")

    assert commit(client, 0, {0: 7}, group_id=group_id) == {0: Errors.UNKNOWN_SERVER_ERROR}
    assert fetch(client, 0, 0, 99, group_id=group_id) == {
        0: (-1, Errors.UNKNOWN_SERVER_ERROR),
        99: (-1, UNKNOWN),
    }


def test_version_0_is_judged_by_its_metadata_alone() -> None:
    client = connected("2.8.2", offset_metadata_max_bytes="3")
    client.broker.connect().join()

    reported = commit(
        client,
        0,
        {
            0: {"committed_offset": -5, "committed_metadata": "abc"},
            1: {"committed_offset": 1, "committed_metadata": "abcd"},
        },
    )

    assert reported == {0: Errors.NONE, 1: Errors.OFFSET_METADATA_TOO_LARGE}
    assert fetch(client, 0, 0, 1) == {0: (-5, Errors.NONE), 1: (-1, UNKNOWN)}


@pytest.mark.parametrize("profile", ["2.8.2", "3.9.2", "3.9-java"])
def test_an_offset_ages_from_the_time_that_version_1_names(profile: str) -> None:
    interval_ms = 1_000
    client = connected(profile, offsets_retention_check_interval_ms=str(interval_ms))
    long_past = {"committed_offset": 7, "commit_timestamp": -(10**12)}
    untold = {"committed_offset": 8, "commit_timestamp": -1}

    commit(client, 1, {0: long_past, 1: untold})
    assert fetch(client, 1, 0, 1) == {0: (7, Errors.NONE), 1: (8, Errors.NONE)}
    client.broker.elapse(interval_ms)

    assert fetch(client, 1, 0, 1) == {0: (-1, Errors.NONE), 1: (8, Errors.NONE)}


def test_first_versions_of_other_apis_are_served_until_4_0() -> None:
    client = connected("3.9.2")

    (deleted,) = client.ask("delete_topics", 0, topic_names=("no-such-topic",)).responses
    assert deleted.error_code == UNKNOWN
    asked = ({"topic": "orders", "partitions": (1,)},)
    (directory,) = client.ask("describe_log_dirs", 0, topics=asked).results
    assert [topic.name for topic in directory.topics] == ["orders"]
    marker = {
        "producer_id": 3,
        "topics": ({"name": "no-such-topic", "partition_indexes": (0,)},),
    }
    (ended,) = client.ask("write_txn_markers", 0, markers=(marker,)).markers
    assert ended.topics[0].partitions[0].error_code == UNKNOWN
