"""Transactions of which offsets are pending when their coordinator moves or dies."""

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
    """Decide the transaction, as soon as its new coordinator has loaded it."""
    producer.actor.repeats(
        producer.ends(committed=committed), until=expect.end_txn(error_code="NONE"), within_ms=WITHIN_MS
    )


@scenario("failover/transaction/move-commit", source=LOADS, clauses=("RP-08", "OF-20"), needs=MOVES)
def a_pending_offset_moves_and_counts(conversation: Conversation) -> None:
    """A pending offset is pending on the new coordinator, its group Empty, and counts when committed."""
    producer = pending(conversation)
    ana = producer.actor
    moved(conversation, ana)

    ana.repeats(ask.describe_groups(), until=expect.describe_groups(error_code="NONE", group_state="Empty"))
    _is_pending(ana)
    _ends(producer, committed=True)
    sees(ana, {"orders": {0: 42}})


@scenario("failover/transaction/move-abort", source=LOADS, clauses=("RP-08", "OF-21"), needs=MOVES)
def a_pending_offset_moves_and_is_forgotten(conversation: Conversation) -> None:
    """A pending offset is gone when its transaction is aborted with the new coordinator."""
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
    """With the former coordinator a transaction is not decided and no offset of it is taken."""
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
    """Offsets of one transaction that two coordinators took count together."""
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
    """A pending offset is pending after a takeover, and counts when its transaction is committed."""
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
    """A pending offset is pending with whoever takes over, and counts when the first coordinator is back."""
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
    """After a takeover the offsets of a committed transaction are there, those of a later aborted one not."""
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
