"""StreamsGroupHeartbeat: a member joins, sends changes, receives its tasks, or leaves."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from reference_coordinator.core.errors import CoordinatorError, Errors, IllegalStateError
from reference_coordinator.core.ids import MemberId
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.core.streams_records import StreamsGroupTopologyRecord, StreamsMemberState
from reference_coordinator.groups.consumer.regular_expressions import METADATA_REFRESH_INTERVAL_MS
from reference_coordinator.groups.consumer.timers import cancel_group_rebalance_timeout
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.groups.streams.configured_topology import (
    ConfiguredTopology,
    Status,
    configure_topics,
)
from reference_coordinator.groups.streams.current_assignment import CurrentAssignmentBuilder
from reference_coordinator.groups.streams.group import StreamsGroup, StreamsGroupState
from reference_coordinator.groups.streams.joining import (
    get_or_maybe_create_dynamic_streams_group_member,
    get_or_maybe_create_static_streams_group_member,
)
from reference_coordinator.groups.streams.leave import streams_group_leave
from reference_coordinator.groups.streams.lookups import (
    get_or_create_streams_group,
    get_streams_group_or_throw,
    throw_if_request_contains_invalid_tasks,
    throw_if_streams_group_is_full,
)
from reference_coordinator.groups.streams.member import StreamsGroupMember
from reference_coordinator.groups.streams.record_helpers import (
    new_streams_group_current_assignment_record,
    new_streams_group_member_record,
    new_streams_group_metadata_record,
)
from reference_coordinator.groups.streams.refined_assignment import (
    maybe_cache_refined_assignment,
    refined_assignment_for_epoch,
    relabel_refined_assignment,
)
from reference_coordinator.groups.streams.responses import heartbeat_response, missing_tags, status
from reference_coordinator.groups.streams.target_assignment import (
    UpdateTargetAssignmentResult,
    maybe_update_streams_target_assignment,
)
from reference_coordinator.groups.streams.tasks import EMPTY, TasksTuple, tasks_of
from reference_coordinator.groups.streams.timers import (
    schedule_initial_rebalance_if_absent,
    schedule_streams_group_rebalance_timeout,
    schedule_streams_group_session_timeout,
    streams_group_assignment_configs,
    streams_group_rack_aware_assignment_tags,
)
from reference_coordinator.groups.streams.topology import (
    StreamsTopology,
    compute_metadata_hash,
    streams_topology,
)
from reference_coordinator.messages import RequestContext
from reference_coordinator.messages.consumer_groups import (
    JOIN_GROUP_MEMBER_EPOCH,
    LEAVE_GROUP_MEMBER_EPOCH,
    LEAVE_GROUP_STATIC_MEMBER_EPOCH,
)
from reference_coordinator.messages.streams_groups import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    StreamsGroupHeartbeatResponseStatus,
)
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.runtime.coordinator_result import CoordinatorResult

_NOT_SENT: Final = -1
_NOT_VALIDATED: Final = -1


def streams_group_heartbeat(
    shard: GroupMetadataManager, request: StreamsGroupHeartbeatRequest, context: RequestContext
) -> CoordinatorResult[StreamsGroupHeartbeatResponse]:
    """Handle a member's heartbeat.

    Raises:
        CoordinatorError: the first check that fails.
        IllegalStateError: Kafka throws an exception because of the topology.

    Source: GroupMetadataManager#streamsGroupHeartbeat (4.3.1).
    """
    if request.member_epoch in {LEAVE_GROUP_MEMBER_EPOCH, LEAVE_GROUP_STATIC_MEMBER_EPOCH}:
        return streams_group_leave(shard, request)
    records: list[CoordinatorRecord] = []
    joins = request.member_epoch == JOIN_GROUP_MEMBER_EPOCH
    if joins:
        group = get_or_create_streams_group(shard, request.group_id, records)
        throw_if_streams_group_is_full(shard, group, request)
    else:
        group = get_streams_group_or_throw(shard, request.group_id)
    instance_id, replaced = request.instance_id, None
    if instance_id is None:
        member = get_or_maybe_create_dynamic_streams_group_member(group, request)
    else:
        previous = group.static_member(instance_id)
        if previous is not None and previous.member_id != request.member_id:
            replaced = previous
            group = relabel_refined_assignment(shard, group, previous.member_id, request.member_id)
        member = get_or_maybe_create_static_streams_group_member(group, instance_id, request, records)
    heartbeat = _Heartbeat(
        shard=shard,
        group=group,
        member=member,
        replaced=replaced,
        request=request,
        context=context,
        records=records,
    )
    heartbeat.update_member()
    heartbeat.update_topology()
    heartbeat.configure_topology()
    heartbeat.update_task_offsets()
    heartbeat.maybe_bump_group_epoch()
    heartbeat.assign()
    heartbeat.reconcile()
    schedule_streams_group_session_timeout(shard, request.group_id, request.member_id)
    return CoordinatorResult(records=tuple(records), response=heartbeat.response())


@dataclass(slots=True, kw_only=True)
class _Heartbeat:
    """The handling of one heartbeat, with the records to write."""

    shard: GroupMetadataManager
    group: StreamsGroup
    member: StreamsGroupMember
    """The member before the heartbeat."""
    replaced: StreamsGroupMember | None
    """The static member that the sender replaces."""
    request: StreamsGroupHeartbeatRequest
    context: RequestContext
    records: list[CoordinatorRecord]
    updated_member: StreamsGroupMember = field(init=False)
    topology: StreamsTopology = field(init=False)
    configured: ConfiguredTopology = field(init=False)
    group_epoch: int = field(init=False)
    assignment_configs: Mapping[str, str] = field(init=False)
    target: UpdateTargetAssignmentResult = field(init=False)
    statuses: list[StreamsGroupHeartbeatResponseStatus] = field(default_factory=list)
    metadata_hash: int = 0
    bumps_group_epoch: bool = False
    is_refined: bool = False
    """Whether the epoch is bumped only because the member does not have its target assignment."""

    def update_member(self) -> None:
        """Update the member from its heartbeat. A change bumps the group epoch, with exceptions if static.

        Decided in: GroupMetadataManager#hasStreamsMemberMetadataChanged,
        GroupMetadataManager#streamsGroupHeartbeat (4.4.0).
        """
        request, member, context = self.request, self.member, self.context
        keeps_endpoint = request.user_endpoint is None and not (
            request.member_epoch == JOIN_GROUP_MEMBER_EPOCH
            and self.shard.profile.has(Behaviour.STREAMS_ENDPOINTS_FOLLOW_CHANGES)
        )
        timeout_ms, tags = request.rebalance_timeout_ms, request.client_tags
        self.updated_member = replace(
            member,
            instance_id=member.instance_id if request.instance_id is None else request.instance_id,
            rack_id=member.rack_id if request.rack_id is None else request.rack_id,
            rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == _NOT_SENT else timeout_ms,
            topology_epoch=member.topology_epoch if request.topology is None else request.topology.epoch,
            client_id=context.client_id or "",
            client_host=context.client_host,
            process_id=member.process_id if request.process_id is None else request.process_id,
            client_tags=member.client_tags if tags is None else {each.key: each.value for each in tags},
            user_endpoint=member.user_endpoint if keeps_endpoint else request.user_endpoint,
        )
        if self.updated_member != member:
            self.records.append(new_streams_group_member_record(self.group.group_id, self.updated_member))
            self.bumps_group_epoch = request.instance_id is None or _has_epoch_relevant_member_config_changed(
                member, self.updated_member
            )

    def update_topology(self) -> None:
        """Store the group's first topology. Add a status if the member's topology epoch is behind.

        Raises:
            CoordinatorError: INVALID_REQUEST, if the topology differs and its epoch is not an earlier one.

        Decided in: GroupMetadataManager#maybeUpdateTopology, GroupMetadataManager#maybeSetTopologyStaleStatus
        (4.3.1).
        """
        group, sent = self.group, self.request.topology
        if sent is None:
            if group.topology is None:
                raise IllegalStateError("The topology is null and the group topology is also null.")
            self.topology = group.topology
        else:
            topology = streams_topology(sent.epoch, sent.subtopologies)
            if group.topology is None:
                self.records.append(
                    StreamsGroupTopologyRecord(
                        group_id=group.group_id, epoch=sent.epoch, subtopologies=sent.subtopologies
                    )
                )
            elif group.topology.topology_epoch <= sent.epoch and group.topology != topology:
                raise CoordinatorError(Errors.INVALID_REQUEST, "Topology updates are not supported yet.")
            self.topology = topology if group.topology is None else group.topology
        behind, epoch = self.updated_member.topology_epoch, self.topology.topology_epoch
        if group.topology is not None and behind < epoch:
            detail = f"The member's topology epoch {behind} is behind the group's topology epoch {epoch}."
            self.statuses.append(status(Status.STALE_TOPOLOGY, detail))

    def configure_topology(self) -> None:
        """Configure the topology for the cluster's topics, if that was not done yet or is due again.

        Raises:
            CoordinatorError: STREAMS_INVALID_TOPOLOGY, or INVALID_REQUEST for tasks that do not exist.

        Decided in: GroupMetadataManager#streamsGroupHeartbeat (4.3.1).
        """
        group, image = self.group, self.shard.metadata_image
        self.metadata_hash = group.metadata_hash
        known = group.configured_topology
        reconfigures = group.topology is None or known is None
        if reconfigures or group.has_metadata_expired(self.shard.now_ms):
            self.metadata_hash = compute_metadata_hash(self.topology, image)
            if self.metadata_hash != group.metadata_hash:
                self.bumps_group_epoch = reconfigures = True
        if reconfigures or known is None:
            known = configure_topics(self.topology, image)
            self.group = self._keep(known)
        self.configured = known
        if known.is_ready:
            for tasks in (self.request.active_tasks, self.request.standby_tasks, self.request.warmup_tasks):
                throw_if_request_contains_invalid_tasks(known, tasks)

    def _keep(self, configured: ConfiguredTopology) -> StreamsGroup:
        """Store the configured topology in a registered group. A new group loses it, as no record has it.

        Decided in: StreamsGroup#setConfiguredTopology (4.3.1).
        """
        group = replace(self.group, configured_topology=configured)
        if self.shard.find_group(group.group_id) is self.group:
            self.shard.add_new_group(group)
        return group

    def update_task_offsets(self) -> None:
        """Store the task offsets that the member reports, if any.

        Raises:
            CoordinatorError: INVALID_REQUEST, if a task is contained twice.

        Decided in: GroupMetadataManager#streamsGroupHeartbeat (4.4.0).
        """
        offsets, ends = self.request.task_offsets, self.request.task_end_offsets
        if offsets is not None or ends is not None:
            member_id = self.request.member_id
            updated = self.group.task_offsets(member_id).update(offsets, ends)
            self.group.unwritten.task_offsets[member_id] = updated

    def maybe_bump_group_epoch(self) -> None:
        """Bump the group epoch on a change. Start the initial rebalance delay of an empty group.

        Decided in: GroupMetadataManager#streamsGroupHeartbeat (4.3.1).
        """
        shard, group = self.shard, self.group
        validated = self.topology.topology_epoch if self.configured.is_ready else _NOT_VALIDATED
        configs = self.assignment_configs = streams_group_assignment_configs(shard, group.group_id)
        self.group_epoch = group.group_epoch
        self.bumps_group_epoch |= (
            validated != group.validated_topology_epoch or configs != group.last_assignment_configs
        )
        self.is_refined = self._is_refined()
        if self.bumps_group_epoch or self.is_refined:
            skips_first = shard.profile.has(Behaviour.STREAMS_FIRST_EPOCH_SKIPPED) and not group.group_epoch
            self.group_epoch = 2 if skips_first else group.group_epoch + 1
            self.records.append(
                new_streams_group_metadata_record(
                    group.group_id,
                    self.group_epoch,
                    metadata_hash=self.metadata_hash,
                    validated_topology_epoch=validated,
                    assignment_configs=configs,
                )
            )
            group.set_metadata_refresh_deadline(shard.now_ms + METADATA_REFRESH_INTERVAL_MS, self.group_epoch)
        if group.is_empty:
            schedule_initial_rebalance_if_absent(shard, group.group_id)

    def _is_refined(self) -> bool:
        """Return whether a member of a Stable group has tasks that differ from its target assignment.

        Decided in: GroupMetadataManager#streamsGroupHeartbeat (4.4.0).
        """
        group, updated = self.group, self.updated_member
        if self.bumps_group_epoch or group.state is not StreamsGroupState.STABLE:
            return False
        remembers = self.shard.profile.has(Behaviour.STREAMS_TARGET_KEPT_FOR_EPOCH)
        target = group.target_assignment_of(updated.member_id)
        return remembers and target != updated.assigned_tasks.without_epochs()

    def assign(self) -> None:
        """Compute a new target assignment if one is due."""
        self.target = maybe_update_streams_target_assignment(
            self.shard,
            self.group,
            self.group_epoch,
            self.updated_member,
            self.configured,
            self.assignment_configs,
            refine_only=self.is_refined,
        )
        self.records += self.target.records
        self.statuses += self.target.status

    def reconcile(self) -> None:
        """Move the member towards its target assignment. Set its rebalance timeout if it must revoke tasks.

        Decided in: GroupMetadataManager#maybeReconcile (4.3.1).
        """
        epoch, updated = self.target.target_assignment_epoch, self.updated_member
        group_id = self.group.group_id
        targets = self._refined_assignment()
        if updated.is_reconciled_to(epoch):
            return
        member = CurrentAssignmentBuilder(
            group=self.group,
            member=updated,
            target_assignment_epoch=epoch,
            target_assignment=targets.get(updated.member_id, EMPTY),
            owned_tasks=_owned_tasks(self.request),
            changes_roles=self.shard.profile.has(Behaviour.STREAMS_TASKS_CHANGE_ROLES),
        ).build()
        if member == updated:
            return
        self.updated_member = member
        self.records.append(new_streams_group_current_assignment_record(group_id, member))
        if member.state is StreamsMemberState.UNREVOKED_TASKS:
            schedule_streams_group_rebalance_timeout(self.shard, group_id, member)
        else:
            cancel_group_rebalance_timeout(self.shard, group_id, member.member_id)

    def _refined_assignment(self) -> Mapping[MemberId, TasksTuple]:
        """Return the members' assignment as cached for the epoch. A Stable group caches the target again.

        Decided in: GroupMetadataManager#streamsGroupHeartbeat (4.4.0).
        """
        shard, group, result = self.shard, self.group, self.target
        epoch, targets = result.target_assignment_epoch, result.target_assignment
        if self.bumps_group_epoch or group.state is not StreamsGroupState.STABLE:
            return refined_assignment_for_epoch(shard, group, epoch, targets)
        maybe_cache_refined_assignment(shard, group, epoch, targets)
        return targets

    def response(self) -> StreamsGroupHeartbeatResponse:
        """Return the response to the member."""
        group = self.group
        if self.request.shutdown_application and group.unwritten.shutdown_request_member_id is None:
            group.unwritten.shutdown_request_member_id = self.request.member_id
        tags = streams_group_rack_aware_assignment_tags(self.shard, group.group_id)
        if self.configured.status is not None:
            self.statuses.append(status(self.configured.status, self.configured.status_detail))
        return heartbeat_response(
            self.shard,
            group,
            self.request,
            before=self.member,
            member=self.updated_member,
            replaced=self.replaced,
            configured=self.configured,
            statuses=tuple(self.statuses),
            untagged=missing_tags(tags, self.updated_member, self.context.api_version),
        )


def _has_epoch_relevant_member_config_changed(old: StreamsGroupMember, new: StreamsGroupMember) -> bool:
    """Source: GroupMetadataManager#hasEpochRelevantMemberConfigChanged (4.4.0)."""
    return (
        old.topology_epoch != new.topology_epoch
        or old.rack_id != new.rack_id
        or old.client_tags != new.client_tags
        or old.process_id != new.process_id
    )


def _owned_tasks(request: StreamsGroupHeartbeatRequest) -> TasksTuple | None:
    """Return the tasks that the member reports as owned, or None if it does not report all kinds."""
    active, standby, warmup = request.active_tasks, request.standby_tasks, request.warmup_tasks
    if active is None or standby is None or warmup is None:
        return None
    return TasksTuple(
        active_tasks=tasks_of(active), standby_tasks=tasks_of(standby), warmup_tasks=tasks_of(warmup)
    )
