"""The acknowledgements of a request: start the valid ones, and collect the errors of the others."""

from collections.abc import Iterable
from typing import Final

from reference_coordinator.broker.broker_apis import Broker
from reference_coordinator.broker.narrowing import reads
from reference_coordinator.broker.share_partitions import SharePartitions
from reference_coordinator.broker.standard_authorizer import StandardAuthorizer
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import Millis, TopicPartition
from reference_coordinator.messages import RequestContext
from reference_coordinator.shares.acknowledging import RENEW, Acknowledged, Started, acknowledge
from reference_coordinator.shares.messages import (
    AcknowledgementBatch,
    LeaderIdAndEpoch,
    NodeEndpoint,
    ShareTopicRequest,
)
from reference_coordinator.shares.sessions import ShareSessionKey, TopicIdPartition
from reference_coordinator.shares.state import SharePartitionKey

_FIRST_RENEWING: Final = 2


class Acknowledgements:
    """Source: KafkaApis#handleAcknowledgements, SharePartitionManager#acknowledge (4.3.1)."""

    def __init__(
        self, broker: Broker, partitions: SharePartitions, results: dict[TopicIdPartition, Acknowledged]
    ) -> None:
        self._broker = broker
        self._partitions = partitions
        self._results = results
        """The results that are known so far."""
        self.started: dict[TopicIdPartition, Started] = {}
        """The transitions that have yet to be written."""

    def take(
        self,
        topics: Iterable[ShareTopicRequest],
        key: ShareSessionKey,
        context: RequestContext,
        *,
        is_renew: bool,
        now_ms: Millis,
    ) -> None:
        """Start a member's acknowledgements, partition by partition."""
        empty: list[TopicIdPartition] = []
        asks = False
        for topic in topics:
            name = topic_name(self._broker, topic)
            for each in topic.partitions:
                at, batches = (
                    TopicIdPartition(topic.topic_id, each.partition_index),
                    each.acknowledgement_batches,
                )
                error = self._refused(name, at, batches, context, is_renew=is_renew)
                if error is not Errors.NONE:
                    self._results[at] = Acknowledged(error=error)
                elif batches:
                    asks = True
                    self._take_partition(at, key, batches, now_ms=now_ms)
                else:
                    empty.append(at)
        # If no partition has valid acknowledgements, Kafka answers only the refused partitions.
        self._results.update(dict.fromkeys(empty if asks else (), Acknowledged()))

    def _refused(
        self,
        name: str | None,
        at: TopicIdPartition,
        batches: Iterable[AcknowledgementBatch],
        context: RequestContext,
        *,
        is_renew: bool,
    ) -> Errors:
        if name is None:
            return Errors.UNKNOWN_TOPIC_ID
        highest = RENEW if context.api_version >= _FIRST_RENEWING else RENEW - 1
        if not _is_valid(batches, highest, is_renew=is_renew):
            return Errors.INVALID_REQUEST
        return refused_topic(self._broker, TopicPartition(name, at.partition), context)

    def _take_partition(
        self,
        at: TopicIdPartition,
        key: ShareSessionKey,
        batches: Iterable[AcknowledgementBatch],
        *,
        now_ms: Millis,
    ) -> None:
        assert at.topic_id is not None, "a topic with a name has an id"
        partition = self._partitions.get(SharePartitionKey(key.group_id, at.topic_id, at.partition))
        if partition is None:
            self._results[at] = Acknowledged(error=Errors.UNKNOWN_TOPIC_OR_PARTITION)
        else:
            self.started[at] = acknowledge(partition, key.member_id, batches, now_ms=now_ms)


def topic_name(broker: Broker, topic: ShareTopicRequest) -> str | None:
    """Return the name of a topic; None if there is none with its id.

    Source: KafkaApis#handleShareAcknowledgeRequest (4.3.1).
    """
    known = None if topic.topic_id is None else broker.topics.get_by_id(topic.topic_id)
    return None if known is None else known.name


def refused_topic(broker: Broker, where: TopicPartition, context: RequestContext) -> Errors:
    """Return the error if a partition may not be read or does not exist, or else NONE.

    Source: KafkaApis#handleFetchFromShareFetchRequest, KafkaApis#handleAcknowledgements (4.3.1).
    """
    if broker.config.authorizer_class_name:
        authorizer = StandardAuthorizer(broker.config, broker.cluster.acls)
        if not reads(authorizer, context, where.topic):
            return Errors.TOPIC_AUTHORIZATION_FAILED
    is_there = broker.topics.has_partition(where.topic, where.partition)
    return Errors.NONE if is_there else Errors.UNKNOWN_TOPIC_OR_PARTITION


def leader_of(broker: Broker, error: Errors) -> LeaderIdAndEpoch:
    """Return a partition's leader if the error is NOT_LEADER_OR_FOLLOWER, or else an empty one.

    Source: KafkaApis#processShareAcknowledgeResponse (4.3.1).
    """
    if error is not Errors.NOT_LEADER_OR_FOLLOWER:
        return LeaderIdAndEpoch()
    return LeaderIdAndEpoch(leader_id=broker.cluster.controller_id)


def endpoints(broker: Broker, errors: Iterable[Errors]) -> tuple[NodeEndpoint, ...]:
    """Return the address of the leader named in the response, if there is one.

    Source: KafkaApis#processShareAcknowledgeResponse (4.3.1).
    """
    if Errors.NOT_LEADER_OR_FOLLOWER not in errors:
        return ()
    controller_id = broker.cluster.controller_id
    return tuple(
        NodeEndpoint(node_id=node.node_id, host=node.host, port=node.port)
        for node in broker.cluster.nodes
        if node.node_id == controller_id
    )


def has_acknowledgements(topics: Iterable[ShareTopicRequest]) -> bool:
    """Return whether a request contains acknowledgements.

    Source: KafkaApis#getAcknowledgeBatchesFromShareFetchRequest (4.3.1).
    """
    return any(each.acknowledgement_batches for topic in topics for each in topic.partitions)


def _is_valid(batches: Iterable[AcknowledgementBatch], highest: int, *, is_renew: bool) -> bool:
    """Source: KafkaApis#validateAcknowledgementBatches (4.3.1)."""
    previous_end = -1
    for batch in batches:
        types, count = batch.acknowledge_types, batch.last_offset - batch.first_offset + 1
        is_ordered = batch.first_offset <= batch.last_offset and batch.first_offset >= previous_end
        if not is_ordered or len(types) not in {1, count}:
            return False
        if any(not 0 <= each <= highest for each in types) or (RENEW in types and not is_renew):
            return False
        previous_end = batch.last_offset
    return True
