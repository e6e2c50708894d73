"""Expired deadlines of consumer groups."""

from typing import assert_never

from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.groups.consumer.deadlines import (
    ConsumerGroupDeadline,
    FenceMember,
    FenceUnrevokedMember,
    ResolveRegularExpressions,
)
from reference_coordinator.groups.consumer.group import ConsumerGroup
from reference_coordinator.groups.consumer.leave import consumer_group_fence_members
from reference_coordinator.groups.consumer.regular_expressions import (
    handle_regular_expressions_result,
    resolve_regular_expressions,
)
from reference_coordinator.groups.consumer.timers import TimerRetried, is_still_due
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.runtime.coordinator_result import EMPTY_RESULT, CoordinatorResult, VoidResult


def fall_due(
    shard: GroupMetadataManager, group: ConsumerGroup, deadline: ConsumerGroupDeadline
) -> VoidResult:
    """Handle an expired deadline of a group."""
    match deadline:
        case ResolveRegularExpressions():
            found = resolve_regular_expressions(shard, deadline)
            return handle_regular_expressions_result(shard, group, found)
        case FenceMember() | FenceUnrevokedMember():
            return consumer_group_fence_member_operation(shard, group, deadline)
        case _:
            assert_never(deadline)


def consumer_group_fence_member_operation(
    shard: GroupMetadataManager, group: ConsumerGroup, deadline: FenceMember | FenceUnrevokedMember
) -> VoidResult:
    """Remove a member whose session expired or that did not rejoin, sync or revoke partitions in time.

    The last consumer stays a member, without a timer, if its group cannot be converted to a classic one:
    Kafka takes that GROUP_ID_NOT_FOUND for that of a group that was deleted meanwhile.

    Source: GroupMetadataManager#consumerGroupFenceMemberOperation (4.3.1).
    """
    if not is_still_due(group, deadline):
        return EMPTY_RESULT
    member = group.members[deadline.member_id]
    try:
        result = consumer_group_fence_members(shard, group, (member,))
    except CoordinatorError as failure:
        if failure.error is not Errors.GROUP_ID_NOT_FOUND:
            raise
        return EMPTY_RESULT
    return CoordinatorResult(
        records=result.records,
        append_future=TimerRetried(shard=shard, deadline=deadline),
        replay_records=result.replay_records,
    )
