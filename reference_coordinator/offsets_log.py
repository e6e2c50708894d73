"""The log behind the coordinator: records, and what it remembers of the producers that wrote some.

All partitions of `__consumer_offsets` are one list, which keeps the order of each. Producers of other topics
are remembered too, since the end of a transaction may be written there.
"""

from dataclasses import dataclass, field
from typing import Final

from reference_coordinator.effects import AppendRecords
from reference_coordinator.errors import Errors
from reference_coordinator.ids import NO_PRODUCER_EPOCH, ProducerEpoch, ProducerId
from reference_coordinator.records import CoordinatorRecord, EndTransactionMarker
from reference_coordinator.topics import OFFSETS_TOPIC

_FIRST_STRICT_TRANSACTION_VERSION: Final = 2
_SHORT_MAX: Final = 2**15 - 1
_NO_COORDINATOR_EPOCH: Final = -1
_PartitionOfProducer = tuple[str, int, ProducerId]


@dataclass(slots=True, kw_only=True)
class ProducerState:
    """What a partition remembers of a producer. Source: ProducerStateEntry (4.3.1)."""

    producer_epoch: ProducerEpoch = NO_PRODUCER_EPOCH
    coordinator_epoch: int = _NO_COORDINATOR_EPOCH
    has_ongoing_transaction: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkerHeader:
    """What comes with the end of a transaction, beside what it says."""

    coordinator_epoch: int = 0
    transaction_version: int = 0


@dataclass(slots=True)
class OffsetsLog:
    """Source: UnifiedLog, ProducerStateManager (4.3.1)."""

    records: list[CoordinatorRecord] = field(default_factory=list)
    """Oldest first."""
    _producers: dict[_PartitionOfProducer, ProducerState] = field(default_factory=dict)

    def append(self, append: AppendRecords) -> Errors:
        """Take in records, unless their producer's epoch is older than one that was seen.

        Source: ProducerAppendInfo#appendDataBatch (4.3.1).
        """
        producer = append.producer
        if producer is not None:
            known = self._producer(OFFSETS_TOPIC, append.partition, producer.producer_id)
            if producer.producer_epoch < known.producer_epoch:
                return Errors.INVALID_PRODUCER_EPOCH
            known.producer_epoch = producer.producer_epoch
            known.has_ongoing_transaction = True
        self.records.extend(append.records)
        return Errors.NONE

    def append_marker(self, topic: str, marker: EndTransactionMarker, header: MarkerHeader) -> Errors:
        """Take in the end of a transaction.

        Source: ProducerAppendInfo#appendEndTxnMarker (4.3.1).
        """
        known = self._producer(topic, marker.partition, marker.producer_id)
        if _is_too_old(known, marker.producer_epoch, header.transaction_version):
            return Errors.INVALID_PRODUCER_EPOCH
        if header.coordinator_epoch < known.coordinator_epoch:
            return Errors.TRANSACTION_COORDINATOR_FENCED
        known.producer_epoch = marker.producer_epoch
        known.coordinator_epoch = header.coordinator_epoch
        known.has_ongoing_transaction = False
        if topic == OFFSETS_TOPIC:
            self.records.append(marker)
        return Errors.NONE

    def delete(self) -> None:
        """Lose everything, as the topic of this name is no more."""
        self.records.clear()
        for known in [each for each in self._producers if each[0] == OFFSETS_TOPIC]:
            del self._producers[known]

    def has_ongoing_transaction(
        self, partition: int, producer_id: ProducerId, producer_epoch: ProducerEpoch | None
    ) -> bool:
        """Whether a producer, of that epoch if one is given, has written to a partition and not ended it.

        Source: UnifiedLog#hasOngoingTransaction (4.3.1).
        """
        known = self._producers.get((OFFSETS_TOPIC, partition, producer_id))
        return (
            known is not None
            and known.has_ongoing_transaction
            and producer_epoch in {None, known.producer_epoch}
        )

    def _producer(self, topic: str, partition: int, producer_id: ProducerId) -> ProducerState:
        return self._producers.setdefault((topic, partition, producer_id), ProducerState())


def _is_too_old(known: ProducerState, producer_epoch: ProducerEpoch, transaction_version: int) -> bool:
    """Source: ProducerAppendInfo#checkProducerEpoch (4.3.1)."""
    if transaction_version < _FIRST_STRICT_TRANSACTION_VERSION:
        return producer_epoch < known.producer_epoch
    is_repeated = producer_epoch == known.producer_epoch and (
        not known.has_ongoing_transaction or producer_epoch == _SHORT_MAX
    )
    return producer_epoch <= known.producer_epoch and not is_repeated
