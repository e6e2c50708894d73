"""ConsumerGroupHeartbeat and ConsumerGroupDescribe as bytes, and what the broker does around them."""

from dataclasses import replace
from uuid import UUID

from reference_coordinator.broker.consumer_group_apis import (
    handle_consumer_group_describe,
    handle_consumer_group_heartbeat,
)
from reference_coordinator.broker.offset_apis import Forward
from reference_coordinator.core.ids import GroupId, Millis, TopicId
from reference_coordinator.groups.consumer.tests.consumer_kit import heartbeat_of
from reference_coordinator.messages.consumer_groups import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequestTopicPartitions,
)
from reference_coordinator.tests.wire_broker import WireBroker

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
