"""Delayed requests when the coordinator moves, and requests sent to a broker that is not responsible."""

from harness.scenario import ANY, Conversation, ask, expect, scenario
from suites.failover.words import MOVES, NOT_OURS, WITHIN_MS, goes_on, lives
from suites.transactions.producers import Producer, initialised

_OFFSETS = "__consumer_offsets"


@scenario(
    "failover/held-up/moved",
    source="CoordinatorRuntime.CoordinatorContext#failCurrentBatch",
    clauses=("CO-09", "ER-09"),
    needs=MOVES,
    broker_config={"message.max.bytes": "1000"},
)
def what_is_delayed_is_sent_on(conversation: Conversation) -> None:
    """Requests behind a batch that was left open get NOT_COORDINATOR when the coordinator moves."""
    ana, bob = conversation.stable_group("ana", "bob")
    eve = conversation.actor("eve")
    simple = conversation.group("simple")
    eve.sends(
        ask.offset_commit(
            group_id=simple, generation_id=-1, member_id="", topics={"orders": {0: (7, "m" * 3_000)}}
        )
    )
    eve.receives(expect.response("OffsetCommit"))

    eve.sends(ask.offset_commit(group_id=simple, generation_id=-1, member_id="", topics={"orders": {1: 8}}))
    ana.sends(ask.heartbeat())
    conversation.elapses(300)
    conversation.moves_coordinator()
    eve.receives(expect.response("OffsetCommit"))
    ana.receives(expect.heartbeat(error_code=ANY))
    ana.repeats(ask.heartbeat(), until=expect.heartbeat(error_code=NOT_OURS), within_ms=WITHIN_MS)
    goes_on(bob, ana)
    lives(ana)


@scenario(
    "failover/elsewhere/markers",
    source="KafkaApis#handleWriteTxnMarkersRequest",
    clauses=("TC-30",),
    needs=MOVES,
)
def markers_go_to_who_leads_the_log(conversation: Conversation) -> None:
    """WriteTxnMarkers succeeds only on the leader of the log; others get NOT_LEADER_OR_FOLLOWER."""
    ana = conversation.actor("ana")
    producer = initialised(ana)
    ana.obtains_member_id()
    ends = ask.write_txn_markers(
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        committed=False,
        topics={_OFFSETS: (0,)},
    )

    ana.elsewhere.asks(ends, expect.write_txn_markers({_OFFSETS: {0: "NOT_LEADER_OR_FOLLOWER"}}))
    ana.asks(ends, expect.write_txn_markers({_OFFSETS: {0: "NONE"}}))


@scenario(
    "failover/elsewhere/transactions",
    source="TransactionStateManager#getTransactionState",
    clauses=("CO-07",),
    needs=MOVES,
)
def transactions_go_to_their_coordinator(conversation: Conversation) -> None:
    """Transaction requests to a wrong broker get NOT_COORDINATOR, but an invalid one its own error."""
    ana = conversation.actor("ana")
    producer = initialised(ana)
    nobody = Producer(
        actor=ana,
        transactional_id="",
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
    )

    ana.elsewhere.climbs(
        [
            (ask.init_producer_id(), expect.init_producer_id(error_code=NOT_OURS)),
            (
                ask.init_producer_id(transaction_timeout_ms=0),
                expect.init_producer_id(error_code="INVALID_TRANSACTION_TIMEOUT"),
            ),
            (producer.adds(), expect.add_offsets_to_txn(error_code=NOT_OURS)),
            (nobody.adds(), expect.add_offsets_to_txn(error_code="INVALID_REQUEST")),
            (producer.ends(committed=True), expect.end_txn(error_code=NOT_OURS)),
            (nobody.ends(committed=True), expect.end_txn(error_code="INVALID_REQUEST")),
        ]
    )
