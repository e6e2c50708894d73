"""Initialization of partitions at the share coordinator, before a share group may read them.

The group coordinator writes which partitions it initializes, then sends the request, and writes the result.
"""

from collections.abc import Collection, Mapping

from typing_extensions import override

from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import GroupId, TopicId
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.core.values import value
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.groups.share.deadlines import InitializeShareState, ShareInitializationKey
from reference_coordinator.groups.share.group import ShareGroup
from reference_coordinator.groups.share.record_helpers import (
    new_share_group_state_partition_metadata_record,
)
from reference_coordinator.groups.share.state_partitions import (
    InitMap,
    InitMapValue,
    ShareGroupStatePartitionMetadataInfo,
    attach_topic_name,
    combine_init_maps,
    without_partitions,
)
from reference_coordinator.groups.share_persister import UNINITIALIZED_START_OFFSET
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.runtime.coordinator_result import Continuation, CoordinatorResult, VoidResult

StartOffsets = Mapping[TopicId, Mapping[int, int]]
"""The offsets to start reading from, by topic and partition."""
PartitionErrors = Mapping[tuple[TopicId | None, int], Errors]
"""The share coordinator's error for each partition. A topic without an id has none."""


def initialized_assignment_pending(group: ShareGroup) -> bool:
    """Return whether partitions have state but are not in any target assignment.

    In 4.1 and 4.2, all partitions of the group are compared, otherwise only those of subscribed topics.

    Source: GroupMetadataManager#initializedAssignmentPending (4.3.1).
    """
    known = group.state_partitions
    if not group.members or known is None:
        return False
    assigned: dict[TopicId, frozenset[int]] = {}
    for target in group.target_assignment.values():
        for topic_id, partitions in target.items():
            assigned[topic_id] = assigned.get(topic_id, frozenset[int]()).union(partitions)
    initialized = {topic_id: each.partitions for topic_id, each in known.initialized_topics.items()}
    if not group.profile.has(Behaviour.SHARE_PENDING_LOOKS_AT_SUBSCRIPTION):
        return initialized != assigned
    names = group.subscribed_topic_names
    return any(
        each.name in names and assigned.get(topic_id) != each.partitions
        for topic_id, each in known.initialized_topics.items()
    )


def maybe_create_initialize_share_group_state_request(
    shard: GroupMetadataManager,
    group: ShareGroup,
    group_epoch: int,
    topic_names: Collection[str],
    records: list[CoordinatorRecord],
) -> Continuation | None:
    """Add a record of partitions without state, if any. Return a continuation that initializes them.

    Source: GroupMetadataManager#maybeCreateInitializeShareGroupStateRequest (4.3.1).
    """
    if not shard.profile.has(Behaviour.SHARE_STATE_INITIALIZED):
        return None
    changes = subscribed_topics_change_map(shard, group, topic_names)
    if not changes:
        return None
    add_initializing_topics_records(shard, group, records, changes)
    offsets = {
        topic_id: dict.fromkeys(sorted(each.partitions), _start_offset(group, topic_id))
        for topic_id, each in changes.items()
    }
    return InitializationNoted(
        shard=shard, group_id=group.group_id, state_epoch=group_epoch, start_offsets=offsets
    )


def _start_offset(group: ShareGroup, topic_id: TopicId) -> int:
    """Return where to read new partitions from: their start if the topic already had or awaited state.

    Decided in: GroupMetadataManager#maybeCreateInitializeShareGroupStateRequest (4.4.0).
    """
    known = group.state_partitions
    if known is None or not group.profile.has(Behaviour.NEW_PARTITIONS_SHARED_FROM_START):
        return UNINITIALIZED_START_OFFSET
    is_known = topic_id in known.initialized_topics or topic_id in known.initializing_topics
    return 0 if is_known else UNINITIALIZED_START_OFFSET


def subscribed_topics_change_map(
    shard: GroupMetadataManager, group: ShareGroup, topic_names: Collection[str]
) -> InitMap:
    """Return the partitions of subscribed topics without state, unless it was requested recently.

    Source: GroupMetadataManager#subscribedTopicsChangeMap (4.3.1).
    """
    known = group.state_partitions or ShareGroupStatePartitionMetadataInfo()
    recent = {
        topic_id: each
        for topic_id, each in known.initializing_topics.items()
        if shard.now_ms - each.timestamp_ms < _retry_interval_ms(shard)
    }
    has_state = combine_init_maps(known.initialized_topics, recent)
    changes: dict[TopicId, InitMapValue] = {}
    for name in topic_names:
        topic = shard.metadata_image.topics.get(name)
        if topic is None:
            continue
        done = has_state[topic.topic_id].partitions if topic.topic_id in has_state else frozenset[int]()
        if len(done) < topic.num_partitions:
            missing = frozenset(range(topic.num_partitions)) - done
            changes[topic.topic_id] = InitMapValue(name=name, partitions=missing, timestamp_ms=shard.now_ms)
    return changes


def _retry_interval_ms(shard: GroupMetadataManager) -> int:
    """Return the interval after which a missing state is requested again.

    Decided in: GroupMetadataManager#subscribedTopicsChangeMap (4.1.2), which has no property for it, and
    GroupCoordinatorConfig#shareGroupInitializeRetryIntervalMs (4.3.1).
    """
    config = shard.config
    if shard.profile.has(Behaviour.SHARE_INITIALIZE_RETRY_CONFIGURED):
        return max(config.group_share_initialize_retry_interval_ms, config.offsets_commit_timeout_ms)
    return 2 * config.offsets_commit_timeout_ms


