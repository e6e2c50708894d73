"""Writing offsets to the log, plain or as part of a transaction."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from typing_extensions import override

from reference_coordinator.core.effects import Producer
from reference_coordinator.core.errors import Errors, IllegalStateError
from reference_coordinator.core.ids import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    GroupId,
    Millis,
    ProducerId,
    ResponseToken,
    TopicPartition,
)
from reference_coordinator.core.java import as_long
from reference_coordinator.core.map_order import utf16_length
from reference_coordinator.core.records import OffsetCommitRecord
from reference_coordinator.core.values import value
from reference_coordinator.groups.classic.group import ClassicGroup
from reference_coordinator.groups.classic.lookups import as_classic_group
from reference_coordinator.groups.classic.state import ClassicGroupState
from reference_coordinator.groups.group import CommitPartitionValidator, Group
from reference_coordinator.messages import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from reference_coordinator.messages.offsets import DEFAULT_RETENTION_TIME_MS, DEFAULT_TIMESTAMP_MS
from reference_coordinator.offsets.shard import CoordinatorShard
from reference_coordinator.offsets.values import OffsetAndMetadata
from reference_coordinator.profile.profiles import Behaviour, CoordinatorFamily
from reference_coordinator.runtime.append_errors import maybe_convert_offset_commit_error
from reference_coordinator.runtime.coordinator_result import Continuation, CoordinatorResult
from reference_coordinator.runtime.partition_answers import (
    ResponseTopics,
    Verdicts,
    commit_topics,
    with_none_replaced,
)

Offsets = Mapping[TopicPartition, OffsetAndMetadata]
CommitResponse = OffsetCommitResponse | TxnOffsetCommitResponse


@value
class Commit:
    """Offsets that may be stored, because their sender has passed the checks."""

    group: Group
    validator: CommitPartitionValidator | None = None
    """The check of each partition, if the group may refuse some of them."""
    token: ResponseToken
    request: OffsetCommitRequest | TxnOffsetCommitRequest
    retention_time_ms: Millis = DEFAULT_RETENTION_TIME_MS
    producer: Producer | None = None
    """Set if the offsets are part of a transaction."""
    respond_with: Callable[[ResponseTopics], CommitResponse]
    """Builds the response of the API."""


@value
class OffsetsStored(Continuation):
    """What to do after the append of committed offsets succeeded or failed."""

    shard: CoordinatorShard
    group: ClassicGroup
    token: ResponseToken
    response: CommitResponse
    """The answer on success; a failure replaces each NONE in it."""
    offsets: Offsets
    producer_id: ProducerId
    """The producer of the transaction that the offsets are part of, if any."""
    record_offset: int
    """The position in the log at which the offsets will be written."""

    @override
    def append_completed(self, error: Errors) -> None:
        """Answer a commit to the Scala coordinator, after its write succeeded or failed.

        Decided in: GroupMetadataManager#createPutCacheCallback (3.9.2).
        """
        if self.group.state is not ClassicGroupState.DEAD:
            for partition, offset in self.offsets.items():
                _settle(self.shard, self, partition, offset, error)
        response = self.response
        if error is not Errors.NONE:
            reported = maybe_convert_offset_commit_error(error)
            response = replace(response, topics=with_none_replaced(response.topics, reported))
        self.shard.respond(self.token, response)


def store_offsets(shard: CoordinatorShard, commit: Commit) -> CoordinatorResult[CommitResponse]:
    """Refuse offsets with too much metadata, and write the others.

    The Scala coordinator marks the offsets as pending, and answers each partition with the write's result.

    Raises:
        CoordinatorError: the group refuses one partition, and thereby all.
        IllegalStateError: the producer has no epoch, without which no batch can be built. In the Java
            coordinator the write fails instead, which also undoes what the operation has changed.

    Source: GroupMetadataManager#storeOffsets (3.9.2), OffsetMetadataManager#commitOffset and
    #commitTransactionalOffset (4.3.1).
    """
    topics = commit.request.topics
    verdicts, accepted = _judge_partitions(shard, topics, commit)
    response = commit.respond_with(commit_topics(shard.profile, topics, verdicts))
    if not accepted:
        return CoordinatorResult(response=response)
    producer = commit.producer
    group_id = commit.group.group_id
    producer_id = NO_PRODUCER_ID if producer is None else producer.producer_id
    match shard.profile.coordinator:
        case CoordinatorFamily.JAVA:
            # A partition that is named twice is written twice.
            records = tuple(_record(group_id, producer_id, *each) for each in accepted)
            return CoordinatorResult(records=records, response=response)
        case CoordinatorFamily.SCALA:
            if producer is not None and producer.producer_epoch == NO_PRODUCER_EPOCH:
                raise IllegalStateError("a transactional batch has no producer epoch")
            stays = shard.profile.has(Behaviour.REJECTED_COMMIT_STAYS_PENDING)
            last = dict(accepted)
            records = tuple(_record(group_id, producer_id, *each) for each in last.items())
            pending = dict(_offsets(shard, topics, commit.retention_time_ms)) if stays else last
            prepare_offset_commit(shard, group_id, producer_id, pending)
            offsets_stored = OffsetsStored(
                shard=shard,
                group=as_classic_group(commit.group),
                token=commit.token,
                response=response,
                offsets=last,
                producer_id=producer_id,
                record_offset=shard.partition_of(group_id).last_written_offset,
            )
            return CoordinatorResult(records=records, append_future=offsets_stored, replay_records=False)


def prepare_offset_commit(
    shard: CoordinatorShard, group_id: GroupId, producer_id: ProducerId, offsets: Offsets
) -> None:
    """Mark offsets as being written.

    Source: GroupMetadata#prepareOffsetCommit and #prepareTxnOffsetCommit (3.9.2).
    """
    if producer_id == NO_PRODUCER_ID:
        shard.offsets.prepare_offset_commit(group_id, offsets)
    else:
        shard.offsets.transactions.prepare_txn_offset_commit(producer_id, group_id, offsets)


def _settle(
    shard: CoordinatorShard,
    stored: OffsetsStored,
    partition: TopicPartition,
    offset: OffsetAndMetadata,
    error: Errors,
) -> None:
    group_id, producer_id = stored.group.group_id, stored.producer_id
    transactions = shard.offsets.transactions
    if producer_id == NO_PRODUCER_ID:
        if error is Errors.NONE:
            located = replace(offset, record_offset=stored.record_offset)
            shard.offsets.put(group_id, partition, located)
        shard.offsets.forget_pending(group_id, partition, offset)
    elif error is Errors.NONE:
        transactions.on_txn_offset_commit_append(
            producer_id, group_id, partition, offset, record_offset=stored.record_offset
        )
    else:
        transactions.fail_pending_txn_offset_commit(producer_id, group_id, partition)


def _judge_partitions(
    shard: CoordinatorShard, topics: Iterable[OffsetCommitRequestTopic], commit: Commit
) -> tuple[Verdicts, list[tuple[TopicPartition, OffsetAndMetadata]]]:
    """Return a verdict for each occurrence, and the offsets to store; a partition's last one counts."""
    verdicts: Verdicts = []
    accepted: list[tuple[TopicPartition, OffsetAndMetadata]] = []
    for each, offset in _offsets(shard, topics, commit.retention_time_ms):
        if utf16_length(offset.metadata) > shard.config.offset_metadata_max_bytes:
            verdicts.append((each, Errors.OFFSET_METADATA_TOO_LARGE))
        else:
            if commit.validator is not None:
                topic = shard.metadata_image.topics.get(each.topic)
                commit.validator(each.topic, None if topic is None else topic.topic_id, each.partition)
            verdicts.append((each, Errors.NONE))
            accepted.append((each, offset))
    return verdicts, accepted


