"""Rebalances of classic groups: generations, SyncGroup, heartbeats, the leader."""

from dataclasses import replace

from faults.corpus import Replacement, fault
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import Millis
from reference_coordinator.groups.classic import rebalance
from reference_coordinator.groups.classic.answers import sync_result
from reference_coordinator.groups.classic.group import ClassicGroup
from reference_coordinator.groups.classic.state import ClassicGroupState
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.messages import HeartbeatRequest
from reference_coordinator.runtime.coordinator_result import EMPTY_RESULT, Sync, VoidResult
from reference_coordinator.runtime.error_responses import sync_error


@fault(
    "followers-sync-before-the-leader",
    "groups.classic.sync:_sync_in_completing_rebalance",
    source="seaweedfs/seaweedfs#9143",
    saw="a follower that syncs before the leader has no partitions",
    red=("classic/sync/follower-waits-for-leader",),
)
def followers_sync_before_the_leader(
    healthy: Replacement, shard: GroupMetadataManager, group: ClassicGroup, sync: Sync
) -> VoidResult:
    """A follower's SyncGroup is answered at once, with an empty assignment."""
    member = group.members[sync.request.member_id]
    if group.is_leader(member.member_id):
        return healthy(shard, group, sync)
    shard.respond(sync.token, sync_result(group, member))
    return EMPTY_RESULT


@fault(
    "assignments-above-500-kb",
    "groups.classic.sync:classic_group_sync_to_classic_group",
    source="confluentinc/librdkafka#3866",
    saw="a large group joins and syncs for ever: Unknown broker error",
    red=("classic/true-sizes/assignments-that-fit",),
)
def assignments_above_500_kb(
    healthy: Replacement, shard: GroupMetadataManager, group: ClassicGroup, sync: Sync
) -> VoidResult:
    """A SyncGroup whose assignments are larger is refused, although the log would take them."""
    if sum(len(each.assignment) for each in sync.request.assignments) > 500_000:
        shard.respond(sync.token, sync_error(Errors.UNKNOWN_SERVER_ERROR))
        return EMPTY_RESULT
    return healthy(shard, group, sync)


@fault(
    "heartbeats-of-former-generations",
    "groups.classic.heartbeat:validate_classic_group_heartbeat",
    source="ydb-platform/ydb#37138",
    saw="a member that missed a rebalance goes on reading partitions that others have",
    red=("classic/heartbeat/other-generation",),
)
def heartbeats_of_former_generations(
    healthy: Replacement, shard: GroupMetadataManager, group: ClassicGroup, request: HeartbeatRequest
) -> None:
    """A heartbeat's generation is not looked at."""
    healthy(shard, group, replace(request, generation_id=group.generation_id))


@fault(
    "rebalance-does-not-wait",
    "groups.classic.rebalance:maybe_complete_join_else_schedule",
    source="robot-head/crabka#286",
    saw="members that heartbeat only every few seconds are left out of each rebalance",
    red=("classic/rebalance/deadline-is-the-longest-timeout",),
)
def rebalance_does_not_wait(
    healthy: Replacement, shard: GroupMetadataManager, group: ClassicGroup
) -> VoidResult:
    """The join phase lasts as long as the initial delay, not as long as the members' rebalance timeout."""
    result = healthy(shard, group)
    if group.state is ClassicGroupState.PREPARING_REBALANCE:
        delay_ms = Millis(shard.config.group_initial_rebalance_delay_ms)
        rebalance._schedule_join(shard, group, delay_ms)  # noqa: SLF001 - the same deadline, sooner
    return result
