"""What Kafka does to ConsumerGroupHeartbeat and ConsumerGroupDescribe around the coordinator."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from reference_coordinator.broker.broker_apis import Broker
from reference_coordinator.broker.offset_apis import Forward
from reference_coordinator.core.errors import Errors
from reference_coordinator.messages import GroupResponse
from reference_coordinator.messages.consumer_groups import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupDescribeResponseGroup,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from reference_coordinator.profile.behaviours import Behaviour

_CONSUMER: Final = "consumer"
_GROUP_OPERATIONS: Final = 1 << 3 | 1 << 6 | 1 << 8 | 1 << 10 | 1 << 11
"""Read, delete, describe, describe configurations and alter them, by the bits of AclOperation's codes."""


def is_consumer_group_protocol_enabled(broker: Broker) -> bool:
    """Whether the release has consumer groups, and the broker was not told to do without.

    A new cluster has the feature `group.version`, which may be switched off on real ones.

    Source: KafkaApis#isConsumerGroupProtocolEnabled (4.3.1).
    """
    is_configured = _CONSUMER in broker.config.group_coordinator_rebalance_protocols
    return is_configured and broker.profile.has(Behaviour.CONSUMER_GROUPS)


def handle_consumer_group_heartbeat(
    broker: Broker, request: ConsumerGroupHeartbeatRequest
) -> ConsumerGroupHeartbeatResponse | Forward:
    """Refuse a heartbeat where there are no consumer groups. Everybody may read every group and topic.

    Source: KafkaApis#handleConsumerGroupHeartbeat (4.3.1).
    """
    if not is_consumer_group_protocol_enabled(broker):
        return ConsumerGroupHeartbeatResponse(error_code=Errors.UNSUPPORTED_VERSION)
    return Forward(request=request, finish=lambda response: response)


def handle_consumer_group_describe(
    broker: Broker, request: ConsumerGroupDescribeRequest
) -> ConsumerGroupDescribeResponse | Forward:
    """Refuse to describe where there are no consumer groups, and add what may be done with each.

    Source: KafkaApis#handleConsumerGroupDescribe (4.3.1).
    """
    if not is_consumer_group_protocol_enabled(broker):
        return get_error_described_group_list(request, Errors.UNSUPPORTED_VERSION)

    def finish(response: GroupResponse) -> GroupResponse:
        assert isinstance(response, ConsumerGroupDescribeResponse)
        return ConsumerGroupDescribeResponse(groups=tuple(_with_operations(response.groups)))

    return Forward(
        request=request,
        finish=finish if request.include_authorized_operations else lambda response: response,
    )


def _with_operations(
    groups: Iterable[ConsumerGroupDescribeResponseGroup],
) -> Iterable[ConsumerGroupDescribeResponseGroup]:
    return (
        replace(each, authorized_operations=_GROUP_OPERATIONS) if each.error_code is Errors.NONE else each
        for each in groups
    )


def get_error_described_group_list(
    request: ConsumerGroupDescribeRequest, error: Errors
) -> ConsumerGroupDescribeResponse:
    """Answer each group with the same error.

    Source: ConsumerGroupDescribeRequest#getErrorDescribedGroupList (4.3.1).
    """
    return ConsumerGroupDescribeResponse(
        groups=tuple(
            ConsumerGroupDescribeResponseGroup(error_code=error, group_id=each) for each in request.group_ids
        )
    )
