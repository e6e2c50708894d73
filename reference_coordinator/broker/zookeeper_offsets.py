"""Offsets of OffsetCommit v0 and OffsetFetch v0, which brokers store in ZooKeeper, without a coordinator.

A broker without ZooKeeper refuses both.
"""

import re
from dataclasses import replace
from typing import Final

from reference_coordinator.broker.broker_apis import Broker
from reference_coordinator.broker.error_responses import error_response
from reference_coordinator.broker.offset_apis import Forward, handle_offset_commit
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import GroupId, TopicPartition
from reference_coordinator.core.map_order import utf16_length
from reference_coordinator.messages import (
    GroupResponse,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
    RequestContext,
)
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.runtime.partition_answers import Verdicts, commit_topics, each_partition_once

_REFUSED_CHARACTER: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\uffff]")
_NO_OFFSET: Final = -1


def handle_offsets_of_version_0(
    broker: Broker, request: OffsetCommitRequest | OffsetFetchRequest, context: RequestContext
) -> GroupResponse:
    """Answer a commit or a fetch of version 0 from ZooKeeper, or refuse it without one.

    Source: KafkaApis#handleOffsetCommitRequest and #handleOffsetFetchRequest (2.8.2).
    """
    match request:
        case OffsetCommitRequest():
            return _commit(broker, request, context)
        case OffsetFetchRequest():
            return _fetch(broker, request, context)


def _commit(broker: Broker, request: OffsetCommitRequest, context: RequestContext) -> GroupResponse:
    """Store the offsets of existing partitions in ZooKeeper, without a check of members and generations.

    Source: KafkaApis#handleOffsetCommitRequest (2.8.2), #commitOffsetsToZookeeper (3.9.2).
    """
    routed = handle_offset_commit(request, context, broker.topics, broker.profile)
    if not isinstance(routed, Forward):
        return routed
    if not broker.profile.has(Behaviour.FIRST_OFFSETS_IN_ZOOKEEPER):
        refused = error_response(request, Errors.UNSUPPORTED_VERSION, api_version=context.api_version)
        assert isinstance(refused, OffsetCommitResponse)
        return refused
    assert isinstance(routed.request, OffsetCommitRequest)
    topics = routed.request.topics
    verdicts: Verdicts = [
        (
            TopicPartition(topic=topic.name, partition=each.partition_index),
            _keep(broker, request.group_id, topic.name, each),
        )
        for topic in topics
        for each in topic.partitions
    ]
    return routed.finish(OffsetCommitResponse(topics=commit_topics(broker.profile, topics, verdicts)))


def _keep(broker: Broker, group_id: GroupId, topic: str, partition: OffsetCommitRequestPartition) -> Errors:
    """Source: KafkaZkClient#setOrCreateConsumerOffset (2.8.2)."""
    if utf16_length(partition.committed_metadata or "") > broker.config.offset_metadata_max_bytes:
        return Errors.OFFSET_METADATA_TOO_LARGE
    if not _is_path(group_id):
        return Errors.UNKNOWN_SERVER_ERROR
    key = (group_id, TopicPartition(topic=topic, partition=partition.partition_index))
    broker.cluster.zookeeper_offsets[key] = partition.committed_offset
    return Errors.NONE


def _is_path(group_id: GroupId) -> bool:
    """Return whether ZooKeeper accepts a group's id as part of a path.

    Source: PathUtils#validatePath (ZooKeeper 3.5.9).
    """
    return _REFUSED_CHARACTER.search(group_id) is None and all(
        part not in {"", ".", ".."} for part in group_id.split("/")
    )


def _fetch(broker: Broker, request: OffsetFetchRequest, context: RequestContext) -> GroupResponse:
    """Return the offsets in ZooKeeper; a partition without an offset counts as unknown.

    Source: KafkaApis#handleOffsetFetchRequest (2.8.2), #handleOffsetFetchRequestFromZookeeper and
    OffsetFetchRequest#getErrorResponse (3.9.2), all of which answer by partition.
    """
    (group,) = request.groups
    asked = each_partition_once(group.topics or ())
    if not broker.profile.has(Behaviour.FIRST_OFFSETS_IN_ZOOKEEPER):
        once = replace(request, groups=(replace(group, topics=asked),))
        refused = error_response(once, Errors.UNSUPPORTED_VERSION, api_version=context.api_version)
        assert isinstance(refused, OffsetFetchResponse)
        return refused
    topics = tuple(
        OffsetFetchResponseTopic(
            name=topic.name,
            partitions=tuple(
                _kept(broker, group.group_id, topic.name, index) for index in topic.partition_indexes
            ),
        )
        for topic in asked
    )
    reported = OffsetFetchResponseGroup(group_id=group.group_id, topics=topics, error_code=Errors.NONE)
    return OffsetFetchResponse(groups=(reported,))


def _kept(broker: Broker, group_id: GroupId, topic: str, index: int) -> OffsetFetchResponsePartition:
    error, offset = Errors.UNKNOWN_TOPIC_OR_PARTITION, _NO_OFFSET
    if broker.topics.has_partition(topic, index):
        key = (group_id, TopicPartition(topic=topic, partition=index))
        if not _is_path(group_id):
            error = Errors.UNKNOWN_SERVER_ERROR
        elif key in broker.cluster.zookeeper_offsets:
            error, offset = Errors.NONE, broker.cluster.zookeeper_offsets[key]
    return OffsetFetchResponsePartition(
        partition_index=index,
        committed_offset=offset,
        committed_leader_epoch=-1,
        metadata="",
        error_code=error,
    )
