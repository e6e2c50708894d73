"""What requests do to transactions. Markers to write are returned, and reported back when written."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Final, assert_never

from reference_coordinator.behaviours import Behaviour
from reference_coordinator.errors import CoordinatorError, Errors
from reference_coordinator.ids import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    ProducerEpoch,
    ProducerId,
    TransactionalId,
)
from reference_coordinator.profiles import Profile
from reference_coordinator.transactions.messages import (
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from reference_coordinator.transactions.metadata import TransactionMetadata
from reference_coordinator.transactions.state import TransactionState

TRANSACTION_MAX_TIMEOUT_MS: Final = 900_000
"""`transaction.max.timeout.ms`, which is what it is here. Source: TransactionStateManagerConfig (4.3.1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Markers:
    """Ends of a transaction that are to be written to partitions of `__consumer_offsets`."""

    transactional_id: TransactionalId
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    is_commit: bool
    partitions: tuple[int, ...]


@dataclass(slots=True, kw_only=True)
class TransactionCoordinator:
    """The transactions of all transactional ids. Source: TransactionCoordinator (4.3.1)."""

    profile: Profile
    owns_log: Callable[[], bool]
    """Whether the broker leads the log of transactions."""
    _transactions: dict[TransactionalId, TransactionMetadata] = field(default_factory=dict)
    _producer_ids: "count[int]" = field(default_factory=count)
    _unwritten: dict[TransactionalId, set[int]] = field(default_factory=dict)

    def handle_init_producer_id(
        self, request: InitProducerIdRequest
    ) -> tuple[InitProducerIdResponse, Markers | None]:
        """Tell a producer who it is; a transaction that it left open is aborted first.

        Source: TransactionCoordinator#handleInitProducerId (4.3.1).
        """
        if request.transactional_id is None:
            return _initialised(self._new_producer_id(), ProducerEpoch(0)), None
        if not request.transactional_id:
            return _not_initialised(Errors.INVALID_REQUEST), None
        if not 0 < request.transaction_timeout_ms <= TRANSACTION_MAX_TIMEOUT_MS:
            return _not_initialised(Errors.INVALID_TRANSACTION_TIMEOUT), None
        if not self.owns_log():
            return _not_initialised(Errors.NOT_COORDINATOR), None
        transaction = self._transactions.get(request.transactional_id)
        if transaction is None:
            transaction = TransactionMetadata(
                transactional_id=request.transactional_id, producer_id=self._new_producer_id()
            )
            self._transactions[request.transactional_id] = transaction
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

        Source: TransactionCoordinator#endTransaction (4.3.1), which is told that no client has sent it.
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
        partition: int,
    ) -> Errors:
        """Let a partition of `__consumer_offsets` take part in a transaction.

        Source: TransactionCoordinator#handleAddPartitionsToTransaction (4.3.1).
        """
        error = self._check(transactional_id, producer_id, producer_epoch)
        if error is Errors.NONE:
            self._transactions[transactional_id].add_partition(partition)
        return error

    def handle_verify_partitions_in_transaction(
        self,
        transactional_id: TransactionalId,
        producer_id: ProducerId,
        producer_epoch: ProducerEpoch,
        partition: int,
    ) -> Errors:
        """Say whether a partition takes part in a transaction.

        Source: TransactionCoordinator#handleVerifyPartitionsInTransaction (4.3.1).
        """
        error = self._check(transactional_id, producer_id, producer_epoch)
        if error is not Errors.NONE:
            return error
        is_in = partition in self._transactions[transactional_id].partitions
        return Errors.NONE if is_in else Errors.TRANSACTION_ABORTABLE

    def _check(
        self, transactional_id: TransactionalId, producer_id: ProducerId, producer_epoch: ProducerEpoch
    ) -> Errors:
        if not transactional_id:
            return Errors.INVALID_REQUEST
        if not self.owns_log():
            return Errors.NOT_COORDINATOR
        transaction = self._transactions.get(transactional_id)
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
        """Decide a transaction; `bumps_epoch` tells a client that speaks of version 2.

        Source: TransactionCoordinator#handleEndTransaction (4.3.1).
        """
        if not request.transactional_id:
            return EndTxnResponse(error_code=Errors.INVALID_REQUEST), None
        if not self.owns_log():
            return EndTxnResponse(error_code=Errors.NOT_COORDINATOR), None
        transaction = self._transactions.get(request.transactional_id)
        if transaction is None or transaction.producer_id != request.producer_id:
            return EndTxnResponse(error_code=Errors.INVALID_PRODUCER_ID_MAPPING), None
        try:
            decides = (
                decides_version_2(transaction, request)
                if bumps_epoch
                else decides_version_1(transaction, request, self.profile)
            )
        except CoordinatorError as refusal:
            return EndTxnResponse(error_code=refusal.error), None
        markers = None
        if decides:
            state = TransactionState.PREPARE_COMMIT if request.committed else TransactionState.PREPARE_ABORT
            transaction.abort_or_commit(state, bumps_epoch=bumps_epoch)
            if not bumps_epoch and request.producer_epoch != transaction.producer_epoch:
                # Found out too late: nobody will ever write the markers.
                return EndTxnResponse(error_code=Errors.PRODUCER_FENCED), None
            markers = self._markers(transaction)
        answer = EndTxnResponse(
            error_code=Errors.NONE,
            producer_id=transaction.producer_id if bumps_epoch else NO_PRODUCER_ID,
            producer_epoch=transaction.producer_epoch if bumps_epoch else NO_PRODUCER_EPOCH,
        )
        return answer, markers

    def marker_written(self, markers: Markers, partition: int) -> None:
        """Learn that a marker is in the log; after the last of them the transaction is complete.

        Source: TransactionMarkerRequestCompletionHandler#onComplete (4.3.1).
        """
        left = self._unwritten[markers.transactional_id]
        left.discard(partition)
        if not left:
            transaction = self._transactions[markers.transactional_id]
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
        self._unwritten[transaction.transactional_id] = set(markers.partitions)
        if not markers.partitions:
            transaction.complete()
        return markers

    def _new_producer_id(self) -> ProducerId:
        return ProducerId(next(self._producer_ids))


