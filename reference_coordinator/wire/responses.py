"""Conversion of version-free responses to the shape of a version.

Most messages are written as they are, since fields that a version lacks are left out. This module handles
versions with another shape, as Kafka's own response classes do.
"""

from dataclasses import replace
from typing import Final

from reference_coordinator.broker_messages import BrokerResponse, FindCoordinatorResponse
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import MemberId, Millis
from reference_coordinator.core.streams_records import TaskIds
from reference_coordinator.core.values import value
from reference_coordinator.messages import (
    ConsumerGroupHeartbeatResponse,
    JoinGroupResponse,
    LeaveGroupResponse,
    OffsetFetchResponse,
    OffsetFetchResponseTopic,
    StreamsGroupHeartbeatResponse,
)
from reference_coordinator.messages.consumer_groups import ConsumerGroupHeartbeatResponseAssignment
from reference_coordinator.messages.share_groups import (
    ShareGroupHeartbeatResponse,
    ShareGroupHeartbeatResponseAssignment,
)
from reference_coordinator.messages.streams_groups import (
    EndpointToPartitions,
    StreamsGroupHeartbeatResponseStatus,
)
from reference_coordinator.transactions.messages import (
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)

_FIRST_NULLABLE_PROTOCOL_NAME: Final = 7
_FIRST_BATCHED_FIND_COORDINATOR: Final = 4
_FIRST_BATCHED_LEAVE_GROUP: Final = 3
_FIRST_BATCHED_OFFSET_FETCH: Final = 8
_FIRST_BATCHED_ADD_PARTITIONS: Final = 4
_FIRST_WIDE_RECOVERY_LAG: Final = 1


@value
class _SingleGroupOffsetFetchResponse:
    topics: tuple[OffsetFetchResponseTopic, ...]
    error_code: Errors


@value
class _SingleTransactionAddPartitionsResponse:
    results_by_topic_v3_and_below: tuple[AddPartitionsToTxnTopicResult, ...]


@value
class _HeartbeatResponse:
    error_code: Errors
    error_message: str | None
    member_id: MemberId | None
    member_epoch: int
    heartbeat_interval: Millis
    assignment: ConsumerGroupHeartbeatResponseAssignment | ShareGroupHeartbeatResponseAssignment | None


@value
class _StreamsGroupHeartbeatResponse:
    error_code: Errors
    error_message: str | None
    member_id: MemberId
    member_epoch: int
    heartbeat_interval: Millis
    acceptable_recovery_lag: int
    task_offset_interval: Millis
    status: tuple[StreamsGroupHeartbeatResponseStatus, ...] | None
    active_tasks: tuple[TaskIds, ...] | None
    standby_tasks: tuple[TaskIds, ...] | None
    warmup_tasks: tuple[TaskIds, ...] | None
    endpoint_information_epoch: int
    partitions_by_user_endpoint: tuple[EndpointToPartitions, ...] | None
    topology_description_required: bool


def response_shape(message: BrokerResponse, version: int) -> object:
    """Return an object with the fields that the version has."""
    match message:
        case JoinGroupResponse():
            return _join_group(message, version)
        case LeaveGroupResponse() if version < _FIRST_BATCHED_LEAVE_GROUP:
            return _with_member_error(message)
        case OffsetFetchResponse() if version < _FIRST_BATCHED_OFFSET_FETCH:
            return _single_group(message)
        case FindCoordinatorResponse() if version < _FIRST_BATCHED_FIND_COORDINATOR:
            (coordinator,) = message.coordinators
            return coordinator
        case AddPartitionsToTxnResponse() if version < _FIRST_BATCHED_ADD_PARTITIONS:
            return _single_transaction(message)
        case ConsumerGroupHeartbeatResponse() | ShareGroupHeartbeatResponse():
            return _heartbeat(message)
        case StreamsGroupHeartbeatResponse():
            return _streams_group_heartbeat(message, version)
        case _:
            return message


def _heartbeat(message: ConsumerGroupHeartbeatResponse | ShareGroupHeartbeatResponse) -> _HeartbeatResponse:
    """Rename the interval without its unit, as kio does."""
    return _HeartbeatResponse(
        error_code=message.error_code,
        error_message=message.error_message,
        member_id=message.member_id,
        member_epoch=message.member_epoch,
        heartbeat_interval=message.heartbeat_interval_ms,
        assignment=message.assignment,
    )


def _streams_group_heartbeat(
    message: StreamsGroupHeartbeatResponse, version: int
) -> _StreamsGroupHeartbeatResponse:
    """Rename fields without their units, as kio does, and choose the lag that the version has."""
    is_legacy = version < _FIRST_WIDE_RECOVERY_LAG
    return _StreamsGroupHeartbeatResponse(
        error_code=message.error_code,
        error_message=message.error_message,
        member_id=message.member_id,
        member_epoch=message.member_epoch,
        heartbeat_interval=message.heartbeat_interval_ms,
        acceptable_recovery_lag=(
            message.acceptable_recovery_lag_legacy if is_legacy else message.acceptable_recovery_lag
        ),
        task_offset_interval=message.task_offset_interval_ms,
        status=message.status,
        active_tasks=message.active_tasks,
        standby_tasks=message.standby_tasks,
        warmup_tasks=message.warmup_tasks,
        endpoint_information_epoch=message.endpoint_information_epoch,
        partitions_by_user_endpoint=message.partitions_by_user_endpoint,
        topology_description_required=message.topology_description_required,
    )


def _join_group(message: JoinGroupResponse, version: int) -> JoinGroupResponse:
    """Set "no protocol" as the version represents it. Source: JoinGroupResponse#<init> (3.6.1)."""
    if message.protocol_name is not None:
        return message
    return replace(message, protocol_name=None if version >= _FIRST_NULLABLE_PROTOCOL_NAME else "")


def _with_member_error(message: LeaveGroupResponse) -> LeaveGroupResponse:
    """Promote the error of the only member to the top level. Source: LeaveGroupResponse#<init> (4.3.1)."""
    if message.error_code is not Errors.NONE:
        return message
    (member,) = message.members
    return replace(message, error_code=member.error_code)


def written_field(response: object, field: str, version: int) -> str:
    """Return the field in which a version of a response has what the message has in another one."""
    has_one_group = isinstance(response, OffsetFetchResponse) and version < _FIRST_BATCHED_OFFSET_FETCH
    return "topics" if has_one_group and field == "groups" else field


def _single_group(message: OffsetFetchResponse) -> _SingleGroupOffsetFetchResponse:
    """Return the only group as response. Source: OffsetFetchResponse.Builder#build (4.3.1)."""
    (group,) = message.groups
    return _SingleGroupOffsetFetchResponse(topics=group.topics, error_code=group.error_code)


def _single_transaction(message: AddPartitionsToTxnResponse) -> _SingleTransactionAddPartitionsResponse:
    """Return the only transaction as response. Source: KafkaApis#handleAddPartitionsToTxnRequest (4.3.1)."""
    (transaction,) = message.results_by_transaction
    return _SingleTransactionAddPartitionsResponse(results_by_topic_v3_and_below=transaction.topic_results)
