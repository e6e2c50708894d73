"""The transaction coordinator: who is a producer, what takes part, and how it ends."""

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import Millis, ProducerEpoch, ProducerId, TopicPartition, TransactionalId
from reference_coordinator.profile.profiles import profile_for
from reference_coordinator.transactions.coordinator import Markers, TransactionCoordinator, TransactionStore
from reference_coordinator.transactions.messages import EndTxnRequest, InitProducerIdRequest
from reference_coordinator.transactions.state import VALID_PREVIOUS_STATES, TransactionState

X = TransactionalId("x")
PARTITION = TopicPartition("__consumer_offsets", 3)
ANOTHER = TopicPartition("__consumer_offsets", 4)


class Transactions:
    """A coordinator, and what one producer asks of it."""

    def __init__(self, profile: str = "4.4", *, owns_log: bool = True, max_timeout_ms: int = 900_000) -> None:
        self.coordinator = TransactionCoordinator(
            profile=profile_for(profile),
            owns_log=lambda: owns_log,
            store=TransactionStore(),
            max_timeout_ms=max_timeout_ms,
        )
        self.markers: list[Markers] = []

    def init(
        self, transactional_id: str | None = "x", *, timeout_ms: int = 1, former: tuple[int, int] = (-1, -1)
    ) -> tuple[Errors, int, int]:
        producer_id, producer_epoch = former
        response, markers = self.coordinator.handle_init_producer_id(
            InitProducerIdRequest(
                transactional_id=None if transactional_id is None else TransactionalId(transactional_id),
                transaction_timeout_ms=Millis(timeout_ms),
                producer_id=ProducerId(producer_id),
                producer_epoch=ProducerEpoch(producer_epoch),
            )
        )
        self.note(markers)
        return response.error_code, response.producer_id, response.producer_epoch

    def add(self, epoch: int = 0, *, producer_id: int = 0, transactional_id: str = "x") -> Errors:
        return self.coordinator.handle_add_partitions_to_transaction(
            TransactionalId(transactional_id), ProducerId(producer_id), ProducerEpoch(epoch), (PARTITION,)
        )

    def verify(self, epoch: int = 0, *, partition: TopicPartition = PARTITION) -> Errors:
        return self.coordinator.handle_verify_partitions_in_transaction(
            X, ProducerId(0), ProducerEpoch(epoch), partition
        )

    def end(self, *, committed: bool, epoch: int = 0, v5: bool = False) -> tuple[Errors, int, int]:
        response, markers = self.coordinator.handle_end_transaction(
            EndTxnRequest(
                transactional_id=X,
                producer_id=ProducerId(0),
                producer_epoch=ProducerEpoch(epoch),
                committed=committed,
            ),
            bumps_epoch=v5,
        )
        self.note(markers)
        return response.error_code, response.producer_id, response.producer_epoch

    def note(self, markers: Markers | None) -> None:
        if markers is not None:
            self.markers.append(markers)

    def write(self) -> None:
        """Let the markers be written that were last asked for."""
        markers = self.markers[-1]
        for partition in markers.partitions:
            self.coordinator.marker_written(markers, partition)


def begun(profile: str = "4.4") -> Transactions:
    """With a producer, and a partition that takes part in its transaction."""
    transactions = Transactions(profile)
    transactions.init()
    transactions.add()
    return transactions


def test_each_start_gives_the_same_id_and_the_next_epoch() -> None:
    transactions = Transactions()

    assert [transactions.init() for _ in range(3)] == [(Errors.NONE, 0, epoch) for epoch in range(3)]
    assert transactions.init("y") == (Errors.NONE, 1, 0)
    assert transactions.init(None) == (Errors.NONE, 2, 0)


def test_a_producer_that_names_itself_goes_on_and_may_ask_again() -> None:
    transactions = Transactions()
    transactions.init()

    assert transactions.init(former=(0, 0)) == (Errors.NONE, 0, 1)
    assert transactions.init(former=(0, 0)) == (Errors.NONE, 0, 1)
    assert transactions.init(former=(0, 7)) == (Errors.PRODUCER_FENCED, -1, -1)
    assert transactions.init(former=(9, 0)) == (Errors.PRODUCER_FENCED, -1, -1)


@pytest.mark.parametrize(
    ("transactional_id", "timeout_ms", "error"),
    [
        ("", 0, Errors.INVALID_REQUEST),
        ("x", 0, Errors.INVALID_TRANSACTION_TIMEOUT),
        ("x", 900_001, Errors.INVALID_TRANSACTION_TIMEOUT),
        ("x", 900_000, Errors.NOT_COORDINATOR),
    ],
)
def test_a_start_is_checked_before_the_log_matters(
    transactional_id: str, timeout_ms: int, error: Errors
) -> None:
    transactions = Transactions(owns_log=False)

    assert transactions.init(transactional_id, timeout_ms=timeout_ms)[0] is error


@pytest.mark.parametrize("limit_ms", [1, 60_000, 3_600_000])
def test_the_longest_timeout_is_as_configured(limit_ms: int) -> None:
    transactions = Transactions(max_timeout_ms=limit_ms)

    assert transactions.init(timeout_ms=limit_ms)[0] is Errors.NONE
    assert transactions.init(timeout_ms=limit_ms + 1)[0] is Errors.INVALID_TRANSACTION_TIMEOUT


