"""The state of a partition's idempotent producers, and the checks of their batches.

The rules are the same in all releases, except those for end markers of transactions version 2.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import NO_PRODUCER_EPOCH, Millis, ProducerEpoch
from reference_coordinator.core.values import value
from reference_coordinator.topic_logs.batch import BatchHeader

_BATCHES_KEPT: Final = 5
_INT_MAX: Final = 2**31 - 1
_SHORT_MAX: Final = 2**15 - 1
_NO_COORDINATOR_EPOCH: Final = -1
_NO_SEQUENCE: Final = -1
_FIRST_STRICT_TRANSACTION_VERSION: Final = 2


@value
class BatchMetadata:
    """One of the last batches of a producer. Source: BatchMetadata (4.3.1)."""

    first_sequence: int
    last_sequence: int
    first_offset: int
    timestamp_ms: Millis


@dataclass(slots=True, kw_only=True)
class ProducerStateEntry:
    """The state of one producer in one partition. Source: ProducerStateEntry (4.3.1)."""

    producer_epoch: ProducerEpoch = NO_PRODUCER_EPOCH
    coordinator_epoch: int = _NO_COORDINATOR_EPOCH
    batches: deque[BatchMetadata] = field(default_factory=lambda: deque(maxlen=_BATCHES_KEPT))
    """The last batches of its current epoch, the latest one last."""
    current_txn_first_offset: int | None = None
    """The first offset of its open transaction."""

    def find_duplicate_batch(self, batch: BatchHeader) -> BatchMetadata | None:
        """Return the batch that a batch repeats. Source: ProducerStateEntry#findDuplicateBatch (4.3.1)."""
        if batch.producer_epoch != self.producer_epoch:
            return None
        wanted = (batch.base_sequence, batch.last_sequence)
        return next(
            (each for each in self.batches if (each.first_sequence, each.last_sequence) == wanted), None
        )

    def validate_data_batch(self, batch: BatchHeader) -> None:
        """Refuse a batch whose epoch or sequence is wrong, or that is not part of the open transaction.

        Raises:
            CoordinatorError: with the error that the producer gets.

        Source: ProducerAppendInfo#appendDataBatch (4.3.1).
        """
        if batch.producer_epoch < self.producer_epoch:
            raise CoordinatorError(Errors.INVALID_PRODUCER_EPOCH)
        self._check_sequence(batch)
        if self.current_txn_first_offset is not None and not batch.is_transactional:
            raise CoordinatorError(Errors.INVALID_TXN_STATE)

    def data_appended(self, batch: BatchHeader, first_offset: int) -> None:
        """Record a batch that was written. Source: ProducerAppendInfo#appendDataBatch (4.3.1)."""
        self._see_epoch(batch.producer_epoch)
        self.batches.append(
            BatchMetadata(
                first_sequence=batch.base_sequence,
                last_sequence=batch.last_sequence,
                first_offset=first_offset,
                timestamp_ms=batch.max_timestamp_ms,
            )
        )
        if batch.is_transactional and self.current_txn_first_offset is None:
            self.current_txn_first_offset = first_offset

    def validate_marker(
        self, producer_epoch: ProducerEpoch, coordinator_epoch: int, transaction_version: int
    ) -> Errors:
        """Refuse an end marker whose producer epoch or coordinator epoch is too old.

        Source: ProducerAppendInfo#appendEndTxnMarker (4.3.1).
        """
        is_repeated = producer_epoch == self.producer_epoch and (
            self.current_txn_first_offset is None or producer_epoch == _SHORT_MAX
        )
        is_strict = transaction_version >= _FIRST_STRICT_TRANSACTION_VERSION
        is_current = is_strict and producer_epoch == self.producer_epoch and not is_repeated
        if producer_epoch < self.producer_epoch or is_current:
            return Errors.INVALID_PRODUCER_EPOCH
        if coordinator_epoch < self.coordinator_epoch:
            return Errors.TRANSACTION_COORDINATOR_FENCED
        return Errors.NONE

    def marker_appended(self, producer_epoch: ProducerEpoch, coordinator_epoch: int) -> None:
        """Record the end of a transaction. Source: ProducerAppendInfo#appendEndTxnMarker (4.3.1)."""
        self._see_epoch(producer_epoch)
        self.coordinator_epoch = coordinator_epoch
        self.current_txn_first_offset = None

    def _check_sequence(self, batch: BatchHeader) -> None:
        """Source: ProducerAppendInfo#checkSequence (4.3.1)."""
        if self.producer_epoch == NO_PRODUCER_EPOCH:
            return
        if batch.producer_epoch != self.producer_epoch:
            is_next = batch.base_sequence == 0
        else:
            last = self.batches[-1].last_sequence if self.batches else _NO_SEQUENCE
            is_next = batch.base_sequence == last + 1 or (batch.base_sequence == 0 and last == _INT_MAX)
        if not is_next:
            raise CoordinatorError(Errors.OUT_OF_ORDER_SEQUENCE_NUMBER)

    def _see_epoch(self, producer_epoch: ProducerEpoch) -> None:
        """Source: ProducerStateEntry#maybeUpdateProducerEpoch (4.3.1)."""
        if producer_epoch != self.producer_epoch:
            self.batches.clear()
            self.producer_epoch = producer_epoch
