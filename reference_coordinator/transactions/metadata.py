"""The transaction coordinator's data of one transactional id."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import (
    NO_PRODUCER_EPOCH,
    Millis,
    ProducerEpoch,
    ProducerId,
    TopicPartition,
    TransactionalId,
)
from reference_coordinator.transactions.state import VALID_PREVIOUS_STATES, TransactionState


@dataclass(slots=True, kw_only=True)
class TransactionMetadata:
    """A transactional id's producer, and its transaction. Source: TransactionMetadata (4.3.1)."""

    transactional_id: TransactionalId
    producer_id: ProducerId
    transaction_timeout_ms: Millis
    """The time that a transaction may stay open."""
    producer_epoch: ProducerEpoch = NO_PRODUCER_EPOCH
    last_producer_epoch: ProducerEpoch = NO_PRODUCER_EPOCH
    """The previous epoch, while a repeated request may still contain it."""
    state: TransactionState = TransactionState.EMPTY
    partitions: set[TopicPartition] = field(default_factory=set)
    """The partitions of the transaction."""

    def transition_to(self, state: TransactionState) -> None:
        """Enter a state. Source: TransactionMetadata#prepareTransitionTo (4.3.1)."""
        assert self.state in VALID_PREVIOUS_STATES[state], f"{self.state} to {state}"
        self.state = state

    def increment_producer_epoch(self, expected: ProducerEpoch | None) -> None:
        """Give the producer a new epoch, unless it repeats the request that gave it the current one.

        Raises:
            CoordinatorError: PRODUCER_FENCED for a producer that has been replaced.

        Source: TransactionMetadata#prepareIncrementProducerEpoch (4.3.1).
        """
        bumped = ProducerEpoch(self.producer_epoch + 1)
        if expected is None:
            self.producer_epoch, self.last_producer_epoch = bumped, NO_PRODUCER_EPOCH
        elif self.producer_epoch in {NO_PRODUCER_EPOCH, expected}:
            self.producer_epoch, self.last_producer_epoch = bumped, self.producer_epoch
        elif expected != self.last_producer_epoch:
            raise CoordinatorError(Errors.PRODUCER_FENCED)
        self.partitions.clear()
        self.transition_to(TransactionState.EMPTY)

    def fence_producer_epoch(self) -> None:
        """Bump the epoch as a fence. Source: TransactionMetadata#prepareFenceProducerEpoch (4.3.1)."""
        self.producer_epoch = ProducerEpoch(self.producer_epoch + 1)
        self.last_producer_epoch = NO_PRODUCER_EPOCH

    def add_partitions(self, partitions: Iterable[TopicPartition]) -> None:
        """Add partitions. Source: TransactionMetadata#prepareAddPartitions (4.3.1)."""
        self.partitions.update(partitions)
        self.transition_to(TransactionState.ONGOING)

    def abort_or_commit(self, state: TransactionState, *, bumps_epoch: bool) -> None:
        """Commit or abort the transaction; from version 2 on with a new epoch.

        Source: TransactionMetadata#prepareAbortOrCommit (4.3.1).
        """
        if bumps_epoch:
            self.last_producer_epoch = self.producer_epoch
            self.producer_epoch = ProducerEpoch(self.producer_epoch + 1)
        self.transition_to(state)

    def complete(self) -> None:
        """Record that all markers are written. Source: TransactionMetadata#prepareComplete (4.3.1)."""
        is_commit = self.state is TransactionState.PREPARE_COMMIT
        self.transition_to(TransactionState.COMPLETE_COMMIT if is_commit else TransactionState.COMPLETE_ABORT)
