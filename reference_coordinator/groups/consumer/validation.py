"""What a ConsumerGroupHeartbeat is checked for before anybody looks at its group."""

from typing import Final

from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.java import trim
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
    """Refuse a request whose fields make no sense.

    Raises:
        CoordinatorError: INVALID_REQUEST or UNSUPPORTED_ASSIGNOR.

    Source: GroupCoordinatorService#throwIfConsumerGroupHeartbeatRequestIsInvalid (4.3.1),
    GroupMetadataManager#throwIfConsumerGroupHeartbeatRequestIsInvalid (4.0.2).
    """
    epoch = request.member_epoch
    brings_id = api_version >= CONSUMER_GENERATED_MEMBER_ID_REQUIRED_VERSION
    if brings_id or epoch > JOIN_GROUP_MEMBER_EPOCH or epoch == LEAVE_GROUP_MEMBER_EPOCH:
        _throw_if_empty_string(request.member_id)
    for text in (request.group_id, request.instance_id, request.rack_id):
        _throw_if_empty_string(text)
    if epoch == JOIN_GROUP_MEMBER_EPOCH:
        _throw_if_join_is_invalid(request)
    elif epoch < LEAVE_GROUP_STATIC_MEMBER_EPOCH or (
        epoch == LEAVE_GROUP_STATIC_MEMBER_EPOCH and request.instance_id is None
    ):
        raise CoordinatorError(Errors.INVALID_REQUEST)
    assignor = request.server_assignor
    if assignor is not None and assignor not in config.group_consumer_assignors:
        raise CoordinatorError(Errors.UNSUPPORTED_ASSIGNOR)


def _throw_if_join_is_invalid(request: ConsumerGroupHeartbeatRequest) -> None:
    has_no_timeout = request.rebalance_timeout_ms == -1
    has_partitions = request.topic_partitions is None or bool(request.topic_partitions)
    has_no_subscription = request.subscribed_topic_names is None and request.subscribed_topic_regex is None
    if has_no_timeout or has_partitions or has_no_subscription:
        raise CoordinatorError(Errors.INVALID_REQUEST)


def _throw_if_empty_string(text: str | None) -> None:
    """Source: Utils#throwIfEmptyString (4.3.1)."""
    if text is not None and not trim(text):
        raise CoordinatorError(Errors.INVALID_REQUEST)
