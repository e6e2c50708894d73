"""OffsetCommit: who may commit to a group, and that the offsets are kept."""

from typing import Final, assert_never

from reference_coordinator.classic.group import ClassicGroup
from reference_coordinator.classic.rebalance import reschedule_classic_group_member_heartbeat
from reference_coordinator.classic.state import ClassicGroupState
from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import (
    UNKNOWN_MEMBER_ID,
    GenerationId,
    GroupInstanceId,
    MemberId,
    ResponseToken,
)
from reference_coordinator.core.values import value
from reference_coordinator.group.shard import Shard
from reference_coordinator.messages import OffsetCommitRequest, OffsetCommitResponse
from reference_coordinator.offsets.answers import refused_topics
from reference_coordinator.offsets.storing import Commit, store_offsets
from reference_coordinator.profile.behaviours import Behaviour

_MISSING_GROUP_NAMED_SINCE: Final = 9


@value
class Committer:
    """Who a commit says that it is from."""

    generation_id: GenerationId
    member_id: MemberId
    group_instance_id: GroupInstanceId | None

    @property
    def names_anything(self) -> bool:
        """Whether it speaks of the group's members at all."""
        return (
            self.generation_id >= 0
            or self.member_id != UNKNOWN_MEMBER_ID
            or self.group_instance_id is not None
        )


def commit_offset(
    shard: Shard, request: OffsetCommitRequest, *, api_version: int, token: ResponseToken
) -> None:
    """Take in offsets if who brings them may commit.

    Raises:
        CoordinatorError: the commit is refused as a whole.

    Source: OffsetMetadataManager#commitOffset (4.3.1), GroupCoordinator#handleCommitOffsets (3.9.2).
    """
    group = validate_offset_commit(shard, request, api_version=api_version)
    commit = Commit(
        group=group,
        token=token,
        request=request,
        retention_time_ms=request.retention_time_ms,
        respond_with=lambda topics: OffsetCommitResponse(topics=topics),
    )
    store_offsets(shard, commit)


def validate_offset_commit(shard: Shard, request: OffsetCommitRequest, *, api_version: int) -> ClassicGroup:
    """Find or make the group, and refuse who may not commit to it.

    Raises:
        CoordinatorError: the first check that fails.

    Source: OffsetMetadataManager#validateOffsetCommit (4.3.1), GroupCoordinator#doCommitOffsets (3.9.2).
    """
    group = shard.group(request.group_id)
    if group is None:
        if request.generation_id_or_member_epoch >= 0:
            names_group = shard.profile.has(Behaviour.COMMIT_V9_NAMES_MISSING_GROUP)
            if names_group and api_version >= _MISSING_GROUP_NAMED_SINCE:
                raise CoordinatorError(Errors.GROUP_ID_NOT_FOUND)
            raise CoordinatorError(Errors.ILLEGAL_GENERATION)
        group = shard.create_classic_group(request.group_id)
    committer = Committer(
        generation_id=request.generation_id_or_member_epoch,
        member_id=request.member_id,
        group_instance_id=request.group_instance_id,
    )
    validate_offset_commit_to_classic_group(shard, group, committer, is_transactional=False)
    match group.state:
        case ClassicGroupState.STABLE | ClassicGroupState.PREPARING_REBALANCE:
            member = group.members[request.member_id]
            reschedule_classic_group_member_heartbeat(shard, group, member)
        case ClassicGroupState.EMPTY | ClassicGroupState.COMPLETING_REBALANCE | ClassicGroupState.DEAD:
            pass
        case _:
            assert_never(group.state)
    return group


def validate_offset_commit_to_classic_group(
    shard: Shard, group: ClassicGroup, committer: Committer, *, is_transactional: bool
) -> None:
    """Refuse who may not commit to the group as it is.

    Raises:
        CoordinatorError: the first check that fails.

    Source: ClassicGroup#validateOffsetCommit (4.3.1), GroupCoordinator#validateOffsetCommit (3.9.2).
    """
    if group.state is ClassicGroupState.DEAD:
        raise CoordinatorError(Errors.COORDINATOR_NOT_AVAILABLE)
    if group.state is ClassicGroupState.EMPTY and _is_simple_commit(shard, committer):
        return
    if committer.names_anything:
        group.validate_member(
            committer.member_id,
            committer.group_instance_id,
            unknown_instance_is_refused=shard.profile.has(Behaviour.UNKNOWN_INSTANCE_ID_REFUSED),
        )
        if committer.generation_id != group.generation_id:
            raise CoordinatorError(Errors.ILLEGAL_GENERATION)
    elif not is_transactional:
        # Only members commit to a group that has some; old transactional producers cannot say who they are.
        raise CoordinatorError(Errors.UNKNOWN_MEMBER_ID)
    if not is_transactional and group.state is ClassicGroupState.COMPLETING_REBALANCE:
        raise CoordinatorError(Errors.REBALANCE_IN_PROGRESS)


def _is_simple_commit(shard: Shard, committer: Committer) -> bool:
    """Whether a commit without a generation comes from somebody who is in no group."""
    checks_ids = shard.profile.has(Behaviour.SIMPLE_COMMIT_CHECKS_IDS)
    return committer.generation_id < 0 and not (checks_ids and committer.names_anything)


def commit_error(shard: Shard, request: OffsetCommitRequest, error: Errors) -> OffsetCommitResponse:
    """A commit refused as a whole: the error on every partition.

    Source: OffsetCommitRequest#getErrorResponse (4.3.1).
    """
    return OffsetCommitResponse(topics=refused_topics(shard.profile, request.topics, error))
