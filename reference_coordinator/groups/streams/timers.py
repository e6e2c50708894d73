"""The timers of a streams group and its members, and the group's configuration."""

from reference_coordinator.core.ids import GroupId, MemberId, Millis
from reference_coordinator.core.values import value
from reference_coordinator.groups.consumer.deadlines import MemberDeadline, RebalanceKey, SessionKey
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.groups.streams.member import StreamsGroupMember
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.runtime.deadlines import GroupDeadline, GroupTimerKey


def streams_group_session_timeout_ms(shard: GroupMetadataManager, group_id: GroupId) -> Millis:
    """Return the session timeout of a group's members.

    Source: GroupMetadataManager#streamsGroupSessionTimeoutMs (4.3.1).
    """
    own = shard.group_config(group_id).streams_session_timeout_ms
    return Millis(shard.config.group_streams_session_timeout_ms if own is None else own)


def streams_group_heartbeat_interval_ms(shard: GroupMetadataManager, group_id: GroupId) -> Millis:
    """Return the heartbeat interval of a group's members.

    Source: GroupMetadataManager#streamsGroupHeartbeatIntervalMs (4.3.1).
    """
    own = shard.group_config(group_id).streams_heartbeat_interval_ms
    return Millis(shard.config.group_streams_heartbeat_interval_ms if own is None else own)


def streams_group_initial_rebalance_delay_ms(shard: GroupMetadataManager, group_id: GroupId) -> Millis:
    """Return how long an empty group waits for more members before tasks are assigned.

    Source: GroupMetadataManager#streamsGroupInitialRebalanceDelayMs (4.3.1).
    """
    own = shard.group_config(group_id).streams_initial_rebalance_delay_ms
    return Millis(shard.config.group_streams_initial_rebalance_delay_ms if own is None else own)


def streams_group_assignment_interval_ms(shard: GroupMetadataManager, group_id: GroupId) -> Millis:
    """Return the minimum interval between two target assignments of a group.

    Source: GroupMetadataManager#streamsGroupAssignmentIntervalMs (4.3.1).
    """
    own = shard.group_config(group_id).streams_assignment_interval_ms
    return Millis(shard.config.group_streams_assignment_interval_ms if own is None else own)


def streams_group_assignment_configs(shard: GroupMetadataManager, group_id: GroupId) -> dict[str, str]:
    """Return the configuration of the assignor.

    Source: GroupMetadataManager#streamsGroupAssignmentConfigs (4.3.1).
    """
    own = shard.group_config(group_id).streams_num_standby_replicas
    replicas = shard.config.group_streams_num_standby_replicas if own is None else own
    tags = streams_group_rack_aware_assignment_tags(shard, group_id)
    named = {"rack.aware.assignment.tags": ",".join(tags)} if tags else {}
    return {"num.standby.replicas": str(replicas), **named}


def streams_group_rack_aware_assignment_tags(
    shard: GroupMetadataManager, group_id: GroupId
) -> tuple[str, ...]:
    """Return the client tags that a group's members must have.

    Decided in: GroupMetadataManager#streamsGroupAssignmentConfigs (4.4.0).
    """
    if not shard.profile.has(Behaviour.STREAMS_CLIENT_TAGS_REQUIRED):
        return ()
    own = shard.group_config(group_id).streams_rack_aware_assignment_tags
    return shard.config.group_streams_rack_aware_assignment_tags if own is None else own


def streams_group_task_offset_interval_ms(shard: GroupMetadataManager, group_id: GroupId) -> Millis:
    """Return the interval at which a group's members must report their task offsets.

    Source: GroupMetadataManager#streamsGroupTaskOffsetIntervalMs (4.4.0).
    """
    own = shard.group_config(group_id).streams_task_offset_interval_ms
    return Millis(shard.config.group_streams_task_offset_interval_ms if own is None else own)


def streams_group_acceptable_recovery_lag(shard: GroupMetadataManager, group_id: GroupId) -> int:
    """Return the maximum lag of a task that counts as caught up.

    Source: GroupMetadataManager#streamsGroupAcceptableRecoveryLag (4.4.0).
    """
    own = shard.group_config(group_id).streams_acceptable_recovery_lag
    return shard.config.group_streams_acceptable_recovery_lag if own is None else own


def streams_group_num_warmup_replicas(shard: GroupMetadataManager, group_id: GroupId) -> int:
    """Return the maximum number of warm-up tasks of a group.

    Source: GroupMetadataManager#streamsGroupNumWarmupReplicas (4.4.0).
    """
    own = shard.group_config(group_id).streams_num_warmup_replicas
    return shard.config.group_streams_num_warmup_replicas if own is None else own


def schedule_streams_group_session_timeout(
    shard: GroupMetadataManager, group_id: GroupId, member_id: MemberId
) -> None:
    """Restart a member's session timer.

    Source: GroupMetadataManager#scheduleStreamsGroupSessionTimeout (4.3.1).
    """
    key = SessionKey(group_id=group_id, member_id=member_id)
    at_ms = shard.now_ms + streams_group_session_timeout_ms(shard, group_id)
    shard.timers.schedule(key, at_ms, FenceStreamsMember(group_id=group_id, key=key))


def schedule_streams_group_rebalance_timeout(
    shard: GroupMetadataManager, group_id: GroupId, member: StreamsGroupMember
) -> None:
    """Start the timer within which a member must revoke tasks, its rebalance timeout.

    Source: GroupMetadataManager#scheduleStreamsGroupRebalanceTimeout (4.3.1).
    """
    key = RebalanceKey(group_id=group_id, member_id=member.member_id)
    deadline = FenceUnrevokedStreamsMember(group_id=group_id, key=key, member_epoch=member.member_epoch)
    shard.timers.schedule(key, shard.now_ms + member.rebalance_timeout_ms, deadline)


def is_initial_rebalance_delayed(shard: GroupMetadataManager, group_id: GroupId) -> bool:
    """Return whether the group's initial rebalance delay is running."""
    return shard.timers.deadline_of(InitialRebalanceKey(group_id=group_id)) is not None


def schedule_initial_rebalance_if_absent(shard: GroupMetadataManager, group_id: GroupId) -> None:
    """Start an empty group's initial rebalance delay, unless it is 0 or already running.

    Decided in: GroupMetadataManager#streamsGroupHeartbeat (4.3.1).
    """
    delay_ms = streams_group_initial_rebalance_delay_ms(shard, group_id)
    if delay_ms > 0 and not is_initial_rebalance_delayed(shard, group_id):
        key = InitialRebalanceKey(group_id=group_id)
        shard.timers.schedule(key, shard.now_ms + delay_ms, ComputeDelayedAssignment(group_id=group_id))


@value
class InitialRebalanceKey(GroupTimerKey):
    """The timer of a group's first assignment. Source: StreamsGroup#initialRebalanceTimeoutKey (4.3.1)."""


@value
class FenceStreamsMember(MemberDeadline):
    """A member's session expires."""


@value
class FenceUnrevokedStreamsMember(MemberDeadline):
    """A member did not revoke its tasks in time."""

    member_epoch: int
    """The member epoch in which it had to revoke them."""


@value
class ComputeDelayedAssignment(GroupDeadline):
    """The initial rebalance delay ends."""


StreamsGroupDeadline = FenceStreamsMember | FenceUnrevokedStreamsMember | ComputeDelayedAssignment
"""Any deadline of a streams group."""
