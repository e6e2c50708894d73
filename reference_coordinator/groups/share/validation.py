"""Checks of a ShareGroupHeartbeat request before its group is looked up."""

from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.java import trim
from reference_coordinator.messages.consumer_groups import (
    JOIN_GROUP_MEMBER_EPOCH,
    LEAVE_GROUP_MEMBER_EPOCH,
)
from reference_coordinator.messages.share_groups import ShareGroupHeartbeatRequest


def throw_if_share_group_heartbeat_request_is_invalid(request: ShareGroupHeartbeatRequest) -> None:
    """Refuse a request with invalid fields.

    Raises:
        CoordinatorError: INVALID_REQUEST.

    Source: GroupCoordinatorService#throwIfShareGroupHeartbeatRequestIsInvalid (4.3.1),
    GroupMetadataManager#throwIfShareGroupHeartbeatRequestIsInvalid (4.0.2).
    """
    for text, name in (
        (request.member_id, "MemberId"),
        (request.group_id, "GroupId"),
        (request.rack_id, "RackId"),
    ):
        if text is not None and not trim(text):
            raise CoordinatorError(Errors.INVALID_REQUEST, f"{name} can't be empty.")
    if request.member_epoch == JOIN_GROUP_MEMBER_EPOCH and not request.subscribed_topic_names:
        raise CoordinatorError(Errors.INVALID_REQUEST, "SubscribedTopicNames must be set in first request.")
    if request.member_epoch < LEAVE_GROUP_MEMBER_EPOCH:
        raise CoordinatorError(Errors.INVALID_REQUEST, "MemberEpoch is invalid.")
