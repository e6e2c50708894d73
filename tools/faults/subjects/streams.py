"""Streams groups (KIP-1071)."""

from faults.corpus import Replacement, fault
from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import GroupId, TopicPartition
from reference_coordinator.groups.group import Group
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.groups.streams.group import StreamsGroup, StreamsGroupState
from reference_coordinator.offsets.shard import CoordinatorShard


@fault(
    "empty-classic-group-is-not-taken-over",
    "groups.streams.lookups:get_or_create_streams_group",
    source="KAFKA-19570",
    saw="an application that moves to the streams protocol cannot keep its id: GROUP_ID_NOT_FOUND",
    releases="4.1, a preview",
    red=("type_conflicts/streams-heartbeat-joins/classic-empty",),
)
def empty_classic_group_is_not_taken_over(
    healthy: Replacement, shard: GroupMetadataManager, group_id: GroupId, *given: object
) -> object:
    """A group of another type stays what it is, members or not."""
    group = shard.find_group(group_id)
    if group is not None and not isinstance(group, StreamsGroup):
        raise CoordinatorError(Errors.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a streams group.")
    return healthy(shard, group_id, *given)


@fault(
    "earlier-epoch-cannot-commit",
    "groups.streams.group:StreamsGroup._create_assignment_epoch_validator",
    source="KAFKA-19779",
    saw="a task's commit fails with STALE_MEMBER_EPOCH although the member has the task",
    releases="4.1, a preview",
    red=("streams_groups/offsets/other-epochs",),
)
def earlier_epoch_cannot_commit(healthy: Replacement, *given: object) -> object:
    """A commit with an earlier epoch is refused, whatever the member has had since."""
    del healthy, given
    raise CoordinatorError(Errors.STALE_MEMBER_EPOCH)


@fault(
    "stable-group-is-described-as-not-ready",
    "groups.streams.group:StreamsGroup.state",
    source="KAFKA-19661",
    saw="StreamsGroupDescribe says NotReady of a group that runs",
    releases="4.1, a preview",
    red=("streams_groups/describe/whole",),
)
def stable_group_is_described_as_not_ready(healthy: Replacement, group: StreamsGroup) -> StreamsGroupState:
    """A group is not ready before a second heartbeat has configured its topology."""
    if group.members and group.configured_topology is None:
        return StreamsGroupState.NOT_READY
    return healthy(group)


@fault(
    "empty-group-keeps-its-offsets",
    "offsets.expiration:_is_in_use",
    source="KAFKA-19372",
    saw="the offsets of an application that was shut down never expire, and cannot be deleted",
    releases="4.1, a preview",
    red=("loading/removed/expired-in-streams-group", "offsets/expiry/read-by-streams"),
)
def empty_group_keeps_its_offsets(
    healthy: Replacement, shard: CoordinatorShard, group: Group, partition: TopicPartition
) -> bool:
    """A group without members is subscribed to its topology's topics."""
    topology = group.topology if isinstance(group, StreamsGroup) else None
    is_named = topology is not None and partition.topic in topology.source_topic_map
    return is_named or healthy(shard, group, partition)
