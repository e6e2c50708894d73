"""The effects of requests on transactions. Markers to write are returned; the caller reports their writes."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from itertools import count
from typing import Self, assert_never

from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    Millis,
    ProducerEpoch,
    ProducerId,
    TopicPartition,
    TransactionalId,
)
from reference_coordinator.core.values import value
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.profile.profiles import Profile
from reference_coordinator.transactions.messages import (
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from reference_coordinator.transactions.metadata import TransactionMetadata
from reference_coordinator.transactions.state import TransactionState


@value
class Markers:
    """The end markers of a transaction, to be written to partitions."""

    transactional_id: TransactionalId
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    is_commit: bool
    partitions: tuple[TopicPartition, ...]
    are_written: bool = False
    """Whether they are in the log, and only the offsets have not taken effect yet."""


@dataclass(slots=True, kw_only=True)
class TransactionStore:
    """The transactions of all transactional ids, as the log contains them for each of its leaders.

    Source: TransactionStateManager (4.3.1).
    """

    transactions: dict[TransactionalId, TransactionMetadata] = field(default_factory=dict)
    producer_ids: "count[int]" = field(default_factory=count)
    unwritten: dict[TransactionalId, set[TopicPartition]] = field(default_factory=dict)
    """The partitions to which the marker of a decided transaction is not written yet."""
    parked: list[Markers] = field(default_factory=list)
    """Markers that wait until the group coordinator can process them."""
    timeouts: dict[TransactionalId, Millis] = field(default_factory=dict)
    """The times at which open transactions time out."""

    @classmethod
    def following(cls, producer_id: int) -> Self:
        """Create an empty store, whose producer ids begin after the last one assigned; -1 for none."""
        return cls(producer_ids=count(producer_id + 1))


@dataclass(slots=True, kw_only=True)
class TransactionCoordinator:
    """A broker's transaction coordinator. Source: TransactionCoordinator (4.3.1)."""

    profile: Profile
    owns_log: Callable[[], bool]
    """Returns whether this broker leads the transaction log, and so answers."""
    store: TransactionStore
    max_timeout_ms: int
    """`transaction.max.timeout.ms`. Source: TransactionStateManagerConfig (4.3.1)."""

    def handle_init_producer_id(
        self, request: InitProducerIdRequest
    ) -> tuple[InitProducerIdResponse, Markers | None]:
        """Return a producer's id and epoch; abort first a transaction that it left open.

        Source: TransactionCoordinator#handleInitProducerId (4.3.1).
        """
        if request.transactional_id is None:
            return _initialised(self._new_producer_id(), ProducerEpoch(0)), None
        if not request.transactional_id:
            return _not_initialised(Errors.INVALID_REQUEST), None
        if not 0 < request.transaction_timeout_ms <= self.max_timeout_ms:
            return _not_initialised(Errors.INVALID_TRANSACTION_TIMEOUT), None
        if not self.owns_log():
            return _not_initialised(Errors.NOT_COORDINATOR), None
        transaction = self.store.transactions.get(request.transactional_id)
        if transaction is None:
            transaction = TransactionMetadata(
                transactional_id=request.transactional_id,
                producer_id=self._new_producer_id(),
                transaction_timeout_ms=request.transaction_timeout_ms,
            )
            self.store.transactions[request.transactional_id] = transaction
        transaction.transaction_timeout_ms = request.transaction_timeout_ms
        try:
            markers = self._prepare_init_producer_id(transaction, request)
        except CoordinatorError as refusal:
            return _not_initialised(refusal.error), None
        if markers is not None:
            return _not_initialised(Errors.CONCURRENT_TRANSACTIONS), markers
        return _initialised(transaction.producer_id, transaction.producer_epoch), None

    def _prepare_init_producer_id(
        self, transaction: TransactionMetadata, request: InitProducerIdRequest
    ) -> Markers | None:
        """Source: TransactionCoordinator#prepareInitProducerIdTransit (4.3.1)."""
        if self._is_pending(transaction):
            raise CoordinatorError(Errors.CONCURRENT_TRANSACTIONS)
        is_named = request.producer_id != NO_PRODUCER_ID
        is_new = transaction.producer_epoch == NO_PRODUCER_EPOCH
        if is_named and not is_new and request.producer_id != transaction.producer_id:
            raise CoordinatorError(Errors.PRODUCER_FENCED)
        match transaction.state:
            case TransactionState.PREPARE_ABORT | TransactionState.PREPARE_COMMIT:
                raise CoordinatorError(Errors.CONCURRENT_TRANSACTIONS)
            case TransactionState.COMPLETE_ABORT | TransactionState.COMPLETE_COMMIT | TransactionState.EMPTY:
                transaction.increment_producer_epoch(request.producer_epoch if is_named else None)
                return None
            case TransactionState.ONGOING:
                return self._fence(transaction)
            case _:
                assert_never(transaction.state)

    def _fence(self, transaction: TransactionMetadata) -> Markers:
        """Abort a transaction whose producer is being replaced.

        Source: TransactionCoordinator#endTransaction (4.3.1), called with `isFromClient` false.
        """
        is_version_2 = self.profile.has(Behaviour.TRANSACTIONS_OF_VERSION_2)
        if not is_version_2 or self.profile.has(Behaviour.FENCING_BUMPS_EPOCH_TWICE):
            transaction.fence_producer_epoch()
        transaction.abort_or_commit(TransactionState.PREPARE_ABORT, bumps_epoch=is_version_2)
        return self._markers(transaction)

    def handle_add_partitions_to_transaction(
        self,
        transactional_id: TransactionalId,
        producer_id: ProducerId,
        producer_epoch: ProducerEpoch,
        partitions: Collection[TopicPartition],
    ) -> Errors:
        """Add partitions to a transaction.

        Source: TransactionCoordinator#handleAddPartitionsToTransaction (4.3.1).
        """
        error = self._check(transactional_id, producer_id, producer_epoch)
        transaction = self.store.transactions.get(transactional_id)
        is_first = self.profile.has(Behaviour.PENDING_TXN_CHECKED_FIRST)
        if is_first and transaction is not None and self.owns_log() and self._is_pending(transaction):
            return Errors.CONCURRENT_TRANSACTIONS
        if error is Errors.NONE:
            self.store.transactions[transactional_id].add_partitions(partitions)
        return error

    def handle_verify_partitions_in_transaction(
        self,
        transactional_id: TransactionalId,
        producer_id: ProducerId,
        producer_epoch: ProducerEpoch,
        partition: TopicPartition,
    ) -> Errors:
        """Return NONE if a partition is part of a transaction, or else the error.

        Source: TransactionCoordinator#handleVerifyPartitionsInTransaction (4.3.1).
        """
        error = self._check(transactional_id, producer_id, producer_epoch)
        if error is not Errors.NONE:
            return error
        is_in = partition in self.store.transactions[transactional_id].partitions
        return Errors.NONE if is_in else Errors.TRANSACTION_ABORTABLE

    def _check(
        self, transactional_id: TransactionalId, producer_id: ProducerId, producer_epoch: ProducerEpoch
    ) -> Errors:
        if not transactional_id:
            return Errors.INVALID_REQUEST
        if not self.owns_log():
            return Errors.NOT_COORDINATOR
        transaction = self.store.transactions.get(transactional_id)
        if transaction is None or transaction.producer_id != producer_id:
            return Errors.INVALID_PRODUCER_ID_MAPPING
        if transaction.producer_epoch != producer_epoch:
            return Errors.PRODUCER_FENCED
        if transaction.state in {TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT}:
            return Errors.CONCURRENT_TRANSACTIONS
        return Errors.NONE

    def handle_end_transaction(
        self, request: EndTxnRequest, *, bumps_epoch: bool
    ) -> tuple[EndTxnResponse, Markers | None]:
        """Commit or abort a transaction; `bumps_epoch` is set for a client that uses transactions version 2.

        Source: TransactionCoordinator#handleEndTransaction (4.3.1).
        """
        if not request.transactional_id:
            return EndTxnResponse(error_code=Errors.INVALID_REQUEST), None
        if not self.owns_log():
            return EndTxnResponse(error_code=Errors.NOT_COORDINATOR), None
        transaction = self.store.transactions.get(request.transactional_id)
        if transaction is None:
            return EndTxnResponse(error_code=Errors.INVALID_PRODUCER_ID_MAPPING), None
        try:
            decides = (
                self._decides_version_2(transaction, request)
                if bumps_epoch
                else self._decides_version_1(transaction, request)
            )
        except CoordinatorError as refusal:
            return EndTxnResponse(error_code=refusal.error), None
        markers = None
        if decides:
            state = TransactionState.PREPARE_COMMIT if request.committed else TransactionState.PREPARE_ABORT
            transaction.abort_or_commit(state, bumps_epoch=bumps_epoch)
            if not bumps_epoch and request.producer_epoch != transaction.producer_epoch:
                # The check comes too late: the transaction is prepared, but its markers are never written.
                return EndTxnResponse(error_code=Errors.PRODUCER_FENCED), None
            markers = self._markers(transaction)
        answer = EndTxnResponse(
            error_code=Errors.NONE,
            producer_id=transaction.producer_id if bumps_epoch else NO_PRODUCER_ID,
            producer_epoch=transaction.producer_epoch if bumps_epoch else NO_PRODUCER_EPOCH,
        )
        return answer, markers

    def _decides_version_1(self, transaction: TransactionMetadata, request: EndTxnRequest) -> bool:
        """Return whether an EndTxn decides the transaction; False if it repeats a completed decision.

        Raises:
            CoordinatorError: it is from another producer, or an earlier decision is not completed yet.

        Source: TransactionCoordinator#endTransactionWithTV1 (4.3.1).
        """
        takes_future = self.profile.has(Behaviour.END_TXN_TAKES_FUTURE_EPOCH)
        is_future = request.producer_epoch > transaction.producer_epoch
        if transaction.producer_id != request.producer_id:
            raise CoordinatorError(Errors.INVALID_PRODUCER_ID_MAPPING)
        if request.producer_epoch != transaction.producer_epoch and not (takes_future and is_future):
            raise CoordinatorError(Errors.PRODUCER_FENCED)
        if self._is_pending(transaction):
            raise CoordinatorError(Errors.CONCURRENT_TRANSACTIONS)
        return _decides_in_its_epoch(transaction, committed=request.committed)

    def _decides_version_2(self, transaction: TransactionMetadata, request: EndTxnRequest) -> bool:
        """Source: TransactionCoordinator#endTransaction (4.3.1)."""
        if self._is_pending(transaction):
            raise CoordinatorError(Errors.CONCURRENT_TRANSACTIONS)
        if transaction.producer_id != request.producer_id:
            raise CoordinatorError(Errors.INVALID_PRODUCER_ID_MAPPING)
        return _decides_with_a_new_epoch(transaction, request)

    def _is_pending(self, transaction: TransactionMetadata) -> bool:
        """Return whether a transaction is decided and its markers are not all written.

        Source: TransactionMetadata#pendingTransitionInProgress (4.3.1).
        """
        return bool(self.store.unwritten.get(transaction.transactional_id))

    def abort_timed_out_transaction(self, transactional_id: TransactionalId) -> Markers | None:
        """Abort a transaction that has timed out.

        Source: TransactionCoordinator#abortTimedOutTransactions (4.3.1).
        """
        transaction = self.store.transactions.get(transactional_id)
        if transaction is None or transaction.state is not TransactionState.ONGOING:
            return None
        return self._fence(transaction)

    def marker_written(self, markers: Markers, partition: TopicPartition) -> None:
        """Record that a marker is in the log; after the last marker the transaction is complete.

        Source: TransactionMarkerRequestCompletionHandler#onComplete (4.3.1).
        """
        left = self.store.unwritten[markers.transactional_id]
        left.discard(partition)
        if not left:
            transaction = self.store.transactions[markers.transactional_id]
            transaction.complete()
            transaction.partitions.clear()

    def _markers(self, transaction: TransactionMetadata) -> Markers:
        markers = Markers(
            transactional_id=transaction.transactional_id,
            producer_id=transaction.producer_id,
            producer_epoch=transaction.producer_epoch,
            is_commit=transaction.state is TransactionState.PREPARE_COMMIT,
            partitions=tuple(sorted(transaction.partitions)),
        )
        self.store.unwritten[transaction.transactional_id] = set(markers.partitions)
        if not markers.partitions:
            transaction.complete()
        return markers

    def _new_producer_id(self) -> ProducerId:
        return ProducerId(next(self.store.producer_ids))