def add_initializing_topics_records(
    shard: GroupMetadataManager, group: ShareGroup, records: list[CoordinatorRecord], topics: InitMap
) -> None:
    """Add the record that partitions are initializing. Topics in it are no longer being deleted.

    Source: GroupMetadataManager#addInitializingTopicsRecords (4.3.1).
    """
    if not topics:
        return
    known = group.state_partitions or ShareGroupStatePartitionMetadataInfo()
    initializing = combine_init_maps(known.initializing_topics, topics)
    deleting = known.deleting_topics - initializing.keys()
    records.append(
        new_share_group_state_partition_metadata_record(
            group.group_id,
            initializing,
            known.initialized_topics,
            attach_topic_name(deleting, shard.metadata_image),
        )
    )


@value
class InitializationNoted(Continuation):
    """Runs after the append of the record that partitions are initializing."""

    shard: GroupMetadataManager
    group_id: GroupId
    state_epoch: int
    start_offsets: StartOffsets

    @override
    def append_completed(self, error: Errors) -> None:
        """Request the state. Decided in: GroupCoordinatorService#shareGroupHeartbeat (4.3.1)."""
        if error is not Errors.NONE:
            return
        if not self.shard.awaits_share_state:
            result = request_share_state(self.shard, self.group_id, self.state_epoch, self.start_offsets)
            self.shard.append(self.group_id, result)
            return
        offsets = tuple((topic_id, tuple(each.items())) for topic_id, each in self.start_offsets.items())
        key = ShareInitializationKey(
            group_id=self.group_id, state_epoch=self.state_epoch, start_offsets=offsets
        )
        now_ms = self.shard.now_ms
        self.shard.timers.schedule(key, now_ms, InitializeShareState(group_id=self.group_id, key=key))


def request_share_state(
    shard: GroupMetadataManager, group_id: GroupId, state_epoch: int, start_offsets: StartOffsets
) -> VoidResult:
    """Initialize the state of partitions, and record the result.

    Decided in: GroupCoordinatorService#persisterInitialize (4.3.1).
    """
    errors = persister_initialize(shard, group_id, state_epoch, start_offsets)
    if any(each is not Errors.NONE for each in errors.values()):
        return uninitialize_share_group_state(shard, group_id, start_offsets)
    return initialize_share_group_state(shard, group_id, start_offsets)


def persister_initialize(
    shard: GroupMetadataManager, group_id: GroupId, state_epoch: int, start_offsets: StartOffsets
) -> PartitionErrors:
    """Initialize the state of each partition at the share coordinator, and return the errors.

    Source: GroupCoordinatorService#persisterInitialize (4.3.1).
    """
    errors: dict[tuple[TopicId | None, int], Errors] = {}
    for topic_id, offsets in start_offsets.items():
        for partition, start_offset in offsets.items():
            errors[topic_id, partition] = Errors.NONE
            try:
                shard.share_persister.initialize_state(
                    group_id, topic_id, partition, state_epoch=state_epoch, start_offset=start_offset
                )
            except CoordinatorError as refusal:
                errors[topic_id, partition] = refusal.error
    return errors


def initialize_share_group_state(
    shard: GroupMetadataManager, group_id: GroupId, partitions: StartOffsets
) -> VoidResult:
    """Record that partitions have state. Source: GroupMetadataManager#initializeShareGroupState (4.3.1)."""
    group = shard.find_group(group_id)
    known = group.state_partitions if isinstance(group, ShareGroup) else None
    if known is None or not partitions:
        return CoordinatorResult()
    names = attach_topic_name(partitions, shard.metadata_image)
    added = {
        topic_id: InitMapValue(name=names[topic_id], partitions=frozenset(each), timestamp_ms=shard.now_ms)
        for topic_id, each in partitions.items()
    }
    record = new_share_group_state_partition_metadata_record(
        group_id,
        without_partitions(known.initializing_topics, _sets(partitions)),
        combine_init_maps(known.initialized_topics, added),
        attach_topic_name(known.deleting_topics, shard.metadata_image),
    )
    return CoordinatorResult(records=(record,))


def uninitialize_share_group_state(
    shard: GroupMetadataManager, group_id: GroupId, partitions: StartOffsets
) -> VoidResult:
    """Record that partitions could not be initialized, so that it is tried again.

    Source: GroupMetadataManager#uninitializeShareGroupState (4.3.1).
    """
    group = shard.find_group(group_id)
    known = group.state_partitions if isinstance(group, ShareGroup) else None
    if known is None or not known.initializing_topics or not partitions:
        return CoordinatorResult()
    record = new_share_group_state_partition_metadata_record(
        group_id,
        without_partitions(known.initializing_topics, _sets(partitions)),
        known.initialized_topics,
        attach_topic_name(known.deleting_topics, shard.metadata_image),
    )
    return CoordinatorResult(records=(record,))


def _sets(partitions: StartOffsets) -> Mapping[TopicId, frozenset[int]]:
    return {topic_id: frozenset(each) for topic_id, each in partitions.items()}
