"""Offsets on their way into the log, plain or of a transaction."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from reference_coordinator.classic.group import ClassicGroup
from reference_coordinator.classic.state import ClassicGroupState
from reference_coordinator.core.effects import Producer
from reference_coordinator.core.errors import Errors, IllegalStateError
from reference_coordinator.core.ids import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    GroupId,
    Millis,
    ProducerId,
    ResponseToken,
)
from reference_coordinator.core.java import as_long
from reference_coordinator.core.map_order import utf16_length
from reference_coordinator.core.records import OffsetCommitRecord
from reference_coordinator.core.values import value
from reference_coordinator.group.append_errors import maybe_convert_offset_commit_error
from reference_coordinator.group.appends import AnswerStored, OffsetsStored
from reference_coordinator.group.shard import Shard
from reference_coordinator.messages import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from reference_coordinator.messages.offsets import DEFAULT_RETENTION_TIME_MS
from reference_coordinator.offsets.answers import ResponseTopics, Verdicts, commit_topics, with_none_replaced
from reference_coordinator.offsets.values import OffsetAndMetadata, TopicPartition
from reference_coordinator.profile.profiles import Behaviour, CoordinatorFamily

Offsets = Mapping[TopicPartition, OffsetAndMetadata]
CommitResponse = OffsetCommitResponse | TxnOffsetCommitResponse


@value
class Commit:
    """Offsets that may be stored, since who brings them has been looked at."""

    group: ClassicGroup
    token: ResponseToken
    request: OffsetCommitRequest | TxnOffsetCommitRequest
    retention_time_ms: Millis = DEFAULT_RETENTION_TIME_MS
    producer: Producer | None = None
    """Set where the offsets are part of a transaction."""
    respond_with: Callable[[ResponseTopics], CommitResponse]
    """Makes the API's response."""


def store_offsets(shard: Shard, commit: Commit) -> None:
    """Refuse what carries too much metadata, write the rest, and answer when it is written.

    Raises:
        IllegalStateError: the producer has no epoch, with which no batch is made.

    Source: GroupMetadataManager#storeOffsets (3.9.2), OffsetMetadataManager#commitOffset and
    #commitTransactionalOffset (4.3.1).
    """
    topics = commit.request.topics
    offsets = dict(_offsets(shard, topics, commit.retention_time_ms))
    verdicts, accepted = _judge_partitions(shard, topics, commit.retention_time_ms)
    response = commit.respond_with(commit_topics(shard.profile, topics, verdicts))
    if not accepted:
        shard.respond(commit.token, response)
        return
    producer = commit.producer
    if producer is not None and producer.producer_epoch == NO_PRODUCER_EPOCH:
        raise IllegalStateError("a transactional batch has no producer epoch")
    group_id = commit.group.group_id
    producer_id = NO_PRODUCER_ID if producer is None else producer.producer_id
    records = tuple(_record(group_id, producer_id, *item) for item in accepted.items())
    match shard.profile.coordinator:
        case CoordinatorFamily.JAVA:
            stored = AnswerStored(token=commit.token, request=commit.request, response=response)
            shard.append(group_id, records, stored, replays=True, producer=producer)
        case CoordinatorFamily.SCALA:
            stays = shard.profile.has(Behaviour.REJECTED_COMMIT_STAYS_PENDING)
            prepare_commit(shard, group_id, producer_id, offsets if stays else accepted)
            offsets_stored = OffsetsStored(
                group=commit.group,
                token=commit.token,
                response=response,
                offsets=accepted,
                producer_id=producer_id,
                record_offset=shard.log_end_offset(group_id),
            )
            shard.append(group_id, records, offsets_stored, producer=producer)


def prepare_commit(shard: Shard, group_id: GroupId, producer_id: ProducerId, offsets: Offsets) -> None:
    """Note offsets that are on their way.

    Source: GroupMetadata#prepareOffsetCommit and #prepareTxnOffsetCommit (3.9.2).
    """
    if producer_id == NO_PRODUCER_ID:
        shard.offsets.prepare_commit(group_id, offsets)
    else:
        shard.offsets.transactions.prepare(producer_id, group_id, offsets)


def offsets_stored(shard: Shard, stored: OffsetsStored, error: Errors) -> None:
    """Answer a commit to the Scala coordinator, now that it is written or could not be.

    Source: GroupMetadataManager#createPutCacheCallback (3.9.2).
    """
    if stored.group.state is not ClassicGroupState.DEAD:
        for partition, offset in stored.offsets.items():
            _settle(shard, stored, partition, offset, error)
    response = stored.response
    if error is not Errors.NONE:
        told = maybe_convert_offset_commit_error(error)
        response = replace(response, topics=with_none_replaced(response.topics, told))
    shard.respond(stored.token, response)


def _settle(
    shard: Shard, stored: OffsetsStored, partition: TopicPartition, offset: OffsetAndMetadata, error: Errors
) -> None:
    group_id, producer_id = stored.group.group_id, stored.producer_id
    transactions = shard.offsets.transactions
    if producer_id == NO_PRODUCER_ID:
        if error is Errors.NONE:
            located = replace(offset, record_offset=stored.record_offset)
            shard.offsets.put(group_id, partition, located)
        shard.offsets.forget_pending(group_id, partition, offset)
    elif error is Errors.NONE:
        transactions.appended(producer_id, group_id, partition, offset, record_offset=stored.record_offset)
    else:
        transactions.fail(producer_id, group_id, partition)


def _judge_partitions(
    shard: Shard, topics: Iterable[OffsetCommitRequestTopic], retention_time_ms: Millis
) -> tuple[Verdicts, dict[TopicPartition, OffsetAndMetadata]]:
    """A verdict an occurrence in request order, and what is to be stored; the last one counts."""
    verdicts: Verdicts = []
    accepted: dict[TopicPartition, OffsetAndMetadata] = {}
    for each, offset in _offsets(shard, topics, retention_time_ms):
        if utf16_length(offset.metadata) > shard.config.offset_metadata_max_bytes:
            verdicts.append((each, Errors.OFFSET_METADATA_TOO_LARGE))
        else:
            verdicts.append((each, Errors.NONE))
            accepted[each] = offset
    return verdicts, accepted


def _offsets(
    shard: Shard, topics: Iterable[OffsetCommitRequestTopic], retention_time_ms: Millis
) -> Iterable[tuple[TopicPartition, OffsetAndMetadata]]:
    for topic in topics:
        for partition in topic.partitions:
            named = TopicPartition(topic=topic.name, partition=partition.partition_index)
            yield named, _offset_from_request(shard, partition, retention_time_ms)


def _offset_from_request(
    shard: Shard, partition: OffsetCommitRequestPartition, retention_time_ms: Millis
) -> OffsetAndMetadata:
    """Source: OffsetAndMetadata#fromRequest (4.3.1)."""
    keeps_default = retention_time_ms == DEFAULT_RETENTION_TIME_MS
    return OffsetAndMetadata(
        offset=partition.committed_offset,
        leader_epoch=partition.committed_leader_epoch,
        metadata=partition.committed_metadata or "",
        commit_timestamp_ms=shard.now_ms,
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