def _decides_in_its_epoch(transaction: TransactionMetadata, *, committed: bool) -> bool:
    match transaction.state:
        case TransactionState.ONGOING:
            return True
        case TransactionState.COMPLETE_COMMIT if committed:
            return False
        case TransactionState.COMPLETE_ABORT if not committed:
            return False
        case TransactionState.PREPARE_COMMIT if committed:
            raise CoordinatorError(Errors.CONCURRENT_TRANSACTIONS)
        case TransactionState.PREPARE_ABORT if not committed:
            raise CoordinatorError(Errors.CONCURRENT_TRANSACTIONS)
        case _:
            raise CoordinatorError(Errors.INVALID_TXN_STATE)


def _decides_with_a_new_epoch(transaction: TransactionMetadata, request: EndTxnRequest) -> bool:
    """Return whether an EndTxn decides a transaction; one that never began may be aborted.

    A repeated request has the previous epoch, because the first one bumped the epoch.

    Raises:
        CoordinatorError: it is from another producer, or contradicts the decision.
    """
    state = transaction.state
    is_current = request.producer_epoch == transaction.producer_epoch
    is_retry = request.producer_epoch + 1 == transaction.producer_epoch
    is_prepared = state in {TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT}
    is_complete = state in {TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT}
    if not (is_retry and (is_prepared or is_complete)) and (is_prepared or not is_current):
        raise CoordinatorError(Errors.PRODUCER_FENCED)
    if state is TransactionState.ONGOING:
        return True
    if is_complete and is_retry and request.committed == (state is TransactionState.COMPLETE_COMMIT):
        return False
    if is_prepared and request.committed == (state is TransactionState.PREPARE_COMMIT):
        raise CoordinatorError(Errors.CONCURRENT_TRANSACTIONS)
    if not is_prepared and not is_retry and not request.committed:
        return True
    raise CoordinatorError(Errors.INVALID_TXN_STATE)


def _initialised(producer_id: ProducerId, producer_epoch: ProducerEpoch) -> InitProducerIdResponse:
    return InitProducerIdResponse(
        error_code=Errors.NONE, producer_id=producer_id, producer_epoch=producer_epoch
    )


def _not_initialised(error: Errors) -> InitProducerIdResponse:
    return InitProducerIdResponse(
        error_code=error, producer_id=NO_PRODUCER_ID, producer_epoch=NO_PRODUCER_EPOCH
    )
