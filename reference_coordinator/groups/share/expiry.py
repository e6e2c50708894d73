"""What happens when a member of a share group has been silent for too long."""

from typing_extensions import override

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.values import value
from reference_coordinator.groups.consumer.timers import RETRY_BACKOFF_MS, is_retried
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.groups.share.deadlines import ShareGroupDeadline
from reference_coordinator.groups.share.group import ShareGroup
from reference_coordinator.groups.share.leave import share_group_fence_member
from reference_coordinator.runtime.coordinator_result import (
    EMPTY_RESULT,
    Continuation,
    CoordinatorResult,
    VoidResult,
)


@value
class ShareTimerRetried(Continuation):
    """What a timer had to write was to be written."""

    shard: GroupMetadataManager
    deadline: ShareGroupDeadline

    @override
    def append_completed(self, error: Errors) -> None:
        """Let it fall due once more if it could not be written.

        Decided in: CoordinatorTimerImpl#schedule (4.3.1).
        """
        is_newer = self.shard.timers.deadline_of(self.deadline.key) is not None
        if is_retried(error) and not is_newer:
            at_ms = self.shard.now_ms + RETRY_BACKOFF_MS
            self.shard.timers.schedule(self.deadline.key, at_ms, self.deadline)


def share_group_fence_member_operation(
    shard: GroupMetadataManager, group: ShareGroup, deadline: ShareGroupDeadline
) -> VoidResult:
    """Drop a member that was silent for too long, if it is still there.

    Source: GroupMetadataManager#shareGroupFenceMemberOperation (4.3.1).
    """
    member = group.members.get(deadline.key.member_id)
    if member is None:
        return EMPTY_RESULT
    return CoordinatorResult(
        records=share_group_fence_member(shard, group, member),
        append_future=ShareTimerRetried(shard=shard, deadline=deadline),
    )