def decides_version_1(transaction: TransactionMetadata, request: EndTxnRequest, profile: Profile) -> bool:
    """Whether an EndTxn decides the transaction, or repeats what is decided and done.

    Raises:
        CoordinatorError: it is from another producer, or says the opposite of what was decided.

    Source: TransactionCoordinator#endTransactionWithTV1 (4.3.1).
    """
    takes_future = profile.has(Behaviour.END_TXN_TAKES_FUTURE_EPOCH)
    is_future = request.producer_epoch > transaction.producer_epoch
    if request.producer_epoch != transaction.producer_epoch and not (takes_future and is_future):
        raise CoordinatorError(Errors.PRODUCER_FENCED)
    match transaction.state:
        case TransactionState.ONGOING:
            return True
        case TransactionState.COMPLETE_COMMIT if request.committed:
            return False
        case TransactionState.COMPLETE_ABORT if not request.committed:
            return False
        case TransactionState.PREPARE_COMMIT if request.committed:
            raise CoordinatorError(Errors.CONCURRENT_TRANSACTIONS)
        case TransactionState.PREPARE_ABORT if not request.committed:
            raise CoordinatorError(Errors.CONCURRENT_TRANSACTIONS)
        case _:
            raise CoordinatorError(Errors.INVALID_TXN_STATE)


def decides_version_2(transaction: TransactionMetadata, request: EndTxnRequest) -> bool:
    """Whether an EndTxn decides a transaction; one that never began may be aborted.

    A request that is repeated has the epoch before, since the first one made a new one.

    Raises:
        CoordinatorError: it is from another producer, or says the opposite of what was decided.

    Source: TransactionCoordinator#endTransaction (4.3.1).
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
