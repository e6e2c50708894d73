"""Fetch: read records of partitions, at once or when there are enough of them."""

from collections.abc import Iterator
from typing import Final

from reference_coordinator.broker.broker_apis import Broker
from reference_coordinator.broker.partition_leadership import log_of_leader
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import Millis, ResponseToken, TopicPartition
from reference_coordinator.core.timers import Timers
from reference_coordinator.core.values import value
from reference_coordinator.topic_logs.messages import (
    AbortedTransactionData,
    FetchableTopicResponse,
    FetchPartition,
    FetchPartitionData,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)

_FETCH_MAX_BYTES: Final = 55 * 1024 * 1024
"""Kafka's `fetch.max.bytes`."""
_FULL_EPOCHS: Final = frozenset({0, -1})


@value
class Fetched:
    """The records that are available for a request."""

    response: FetchResponse
    is_satisfied: bool
    """Whether the request is answered without waiting for more."""


def read_from_log(broker: Broker, request: FetchRequest) -> Fetched:
    """Read the available records. A request that continues a session is refused, because there are none.

    Source: KafkaApis#handleFetchRequest, ReplicaManager#fetchMessages, FetchManager#newContext (4.3.1).
    """
    if request.session_epoch not in _FULL_EPOCHS:
        response = FetchResponse(error_code=Errors.FETCH_SESSION_ID_NOT_FOUND, responses=())
        return Fetched(response=response, is_satisfied=True)
    reading = _Reading(broker, request)
    response = FetchResponse(
        error_code=Errors.NONE, responses=tuple(reading.read(topic) for topic in request.topics)
    )
    return Fetched(response=response, is_satisfied=reading.is_satisfied)


def refused_fetch(broker: Broker, request: FetchRequest, error: Errors) -> FetchResponse:
    """Return the error for every partition. Source: DelayedFetch#onComplete (3.9.2)."""
    return FetchResponse(
        error_code=Errors.NONE,
        responses=tuple(
            FetchableTopicResponse(
                topic=_name(broker, topic) or "",
                topic_id=topic.topic_id,
                partitions=tuple(_refused(each, error) for each in topic.partitions),
            )
            for topic in request.topics
        ),
    )


class _Reading:
    """One pass over the partitions of a request."""

    def __init__(self, broker: Broker, request: FetchRequest) -> None:
        self._broker = broker
        self._request = request
        self._left_bytes = min(request.max_bytes, _FETCH_MAX_BYTES)
        self._min_bytes = min(request.min_bytes, self._left_bytes)
        self._read_bytes = 0
        self._has_failed = False
        self._is_older_segment = False
        self._is_interesting = False

    @property
    def is_satisfied(self) -> bool:
        """Whether enough was read, or waiting is not possible. Source: DelayedFetch#tryComplete (4.3.1)."""
        is_idle = self._request.max_wait_ms <= 0 or not self._is_interesting
        ends_at_once = is_idle or self._has_failed or self._is_older_segment
        return ends_at_once or self._read_bytes >= self._min_bytes

    def read(self, topic: FetchTopic) -> FetchableTopicResponse:
        """Read a topic's partitions, in their order."""
        name = _name(self._broker, topic)
        return FetchableTopicResponse(
            topic=name or "",
            topic_id=topic.topic_id,
            partitions=tuple(
                _missing(each, Errors.UNKNOWN_TOPIC_ID) if name is None else self._read_partition(name, each)
                for each in topic.partitions
            ),
        )

    def _read_partition(self, topic: str, wanted: FetchPartition) -> FetchPartitionData:
        """Source: ReplicaManager#readFromLog (4.3.1)."""
        partition = TopicPartition(topic, wanted.partition)
        log = log_of_leader(self._broker, partition, current_leader_epoch=wanted.current_leader_epoch)
        if log is Errors.UNKNOWN_TOPIC_OR_PARTITION or log is Errors.TOPIC_AUTHORIZATION_FAILED:
            return _missing(wanted, log)
        self._is_interesting = True
        if isinstance(log, Errors):
            self._has_failed = True
            return _refused(wanted, log)
        if not log.log_start_offset <= wanted.fetch_offset <= log.log_end_offset:
            self._has_failed = True
            return _refused(wanted, Errors.OFFSET_OUT_OF_RANGE)
        is_committed = self._request.is_committed
        found = log.read(
            wanted.fetch_offset,
            min(wanted.partition_max_bytes, self._left_bytes),
            is_committed=is_committed,
            takes_one_anyway=not self._read_bytes,
        )
        self._read_bytes += found.size_bytes
        self._is_older_segment |= found.is_older_segment
        self._left_bytes = max(0, self._left_bytes - found.size_bytes)
        aborted = tuple(
            AbortedTransactionData(producer_id=each.producer_id, first_offset=each.first_offset)
            for each in found.aborted_transactions
        )
        return FetchPartitionData(
            partition_index=wanted.partition,
            error_code=Errors.NONE,
            high_watermark=log.log_end_offset,
            last_stable_offset=log.last_stable_offset,
            log_start_offset=log.log_start_offset,
            aborted_transactions=aborted if is_committed else None,
            records=b"".join(found.contents),
        )


