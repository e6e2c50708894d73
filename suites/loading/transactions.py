"""Transactions across a restart of the group coordinator, and while it loads."""

from harness.scenario import Breakpoint, Capability, Conversation, ask, expect, scenario
from suites.transactions.producers import (
    ONE_ANSWER,
    ORDER_0,
    Producer,
    announced,
    ends,
    initialised,
    pending,
    sees,
)

RESTARTS = (Capability.RESTART,)
PAUSES = (Capability.RESTART, Capability.PAUSE_AT_LOADING)
LOADS = "OffsetMetadataManager#replay"
LOADING = "COORDINATOR_LOAD_IN_PROGRESS"


def awaits_transactions(conversation: Conversation) -> None:
    """Wait until the transaction coordinator is back, which loads separately and is not paused."""
    initialised(conversation.actor("witness"), conversation.group("txn-of-witness"))


def decides(producer: Producer) -> None:
    """Commit a producer's transaction as soon as its own coordinator serves, and wait until it is done."""
    for _ in range(2):
        # It is refused until the markers are written, so success of the second one shows that they are.
        producer.actor.repeats(
            producer.ends(committed=True), until=expect.end_txn(error_code="NONE"), within_ms=15_000
        )


@scenario("loading/transaction/pending", source=LOADS, clauses=("RP-08", "OF-17"), needs=RESTARTS)
def what_is_pending_outlives_a_restart(conversation: Conversation) -> None:
    """After a restart a pending offset is still pending, its group Empty, and EndTxn commits it."""
    producer = pending(conversation)
    ana = producer.actor
    conversation.restarts_coordinator()

    ana.repeats(ask.describe_groups(), until=expect.describe_groups(error_code="NONE", group_state="Empty"))
    ana.sends(ask.offset_fetch(version=7, topics={"orders": (0,)}, require_stable=True))
    ana.receives(
        expect.response("OffsetFetch", topics=({"partitions": ({"error_code": "UNSTABLE_OFFSET_COMMIT"},)},))
    )
    decides(producer)
    sees(ana, {"orders": {0: 42}})


@scenario("loading/transaction/committed", source=LOADS, clauses=("RP-08", "OF-20"), needs=RESTARTS)
def what_was_committed_is_there_after_a_restart(conversation: Conversation) -> None:
    """After a restart offsets of a committed transaction are there, and those of an aborted one are not."""
    producer = pending(conversation)
    ana = producer.actor
    ends(producer, committed=True)
    sees(ana, {"orders": {0: 42}})
    ana.repeats(producer.adds(), until=expect.add_offsets_to_txn(error_code="NONE"))
    ana.sends(producer.commits({"orders": {0: 43, 1: 44}}))
    ana.receives(expect.txn_offset_commit({"orders": {0: "NONE", 1: "NONE"}}))
    ends(producer, committed=False)
    conversation.restarts_coordinator()

    ana.repeats(
        ask.offset_fetch(version=7, topics={"orders": (0, 1)}, require_stable=True),
        until=expect.offset_fetch({"orders": {0: 42, 1: -1}}),
    )


@scenario("loading/transaction/plain-commit-after", source=LOADS, clauses=("RP-09", "TC-26"), needs=RESTARTS)
def a_later_plain_commit_stands_after_a_restart(conversation: Conversation) -> None:
    """A plain commit after a pending one stands, although the transaction commits after a restart."""
    producer = pending(conversation)
    ana = producer.actor
    ana.sends(ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {0: 99}}))
    ana.receives(expect.offset_commit({"orders": {0: "NONE"}}))
    conversation.restarts_coordinator()

    decides(producer)
    ana.repeats(
        ask.offset_fetch(version=7, topics={"orders": (0,)}, require_stable=True),
        until=expect.offset_fetch({"orders": {0: 99}}),
    )


