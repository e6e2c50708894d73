"""What the broker does before its coordinator is asked, and to what the coordinator says."""

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from reference_coordinator.broker.consumer_group_apis import (
    handle_consumer_group_describe,
    handle_consumer_group_heartbeat,
)
from reference_coordinator.broker.offset_apis import Forward
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import GroupId, Millis, TopicId
from reference_coordinator.groups.consumer.tests.consumer_kit import heartbeat_of
from reference_coordinator.messages.consumer_groups import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequestTopicPartitions,
)
from reference_coordinator.tests.wire_broker import WireBroker, WireClient, connected, elected


@pytest.fixture(name="broker")
def elected_broker() -> WireBroker:
    return elected()


@pytest.fixture(name="client")
def client_of_the_broker(broker: WireBroker) -> WireClient:
    return broker.connect()


def commit(
    client: WireClient, version: int, *topics: dict[str, Any], generation_id: int = -1
) -> list[tuple[object, int, int]]:
    response = client.ask(
        "offset_commit",
        version,
        group_id="g",
        generation_id_or_member_epoch=generation_id,
        topics=tuple(
            topic
            | {
                "partitions": tuple(
                    {"partition_index": index, "committed_offset": 5, "committed_metadata": ""}
                    for index in topic["partitions"]
                )
            }
            for topic in topics
        ),
    )
    return [
        (topic.name if version < 10 else topic.topic_id, each.partition_index, each.error_code)
        for topic in response.topics
        for each in topic.partitions
    ]


@pytest.mark.parametrize(
    ("profile", "key_type", "error"),
    [
        ("2.7", 9, Errors.UNKNOWN_SERVER_ERROR),
        ("2.8", 9, Errors.INVALID_REQUEST),
        ("2.7", 2, Errors.UNKNOWN_SERVER_ERROR),
        ("3.9", 2, Errors.INVALID_REQUEST),
        ("4.4", 2, Errors.INVALID_REQUEST),
    ],
)
def test_a_type_that_is_unknown_or_too_new_is_refused(profile: str, key_type: int, error: Errors) -> None:
    refused = connected(profile).ask("find_coordinator", 3, key="g", key_type=key_type)

    assert (refused.error_code, refused.node_id) == (error, -1)
    assert refused.error_message


@pytest.mark.parametrize(
    ("profile", "key", "error"),
    [
        ("3.9", "a", 15),
        ("4.0", "a:AAAAAAAAAAAAAAAAAAAAAQ:0", 42),
        ("4.1", "a:AAAAAAAAAAAAAAAAAAAAAQ:0", 15),
        ("4.4", "a", 42),
    ],
)
def test_nobody_coordinates_share_groups(profile: str, key: str, error: int) -> None:
    (share,) = connected(profile).ask("find_coordinator", 6, key_type=2, coordinator_keys=(key,)).coordinators

    assert (share.error_code, share.error_message, share.node_id) == (error, "", -1)


def test_api_versions_advertises_the_profile(client: WireClient) -> None:
    for version in (0, 3):
        software = {"client_software_name": "x", "client_software_version": "1"} if version >= 3 else {}
        advertised = client.ask("api_versions", version, **software)
        assert advertised.error_code == 0
        keys = {each.api_key: (each.min_version, each.max_version) for each in advertised.api_keys}
        assert (keys[11], keys[8]) == ((0, 9), (0, 9))
        assert list(keys) == sorted(keys)


def test_an_offset_commit_by_topic_id_is_judged_by_name_and_answered_by_id() -> None:
    client = connected("4.2")
    topic_id = client.topic_id()
    unknown_id = UUID(int=1)

    committed = commit(
        client,
        10,
        {"topic_id": unknown_id, "partitions": (0,)},
        {"topic_id": topic_id, "partitions": (1, 99)},
        {"topic_id": None, "partitions": (0,)},
    )

    assert committed == [(unknown_id, 0, 100), (topic_id, 99, 3), (topic_id, 1, 0), (None, 0, 100)]


def test_an_offset_fetch_by_topic_id_is_answered_by_id() -> None:
    client = connected("4.2")
    topic_id = client.topic_id()
    commit(client, 10, {"topic_id": topic_id, "partitions": (1,)})

    def fetched(topics: object) -> list[tuple[UUID, int, int, int]]:
        (group,) = client.ask("offset_fetch", 10, groups=({"group_id": "g", "topics": topics},)).groups
        return [
            (topic.topic_id, each.partition_index, each.committed_offset, each.error_code)
            for topic in group.topics
            for each in topic.partitions
        ]

    by_id = {"topic_id": topic_id, "partition_indexes": (1,)}
    unknown = {"topic_id": None, "partition_indexes": (0,)}
    assert fetched((unknown, by_id)) == [(topic_id, 1, 5, 0), (None, 0, -1, 100)]
    assert fetched(None) == [(topic_id, 1, 5, 0)]


