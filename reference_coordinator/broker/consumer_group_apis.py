"""Checks of ConsumerGroupHeartbeat and ConsumerGroupDescribe before the coordinator."""

from typing import Final

from reference_coordinator.broker.broker_apis import Broker
from reference_coordinator.broker.offset_apis import Forward
from reference_coordinator.core.errors import Errors
from reference_coordinator.messages import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.runtime.error_responses import consumer_describe_error

_CONSUMER: Final = "consumer"


def is_consumer_group_protocol_enabled(broker: Broker) -> bool:
    """Return whether the release has consumer groups, and neither broker nor cluster disables them.

    Source: KafkaApis#isConsumerGroupProtocolEnabled (4.3.1).
    """
    is_configured = _CONSUMER in broker.config.group_coordinator_rebalance_protocols
    has_feature = broker.config.group_version > 0
    return is_configured and has_feature and broker.profile.has(Behaviour.CONSUMER_GROUPS)


def handle_consumer_group_heartbeat(
    broker: Broker, request: ConsumerGroupHeartbeatRequest
) -> ConsumerGroupHeartbeatResponse | Forward:
    """Refuse a heartbeat if consumer groups are disabled. Without an authorizer, everything may be read.

    Source: KafkaApis#handleConsumerGroupHeartbeat (4.3.1).
    """
    if not is_consumer_group_protocol_enabled(broker):
        return ConsumerGroupHeartbeatResponse(error_code=Errors.UNSUPPORTED_VERSION)
    return Forward(request=request)


def handle_consumer_group_describe(
    broker: Broker, request: ConsumerGroupDescribeRequest
) -> ConsumerGroupDescribeResponse | Forward:
    """Refuse to describe if consumer groups are disabled.

    Source: KafkaApis#handleConsumerGroupDescribe (4.3.1).
    """
    if not is_consumer_group_protocol_enabled(broker):
        return consumer_describe_error(request, Errors.UNSUPPORTED_VERSION)
    return Forward(request=request)
