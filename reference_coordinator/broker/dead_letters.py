"""Dead letters: records that a share group rejected or did not manage to process, in a topic of their own."""

from collections.abc import Callable
from typing import Final

from reference_coordinator.broker.broker_apis import Broker
from reference_coordinator.broker.partition_leadership import log_of_leader
from reference_coordinator.broker.produce import handle_produce
from reference_coordinator.broker.topic_apis import handle_create_topics
from reference_coordinator.broker.topics import Topic
from reference_coordinator.broker.transaction_apis import TransactionApis
from reference_coordinator.broker_messages import CreatableTopic, CreateTopicsRequest
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import GroupId, Millis, TopicPartition
from reference_coordinator.log.record_batch import (
    HEADER,
    Record,
    RecordBatch,
    encode_batch,
    encode_headers,
    record_size,
)
from reference_coordinator.messages import RequestContext
from reference_coordinator.profile.topic_configs import MAX_MESSAGE_BYTES
from reference_coordinator.shares.settings import ShareSettings
from reference_coordinator.shares.share_partition import DeadLetters
from reference_coordinator.topic_logs.messages import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
    Unanswered,
)
from reference_coordinator.topic_logs.originals import Originals

_IS_ENABLED: Final = "errors.deadletterqueue.group.enable"
_CREATED_WITH: Final = ((_IS_ENABLED, "true"), ("message.timestamp.type", "CreateTime"))
_TIMEOUT_MS: Final = Millis(30_000)
_PRODUCE_VERSION: Final = 13
"""The first with topic ids."""


class DeadLetterTopics:
    """The dead letters of one share group from one partition. Source: ShareGroupDLQStateManager (4.4.0)."""

    def __init__(
        self,
        broker: Broker,
        transactions: TransactionApis,
        group_id: GroupId,
        source: TopicPartition,
        settings: Callable[[], ShareSettings],
    ) -> None:
        self._broker = broker
        self._transactions = transactions
        self._group_id = group_id
        self._source = source
        self._settings = settings

    def send(self, letters: DeadLetters) -> None:
        """Write records to the group's dead letter topic, as far as it takes them.

        Source: ShareGroupDLQStateManager#dlq (4.4.0).
        """
        settings = self._settings()
        topic = self._topic(settings.dead_letter_topic)
        if topic is None:
            return
        at = letters.first_offset
        while at <= letters.last_offset:
            written = self._write_round(topic, letters, at, settings)
            if not written:
                return
            at += written

    def _topic(self, name: str) -> Topic | None:
        """Return the topic, created if need be; None if it may not be used.

        Source: ShareGroupDLQStateManager.ProduceRequestHandler#validateDlqTopic (4.4.0).
        """
        config, topic = self._broker.config, self._broker.topics.get(name)
        if not name or not name.startswith(config.errors_deadletterqueue_topic_name_prefix):
            return None
        if topic is not None:
            return topic if dict(topic.configs).get(_IS_ENABLED) == "true" else None
        if not config.errors_deadletterqueue_auto_create_topics_enable:
            return None
        wanted = CreatableTopic(name=name, num_partitions=-1, replication_factor=-1, configs=_CREATED_WITH)
        handle_create_topics(self._broker, CreateTopicsRequest(topics=(wanted,), timeout_ms=_TIMEOUT_MS))
        return self._broker.topics.get(name)

    def _write_round(self, topic: Topic, letters: DeadLetters, at: int, settings: ShareSettings) -> int:
        """Write a batch with as many records as fit in, and return their number; 0 if it is refused.

        Source: ShareGroupDLQStateManager.ProduceRequestHandler#topicProduceData (4.4.0).
        """
        most = int(dict(topic.configs).get(MAX_MESSAGE_BYTES, self._broker.config.message_max_bytes))
        originals = Originals(at, letters.last_offset, most)
        if settings.copies_dead_letters:
            originals.read(log_of_leader(self._broker, self._source))
        now_ms, size, records = self._broker.cluster.now_ms, HEADER.size, list[Record]()
        for offset in range(at, max(at, originals.last_resolved) + 1):
            original = originals.records.get(offset)
            record = Record(
                offset=len(records),
                timestamp_ms=now_ms,
                key=None if original is None else original.key,
                value=None if original is None else original.value,
                headers=self._headers(offset, letters),
            )
            size += record_size(record, base_offset=0, base_timestamp=now_ms)
            if size > most and records:
                break
            records.append(record)
        batch = RecordBatch(
            base_offset=0, last_offset=len(records) - 1, max_timestamp_ms=now_ms, records=tuple(records)
        )
        return len(records) if self._produce(topic, encode_batch(batch)) is Errors.NONE else 0

    def _produce(self, topic: Topic, batch: bytes) -> Errors:
        partition = self._source.partition % topic.num_partitions
        data = TopicProduceData(
            name=topic.name,
            topic_id=topic.topic_id,
            partition_data=(PartitionProduceData(index=partition, records=batch),),
        )
        request = ProduceRequest(transactional_id=None, acks=-1, timeout_ms=_TIMEOUT_MS, topic_data=(data,))
        context = RequestContext(api_version=_PRODUCE_VERSION, client_id=None, client_host="")
        response = handle_produce(self._broker, self._transactions, request, context)
        assert not isinstance(response, Unanswered), "it wants acknowledgements"
        return response.responses[0].partition_responses[0].error_code

    def _headers(self, offset: int, letters: DeadLetters) -> bytes:
        """Source: ShareGroupDLQStateManager.ProduceRequestHandler#headers (4.4.0)."""
        named = {
            "topic": self._source.topic,
            "partition": str(self._source.partition),
            "offset": str(offset),
            "group": self._group_id,
            "delivery.count": str(letters.delivery_count),
            "message": letters.cause,
        }
        return encode_headers({f"__dlq.errors.{name}": text for name, text in named.items()})