def test_without_the_log_of_transactions_nobody_takes_part() -> None:
    transactions = Transactions(owns_log=False)

    assert transactions.add() is Errors.NOT_COORDINATOR
    assert transactions.add(transactional_id="") is Errors.INVALID_REQUEST
    assert transactions.end(committed=True)[0] is Errors.NOT_COORDINATOR


def test_id_producer_and_epoch_are_checked_in_turn() -> None:
    transactions = Transactions()
    transactions.init()

    assert (
        transactions.add(9, producer_id=9, transactional_id="nobody's") is Errors.INVALID_PRODUCER_ID_MAPPING
    )
    assert transactions.add(9, producer_id=9) is Errors.INVALID_PRODUCER_ID_MAPPING
    assert transactions.add(9) is Errors.PRODUCER_FENCED
    assert transactions.verify() is Errors.TRANSACTION_ABORTABLE
    assert transactions.add() is Errors.NONE
    assert transactions.verify() is Errors.NONE
    assert transactions.verify(partition=ANOTHER) is Errors.TRANSACTION_ABORTABLE


def test_a_transaction_is_over_when_its_markers_are_written() -> None:
    transactions = begun()

    assert transactions.end(committed=True) == (Errors.NONE, -1, -1)
    assert transactions.add() is Errors.CONCURRENT_TRANSACTIONS
    assert transactions.init()[0] is Errors.CONCURRENT_TRANSACTIONS
    assert transactions.end(committed=True)[0] is Errors.CONCURRENT_TRANSACTIONS
    assert transactions.end(committed=False)[0] is Errors.CONCURRENT_TRANSACTIONS
    transactions.write()
    assert transactions.end(committed=True)[0] is Errors.NONE
    assert transactions.end(committed=False)[0] is Errors.INVALID_TXN_STATE
    assert transactions.add() is Errors.NONE
    assert [(each.is_commit, each.producer_epoch, each.partitions) for each in transactions.markers] == [
        (True, 0, (PARTITION,))
    ]


def test_what_never_began_cannot_be_ended_but_aborted_from_v5_on() -> None:
    transactions = Transactions()
    transactions.init()

    for committed in (True, False):
        assert transactions.end(committed=committed)[0] is Errors.INVALID_TXN_STATE
    assert transactions.end(committed=True, v5=True) == (Errors.INVALID_TXN_STATE, -1, -1)
    assert transactions.end(committed=False, v5=True) == (Errors.NONE, 0, 1)
    assert transactions.end(committed=False, epoch=1, v5=True) == (Errors.NONE, 0, 2)


@pytest.mark.parametrize("committed", [True, False])
def test_v5_ends_with_a_new_epoch_and_tells_a_repeated_request_from_the_next(*, committed: bool) -> None:
    transactions = begun()

    assert transactions.end(committed=committed, v5=True) == (Errors.NONE, 0, 1)
    assert transactions.end(committed=committed, v5=True)[0] is Errors.CONCURRENT_TRANSACTIONS
    assert transactions.end(committed=committed, epoch=1, v5=True)[0] is Errors.CONCURRENT_TRANSACTIONS
    transactions.write()
    assert transactions.end(committed=committed, v5=True) == (Errors.NONE, 0, 1)
    assert transactions.end(committed=not committed, v5=True)[0] is Errors.INVALID_TXN_STATE
    assert transactions.end(committed=True, epoch=1, v5=True)[0] is Errors.INVALID_TXN_STATE
    assert transactions.end(committed=False, epoch=1, v5=True) == (Errors.NONE, 0, 2)


@pytest.mark.parametrize(
    ("profile", "epoch", "may_come_back"), [("3.9", 2, False), ("4.0.0", 3, False), ("4.0.1", 2, True)]
)
def test_who_takes_over_has_the_transaction_aborted(profile: str, epoch: int, *, may_come_back: bool) -> None:
    transactions = begun(profile)

    assert transactions.init() == (Errors.CONCURRENT_TRANSACTIONS, -1, -1)
    assert not transactions.markers[-1].is_commit
    transactions.write()
    assert (transactions.init(former=(0, 0))[0] is Errors.NONE) == may_come_back
    assert transactions.init() == (Errors.NONE, 0, epoch)


@pytest.mark.parametrize(
    ("profile", "error"), [("2.5", Errors.CONCURRENT_TRANSACTIONS), ("2.6", Errors.NONE)]
)
def test_until_2_5_a_future_epoch_decides_what_nobody_finishes(profile: str, error: Errors) -> None:
    transactions = begun(profile)

    assert transactions.end(committed=True, epoch=1)[0] is Errors.PRODUCER_FENCED
    assert not transactions.markers
    assert transactions.end(committed=True)[0] is error


def test_every_state_may_come_after_some() -> None:
    assert set(VALID_PREVIOUS_STATES) == set(TransactionState)
    assert all(VALID_PREVIOUS_STATES.values())
