"""Every version of the transaction APIs that concern offsets: what is accepted, and what refused.

AddOffsetsToTxn is swept by the scenarios of `transactions/add`, refused commits by `group-without-name`.
"""

from harness.scenario import Conversation, Pattern, ask, expect, scenario, sweep
from suites.transactions.producers import (
    ORDER_0,
    TAKEN,
    WITHIN_MS,
    announced,
    ends,
    finds_its_coordinator,
    pending,
    sees,
)

ENDS = "TransactionCoordinator#handleEndTransaction"


@scenario(
    "transactions/versions/commit",
    source="OffsetMetadataManager#commitTransactionalOffset",
    clauses=("TC-01", "OF-16", "OF-20"),
    sweep=sweep("TxnOffsetCommit", 0, 5),
)
def an_announced_commit_counts_in_the_end(conversation: Conversation, version: int) -> None:
    """TxnOffsetCommit v{version} is accepted, and visible once its transaction commits."""
    producer = announced(conversation.actor("ana"))

    producer.actor.asks(producer.commits(ORDER_0, version=version), TAKEN)
    sees(producer.actor, {"orders": {0: -1}})
    ends(producer, committed=True)
    sees(producer.actor, {"orders": {0: 42}})


@scenario("transactions/versions/end", source=ENDS, clauses=("OF-20",), sweep=sweep("EndTxn", 0, 5))
def a_transaction_is_committed(conversation: Conversation, version: int) -> None:
    """EndTxn v{version} commits the pending offsets."""
    producer = pending(conversation)

    producer.actor.asks(producer.ends(committed=True, version=version), error_code="NONE")
    sees(producer.actor, {"orders": {0: 42}})


@scenario(
    "transactions/versions/end-refused-low", source=ENDS, clauses=("AO-02",), sweep=sweep("EndTxn", 0, 1)
)
def a_past_epoch_is_an_old_error_in_low_versions(conversation: Conversation, version: int) -> None:
    """EndTxn v{version} with a former epoch gets INVALID_PRODUCER_EPOCH."""
    _ends_in_the_past(conversation, version, "INVALID_PRODUCER_EPOCH")


@scenario(
    "transactions/versions/end-refused", source="KIP-588", clauses=("AO-03",), sweep=sweep("EndTxn", 2, 5)
)
def a_past_epoch_is_fenced(conversation: Conversation, version: int) -> None:
    """EndTxn v{version} with a former epoch gets PRODUCER_FENCED."""
    _ends_in_the_past(conversation, version, "PRODUCER_FENCED")


def _ends_in_the_past(conversation: Conversation, version: int, error_code: str) -> None:
    """End a producer's transaction with the epoch before its own."""
    producer = pending(conversation)
    past = producer.producer_epoch - 1
    producer.actor.sends(
        ask.end_txn(version=version, producer_id=producer.producer_id, producer_epoch=past, committed=True)
    )
    producer.actor.receives(expect.end_txn(error_code=error_code))


@scenario(
    "transactions/versions/fetch-unstable",
    source="KIP-447",
    clauses=("OF-17",),
    sweep=sweep("OffsetFetch", 8, 9),
)
def a_pending_offset_is_unstable_in_a_batch(conversation: Conversation, version: int) -> None:
    """OffsetFetch v{version} with require_stable gets UNSTABLE_OFFSET_COMMIT for a pending offset."""
    ana = pending(conversation).actor

    ana.sends(ask.offset_fetch(version=version, topics={"orders": (0,)}, require_stable=True))
    unstable: Pattern = {"committed_offset": -1, "error_code": "UNSTABLE_OFFSET_COMMIT"}
    group: Pattern = {"error_code": "NONE", "topics": ({"name": "orders", "partitions": (unstable,)},)}
    ana.receives(expect.response("OffsetFetch", groups=(group,)))


@scenario(
    "transactions/versions/initialise",
    source="TransactionCoordinator#handleInitProducerId",
    sweep=sweep("InitProducerId", 0, 5),
)
def a_producer_is_made(conversation: Conversation, version: int) -> None:
    """InitProducerId v{version} returns producer epoch 0, and epoch 1 when repeated."""
    ana = conversation.actor("ana")
    finds_its_coordinator(ana)

    ana.repeats(
        ask.init_producer_id(version=version),
        until=expect.init_producer_id(error_code="NONE", producer_epoch=0),
        within_ms=WITHIN_MS,
    )
    ana.sends(ask.init_producer_id(version=version))
    ana.receives(expect.init_producer_id(error_code="NONE", producer_epoch=1))
