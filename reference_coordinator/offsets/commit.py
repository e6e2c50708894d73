"""OffsetCommit: check that the sender may commit to the group, and store the offsets."""

from typing import Final, assert_never

from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import MemberId, ResponseToken
from reference_coordinator.groups.classic.group import ClassicGroup
from reference_coordinator.groups.classic.lookups import as_classic_group, get_or_maybe_create_classic_group
from reference_coordinator.groups.classic.rebalance import reschedule_classic_group_member_heartbeat
from reference_coordinator.groups.classic.state import ClassicGroupState
from reference_coordinator.groups.group import CommitPartitionValidator, Group, GroupType
from reference_coordinator.messages import OffsetCommitRequest, OffsetCommitResponse
from reference_coordinator.offsets.shard import CoordinatorShard
from reference_coordinator.offsets.storing import Commit, CommitResponse, store_offsets
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.runtime.coordinator_result import CoordinatorResult

_MISSING_GROUP_NAMED_SINCE: Final = 9


def commit_offset(
    shard: CoordinatorShard, request: OffsetCommitRequest, *, api_version: int, token: ResponseToken
) -> CoordinatorResult[CommitResponse]:
    """Commit the offsets of a request if its sender may commit to the group.

    Raises:
        CoordinatorError: the commit is refused as a whole.

    Source: OffsetMetadataManager#commitOffset (4.3.1), GroupCoordinator#handleCommitOffsets (3.9.2).
    """
    group, validator = validate_offset_commit(shard, request, api_version=api_version)
    commit = Commit(
        group=group,
        validator=validator,
        token=token,
        request=request,
        retention_time_ms=request.retention_time_ms,
        respond_with=lambda topics: OffsetCommitResponse(topics=topics),
    )
    return store_offsets(shard, commit)


def validate_offset_commit(
    shard: CoordinatorShard, request: OffsetCommitRequest, *, api_version: int
) -> tuple[Group, CommitPartitionValidator | None]:
    """Find or create the group, check that the sender may commit, and return the check for each partition.

    Raises:
        CoordinatorError: the first check that fails.

    Source: OffsetMetadataManager#validateOffsetCommit (4.3.1), GroupCoordinator#doCommitOffsets (3.9.2).
    """
    group = shard.find_group(request.group_id)
    if group is None:
        if request.generation_id_or_member_epoch >= 0:
            names_group = shard.profile.has(Behaviour.COMMIT_V9_NAMES_MISSING_GROUP)
            if names_group and api_version >= _MISSING_GROUP_NAMED_SINCE:
                raise CoordinatorError(Errors.GROUP_ID_NOT_FOUND)
            raise CoordinatorError(Errors.ILLEGAL_GENERATION)
        group = get_or_maybe_create_classic_group(shard, request.group_id, create_if_not_exists=True)
    validator = group.validate_offset_commit(
        request.member_id,
        request.group_instance_id,
        request.generation_id_or_member_epoch,
        is_transactional=False,
        api_version=api_version,
    )
    match group.type:
        case GroupType.CLASSIC:
            _keep_session(shard, as_classic_group(group), request.member_id)
        case GroupType.CONSUMER | GroupType.SHARE | GroupType.STREAMS:
            # In these groups, only heartbeats extend a member's session.
            pass
        case _:
            assert_never(group.type)
    return group, validator


def _keep_session(shard: CoordinatorShard, group: ClassicGroup, member_id: MemberId) -> None:
    match group.state:
        case ClassicGroupState.STABLE | ClassicGroupState.PREPARING_REBALANCE:
            reschedule_classic_group_member_heartbeat(shard, group, group.members[member_id])
        case ClassicGroupState.EMPTY | ClassicGroupState.COMPLETING_REBALANCE | ClassicGroupState.DEAD:
            return
        case _:
            assert_never(group.state)
