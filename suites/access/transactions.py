"""Authorization for transactions: which transactional ids a client may use, and the checks that follow."""

from harness.scenario import TRANSACTION, Conversation, Value, ask, expect, scenario
from harness.scenario.messages import Request
from suites.access.entries import (
    AUTHORIZER,
    NEEDS,
    NO_CLUSTER,
    NO_GROUP,
    NO_TOPIC,
    NO_TRANSACTION,
    administrator_of,
    allows,
    somebody,
)
from suites.transactions.producers import initialised

ID = "TRANSACTIONAL_ID"


@scenario(
    "access/transactions/producer",
    source="KafkaApis#handleInitProducerIdRequest",
    clauses=("AU-14", "AU-15"),
    needs=NEEDS,
    broker_config=AUTHORIZER,
)
def a_producer_is_who_may_write_its_id(conversation: Conversation) -> None:
    """InitProducerId requires WRITE on the transactional id; without an id, on the cluster or any topic."""
    administrator, dora = administrator_of(conversation), somebody(conversation, "dora")
    refused = expect.response("InitProducerId", error_code=NO_TRANSACTION, producer_id=-1)

    dora.asks(ask.init_producer_id(), refused)
    dora.asks(ask.init_producer_id(transactional_id=None), expect.init_producer_id(error_code=NO_CLUSTER))
    allows(administrator, dora, "DESCRIBE", kind=ID, name=TRANSACTION)
    dora.asks(ask.init_producer_id(), refused)
    allows(administrator, dora, "WRITE", kind=ID, name=TRANSACTION)
    initialised(dora)


@scenario(
    "access/transactions/offsets",
    source="KafkaApis#handleTxnOffsetCommitRequest",
    clauses=("AU-16", "AU-17"),
    needs=NEEDS,
    broker_config=AUTHORIZER,
)
def offsets_of_a_transaction_want_three_rights(conversation: Conversation) -> None:
    """A transactional offset commit is checked for its transactional id, then its group, then its topics."""
    administrator, ana = administrator_of(conversation), somebody(conversation, "ana")
    topics = {"payments": {0: 1}}

    ana.asks(ask.add_offsets_to_txn(producer_id=7, producer_epoch=0), error_code=NO_TRANSACTION)
    ana.asks(
        ask.txn_offset_commit(producer_id=7, producer_epoch=0, topics=topics),
        expect.txn_offset_commit({"payments": {0: NO_TRANSACTION}}),
    )
    ana.asks(ask.end_txn(producer_id=7, producer_epoch=0, committed=True), error_code=NO_TRANSACTION)
    allows(administrator, ana, "WRITE", kind=ID, name=TRANSACTION)
    producer = initialised(ana)
    ana.asks(producer.adds(), error_code=NO_GROUP)
    ana.asks(producer.commits({"payments": {0: 1}}), expect.txn_offset_commit({"payments": {0: NO_GROUP}}))
    allows(administrator, ana, "READ")
    allows(administrator, ana, "READ", kind="TOPIC", name="orders")
    ana.asks(producer.adds(), error_code="NONE")
    ana.asks(
        producer.commits({"payments": {0: 1}, "orders": {0: 2}}),
        expect.txn_offset_commit({"payments": {0: NO_TOPIC}, "orders": {0: "NONE"}}),
    )
    ana.asks(producer.ends(committed=True), error_code="NONE")
    ana.repeats(ask.offset_fetch(), until=expect.offset_fetch({"orders": {0: 2}}))


@scenario(
    "access/transactions/partitions",
    source="KafkaApis#handleAddPartitionsToTxnRequest",
    clauses=("AU-18",),
    needs=NEEDS,
    broker_config=AUTHORIZER,
)
def one_topic_that_may_not_be_written_keeps_all_out(conversation: Conversation) -> None:
    """AddPartitionsToTxn checks the transactional id; then one topic without WRITE blocks all the others."""
    administrator, bob = administrator_of(conversation), somebody(conversation, "bob")
    topics: Value = (
        {"name": "orders", "partitions": (0,)},
        {"name": "payments", "partitions": (0,)},
    )

    bob.asks(_adds(topics, 7, 0), expect.response("AddPartitionsToTxn"))
    allows(administrator, bob, "WRITE", kind=ID, name=TRANSACTION)
    allows(administrator, bob, "WRITE", kind="TOPIC", name="orders")
    producer = initialised(bob)
    bob.asks(
        _adds(topics, producer.producer_id, producer.producer_epoch), expect.response("AddPartitionsToTxn")
    )


def _adds(topics: Value, producer_id: Value, producer_epoch: Value) -> Request:
    return ask.request(
        "AddPartitionsToTxn",
        1,
        v3_and_below_transactional_id=TRANSACTION,
        v3_and_below_producer_id=producer_id,
        v3_and_below_producer_epoch=producer_epoch,
        v3_and_below_topics=topics,
    )
