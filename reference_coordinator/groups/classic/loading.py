"""Loading classic groups from the log, and unloading them with their partition."""

from reference_coordinator.core.errors import Errors, IllegalStateError
from reference_coordinator.core.records import (
    NO_TIMESTAMP_MS,
    GroupMetadataRecord,
    GroupMetadataRecordMember,
)
from reference_coordinator.groups.classic.answers import complete_join_future, complete_sync_future
from reference_coordinator.groups.classic.group import ClassicGroup
from reference_coordinator.groups.classic.member import ClassicGroupMember
from reference_coordinator.groups.classic.rebalance import (
    prepare_rebalance,
    reschedule_classic_group_member_heartbeat,
)
from reference_coordinator.groups.classic.state import ClassicGroupState
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.messages import JoinGroupRequestProtocol
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.runtime.error_responses import join_error, sync_error


def load_group(shard: GroupMetadataManager, record: GroupMetadataRecord) -> ClassicGroup:
    """Create a group from its record: Stable if it has members, otherwise Empty.

    Source: GroupMetadataManager#replay (4.3.1), GroupMetadata#loadGroup (3.9.2).
    """
    timestamp_ms = record.current_state_timestamp_ms
    if shard.profile.has(Behaviour.LOADED_GROUP_LOSES_TIMESTAMP):
        timestamp_ms = NO_TIMESTAMP_MS
    group = ClassicGroup(
        group_id=record.group_id,
        profile=shard.profile,
        choices=shard.choices,
        current_state_timestamp_ms=None if timestamp_ms == NO_TIMESTAMP_MS else timestamp_ms,
        state=ClassicGroupState.STABLE if record.members else ClassicGroupState.EMPTY,
        generation_id=record.generation_id,
        protocol_type=record.protocol_type or None,
        protocol_name=record.protocol,
        leader_id=record.leader,
        leader_candidates=() if record.leader is None else (record.leader,),
    )
    for member in record.members:
        group.add(_load_member(shard, record, member))
    group.subscribed_topics = group.compute_subscribed_topics()
    return group


def _load_member(
    shard: GroupMetadataManager, record: GroupMetadataRecord, member: GroupMetadataRecordMember
) -> ClassicGroupMember:
    protocol = JoinGroupRequestProtocol(name=record.protocol or "", metadata=member.subscription)
    return ClassicGroupMember(
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        session_timeout_ms=member.session_timeout_ms,
        protocol_type=record.protocol_type,
        supported_protocols=(protocol,),
        assignment=member.assignment,
        counts_as_static=shard.profile.has(Behaviour.LOADED_MEMBERS_COUNT_AS_STATIC),
    )


def on_group_loaded(shard: GroupMetadataManager, group: ClassicGroup) -> None:
    """Restart every member's session, and rebalance a group that exceeds the configured maximum size.

    Source: GroupMetadataManager#onLoaded (4.3.1), GroupCoordinator#onGroupLoaded (3.9.2).
    """
    for member in tuple(group.members.values()):
        reschedule_classic_group_member_heartbeat(shard, group, member)
    if len(group.members) > shard.config.group_max_size:
        try:
            prepare_rebalance(shard, group)
        except IllegalStateError:
            # No request waits for this rebalance, and the other groups must still be loaded.
            return


def on_group_unloaded(shard: GroupMetadataManager, group: ClassicGroup) -> None:
    """Make a group Dead because another broker now owns its partition.

    Source: GroupMetadataManager#onUnloaded (4.3.1), GroupCoordinator#onGroupUnloaded (3.9.2).
    """
    previous_state = group.state
    group.transition_to(ClassicGroupState.DEAD, now_ms=shard.now_ms)
    for member in group.members.values():
        if previous_state is ClassicGroupState.PREPARING_REBALANCE:
            complete_join_future(shard, member, join_error(member.member_id, Errors.NOT_COORDINATOR))
        else:
            complete_sync_future(shard, member, sync_error(Errors.NOT_COORDINATOR))
