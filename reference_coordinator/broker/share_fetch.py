"""One ShareFetch, which acquires records now, or once there are enough of them."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from reference_coordinator.broker.broker_apis import Broker
from reference_coordinator.broker.partition_leadership import log_of_leader
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import Millis, ResponseToken, TopicId, TopicPartition
from reference_coordinator.core.values import value
from reference_coordinator.shares.acknowledging import Acknowledged
from reference_coordinator.shares.acquiring import Acquisition, ReadBatch
from reference_coordinator.shares.messages import (
    AcquiredRecords,
    ShareFetchableTopicResponse,
    ShareFetchPartitionData,
    ShareFetchRequest,
    ShareFetchResponse,
)
from reference_coordinator.shares.sessions import ShareSession, TopicIdPartition
from reference_coordinator.shares.share_partition import SharePartition
from reference_coordinator.topic_logs.partition_log import AbortedTransaction, PartitionLog

RECORD_LIMIT = 1
"""Source: ShareAcquireMode.RECORD_LIMIT (4.3.1)."""
_FETCH_MAX_BYTES = 55 * 1024 * 1024


@value
class _Read:
    """The batches read from a partition, from an offset on."""

    at: TopicIdPartition
    partition: SharePartition
    fetch_offset: int
    error: Errors = Errors.NONE
    batches: tuple[ReadBatch, ...] = ()
    aborted: tuple[AbortedTransaction, ...] = ()
    available_bytes: int = 0
    is_satisfying: bool = False
    """Whether the request is answered at once, however little was read."""


@dataclass(slots=True, kw_only=True)
class DelayedShareFetch:
    """A request that acquires records, and may wait for them. Source: DelayedShareFetch (4.3.1)."""

    token: ResponseToken
    request: ShareFetchRequest
    session: ShareSession | None
    """The session that the request continues; None if it opens or closes one."""
    lock_timeout_ms: Millis
    wanted: dict[TopicIdPartition, tuple[SharePartition, TopicPartition]] = field(default_factory=dict)
    answered: dict[TopicIdPartition, ShareFetchPartitionData] = field(default_factory=dict)
    """The results so far, by partition."""
    acknowledged: dict[TopicIdPartition, Acknowledged] = field(default_factory=dict)
    is_idle: bool = False
    """Whether it is answered with an error at its timeout."""

    def try_complete(self, broker: Broker, *, now_ms: Millis) -> bool:
        """Acquire records if there are enough or waiting is not possible; return whether that is the case.

        Source: DelayedShareFetch#tryComplete, #isMinBytesSatisfied (4.3.1).
        """
        reads = self._read(broker)
        if not reads:
            return False
        has_enough = sum(each.available_bytes for each in reads) >= self._min_bytes
        if has_enough or any(each.is_satisfying or each.error is not Errors.NONE for each in reads):
            self._acquire(broker, reads, now_ms=now_ms)
            return True
        return False

    def complete(self, broker: Broker, *, now_ms: Millis) -> None:
        """Acquire all available. Source: DelayedShareFetch#completeLocalLogShareFetchRequest (4.3.1)."""
        self._acquire(broker, self._read(broker), now_ms=now_ms)

    def response(self) -> ShareFetchResponse:
        """Return the acquired records, and the results of the acknowledgements.

        Source: KafkaApis#handleShareFetchRequest, ShareSessionContext#updateAndGenerateResponseData (4.3.1).
        """
        session, answered = self.session, dict(self.answered)
        if session is not None:
            answered = {
                at: data
                for at, data in answered.items()
                if session.is_answered(
                    at, has_records=bool(data.records), is_error=data.error_code is not Errors.NONE
                )
            }
        for at, result in self.acknowledged.items():
            data = answered.get(at, ShareFetchPartitionData(partition_index=at.partition))
            answered[at] = ShareFetchPartitionData(
                partition_index=at.partition,
                error_code=data.error_code,
                acknowledge_error_code=result.error,
                acknowledge_error_message=result.message,
                records=data.records,
                acquired_records=data.acquired_records,
            )
        return ShareFetchResponse(
            error_code=Errors.NONE,
            acquisition_lock_timeout=self.lock_timeout_ms,
            responses=by_topic(answered),
        )

    @property
    def _max_bytes(self) -> int:
        return min(self.request.max_bytes, _FETCH_MAX_BYTES)

    @property
    def _min_bytes(self) -> int:
        return min(self.request.min_bytes, self._max_bytes)

    def _read(self, broker: Broker) -> list[_Read]:
        """Read from the partitions whose records can be acquired.

        Source: DelayedShareFetch#acquirablePartitions, #readFromLog (4.3.1).
        """
        ready = [
            (at, partition, where)
            for at, (partition, where) in self.wanted.items()
            if not partition.is_fenced and partition.can_acquire()
        ]
        reads: list[_Read] = []
        left, takes_one = self._max_bytes, True
        for at, partition, where in ready:
            most = min(self._max_bytes // len(ready), left)
            read = _read(broker, at, partition, where, most, takes_one_anyway=takes_one)
            size = sum(len(batch.content) for batch in read.batches)
            left, takes_one = max(0, left - size), takes_one and not size
            reads.append(read)
        return reads

    def _acquire(self, broker: Broker, reads: Iterable[_Read], *, now_ms: Millis) -> None:
        """Source: ShareFetchUtils#processFetchResponse (4.3.1)."""
        left = self.request.max_records
        for read in reads:
            index, partition = read.at.partition, read.partition
            self.answered[read.at] = ShareFetchPartitionData(partition_index=index)
            if read.error is Errors.OFFSET_OUT_OF_RANGE:
                log = log_of_leader(broker, self.wanted[read.at][1])
                assert isinstance(log, PartitionLog)
                partition.log_start_moved(log.log_start_offset)
                continue
            if read.error is not Errors.NONE:
                self.answered[read.at] = ShareFetchPartitionData(partition_index=index, error_code=read.error)
                continue
            acquisition = Acquisition(
                partition=partition,
                member_id=self.request.member_id or "",
                is_record_limit=self.request.share_acquire_mode == RECORD_LIMIT,
                batch_size=self.request.batch_size,
                max_records=left,
                now_ms=now_ms,
            )
            acquired = acquisition.acquire(read.fetch_offset, read.batches, read.aborted)
            left -= acquisition.count
            if acquired:
                self.answered[read.at] = ShareFetchPartitionData(
                    partition_index=index,
                    records=b"".join(_sliced(read.batches, acquired)),
                    acquired_records=acquired,
                )


def by_topic(
    answered: "dict[TopicIdPartition, ShareFetchPartitionData]",
) -> tuple[ShareFetchableTopicResponse, ...]:
    """Group partitions by topic. Source: ShareFetchResponse#toMessage (4.3.1)."""
    topics: dict[TopicId | None, list[ShareFetchPartitionData]] = {}
    for at, data in answered.items():
        topics.setdefault(at.topic_id, []).append(data)
    return tuple(
        ShareFetchableTopicResponse(topic_id=topic_id, partitions=tuple(partitions))
        for topic_id, partitions in topics.items()
    )


def _read(
    broker: Broker,
    at: TopicIdPartition,
    partition: SharePartition,
    where: TopicPartition,
    max_bytes: int,
    *,
    takes_one_anyway: bool,
) -> _Read:
    """Source: ReplicaManager#readFromLog (4.3.1)."""
    offset = partition.next_fetch_offset()
    log = log_of_leader(broker, where)
    if isinstance(log, Errors):
        return _Read(at=at, partition=partition, fetch_offset=offset, error=log)
    if not log.log_start_offset <= offset <= log.log_end_offset:
        return _Read(at=at, partition=partition, fetch_offset=offset, error=Errors.OFFSET_OUT_OF_RANGE)
    is_committed = partition.settings().is_committed
    end = log.last_stable_offset if is_committed else log.log_end_offset
    found = log.read(offset, max_bytes, is_committed=is_committed, takes_one_anyway=takes_one_anyway)
    batches = tuple(map(ReadBatch.of, found.contents))
    is_all = bool(batches) and batches[-1].last_offset + 1 >= end
    return _Read(
        at=at,
        partition=partition,
        fetch_offset=offset,
        batches=batches,
        aborted=found.aborted_transactions,
        available_bytes=min(found.size_bytes, max_bytes) if is_all or offset >= end else max_bytes,
        is_satisfying=offset > end or found.is_older_segment,
    )


def _sliced(batches: tuple[ReadBatch, ...], acquired: tuple[AcquiredRecords, ...]) -> Iterable[bytes]:
    """Yield the batches without those before and after the acquired records.

    Source: ShareFetchUtils#maybeSliceFetchRecords (4.3.1).
    """
    first, last = acquired[0].first_offset, acquired[-1].last_offset
    at = max((index for index, batch in enumerate(batches) if batch.base_offset <= first), default=0)
    yield batches[at].content
    for batch in batches[at + 1 :]:
        if batch.base_offset <= last:
            yield batch.content
