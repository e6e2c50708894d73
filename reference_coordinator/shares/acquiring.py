"""Acquiring records that were read for a member of a share group."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from reference_coordinator.core.ids import Millis
from reference_coordinator.core.values import value
from reference_coordinator.log.record_batch import (
    CONTROL,
    HEADER,
    TRANSACTIONAL,
)
from reference_coordinator.profile.behaviour import Behaviour
from reference_coordinator.shares.in_flight import InFlightBatch, InFlightState, RecordState
from reference_coordinator.shares.messages import AcquiredRecords
from reference_coordinator.shares.share_partition import SharePartition
from reference_coordinator.topic_logs.batch import marker_of
from reference_coordinator.topic_logs.partition_log import AbortedTransaction

_LEAST_THROTTLING_COUNT = 2
"""Source: SharePartition.MINIMUM_THROTTLE_RECORDS_DELIVERY_LIMIT (4.3.1)."""


@value
class ReadBatch:
    """A batch that was read from a log."""

    base_offset: int
    last_offset: int
    attributes: int
    producer_id: int
    content: bytes

    @classmethod
    def of(cls, content: bytes) -> "ReadBatch":
        """Parse the header of a batch."""
        base_offset, _, _, _, _, attributes, delta, _, _, producer_id, *_ = HEADER.unpack_from(content)
        return cls(
            base_offset=base_offset,
            last_offset=base_offset + delta,
            attributes=attributes,
            producer_id=producer_id,
            content=content,
        )


@dataclass(slots=True, kw_only=True)
class Acquisition:
    """One attempt of a member to acquire records of a partition. Source: SharePartition#acquire (4.3.1)."""

    partition: SharePartition
    member_id: str
    is_record_limit: bool
    """Whether a batch may be split, so that no more than `max_records` are acquired."""
    batch_size: int
    max_records: int
    now_ms: Millis
    batches: Sequence[ReadBatch] = ()
    acquired: list[AcquiredRecords] = field(default_factory=list)
    count: int = 0
    last_offset: int = -1
    """The last offset that may be acquired."""

    def acquire(
        self, fetch_offset: int, batches: Sequence[ReadBatch], aborted: Sequence[AbortedTransaction]
    ) -> tuple[AcquiredRecords, ...]:
        """Acquire the available records of the batches read, except those of aborted transactions."""
        partition = self.partition
        if self.max_records <= 0 or not batches or batches[-1].last_offset < partition.start_offset:
            return ()
        self.batches, self.last_offset = batches, batches[-1].last_offset
        if partition.profile.has(Behaviour.SHARE_RECORD_LOCKS_LIMIT_ACQUISITION):
            self._limit(fetch_offset)
        base_offset = batches[0].base_offset
        self._archive_stale_batches(fetch_offset, base_offset)
        floor = partition.cached.floor(base_offset)
        if floor is None:
            base_offset = max(base_offset, partition.start_offset)
        elif floor.last_offset >= base_offset:
            base_offset = floor.first_offset
        in_flight = partition.cached.between(min(batches[0].base_offset, base_offset), self.last_offset)
        if in_flight:
            self._acquire_in_flight(in_flight, base_offset)
        else:
            self._acquire_new(base_offset, self.last_offset)
        if in_flight and self.acquired:
            partition.acquired_until(self.acquired[-1].last_offset + 1)
        return tuple(self._without_aborted(aborted)) if aborted else tuple(self.acquired)

    def _limit(self, fetch_offset: int) -> None:
        """Source: SharePartition#lastOffsetAndMaxRecordsToAcquire (4.3.1)."""
        partition, asked = self.partition, self.max_records
        self.max_records = min(asked, partition.settings().max_record_locks - partition.in_flight_count())
        if self.max_records <= 0 and fetch_offset <= partition.end_offset:
            self.max_records = min(asked, partition.end_offset - fetch_offset + 1)
            self.last_offset = min(self.last_offset, partition.end_offset)

    def _archive_stale_batches(self, fetch_offset: int, base_offset: int) -> None:
        """Source: SharePartition#maybeArchiveStaleBatches (4.3.1)."""
        cached = self.partition.cached
        if not cached or fetch_offset >= base_offset:
            return
        floor = cached.floor(fetch_offset)
        is_within = floor is not None and floor.last_offset >= fetch_offset
        first = floor.first_offset if floor is not None and is_within else fetch_offset
        stale = cached.between(first, base_offset - 1)
        self.partition.archive(fetch_offset, base_offset, stale, RecordState.AVAILABLE, counts=True)

    def _acquire_in_flight(self, in_flight: Sequence[InFlightBatch], base_offset: int) -> None:
        partition = self.partition
        maybe_gap_at = base_offset
        for batch in in_flight:
            if self.count >= self.max_records:
                break
            if partition.active_gap() is not None:
                if maybe_gap_at < batch.first_offset:
                    self._acquire_new(maybe_gap_at, batch.first_offset - 1)
                maybe_gap_at = batch.last_offset + 1
            throttles = self._should_throttle(batch)
            if self.count < self.max_records and not (throttles and self.count):
                self._acquire_of(batch, throttles=throttles)
            if throttles:
                return
        last = in_flight[-1].last_offset
        if self.count < self.max_records and last < self.last_offset:
            self._acquire_new(last + 1, self.last_offset)

    def _acquire_of(self, batch: InFlightBatch, *, throttles: bool) -> None:
        """Acquire the available records of a batch in flight."""
        first = self.batches[0].base_offset
        size = batch.last_offset - batch.first_offset + 1
        is_cut = self.is_record_limit and size > self.max_records - self.count
        if batch.is_within(first, self.last_offset) and not batch.offsets and not is_cut and not throttles:
            self._acquire_whole(batch)
            return
        if not batch.offsets:
            if not batch.batch.is_acquirable:
                return
            batch.split()
        self._acquire_subset(batch)

    def _acquire_whole(self, batch: InFlightBatch) -> None:
        if not batch.batch.is_acquirable:
            return
        self._give(batch.batch, batch.first_offset, batch.last_offset)
        self._note(batch.first_offset, batch.last_offset, batch.batch.delivery_count)

    def _acquire_subset(self, batch: InFlightBatch) -> None:
        """Source: SharePartition#acquireSubsetBatchRecords (4.3.1)."""
        profile, limit = self.partition.profile, self.partition.settings().delivery_count_limit
        throttles = profile.has(Behaviour.SHARE_DELIVERY_THROTTLED)
        most = self.max_records - self.count if self.is_record_limit else len(batch.offsets)
        throttled_most: int | None = None
        given: list[AcquiredRecords] = []
        for offset, state in batch.offsets.items():
            if not self.batches[0].base_offset <= offset <= self.last_offset or not state.is_acquirable:
                continue
            deliveries = state.delivery_count
            if throttles and limit > 2 and deliveries == limit - 1 and given:
                break
            if throttles and deliveries >= _throttling_count(limit) and throttled_most is None:
                shift = deliveries - _throttling_count(limit) + 1
                throttled_most = max(1, len(batch.offsets) >> shift)
            self._give(state, offset, offset)
            given.append(
                AcquiredRecords(first_offset=offset, last_offset=offset, delivery_count=state.delivery_count)
            )
            is_last_try = throttles and limit > 2 and state.delivery_count == limit
            if is_last_try or len(given) in {most if self.is_record_limit else None, throttled_most}:
                break
        accumulates = profile.has(Behaviour.SHARE_OFFSETS_ACCUMULATED)
        self.acquired.extend(_accumulated(given) if accumulates else given)
        self.count += len(given)

    def _should_throttle(self, batch: InFlightBatch) -> bool:
        """Source: SharePartition#shouldThrottleRecordsDelivery (4.3.1)."""
        if not self.partition.profile.has(Behaviour.SHARE_DELIVERY_THROTTLED):
            return False
        first = self.batches[0].base_offset if batch.offsets else batch.first_offset
        last = self.last_offset if batch.offsets else batch.last_offset
        most = max(
            (
                state.delivery_count
                for offset, _, state in batch.states()
                if first <= offset <= last and state.is_acquirable
            ),
            default=0,
        )
        return most >= _throttling_count(self.partition.settings().delivery_count_limit)

    def _acquire_new(self, first_offset: int, last_offset: int) -> None:
        """Acquire records that were not in flight. Source: SharePartition#acquireNewBatchRecords (4.3.1)."""
        partition = self.partition
        most = self.max_records - self.count
        first, last = first_offset, last_offset
        if not partition.cached:
            first = max(first, partition.end_offset)
        if most < last - first + 1:
            last = self._end_of_batch_with(first + most - 1)
            ends = partition.profile.has(Behaviour.SHARE_GAP_ENDS_ACQUISITION)
            if ends and partition.active_gap() is not None:
                last = min(last, last_offset)
        created = self._create(first, last, most)
        if partition.cached[0].first_offset == first:
            partition.start_offset = first
        partition.end_offset = max(partition.end_offset, last)
        if self.is_record_limit:
            last = created[0].last_offset
        partition.acquired_until(last + 1)
        self.acquired.extend(created)
        self.count += last - first + 1

    def _create(self, first: int, last: int, most: int) -> list[AcquiredRecords]:
        """Source: SharePartition#createBatches, #addBatches (4.3.1)."""
        if self.is_record_limit:
            return [self._create_cut(first, last, most)]
        created: list[AcquiredRecords] = []
        if last - first + 1 > self.batch_size:
            for batch in self.batches:
                if batch.base_offset > last:
                    break
                if batch.base_offset - first >= self.batch_size:
                    created.append(self._add(first, batch.base_offset - 1))
                    first = batch.base_offset
        created.append(self._add(first, last))
        return created

    def _create_cut(self, first: int, last: int, most: int) -> AcquiredRecords:
        added = self._add(first, last)
        if last - first + 1 <= most:
            return added
        batch = self.partition.cached.floor(first)
        assert batch is not None
        batch.split()
        for offset in range(first + most, last + 1):
            batch.offsets[offset] = InFlightState(RecordState.AVAILABLE, 0)
        self.partition.finds_next_fetch_offset = True
        return replace(added, last_offset=first + most - 1)

    def _add(self, first: int, last: int) -> AcquiredRecords:
        state = InFlightState(RecordState.ACQUIRED, 1, self.member_id)
        self.partition.cached.put(InFlightBatch(first, last, state))
        self.partition.lock(state, first, last, now_ms=self.now_ms)
        return AcquiredRecords(first_offset=first, last_offset=last, delivery_count=1)

    def _give(self, state: InFlightState, first: int, last: int) -> None:
        state.try_update(RecordState.ACQUIRED, 1, self.partition.settings(), self.member_id)
        self.partition.lock(state, first, last, now_ms=self.now_ms)

    def _note(self, first: int, last: int, delivery_count: int) -> None:
        self.acquired.append(
            AcquiredRecords(first_offset=first, last_offset=last, delivery_count=delivery_count)
        )
        self.count += last - first + 1

    def _end_of_batch_with(self, offset: int) -> int:
        """Source: SharePartition#lastOffsetFromBatchWithRequestOffset (4.3.1)."""
        return next(
            (each.last_offset for each in self.batches if each.base_offset <= offset <= each.last_offset),
            offset,
        )

    def _without_aborted(self, aborted: Sequence[AbortedTransaction]) -> Iterable[AcquiredRecords]:
        """Archive the records of aborted transactions, and return the others.

        Source: SharePartition#filterAbortedTransactionalAcquiredRecords (4.3.1).
        """
        left = self.acquired
        for batch in _aborted_batches(self.batches, aborted):
            floor = self.partition.cached.floor(batch.base_offset)
            first = batch.base_offset if floor is None else floor.first_offset
            touched = self.partition.cached.between(first, batch.last_offset)
            self.partition.archive(
                batch.base_offset, batch.last_offset + 1, touched, RecordState.ACQUIRED, counts=True
            )
            left = [part for each in left for part in _parts_outside(each, batch)]
        self.count = sum(each.last_offset - each.first_offset + 1 for each in left)
        return left