@pytest.mark.parametrize(
    ("profile", "answer"),
    [
        ("3.4", [16]),
        ("3.5", []),
        ("3.9.1", []),
        ("3.9.2", [16]),
        ("4.0.1", []),
        ("4.0.2", [16]),
        ("4.1", [16]),
    ],
)
def test_a_groups_error_is_lost_on_offset_fetch_v1_of_some_releases(profile: str, answer: list[int]) -> None:
    client = WireBroker(profile).connect()
    topics = ({"name": "orders", "partition_indexes": (0,)},)

    v1 = client.ask("offset_fetch", 1, group_id="g", topics=topics)
    v2 = client.ask("offset_fetch", 2, group_id="g", topics=topics)

    assert [each.error_code for topic in v1.topics for each in topic.partitions] == answer
    assert (v2.error_code, v2.topics) == (16, ())


@pytest.mark.parametrize(("profile", "answered"), [("3.4", ["a", "b"]), ("3.5", ["a", "b", "a"])])
def test_a_group_fetched_twice_is_answered_once_before_3_5(profile: str, answered: list[str]) -> None:
    groups = tuple({"group_id": group_id, "topics": None} for group_id in ("a", "b", "a"))

    response = connected(profile).ask("offset_fetch", 8, groups=groups)

    assert [each.group_id for each in response.groups] == answered


def offset_delete(client: WireClient) -> tuple[int, list[tuple[str, list[tuple[int, int]]]]]:
    deleted = client.ask(
        "offset_delete",
        0,
        group_id="g",
        topics=(
            {"name": "nope", "partitions": ({"partition_index": 0},)},
            {"name": "orders", "partitions": ({"partition_index": 0}, {"partition_index": 99})},
        ),
    )
    return deleted.error_code, [
        (topic.name, [(each.partition_index, each.error_code) for each in topic.partitions])
        for topic in deleted.topics
    ]


@pytest.mark.parametrize(("profile", "answered"), [("3.4", 1), ("3.5", 2)])
def test_a_partition_that_does_not_exist_is_answered_as_often_as_named_since_3_5(
    profile: str, answered: int
) -> None:
    client = connected(profile)
    pieces = ({"name": "orders", "partitions": (99,)}, {"name": "orders", "partitions": (99, 0)})

    reported = commit(client, 5, *pieces)

    assert sorted(reported) == [("orders", 0, 0), *[("orders", 99, 3)] * answered]


@pytest.mark.parametrize(("profile", "repeats"), [("2.5", 2), ("2.6", 1)])
def test_an_offset_delete_merges_what_was_refused(profile: str, repeats: int) -> None:
    client = connected(profile)
    commit(client, 5, {"name": "orders", "partitions": (0,)})

    assert offset_delete(client) == (
        0,
        [("nope", [(0, 3)])] + [("orders", [(99, 3), (0, 0)])] * repeats,
    )


TOPIC_ID = TopicId("6bd2e1c5-5e0a-4bd5-8cde-6a4ae2f2b0aa")
ZEROS = TopicId(str(UUID(int=0)))
HEARTBEAT = replace(
    heartbeat_of("m", 3, names=("orders",), regex="o.*", instance="i", rack="r", assignor="range"),
    rebalance_timeout_ms=Millis(60_000),
    topic_partitions=(
        ConsumerGroupHeartbeatRequestTopicPartitions(topic_id=TOPIC_ID, partitions=(0, 2)),
        ConsumerGroupHeartbeatRequestTopicPartitions(topic_id=ZEROS, partitions=()),
    ),
)


def test_the_coordinator_is_asked_where_the_protocol_is_enabled() -> None:
    described = ConsumerGroupDescribeRequest(group_ids=(GroupId("g"),))

    for profile in ("4.0.0", "4.4"):
        broker = WireBroker(profile).listener.apis.broker
        routed = handle_consumer_group_heartbeat(broker, HEARTBEAT)
        assert isinstance(routed, Forward)
        assert routed.request == HEARTBEAT
        assert isinstance(handle_consumer_group_describe(broker, described), Forward)
