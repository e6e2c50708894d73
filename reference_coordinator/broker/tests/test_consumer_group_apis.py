"""ConsumerGroupHeartbeat and ConsumerGroupDescribe as bytes, and what the broker does around them."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from reference_coordinator.broker.consumer_group_apis import (
    handle_consumer_group_describe,
    handle_consumer_group_heartbeat,
)
from reference_coordinator.broker.offset_apis import Forward
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import GroupId, MemberId, Millis, TopicId
from reference_coordinator.groups.consumer.tests.consumer_kit import heartbeat_of
from reference_coordinator.messages import AUTHORIZED_OPERATIONS_OMITTED
from reference_coordinator.messages.consumer_groups import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupDescribeResponseAssignment,
    ConsumerGroupDescribeResponseGroup,
    ConsumerGroupDescribeResponseMember,
    ConsumerGroupDescribeResponseTopicPartitions,
    ConsumerGroupHeartbeatRequestTopicPartitions,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupHeartbeatResponseAssignment,
    ConsumerGroupHeartbeatResponseTopicPartitions,
)
from reference_coordinator.profile.api_versions import Api, served_ranges
from reference_coordinator.profile.profiles import profile_for
from reference_coordinator.tests.wire_broker import WireBroker
from reference_coordinator.tests.wire_client import received, written

TOPIC_ID = TopicId("6bd2e1c5-5e0a-4bd5-8cde-6a4ae2f2b0aa")
ZEROS = TopicId(str(UUID(int=0)))
RANGES = served_ranges(profile_for("4.4"))
HEARTBEAT = replace(
    heartbeat_of("m", 3, names=("orders",), regex="o.*", instance="i", rack="r", assignor="range"),
    rebalance_timeout_ms=Millis(60_000),
    topic_partitions=(
        ConsumerGroupHeartbeatRequestTopicPartitions(topic_id=TOPIC_ID, partitions=(0, 2)),
        ConsumerGroupHeartbeatRequestTopicPartitions(topic_id=ZEROS, partitions=()),
    ),
)
WRITTEN = {
    "group_id": "g",
    "member_id": "m",
    "member_epoch": 3,
    "instance_id": "i",
    "rack_id": "r",
    "rebalance_timeout": 60_000,
    "subscribed_topic_names": ("orders",),
    "server_assignor": "range",
    "topic_partitions": (
        {"topic_id": UUID(TOPIC_ID), "partitions": (0, 2)},
        {"topic_id": None, "partitions": ()},
    ),
}
DESCRIBED = ConsumerGroupDescribeResponseGroup(
    error_code=Errors.NONE,
    group_id=GroupId("g"),
    group_state="Stable",
    group_epoch=4,
    assignment_epoch=3,
    assignor_name="uniform",
    members=(
        ConsumerGroupDescribeResponseMember(
            member_id=MemberId("m"),
            instance_id=None,
            rack_id="r",
            member_epoch=3,
            client_id="client",
            client_host="/127.0.0.1",
            subscribed_topic_names=("orders",),
            subscribed_topic_regex=None,
            assignment=ConsumerGroupDescribeResponseAssignment(
                topic_partitions=(
                    ConsumerGroupDescribeResponseTopicPartitions(
                        topic_id=TOPIC_ID, topic_name="orders", partitions=(0, 2)
                    ),
                )
            ),
            target_assignment=ConsumerGroupDescribeResponseAssignment(),
            member_type=1,
        ),
    ),
)


def test_a_heartbeat_is_read_whole() -> None:
    assert (
        received(RANGES, "consumer_group_heartbeat", 1, **WRITTEN, subscribed_topic_regex="o.*") == HEARTBEAT
    )
    without = replace(HEARTBEAT, subscribed_topic_regex=None)
    assert received(RANGES, "consumer_group_heartbeat", 0, **WRITTEN) == without


def test_what_a_heartbeat_leaves_out_is_null() -> None:
    nulls = dict.fromkeys(
        ("instance_id", "rack_id", "subscribed_topic_names", "server_assignor", "topic_partitions")
    )

    read = received(
        RANGES,
        "consumer_group_heartbeat",
        1,
        **{**WRITTEN, **nulls, "rebalance_timeout": -1, "subscribed_topic_regex": None},
    )

    assert read == heartbeat_of("m", 3)


@pytest.mark.parametrize("version", [0, 1])
def test_an_answer_to_a_heartbeat_is_written_whole(version: int) -> None:
    had = ConsumerGroupHeartbeatResponseTopicPartitions(topic_id=TOPIC_ID, partitions=(0, 2))
    answer = ConsumerGroupHeartbeatResponse(
        error_code=Errors.NONE,
        member_id=MemberId("m"),
        member_epoch=3,
        heartbeat_interval_ms=Millis(5_000),
        assignment=ConsumerGroupHeartbeatResponseAssignment(topic_partitions=(had,)),
    )

    body = written(Api.CONSUMER_GROUP_HEARTBEAT, version, answer)
    unchanged = written(Api.CONSUMER_GROUP_HEARTBEAT, version, replace(answer, assignment=None))

    assert (body.error_code.value, body.error_message, body.member_id, body.member_epoch) == (0, None, "m", 3)
    assert body.heartbeat_interval == timedelta(seconds=5)
    assert [(each.topic_id, each.partitions) for each in body.assignment.topic_partitions] == [
        (UUID(TOPIC_ID), (0, 2))
    ]
    assert unchanged.assignment is None


def test_a_description_is_written_whole() -> None:
    answer = ConsumerGroupDescribeResponse(groups=(DESCRIBED,))

    (group,) = written(Api.CONSUMER_GROUP_DESCRIBE, 1, answer).groups
    (old,) = written(Api.CONSUMER_GROUP_DESCRIBE, 0, answer).groups

    assert (group.group_id, group.group_state, group.group_epoch, group.assignment_epoch) == (
        "g",
        "Stable",
        4,
        3,
    )
    assert (group.assignor_name, group.authorized_operations) == ("uniform", AUTHORIZED_OPERATIONS_OMITTED)
    (member,) = group.members
    assert (member.member_id, member.instance_id, member.rack_id, member.member_epoch) == ("m", None, "r", 3)
    assert (member.client_id, member.client_host, member.member_type) == ("client", "/127.0.0.1", 1)
    assert (member.subscribed_topic_names, member.subscribed_topic_regex) == (("orders",), None)
    (had,) = member.assignment.topic_partitions
    assert (had.topic_id, had.topic_name, had.partitions) == (UUID(TOPIC_ID), "orders", (0, 2))
    assert member.target_assignment.topic_partitions == ()
    assert not hasattr(old.members[0], "member_type")


def test_the_coordinator_is_asked_where_the_protocol_is_enabled() -> None:
    described = ConsumerGroupDescribeRequest(group_ids=(GroupId("g"),))

    for profile in ("4.0.0", "4.4"):
        broker = WireBroker(profile).listener.apis.broker
        routed = handle_consumer_group_heartbeat(broker, HEARTBEAT)
        assert isinstance(routed, Forward)
        assert routed.request == HEARTBEAT
        assert isinstance(handle_consumer_group_describe(broker, described), Forward)