@scenario(
    "loading/transaction/lost-offset",
    source="GroupMetadata#completePendingTxnOffsetCommit",
    clauses=("TC-18",),
    needs=RESTARTS,
    broker_config={"offset.metadata.max.bytes": "10"},
)
def a_restart_brings_back_what_was_lost(conversation: Conversation) -> None:
    """A valid offset lost with another's too large metadata, until 3.7.0, is back after a restart."""
    ana = conversation.actor("ana")
    producer = announced(ana)
    ana.sends(producer.commits({"orders": {0: (7, "eleven long"), 1: (8, "fits")}}))
    ana.receives(expect.txn_offset_commit({"orders": {0: "OFFSET_METADATA_TOO_LARGE", 1: "NONE"}}))
    ends(producer, committed=True)
    conversation.restarts_coordinator()

    sees(ana, {"orders": {0: -1, 1: 8}})


@scenario("loading/transaction/deleted", source=LOADS, clauses=("RP-14", "OD-14"), needs=RESTARTS)
def what_was_deleted_may_come_back(conversation: Conversation) -> None:
    """A deleted pending offset is back after a restart until 3.9, which wrote no tombstone."""
    producer = pending(conversation)
    ana = producer.actor
    ana.asks(producer.commits({"orders": {1: 43}}), expect.txn_offset_commit({"orders": {1: "NONE"}}))
    ana.sends(ask.offset_delete(topics={"orders": (0,)}))
    ana.receives(expect.offset_delete(error_code="NONE", errors={"orders": {0: "NONE"}}))
    ends(producer, committed=True)
    sees(ana, {"orders": {1: 43}})
    conversation.restarts_coordinator()

    sees(ana, {"orders": {1: 43}})
    ana.asks(ask.offset_fetch(topics={"orders": (0,)}), expect.response("OffsetFetch", error_code="NONE"))


@scenario("loading/held/txn-offset-commit", source="KIP-890", clauses=("LO-12", "TC-34"), needs=PAUSES)
def transactional_commits_wait_for_the_load(conversation: Conversation) -> None:
    """While loading, TxnOffsetCommit v2 is COORDINATOR_LOAD_IN_PROGRESS; 4.x checks the transaction first."""
    ana = conversation.actor("ana")
    producer = announced(ana)
    conversation.pauses_at(Breakpoint.LOADING)
    conversation.restarts_coordinator()
    awaits_transactions(conversation)

    ana.asks(producer.commits(ORDER_0), expect.txn_offset_commit({"orders": {0: LOADING}}))
    ana.asks(producer.commits(ORDER_0, transactional_id=conversation.group("nobody's")), ONE_ANSWER)
    conversation.resumes_from(Breakpoint.LOADING)
    ana.repeats(producer.commits(ORDER_0), until=expect.txn_offset_commit({"orders": {0: "NONE"}}))
    ends(producer, committed=True)
    sees(ana, {"orders": {0: 42}})


@scenario("loading/held/txn-offset-commit-v1", source="KAFKA-7296", clauses=("LO-13", "TC-33"), needs=PAUSES)
def old_producers_are_not_reported_the_load(conversation: Conversation) -> None:
    """While loading, TxnOffsetCommit v0 and v1 get COORDINATOR_NOT_AVAILABLE since 2.6."""
    ana = conversation.actor("ana")
    producer = announced(ana)
    conversation.pauses_at(Breakpoint.LOADING)
    conversation.restarts_coordinator()
    awaits_transactions(conversation)

    for version in (0, 1):
        ana.asks(producer.commits(ORDER_0, version=version), ONE_ANSWER)
    conversation.resumes_from(Breakpoint.LOADING)
    ana.repeats(producer.commits(ORDER_0), until=expect.txn_offset_commit({"orders": {0: "NONE"}}))


@scenario(
    "loading/held/end-txn", source="KafkaApis#handleWriteTxnMarkersRequest", clauses=("AO-05",), needs=PAUSES
)
def the_transaction_coordinator_does_not_load(conversation: Conversation) -> None:
    """While the group coordinator loads, transactions begin and end; their offsets count afterwards."""
    producer = pending(conversation)
    ana, bob = producer.actor, conversation.actor("bob")
    conversation.pauses_at(Breakpoint.LOADING)
    conversation.restarts_coordinator()

    announced(bob, conversation.group("txn-of-bob"))
    ana.asks(producer.ends(committed=True), error_code="NONE")
    conversation.resumes_from(Breakpoint.LOADING)
    sees(ana, {"orders": {0: 42}})