def _offsets(
    shard: CoordinatorShard, topics: Iterable[OffsetCommitRequestTopic], retention_time_ms: Millis
) -> Iterable[tuple[TopicPartition, OffsetAndMetadata]]:
    for topic in topics:
        for partition in topic.partitions:
            named = TopicPartition(topic=topic.name, partition=partition.partition_index)
            yield named, _from_request(shard, partition, retention_time_ms)


def _from_request(
    shard: CoordinatorShard, partition: OffsetCommitRequestPartition, retention_time_ms: Millis
) -> OffsetAndMetadata:
    """Source: OffsetAndMetadata#fromRequest (4.3.1, and 3.9.2 of the timestamp)."""
    keeps_time = partition.commit_timestamp_ms == DEFAULT_TIMESTAMP_MS
    keeps_default = retention_time_ms == DEFAULT_RETENTION_TIME_MS
    return OffsetAndMetadata(
        offset=partition.committed_offset,
        leader_epoch=partition.committed_leader_epoch,
        metadata=partition.committed_metadata or "",
        commit_timestamp_ms=shard.now_ms if keeps_time else partition.commit_timestamp_ms,
        expire_timestamp_ms=None if keeps_default else Millis(as_long(shard.now_ms + retention_time_ms)),
    )


def _record(
    group_id: GroupId, producer_id: ProducerId, partition: TopicPartition, offset: OffsetAndMetadata
) -> OffsetCommitRecord:
    return OffsetCommitRecord(
        group_id=group_id,
        topic=partition.topic,
        partition=partition.partition,
        offset=offset.offset,
        leader_epoch=offset.leader_epoch,
        metadata=offset.metadata,
        commit_timestamp_ms=offset.commit_timestamp_ms,
        expire_timestamp_ms=offset.expire_timestamp_ms,
        producer_id=producer_id,
    )