def _throttling_count(delivery_count_limit: int) -> int:
    """Source: SharePartition#throttleRecordsDeliveryLimit (4.3.1)."""
    return max(_LEAST_THROTTLING_COUNT, (delivery_count_limit + 1) // 2)


def _accumulated(given: Iterable[AcquiredRecords]) -> list[AcquiredRecords]:
    """Source: ShareFetchUtils#accumulateAcquiredRecords (4.3.1)."""
    ranges: list[AcquiredRecords] = []
    for each in given:
        last = ranges[-1] if ranges else None
        follows = last is not None and last.last_offset + 1 == each.first_offset
        if last is not None and follows and last.delivery_count == each.delivery_count:
            ranges[-1] = replace(last, last_offset=each.last_offset)
        else:
            ranges.append(each)
    return ranges


def _aborted_batches(batches: Iterable[ReadBatch], aborted: Sequence[AbortedTransaction]) -> list[ReadBatch]:
    """Source: SharePartition#fetchAbortedTransactionRecordBatches (4.3.1)."""
    waiting = sorted(aborted, key=lambda each: each.first_offset)
    producers: set[int] = set()
    found: list[ReadBatch] = []
    for batch in batches:
        while waiting and waiting[0].first_offset <= batch.last_offset:
            producers.add(waiting.pop(0).producer_id)
        if batch.attributes & CONTROL:
            is_commit, _ = marker_of(batch.content)
            if not is_commit:
                producers.discard(batch.producer_id)
        elif batch.attributes & TRANSACTIONAL and batch.producer_id in producers:
            found.append(batch)
    return found


def _parts_outside(acquired: AcquiredRecords, batch: ReadBatch) -> Iterable[AcquiredRecords]:
    """Source: SharePartition#filterRecordBatchesFromAcquiredRecords (4.3.1)."""
    if acquired.last_offset < batch.base_offset or acquired.first_offset > batch.last_offset:
        yield acquired
        return
    if acquired.first_offset < batch.base_offset:
        yield replace(acquired, last_offset=batch.base_offset - 1)
    if acquired.last_offset > batch.last_offset:
        yield replace(acquired, first_offset=batch.last_offset + 1)
