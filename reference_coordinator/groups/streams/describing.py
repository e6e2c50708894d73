"""Descriptions of streams groups, for StreamsGroupDescribe."""

from typing import Final

from reference_coordinator.core.errors import Errors, IllegalStateError
from reference_coordinator.core.map_order import in_java_hash_map_order, utf16_order
from reference_coordinator.core.streams_records import KeyValue, Subtopology
from reference_coordinator.groups.streams.assignors import sticky
from reference_coordinator.groups.streams.group import StreamsGroup
from reference_coordinator.groups.streams.member import StreamsGroupMember
from reference_coordinator.groups.streams.task_offsets import task_offsets_from_map
from reference_coordinator.groups.streams.tasks import TasksTuple, task_ids
from reference_coordinator.groups.streams.topology import StreamsTopology
from reference_coordinator.messages.streams_groups import (
    StreamsGroupDescribeResponseAssignment,
    StreamsGroupDescribeResponseGroup,
    StreamsGroupDescribeResponseMember,
    StreamsGroupDescribeResponseTopology,
)

NOT_REQUESTED: Final = 0
NOT_STORED: Final = 1
"""No plugin stores descriptions of topologies. Source: StreamsGroupDescribeResponse.json (4.4.0)."""


def as_described_streams_group(
    group: StreamsGroup, *, authorized_operations: int, topology_description_status: int = NOT_REQUESTED
) -> StreamsGroupDescribeResponseGroup:
    """Describe the group with its topology, its members, their current and their target assignments.

    Raises:
        IllegalStateError: the group has no topology.

    Decided in: StreamsGroup#asDescribedGroup (4.3.1).
    """
    return StreamsGroupDescribeResponseGroup(
        error_code=Errors.NONE,
        group_id=group.group_id,
        group_state=group.state.value,
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        topology=_described_topology(group),
        members=tuple(as_streams_group_describe_member(group, each) for each in group.members.values()),
        authorized_operations=authorized_operations,
        topology_description_status=topology_description_status,
        assignor_name=sticky.NAME,
    )


def _described_topology(group: StreamsGroup) -> StreamsGroupDescribeResponseTopology:
    """Describe the configured topology if it is ready, otherwise the topology as it was sent."""
    configured = group.configured_topology
    if configured is not None and configured.is_ready and configured.subtopologies is not None:
        return StreamsGroupDescribeResponseTopology(
            epoch=configured.topology_epoch,
            subtopologies=tuple(each.subtopology for each in configured.subtopologies.values()),
        )
    if group.topology is None:
        raise IllegalStateError("There should always be a topology for a streams group.")
    return as_streams_group_describe_topology(group.topology)


def as_streams_group_describe_topology(topology: StreamsTopology) -> StreamsGroupDescribeResponseTopology:
    """Describe a topology as its members have sent it, sorted.

    Source: StreamsTopology#asStreamsGroupDescribeTopology (4.3.1).
    """
    return StreamsGroupDescribeResponseTopology(
        epoch=topology.topology_epoch,
        subtopologies=tuple(
            _sorted(topology.subtopologies[each]) for each in sorted(topology.subtopologies, key=utf16_order)
        ),
    )


def _sorted(subtopology: Subtopology) -> Subtopology:
    def by_name(topic: object) -> bytes:
        return utf16_order(getattr(topic, "name", ""))

    return Subtopology(
        subtopology_id=subtopology.subtopology_id,
        source_topics=tuple(sorted(subtopology.source_topics, key=utf16_order)),
        repartition_sink_topics=tuple(sorted(subtopology.repartition_sink_topics, key=utf16_order)),
        repartition_source_topics=tuple(sorted(subtopology.repartition_source_topics, key=by_name)),
        state_changelog_topics=tuple(sorted(subtopology.state_changelog_topics, key=by_name)),
    )


def as_streams_group_describe_member(
    group: StreamsGroup, member: StreamsGroupMember
) -> StreamsGroupDescribeResponseMember:
    """Describe a member with its current and its target assignment.

    Source: StreamsGroupMember#asStreamsGroupDescribeMember (4.3.1).
    """
    offsets = group.task_offsets(member.member_id)
    return StreamsGroupDescribeResponseMember(
        member_id=member.member_id,
        member_epoch=member.member_epoch,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        user_endpoint=member.user_endpoint,
        client_tags=tuple(
            KeyValue(key=each, value=member.client_tags[each])
            for each in in_java_hash_map_order(tuple(member.client_tags))
        ),
        task_offsets=task_offsets_from_map(offsets.task_offsets),
        task_end_offsets=task_offsets_from_map(offsets.task_end_offsets),
        assignment=_assignment(member.assigned_tasks.without_epochs()),
        target_assignment=_assignment(group.target_assignment_of(member.member_id)),
    )


def _assignment(tasks: TasksTuple) -> StreamsGroupDescribeResponseAssignment:
    return StreamsGroupDescribeResponseAssignment(
        active_tasks=task_ids(tasks.active_tasks),
        standby_tasks=task_ids(tasks.standby_tasks),
        warmup_tasks=task_ids(tasks.warmup_tasks),
    )
