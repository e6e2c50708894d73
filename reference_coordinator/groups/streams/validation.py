"""Checks of a StreamsGroupHeartbeat request before its group is looked up."""

from collections.abc import Collection

from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.java import trim
from reference_coordinator.messages.consumer_groups import (
    JOIN_GROUP_MEMBER_EPOCH,
    LEAVE_GROUP_STATIC_MEMBER_EPOCH,
)
from reference_coordinator.messages.streams_groups import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatRequestTopology,
)
from reference_coordinator.profile.profiles import Behaviour, Profile

_ALL_OR_NONE = "If one task-type is non-null, all must be non-null."


def throw_if_streams_group_heartbeat_request_is_using_unsupported_features(
    request: StreamsGroupHeartbeatRequest, profile: Profile
) -> None:
    """Refuse features that the release does not support yet.

    Raises:
        CoordinatorError: INVALID_REQUEST.

    Source: GroupCoordinatorService#throwIfStreamsGroupHeartbeatRequestIsUsingUnsupportedFeatures (4.3.1).
    """
    if not profile.has(Behaviour.STREAMS_STATIC_MEMBERS):
        _throw_if(request.instance_id is not None, "Static membership is not yet supported.")
    if not profile.has(Behaviour.STREAMS_TASK_OFFSETS_ASKED_FOR):
        _throw_if(request.task_offsets is not None, "TaskOffsets are not supported yet.")
        _throw_if(request.task_end_offsets is not None, "TaskEndOffsets are not supported yet.")
        _throw_if(bool(request.warmup_tasks), "WarmupTasks are not supported yet.")
    subtopologies = () if request.topology is None else request.topology.subtopologies
    _throw_if(
        any(each.source_topic_regex for each in subtopologies),
        "Regular expressions for source topics are not supported yet.",
    )


def throw_if_streams_group_heartbeat_request_is_invalid(request: StreamsGroupHeartbeatRequest) -> None:
    """Refuse a request with invalid fields.

    Raises:
        CoordinatorError: INVALID_REQUEST or STREAMS_INVALID_TOPOLOGY.

    Source: GroupCoordinatorService#throwIfStreamsGroupHeartbeatRequestIsInvalid (4.3.1).
    """
    for name, text in (
        ("MemberId", request.member_id),
        ("GroupId", request.group_id),
        ("InstanceId", request.instance_id),
        ("RackId", request.rack_id),
    ):
        _throw_if(text is not None and not trim(text), f"{name} can't be empty.")
    epoch = request.member_epoch
    if epoch == JOIN_GROUP_MEMBER_EPOCH:
        _throw_if_join_is_invalid(request)
    elif epoch == LEAVE_GROUP_STATIC_MEMBER_EPOCH:
        _throw_if(request.instance_id is None, "InstanceId can't be null.")
    else:
        message = f"MemberEpoch is {epoch}, but must be greater than or equal to -2."
        _throw_if(epoch < LEAVE_GROUP_STATIC_MEMBER_EPOCH, message)
    kinds = (request.active_tasks, request.standby_tasks, request.warmup_tasks)
    _throw_if(any(each is not None for each in kinds) and None in kinds, _ALL_OR_NONE)
    if epoch != JOIN_GROUP_MEMBER_EPOCH:
        _throw_if(request.topology is not None, "Topology can only be provided when (re-)joining.")


def _throw_if_join_is_invalid(request: StreamsGroupHeartbeatRequest) -> None:
    _throw_if(request.rebalance_timeout_ms == -1, "RebalanceTimeoutMs must be provided in first request.")
    _throw_if_not_empty_collection(request.active_tasks, "ActiveTasks must be empty when (re-)joining.")
    _throw_if_not_empty_collection(request.standby_tasks, "StandbyTasks must be empty when (re-)joining.")
    _throw_if_not_empty_collection(request.warmup_tasks, "WarmupTasks must be empty when (re-)joining.")
    if request.topology is None:
        raise CoordinatorError(Errors.INVALID_REQUEST, "Topology must be non-null when (re-)joining.")
    throw_if_invalid_topology(request.topology)


def throw_if_invalid_topology(topology: StreamsGroupHeartbeatRequestTopology) -> None:
    """Refuse changelog topics with a partition count.

    Raises:
        CoordinatorError: STREAMS_INVALID_TOPOLOGY.

    Source: GroupCoordinatorService#throwIfInvalidTopology (4.3.1).
    """
    for subtopology in topology.subtopologies:
        for topic in subtopology.state_changelog_topics:
            if topic.partitions != 0:
                raise CoordinatorError(
                    Errors.STREAMS_INVALID_TOPOLOGY,
                    f"Changelog topic {topic.name} must have an undefined partition count, but it is set to "
                    f"{topic.partitions}.",
                )


def _throw_if_not_empty_collection(listed: Collection[object] | None, message: str) -> None:
    """Source: Utils#throwIfNotEmptyCollection (4.3.1)."""
    _throw_if(listed is None or bool(listed), message)


def _throw_if(is_wrong: bool, message: str) -> None:  # noqa: FBT001 - the argument is always an expression that explains itself
    if is_wrong:
        raise CoordinatorError(Errors.INVALID_REQUEST, message)
