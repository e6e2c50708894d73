"""DescribeLogDirs and DescribeQuorum: the sizes of logs, and the controllers with the metadata."""

from functools import lru_cache
from typing import Final

from reference_coordinator.broker.broker_apis import Broker
from reference_coordinator.broker.topics import Topic
from reference_coordinator.broker_messages.inspection import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    QuorumListener,
    QuorumNode,
    QuorumPartitionData,
    QuorumTopicData,
    ReplicaState,
)
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import OFFSETS_TOPIC, TopicPartition
from reference_coordinator.core.parts import between_parts
from reference_coordinator.runtime.limits import size_in_bytes

_LOG_DIR: Final = "/tmp/kafka-logs"  # noqa: S108 - nothing is written there: it is Kafka's default `log.dir`
_METADATA_TOPIC: Final = "__cluster_metadata"
_METADATA_PARTITION: Final = 0
_CONTROLLER_EPOCH: Final = 1
_CONTROLLER_LISTENER: Final = "CONTROLLER"
_REMEMBERED_PARTITIONS: Final = 1 << 14


def handle_describe_log_dirs(broker: Broker, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
    """Return the sizes of logs, without partitions that do not exist.

    Each broker has all partitions, and no replica lags.

    Source: ReplicaManager#describeLogDirs (4.3.1).
    """
    wanted = (
        None
        if request.topics is None
        else {TopicPartition(each.topic, index) for each in request.topics for index in each.partitions}
    )
    topics = (_log_dir_topic(broker, topic, wanted) for topic in tuple(broker.topics))
    result = DescribeLogDirsResult(
        error_code=Errors.NONE, log_dir=_LOG_DIR, topics=tuple(each for each in topics if each.partitions)
    )
    return DescribeLogDirsResponse(error_code=Errors.NONE, results=(result,))


def _log_dir_topic(broker: Broker, topic: Topic, wanted: set[TopicPartition] | None) -> DescribeLogDirsTopic:
    between_parts()
    partitions = (TopicPartition(topic.name, index) for index in range(topic.num_partitions))
    return DescribeLogDirsTopic(
        name=topic.name,
        partitions=tuple(
            _log_dir_partition(each.partition, _size_bytes(broker, topic, each))
            for each in partitions
            if wanted is None or each in wanted
        ),
    )


@lru_cache(maxsize=_REMEMBERED_PARTITIONS)
def _log_dir_partition(index: int, size_bytes: int) -> DescribeLogDirsPartition:
    """Return a partition's row, cached because thousands of logs are empty."""
    return DescribeLogDirsPartition(partition_index=index, partition_size=size_bytes)


def _size_bytes(broker: Broker, topic: Topic, partition: TopicPartition) -> int:
    """Return the size of a log. Source: UnifiedLog#size (4.3.1)."""
    if topic.name == OFFSETS_TOPIC:
        return broker.cluster.log.size_bytes(
            partition.partition, lambda batch: size_in_bytes(batch.records, broker.profile)
        )
    return 0 if topic.is_internal else broker.topics.logs.size_bytes(partition)


def handle_describe_quorum(broker: Broker, request: DescribeQuorumRequest) -> DescribeQuorumResponse:
    """Describe the quorum of the metadata log: the only voter is a controller that is also a broker.

    Source: KafkaRaftClient#handleDescribeQuorumRequest, LeaderState#describeReplicaState (4.3.1).
    """
    named = [(each.topic_name, index) for each in request.topics for index in each.partitions]
    if named != [(_METADATA_TOPIC, _METADATA_PARTITION)]:
        return refused_quorum(request, Errors.UNKNOWN_TOPIC_OR_PARTITION)
    cluster = broker.cluster
    replicas = {
        node.node_id: ReplicaState(
            replica_id=node.node_id,
            log_end_offset=cluster.version,
            last_fetch_timestamp=cluster.now_ms,
            last_caught_up_timestamp=cluster.now_ms,
        )
        for node in cluster.nodes
    }
    voter = cluster.controller_id
    partition = QuorumPartitionData(
        partition_index=_METADATA_PARTITION,
        error_code=Errors.NONE,
        leader_id=voter,
        leader_epoch=_CONTROLLER_EPOCH,
        high_watermark=cluster.version,
        current_voters=(replicas.pop(voter),),
        observers=tuple(replicas.values()),
    )
    return DescribeQuorumResponse(
        error_code=Errors.NONE,
        topics=(QuorumTopicData(topic_name=_METADATA_TOPIC, partitions=(partition,)),),
        nodes=tuple(
            QuorumNode(
                node_id=node.node_id,
                listeners=(QuorumListener(name=_CONTROLLER_LISTENER, host=node.host, port=node.port),),
            )
            for node in cluster.nodes
            if node.node_id == voter
        ),
    )


def refused_quorum(request: DescribeQuorumRequest, error: Errors) -> DescribeQuorumResponse:
    """Return an error for each requested partition.

    Source: DescribeQuorumRequest#getPartitionLevelErrorResponse (4.3.1).
    """
    return DescribeQuorumResponse(
        error_code=Errors.NONE,
        topics=tuple(
            QuorumTopicData(
                topic_name=each.topic_name,
                partitions=tuple(
                    QuorumPartitionData(partition_index=index, error_code=error) for index in each.partitions
                ),
            )
            for each in request.topics
        ),
    )
