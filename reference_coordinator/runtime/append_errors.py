"""The errors that clients receive when a write to the log fails, by API and coordinator family."""

from typing import Final

from reference_coordinator.core.errors import Errors
from reference_coordinator.messages import GroupRequest, LeaveGroupRequest, OffsetFetchRequest
from reference_coordinator.profile.behaviours import Behaviour, CoordinatorFamily
from reference_coordinator.runtime.coordinator_runtime import CoordinatorRuntime

_NOT_AVAILABLE: Final = {
    Errors.UNKNOWN_TOPIC_OR_PARTITION: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_ENOUGH_REPLICAS: Errors.COORDINATOR_NOT_AVAILABLE,
}
_MOVED: Final = {
    Errors.NOT_LEADER_OR_FOLLOWER: Errors.NOT_COORDINATOR,
    Errors.KAFKA_STORAGE_ERROR: Errors.NOT_COORDINATOR,
}
_TOO_LARGE: Final = (
    Errors.MESSAGE_TOO_LARGE,
    Errors.RECORD_LIST_TOO_LARGE,
    Errors.INVALID_FETCH_SIZE,
)
_JAVA: Final = {
    **_NOT_AVAILABLE,
    **_MOVED,
    Errors.REQUEST_TIMED_OUT: Errors.COORDINATOR_NOT_AVAILABLE,
    **dict.fromkeys(_TOO_LARGE, Errors.UNKNOWN_SERVER_ERROR),
}
_SCALA: Final = {
    **_NOT_AVAILABLE,
    **_MOVED,
    Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND: Errors.COORDINATOR_NOT_AVAILABLE,
}
_SCALA_GROUP: Final = {
    **_SCALA,
    Errors.REQUEST_TIMED_OUT: Errors.REBALANCE_IN_PROGRESS,
    **dict.fromkeys(_TOO_LARGE, Errors.UNKNOWN_SERVER_ERROR),
}
_SCALA_OFFSET: Final = {
    **_SCALA,
    **dict.fromkeys(_TOO_LARGE, Errors.INVALID_COMMIT_OFFSET_SIZE),
    Errors.NETWORK_EXCEPTION: Errors.COORDINATOR_LOAD_IN_PROGRESS,
}


def append_group_metadata_error_to_response_error(shard: CoordinatorRuntime, error: Errors) -> Errors:
    """Return the error for a JoinGroup or SyncGroup.

    Source: GroupMetadataManager#appendGroupMetadataErrorToResponseError (4.3.1),
    GroupMetadataManager#storeGroup (3.9.2).
    """
    match shard.profile.coordinator:
        case CoordinatorFamily.JAVA:
            return _JAVA.get(error, error)
        case CoordinatorFamily.SCALA:
            return _SCALA_GROUP.get(error, error)


def maybe_convert_offset_commit_error(error: Errors) -> Errors:
    """Return the error for an OffsetCommit to the Scala coordinator.

    Source: GroupMetadataManager#maybeConvertOffsetCommitError (3.9.2).
    """
    return _SCALA_OFFSET.get(error, error)


def handle_operation_exception(error: Errors) -> Errors:
    """Return the error for any other request to the Java coordinator.

    Source: CoordinatorOperationExceptionHelper#handleOperationException (4.3.1).
    """
    return _JAVA.get(error, error)


def operation_error(shard: CoordinatorRuntime, request: GroupRequest, error: Errors) -> Errors:
    """Return the error for a request to the Java coordinator that waited for its own or an earlier write.

    Decided in: GroupCoordinatorService#leaveGroup (3.7.2), where LeaveGroup is an exception;
    #handleOffsetFetchException (4.3.1) and #fetchOffsets (3.9.2), where OffsetFetch is one.
    """
    if isinstance(request, LeaveGroupRequest) and shard.profile.has(Behaviour.LEAVE_TELLS_ERROR_OF_LOG):
        return error
    if isinstance(request, OffsetFetchRequest):
        sends_on = shard.profile.has(Behaviour.FAILED_FETCH_MEANS_NOT_COORDINATOR)
        return Errors.NOT_COORDINATOR if sends_on else error
    return handle_operation_exception(error)
