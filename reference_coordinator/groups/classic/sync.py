"""SyncGroup: the leader sends the assignments, and every member receives its own."""

from collections.abc import Mapping
from typing import Final, assert_never

from typing_extensions import override

from reference_coordinator.core.effects import Permitted
from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import GenerationId, MemberId
from reference_coordinator.core.values import value
from reference_coordinator.groups.classic.answers import (
    new_group_metadata_record,
    permitted_assignments,
    sync_result,
)
from reference_coordinator.groups.classic.deadlines import SyncKey
from reference_coordinator.groups.classic.group import ClassicGroup
from reference_coordinator.groups.classic.rebalance import (
    maybe_prepare_rebalance_or_complete_join,
    reschedule_classic_group_member_heartbeat,
    reset_and_propagate_assignment_with_error,
    set_and_propagate_assignment,
)
from reference_coordinator.groups.classic.state import ClassicGroupState
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.messages import SyncGroupRequest
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.runtime.append_errors import append_group_metadata_error_to_response_error
from reference_coordinator.runtime.coordinator_result import (
    EMPTY_RESULT,
    Continuation,
    CoordinatorResult,
    Sync,
    VoidResult,
)
from reference_coordinator.runtime.error_responses import sync_error

_OVERTAKES: Final = "the deadline is over when it begins, and the request may overtake Kafka's timer"


def classic_group_sync_to_classic_group(
    shard: GroupMetadataManager, group: ClassicGroup, sync: Sync
) -> VoidResult:
    """Answer or park a SyncGroup to an existing group.

    Source: GroupMetadataManager#classicGroupSyncToClassicGroup (4.3.1),
    GroupCoordinator#doSyncGroup (3.9.2).
    """
    try:
        validate_sync_group(shard, group, sync.request)
    except CoordinatorError as refusal:
        shard.respond(sync.token, sync_error(refusal.error), _permitted_in_time(group, sync.request))
        return EMPTY_RESULT
    match group.state:
        case ClassicGroupState.PREPARING_REBALANCE:
            shard.respond(sync.token, sync_error(Errors.REBALANCE_IN_PROGRESS))
        case ClassicGroupState.COMPLETING_REBALANCE:
            return _sync_in_completing_rebalance(shard, group, sync)
        case ClassicGroupState.STABLE:
            remove_pending_sync_member(shard, group, sync.request.member_id)
            member = group.members[sync.request.member_id]
            permitted = permitted_assignments(member.assignment_orders)
            shard.respond(sync.token, sync_result(group, member), permitted)
            if shard.profile.has(Behaviour.SYNC_IN_STABLE_REFRESHES_SESSION):
                reschedule_classic_group_member_heartbeat(shard, group, member)
        case ClassicGroupState.EMPTY | ClassicGroupState.DEAD:
            raise AssertionError("answered before")
        case _:
            assert_never(group.state)
    return EMPTY_RESULT


def _permitted_in_time(group: ClassicGroup, request: SyncGroupRequest) -> tuple[Permitted, ...]:
    """Return what a SyncGroup may get that has overtaken a timer which was due at once."""
    if request.member_id not in group.removed_at_once:
        return ()
    own = next((each.assignment for each in request.assignments if each.member_id == request.member_id), b"")
    codes = (Errors.UNKNOWN_MEMBER_ID, Errors.NONE)
    return (
        Permitted(field="error_code", any_of=codes, reason=_OVERTAKES),
        Permitted(field="assignment", any_of=(b"", own), reason=_OVERTAKES),
    )


def validate_sync_group(shard: GroupMetadataManager, group: ClassicGroup, request: SyncGroupRequest) -> None:
    """Check that the sender is a member, and that its generation and protocol are the group's.

    Raises:
        CoordinatorError: the first check that fails.

    Source: GroupMetadataManager#validateSyncGroup (4.3.1), GroupCoordinator#validateSyncGroup (3.9.2).
    """
    if group.state is ClassicGroupState.DEAD:
        raise CoordinatorError(Errors.COORDINATOR_NOT_AVAILABLE)
    group.validate_member(
        request.member_id,
        request.group_instance_id,
        unknown_instance_is_refused=shard.profile.has(Behaviour.UNKNOWN_INSTANCE_ID_REFUSED),
    )
    if request.generation_id != group.generation_id:
        raise CoordinatorError(Errors.ILLEGAL_GENERATION)
    if is_protocol_inconsistent(
        shard, request.protocol_type, group.protocol_type
    ) or is_protocol_inconsistent(shard, request.protocol_name, group.protocol_name):
        raise CoordinatorError(Errors.INCONSISTENT_GROUP_PROTOCOL)


def is_protocol_inconsistent(
    shard: GroupMetadataManager, of_request: str | None, of_group: str | None
) -> bool:
    """Return whether a protocol type or name differs from the group's. One that is None never does.

    Source: GroupMetadataManager#isProtocolInconsistent (4.3.1).
    """
    if of_group is None and shard.profile.has(Behaviour.SYNC_TOLERATES_UNSELECTED_PROTOCOL):
        return False
    return of_request is not None and of_request != of_group


def _sync_in_completing_rebalance(shard: GroupMetadataManager, group: ClassicGroup, sync: Sync) -> VoidResult:
    request = sync.request
    # An earlier parked SyncGroup of the same member is never answered.
    group.members[request.member_id].awaiting_sync = sync.token
    remove_pending_sync_member(shard, group, request.member_id)
    if not group.is_leader(request.member_id):
        return EMPTY_RESULT
    assignments = {each.member_id: each.assignment for each in request.assignments}
    return CoordinatorResult(
        records=(new_group_metadata_record(group, assignments),),
        append_future=AssignmentStored(
            shard=shard, group=group, generation_id=request.generation_id, assignments=assignments
        ),
        replay_records=False,
    )


@value
class AssignmentStored(Continuation):
    """Runs after the append of the leader's assignment."""

    shard: GroupMetadataManager
    group: ClassicGroup
    generation_id: GenerationId
    assignments: Mapping[MemberId, bytes]

    @override
    def append_completed(self, error: Errors) -> None:
        """Answer the parked SyncGroups with the assignment, or with an error if it could not be written.

        If a rebalance started in the meantime, they have been answered already.

        Decided in: GroupMetadataManager#classicGroupSyncToClassicGroup (4.3.1),
        GroupCoordinator#doSyncGroup (3.9.2).
        """
        shard, group = self.shard, self.group
        if group.state is not ClassicGroupState.COMPLETING_REBALANCE:
            return
        if group.generation_id != self.generation_id:
            return
        if error is Errors.NONE:
            set_and_propagate_assignment(shard, group, self.assignments)
            group.transition_to(ClassicGroupState.STABLE, now_ms=shard.now_ms)
        else:
            reported = append_group_metadata_error_to_response_error(shard, error)
            reset_and_propagate_assignment_with_error(shard, group, reported)
            maybe_prepare_rebalance_or_complete_join(shard, group)


def remove_pending_sync_member(shard: GroupMetadataManager, group: ClassicGroup, member_id: MemberId) -> None:
    """Record that a member has synced, and cancel the timer if it was the last one.

    Source: GroupMetadataManager#removePendingSyncMember (4.3.1).
    """
    group.pending_sync_members.pop(member_id, None)
    if group.has_received_sync_from_all_members:
        shard.timers.cancel(SyncKey(group_id=group.group_id))