def _name(broker: Broker, topic: FetchTopic) -> str | None:
    if topic.topic_id is None:
        return topic.topic
    known = broker.topics.get_by_id(topic.topic_id)
    return None if known is None else known.name


def _refused(wanted: FetchPartition, error: Errors) -> FetchPartitionData:
    return FetchPartitionData(partition_index=wanted.partition, error_code=error)


def _missing(wanted: FetchPartition, error: Errors) -> FetchPartitionData:
    """Answer for a partition that was not read at all. Source: FetchResponse#partitionResponse (4.3.1)."""
    return FetchPartitionData(partition_index=wanted.partition, error_code=error, aborted_transactions=())


@value
class DelayedFetch:
    """A parked request that waits for more records. Source: DelayedFetch (4.3.1)."""

    token: ResponseToken
    request: FetchRequest
    partitions: tuple[TopicPartition, ...]


class FetchPurgatory:
    """The parked requests, by their timeout and by the partitions that they wait for.

    Source: DelayedOperationPurgatory (4.3.1).
    """

    def __init__(self) -> None:
        self._timers: Timers[ResponseToken, DelayedFetch] = Timers()
        self.watching: dict[TopicPartition, dict[ResponseToken, DelayedFetch]] = {}
        """The parked requests of each partition."""
        self._to_check: dict[ResponseToken, DelayedFetch] = {}

    def watch(self, broker: Broker, request: FetchRequest, token: ResponseToken, *, now_ms: Millis) -> None:
        """Park a request."""
        partitions = tuple(_partitions(broker, request))
        delayed = DelayedFetch(token=token, request=request, partitions=partitions)
        self._timers.schedule(token, now_ms + request.max_wait_ms, delayed)
        for partition in partitions:
            self.watching.setdefault(partition, {})[token] = delayed

    def changed(self, partition: TopicPartition) -> None:
        """Mark a partition's requests. Source: DelayedOperationPurgatory#checkAndComplete (4.3.1)."""
        found = self.watching.get(partition)
        if found:
            self._to_check.update(found)

    def take_to_check(self) -> tuple[DelayedFetch, ...]:
        """Return the requests that may now have enough, and clear their marks."""
        if not self._to_check:
            return ()
        found, self._to_check = tuple(self._to_check.values()), {}
        return found

    def complete(self, delayed: DelayedFetch) -> None:
        """Remove a parked request."""
        self._timers.cancel(delayed.token)
        self._to_check.pop(delayed.token, None)
        for partition in delayed.partitions:
            watching = self.watching.get(partition)
            if watching is not None:
                watching.pop(delayed.token, None)
                if not watching:
                    del self.watching[partition]

    def take_all(self) -> tuple[DelayedFetch, ...]:
        """Remove all parked requests, and return them, each once."""
        waiting = {token: each for found in self.watching.values() for token, each in found.items()}
        for delayed in waiting.values():
            self.complete(delayed)
        return tuple(waiting.values())

    def pop_due(self, now_ms: Millis) -> DelayedFetch | None:
        """Remove and return the first request that has timed out."""
        due = self._timers.pop_due(now_ms)
        if due is None:
            return None
        self.complete(due.deadline)
        return due.deadline

    def next_deadline(self) -> Millis | None:
        """Return when the first request times out."""
        return self._timers.next_deadline()


def _partitions(broker: Broker, request: FetchRequest) -> Iterator[TopicPartition]:
    for topic in request.topics:
        name = _name(broker, topic)
        if name is not None:
            for each in topic.partitions:
                yield TopicPartition(name, each.partition)
