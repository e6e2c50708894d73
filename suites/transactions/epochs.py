"""TxnOffsetCommit by producers with another epoch, or with another transactional id."""

from harness.scenario import Conversation, ask, expect, one_of, scenario
from suites.transactions.producers import (
    ONE_ANSWER,
    ORDER_0,
    announced,
    ends,
    pending,
    sees,
)


@scenario("transactions/epoch/too-high-at-first", source="KIP-890", clauses=("TC-21",))
def a_first_commit_with_a_future_epoch_may_not_count(conversation: Conversation) -> None:
    """A first TxnOffsetCommit with a future epoch is accepted until 3.6, and then blocks the right one."""
    ana = conversation.actor("ana")
    producer = announced(ana)

    ana.asks(producer.commits(ORDER_0, producer_epoch=producer.producer_epoch + 1), ONE_ANSWER)
    ana.asks(producer.commits(ORDER_0), ONE_ANSWER)


@scenario("transactions/epoch/too-high-later", source="KIP-890", clauses=("TC-22",))
def a_later_commit_with_a_future_epoch_may_not_count(conversation: Conversation) -> None:
    """A later TxnOffsetCommit with a future epoch is accepted until 3.9, INVALID_PRODUCER_EPOCH since."""
    producer = pending(conversation)
    ana = producer.actor

    ana.asks(producer.commits({"orders": {0: 43}}, producer_epoch=producer.producer_epoch + 1), ONE_ANSWER)
    ana.asks(producer.commits({"orders": {0: 44}}), ONE_ANSWER)
    ends(producer, committed=True)
    conversation.elapses(500)
    ana.sends(ask.offset_fetch(version=6, topics={"orders": (0,)}))
    ana.receives(expect.response("OffsetFetch", error_code="NONE"))
    ana.asks(producer.ends(committed=True), expect.response("EndTxn"))


@scenario("transactions/epoch/negative", source="KIP-890", clauses=("TC-23",))
def a_commit_without_epoch_breaks_old_brokers(conversation: Conversation) -> None:
    """Epoch -1 within a transaction gets UNKNOWN_SERVER_ERROR until 3.9, INVALID_PRODUCER_EPOCH since."""
    producer = pending(conversation)
    ana = producer.actor

    ana.asks(producer.commits({"orders": {0: 43}}, producer_epoch=-1), ONE_ANSWER)
    ends(producer, committed=True)
    sees(ana, {"orders": {0: 42}})


@scenario(
    "transactions/epoch/negative-after-deletion", source="MemoryRecordsBuilder#close", clauses=("TC-23",)
)
def a_commit_without_epoch_may_create_a_group(conversation: Conversation) -> None:
    """Epoch -1 within a transaction creates a deleted group anew in the Scala coordinator only."""
    producer = pending(conversation)
    ana = producer.actor
    ana.asks(ask.delete_groups(), expect.response("DeleteGroups"))

    ana.asks(producer.commits({"orders": {0: 43}}, producer_epoch=-1), ONE_ANSWER)
    found = one_of("NONE", "GROUP_ID_NOT_FOUND")
    ana.asks(ask.offset_delete(topics={"orders": ()}), expect.response("OffsetDelete", error_code=found))


@scenario("transactions/epoch/other-transactional-id", source="KIP-890", clauses=("TC-24",))
def the_transactional_id_is_looked_at_once(conversation: Conversation) -> None:
    """Within a transaction, the transactional id of further TxnOffsetCommits is not checked."""
    producer = pending(conversation)
    ana = producer.actor

    ana.sends(producer.commits({"orders": {1: 43}}, transactional_id=conversation.group("nobody's")))
    ana.receives(expect.txn_offset_commit({"orders": {1: "NONE"}}))
    ends(producer, committed=True)
    sees(ana, {"orders": {0: 42, 1: 43}})


@scenario("transactions/epoch/below-none", source="ProducerAppendInfo#checkProducerEpoch", clauses=("TC-23",))
def a_commit_with_an_epoch_below_none_is_refused(conversation: Conversation) -> None:
    """Epoch -2 within a transaction gets INVALID_PRODUCER_EPOCH: only -1 means none."""
    producer = pending(conversation)
    ana = producer.actor
    ana.asks(producer.commits({"orders": {1: 50}}), expect.txn_offset_commit({"orders": {1: "NONE"}}))

    ana.sends(producer.commits({"orders": {0: 43}}, producer_epoch=-2))
    ana.receives(expect.txn_offset_commit({"orders": {0: "INVALID_PRODUCER_EPOCH"}}))
    ends(producer, committed=True)
    sees(ana, {"orders": {1: 50}})
    ana.sends(ask.offset_fetch(version=6, topics={"orders": (0,)}))
    ana.receives(expect.response("OffsetFetch", error_code="NONE"))


@scenario(
    "transactions/epoch/former-with-another-id",
    source="KAFKA-18042, UnifiedLog#maybeStartTransactionVerification",
    clauses=("TC-22", "TC-24"),
)
def of_a_former_epoch_and_another_id_one_is_checked_first(conversation: Conversation) -> None:
    """A former epoch with an unknown id: 3.7 to 4.0 look at the transactional id, others at the epoch."""
    producer = pending(conversation)
    ana = producer.actor
    ana.repeats(
        ask.init_producer_id(transactional_id=producer.transactional_id),
        until=expect.init_producer_id(error_code="NONE"),
    )

    ana.asks(producer.commits(ORDER_0, transactional_id=conversation.group("nobody's")), ONE_ANSWER)
