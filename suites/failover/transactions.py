"""Transactions with pending offsets when their coordinator moves or is killed."""

from harness.scenario import Actor, Conversation, ask, expect, scenario
from suites.failover.words import (
    DISCONNECTS,
    KILLS,
    MOVES,
    NOT_OURS,
    WITHIN_MS,
    disconnected,
    killed,
    moved,
    serves,
)
from suites.transactions.producers import ORDER_0, Producer, pending, sees

LOADS = "OffsetMetadataManager#replay"
STABLE = ask.offset_fetch(version=7, topics={"orders": (0,)}, require_stable=True)
UNSTABLE = expect.response(
    "OffsetFetch", topics=({"partitions": ({"error_code": "UNSTABLE_OFFSET_COMMIT"},)},)
)


def _is_pending(actor: Actor) -> None:
    actor.asks(STABLE, UNSTABLE)


def _ends(producer: Producer, *, committed: bool) -> None:
    """Commit or abort the transaction as soon as its new coordinator has loaded it."""
    producer.actor.repeats(
        producer.ends(committed=committed), until=expect.end_txn(error_code="NONE"), within_ms=WITHIN_MS
    )


@scenario("failover/transaction/move-commit", source=LOADS, clauses=("RP-08", "OF-20"), needs=MOVES)
def a_pending_offset_moves_and_counts(conversation: Conversation) -> None:
    """After a move, a pending offset is still pending, its group Empty, and EndTxn commits it."""
    producer = pending(conversation)
    ana = producer.actor
    moved(conversation, ana)

    ana.repeats(ask.describe_groups(), until=expect.describe_groups(error_code="NONE", group_state="Empty"))
    _is_pending(ana)
    _ends(producer, committed=True)
    sees(ana, {"orders": {0: 42}})


@scenario("failover/transaction/move-abort", source=LOADS, clauses=("RP-08", "OF-21"), needs=MOVES)
def a_pending_offset_moves_and_is_forgotten(conversation: Conversation) -> None:
    """After a move, a pending offset is discarded when its transaction is aborted."""
    producer = pending(conversation)
    ana = producer.actor
    moved(conversation, ana)

    _is_pending(ana)
    _ends(producer, committed=False)
    sees(ana, {"orders": {0: -1}})


@scenario(
    "failover/transaction/former",
    source="TransactionCoordinator#handleEndTransaction",
    clauses=("RP-08",),
    needs=MOVES,
)
def a_former_coordinator_decides_nothing(conversation: Conversation) -> None:
    """A former coordinator answers EndTxn and TxnOffsetCommit with NOT_COORDINATOR."""
    producer = pending(conversation)
    ana = producer.actor
    conversation.moves_coordinator()

    ana.repeats(producer.ends(committed=True), until=expect.end_txn(error_code=NOT_OURS), within_ms=WITHIN_MS)
    ana.asks(producer.commits({"orders": {0: 43}}), expect.txn_offset_commit({"orders": {0: NOT_OURS}}))
    ana.disconnects()
    serves(ana)
    _ends(producer, committed=True)
    sees(ana, {"orders": {0: 42}})


@scenario("failover/transaction/across", source=LOADS, clauses=("TC-01",), needs=MOVES)
def a_transaction_takes_offsets_from_both_coordinators(conversation: Conversation) -> None:
    """Offsets of one transaction that two coordinators accepted are committed together."""
    producer = pending(conversation)
    ana = producer.actor
    moved(conversation, ana)
    ana.repeats(
        producer.commits({"orders": {1: 43}}),
        until=expect.txn_offset_commit({"orders": {1: "NONE"}}),
        within_ms=WITHIN_MS,
    )

    _ends(producer, committed=True)
    sees(ana, {"orders": {0: 42, 1: 43}})


@scenario("failover/transaction/kill-commit", source=LOADS, clauses=("RP-08", "OF-20"), needs=KILLS)
def a_pending_offset_outlives_its_coordinator_and_counts(conversation: Conversation) -> None:
    """After a kill, a pending offset is still pending, and EndTxn commits it."""
    producer = pending(conversation)
    ana = producer.actor
    killed(conversation, ana)

    _is_pending(ana)
    _ends(producer, committed=True)
    sees(ana, {"orders": {0: 42}})


@scenario(
    "failover/transaction/disconnect-commit", source=LOADS, clauses=("RP-08", "OF-20"), needs=DISCONNECTS
)
def a_pending_offset_counts_though_its_coordinator_was_away(conversation: Conversation) -> None:
    """After a lost network, a pending offset is pending at the new coordinator, where EndTxn commits it."""
    producer = pending(conversation)
    ana = producer.actor
    disconnected(conversation, ana)

    _is_pending(ana)
    conversation.reconnects_coordinator()
    ana.formerly.repeats(
        producer.ends(committed=True), until=expect.end_txn(error_code=NOT_OURS), within_ms=WITHIN_MS
    )
    _is_pending(ana)
    _ends(producer, committed=True)
    sees(ana, {"orders": {0: 42}})


@scenario("failover/transaction/kill-decided", source=LOADS, clauses=("OF-20", "OF-21"), needs=KILLS)
def what_was_decided_outlives_the_coordinator(conversation: Conversation) -> None:
    """After a kill, offsets of a committed transaction are there, and those of an aborted one are not."""
    producer = pending(conversation)
    ana = producer.actor
    _ends(producer, committed=True)
    sees(ana, {"orders": {0: 42}})
    ana.repeats(producer.adds(), until=expect.add_offsets_to_txn(error_code="NONE"), within_ms=WITHIN_MS)
    ana.asks(producer.commits({"orders": {0: 43}}), expect.txn_offset_commit({"orders": {0: "NONE"}}))
    _ends(producer, committed=False)
    sees(ana, ORDER_0)
    killed(conversation, ana)

    sees(ana, {"orders": {0: 42}})
