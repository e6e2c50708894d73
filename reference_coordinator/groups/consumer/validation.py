"""Checks of a ConsumerGroupHeartbeat request before its group is looked up."""

from typing import Final

from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.java import trim
from reference_coordinator.core.map_order import in_java_hash_map_order
from reference_coordinator.messages.consumer_groups import (
    JOIN_GROUP_MEMBER_EPOCH,
    LEAVE_GROUP_MEMBER_EPOCH,
    LEAVE_GROUP_STATIC_MEMBER_EPOCH,
    ConsumerGroupHeartbeatRequest,
)
from reference_coordinator.profile.config import GroupCoordinatorConfig

CONSUMER_GENERATED_MEMBER_ID_REQUIRED_VERSION: Final = 1
"""Source: ConsumerGroupHeartbeatRequest (4.3.1)."""


def throw_if_consumer_group_heartbeat_request_is_invalid(
    request: ConsumerGroupHeartbeatRequest, config: GroupCoordinatorConfig, *, api_version: int
) -> None:
    """Refuse a request with invalid fields.

    Raises:
        CoordinatorError: INVALID_REQUEST or UNSUPPORTED_ASSIGNOR.

    Source: GroupCoordinatorService#throwIfConsumerGroupHeartbeatRequestIsInvalid (4.3.1),
    GroupMetadataManager#throwIfConsumerGroupHeartbeatRequestIsInvalid (4.0.2).
    """
    epoch = request.member_epoch
    brings_id = api_version >= CONSUMER_GENERATED_MEMBER_ID_REQUIRED_VERSION
    if brings_id or epoch > JOIN_GROUP_MEMBER_EPOCH or epoch == LEAVE_GROUP_MEMBER_EPOCH:
        _throw_if_empty_string(request.member_id, "MemberId can't be empty.")
    _throw_if_empty_string(request.group_id, "GroupId can't be empty.")
    _throw_if_empty_string(request.instance_id, "InstanceId can't be empty.")
    _throw_if_empty_string(request.rack_id, "RackId can't be empty.")
    if epoch == JOIN_GROUP_MEMBER_EPOCH:
        _throw_if_join_is_invalid(request)
    elif epoch == LEAVE_GROUP_STATIC_MEMBER_EPOCH and request.instance_id is None:
        raise CoordinatorError(Errors.INVALID_REQUEST, "InstanceId can't be null.")
    elif epoch < LEAVE_GROUP_STATIC_MEMBER_EPOCH:
        raise CoordinatorError(Errors.INVALID_REQUEST, "MemberEpoch is invalid.")
    _throw_if_assignor_is_not_supported(request.server_assignor, config.group_consumer_assignors)


def _throw_if_join_is_invalid(request: ConsumerGroupHeartbeatRequest) -> None:
    if request.rebalance_timeout_ms == -1:
        raise CoordinatorError(
            Errors.INVALID_REQUEST, "RebalanceTimeoutMs must be provided in first request."
        )
    if request.topic_partitions is None or request.topic_partitions:
        raise CoordinatorError(Errors.INVALID_REQUEST, "TopicPartitions must be empty when (re-)joining.")
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        raise CoordinatorError(
            Errors.INVALID_REQUEST,
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
        )


def _throw_if_assignor_is_not_supported(assignor: str | None, supported: tuple[str, ...]) -> None:
    if assignor is None or assignor in supported:
        return
    # Kafka stores them in a hash map, so it does not list them in the order of the configuration.
    names = ", ".join(in_java_hash_map_order(supported))
    raise CoordinatorError(
        Errors.UNSUPPORTED_ASSIGNOR,
        f"ServerAssignor {assignor} is not supported. Supported assignors: {names}.",
    )


def _throw_if_empty_string(text: str | None, error: str) -> None:
    """Source: Utils#throwIfEmptyString (4.3.1)."""
    if text is not None and not trim(text):
        raise CoordinatorError(Errors.INVALID_REQUEST, error)
