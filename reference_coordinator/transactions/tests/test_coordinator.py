"""The transaction coordinator: who is a producer, what takes part, and how it ends."""

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import Millis, ProducerEpoch, ProducerId, TopicPartition, TransactionalId
from reference_coordinator.profile.profiles import profile_for
from reference_coordinator.transactions.coordinator import Markers, TransactionCoordinator, TransactionStore
from reference_coordinator.transactions.messages import EndTxnRequest, InitProducerIdRequest

X = TransactionalId("x")
PARTITION = TopicPartition("__consumer_offsets", 3)


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


def test_a_producer_that_names_itself_goes_on_and_may_ask_again() -> None:
    transactions = Transactions()
    transactions.init()

    assert transactions.init(former=(0, 0)) == (Errors.NONE, 0, 1)
    assert transactions.init(former=(0, 0)) == (Errors.NONE, 0, 1)
    assert transactions.init(former=(0, 7)) == (Errors.PRODUCER_FENCED, -1, -1)
    assert transactions.init(former=(9, 0)) == (Errors.PRODUCER_FENCED, -1, -1)


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
