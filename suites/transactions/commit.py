"""TxnOffsetCommit to groups without members: what is accepted, and what is refused before that."""

from harness.scenario import Conversation, Pattern, Value, ask, expect, one_of, scenario, sweep
from suites.transactions.producers import (
    ONE_ANSWER,
    ORDER_0,
    TAKEN,
    announced,
    announces,
    ends,
    initialised,
    is_through,
    pending,
    sees,
)

COMMITS = "OffsetMetadataManager#commitTransactionalOffset"
VALIDATES = "OffsetMetadataManager#validateTransactionalOffsetCommit"
HANDLES = "KafkaApis#handleTxnOffsetCommitRequest"
TINY_METADATA = {"offset.metadata.max.bytes": "10"}


@scenario("transactions/commit/first", source=COMMITS, clauses=("TC-01", "OF-16"))
def a_transactional_commit_makes_a_group(conversation: Conversation) -> None:
    """TxnOffsetCommit creates an Empty group without type, and its offset is not visible yet."""
    ana = pending(conversation).actor

    ana.asks(ask.offset_fetch(topics={"orders": (0, 1)}), expect.offset_fetch({"orders": {0: -1, 1: -1}}))
    ana.asks(ask.offset_fetch(), expect.offset_fetch({}))
    ana.repeats(ask.describe_groups(), until=expect.describe_groups(group_state="Empty", protocol_type=""))


@scenario("transactions/commit/unannounced", source="KIP-890", clauses=("TC-02", "TC-05"))
def an_unannounced_commit_may_not_count(conversation: Conversation) -> None:
    """A TxnOffsetCommit without AddOffsetsToTxn is accepted until 3.6, and INVALID_TXN_STATE since."""
    ana = conversation.actor("ana")
    producer = initialised(ana)

    ana.asks(producer.commits(ORDER_0), ONE_ANSWER)
    conversation.elapses(100)
    ana.asks(ask.describe_groups(), expect.describe_groups(error_code="NONE", protocol_type=""))


@scenario("transactions/commit/unannounced-v4", source="KIP-890", clauses=("TC-03", "TC-05"))
def version_4_is_reported_to_abort(conversation: Conversation) -> None:
    """A TxnOffsetCommit v4 without AddOffsetsToTxn gets TRANSACTION_ABORTABLE."""
    ana = conversation.actor("ana")
    producer = initialised(ana)

    ana.sends(producer.commits(ORDER_0, version=4))
    # In a batch with other requests, the transaction coordinator may return the error of lower versions.
    reported = one_of("TRANSACTION_ABORTABLE", "INVALID_TXN_STATE")
    refused: Pattern = {"partition_index": 0, "error_code": reported}
    ana.receives(expect.response("TxnOffsetCommit", topics=({"name": "orders", "partitions": (refused,)},)))
    conversation.elapses(100)
    ana.asks(ask.describe_groups(), expect.describe_groups(error_code="NONE", protocol_type=""))


@scenario("transactions/commit/unannounced-v5", source="KIP-890", clauses=("TC-04", "OF-20"))
def version_5_announces_by_itself(conversation: Conversation) -> None:
    """From v5 on, TxnOffsetCommit needs no AddOffsetsToTxn: the group joins with its first commit."""
    ana = conversation.actor("ana")
    producer = initialised(ana)

    ana.asks(producer.commits(ORDER_0, version=5), TAKEN)
    ana.sends(producer.commits({"orders": {1: 43}}, version=5))
    ana.receives(expect.txn_offset_commit({"orders": {1: "NONE"}}))
    ana.sends(producer.ends(committed=True, version=5))
    ana.receives(expect.response("EndTxn", error_code="NONE", producer_epoch=1))
    sees(ana, {"orders": {0: 42, 1: 43}})


@scenario("transactions/commit/no-such-producer", source="KIP-890", clauses=("TC-02", "AO-04"))
def a_producer_that_nobody_knows_may_not_count(conversation: Conversation) -> None:
    """Since 3.7, TxnOffsetCommit checks the producer id with the transaction coordinator."""
    ana = conversation.actor("ana")
    producer = initialised(ana)

    ana.asks(producer.commits(ORDER_0, producer_id=producer.producer_id + 1_000_000), ONE_ANSWER)


@scenario("transactions/commit/no-such-transaction", source="KIP-890", clauses=("TC-02", "AO-04"))
def a_transaction_that_nobody_knows_may_not_count(conversation: Conversation) -> None:
    """Since 3.7, TxnOffsetCommit checks the transactional id, unknown or empty, with its coordinator."""
    ana = conversation.actor("ana")
    producer = initialised(ana)

    ana.asks(producer.commits(ORDER_0, transactional_id=conversation.group("nobody's")), ONE_ANSWER)
    ana.asks(producer.commits(ORDER_0, transactional_id=""), ONE_ANSWER)
    ana.asks(producer.commits(ORDER_0, version=0, producer_id=-1, producer_epoch=-1), ONE_ANSWER)


@scenario(
    "transactions/commit/missing-group-ladder",
    source=VALIDATES,
    clauses=("TC-06", "TC-07", "TC-08", "TC-09"),
)
def a_missing_group_is_judged_by_release(conversation: Conversation) -> None:
    """For a missing group, 2.4, 2.5 to 2.8, 3.x and 4.x check generation and member differently."""
    ana = conversation.actor("ana")
    producer = initialised(ana)

    for name, generation_id, member_id in (
        ("generation", 3, ""),
        ("zero", 0, ""),
        ("member", -1, "nobody"),
        ("both", 3, "nobody"),
    ):
        group = conversation.group(name)
        announces(producer, group_id=group)
        ana.sends(
            producer.commits(
                ORDER_0, version=3, group_id=group, generation_id=generation_id, member_id=member_id
            )
        )
        ana.receives(ONE_ANSWER)
        conversation.elapses(100)
        ana.sends(ask.describe_groups(groups=(group,)))
        ana.receives(expect.describe_groups(error_code="NONE", protocol_type=""))


@scenario(
    "transactions/commit/group-without-name",
    source=HANDLES,
    clauses=("TC-10", "AO-01"),
    sweep=sweep("TxnOffsetCommit", 0, 5),
)
def the_group_without_a_name_is_refused(conversation: Conversation, version: int) -> None:
    """TxnOffsetCommit v{version} with an empty group id gets INVALID_GROUP_ID for each partition."""
    ana = conversation.actor("ana")
    producer = initialised(ana)
    announces(producer, group_id="")

    ana.sends(producer.commits({"orders": {0: 1, 2: 3}}, version=version, group_id=""))
    ana.receives(expect.txn_offset_commit({"orders": {0: "INVALID_GROUP_ID", 2: "INVALID_GROUP_ID"}}))


@scenario("transactions/commit/unknown-topic", source=HANDLES, clauses=("TC-11",))
def an_unknown_topic_never_reaches_the_coordinator(conversation: Conversation) -> None:
    """TxnOffsetCommit of unknown partitions gets UNKNOWN_TOPIC_OR_PARTITION before other checks."""
    ana = conversation.actor("ana")
    producer = initialised(ana)

    ana.sends(producer.commits({"no-such-topic": {0: 1}, "orders": {99: 1}}, group_id="", producer_id=-1))
    ana.receives(
        expect.txn_offset_commit(
            {
                "no-such-topic": {0: "UNKNOWN_TOPIC_OR_PARTITION"},
                "orders": {99: "UNKNOWN_TOPIC_OR_PARTITION"},
            }
        )
    )
    ana.asks(producer.commits({}), expect.txn_offset_commit({}))


@scenario("transactions/commit/unknown-partition", source=HANDLES, clauses=("TC-11", "OF-20"))
def known_and_unknown_partitions_are_answered_each(conversation: Conversation) -> None:
    """Of one topic an unknown partition gets UNKNOWN_TOPIC_OR_PARTITION; a known one is committed."""
    ana = conversation.actor("ana")
    producer = announced(ana)

    ana.sends(producer.commits({"orders": {99: 1, 0: 7}}))
    ana.receives(expect.txn_offset_commit({"orders": {99: "UNKNOWN_TOPIC_OR_PARTITION", 0: "NONE"}}))
    ends(producer, committed=True)
    sees(ana, {"orders": {0: 7}})


@scenario(
    "transactions/commit/metadata-too-large",
    source="GroupMetadataManager#storeOffsets",
    clauses=("TC-17", "TC-18"),
    broker_config=TINY_METADATA,
)
def large_metadata_costs_its_own_partition(conversation: Conversation) -> None:
    """Too large metadata is refused for its partition only; until 3.7.0 others lost their offsets too."""
    ana = conversation.actor("ana")
    producer = announced(ana)

    ana.sends(producer.commits({"orders": {0: (7, "fits"), 1: (8, "eleven long"), 2: (9, "fits")}}))
    ana.receives(expect.txn_offset_commit({"orders": {0: "NONE", 1: "OFFSET_METADATA_TOO_LARGE", 2: "NONE"}}))
    ends(producer, committed=True)
    is_through(producer, committed=True)
    conversation.elapses(500)
    ana.sends(ask.offset_fetch(topics={"orders": (0, 1, 2)}))
    ana.receives(expect.response("OffsetFetch", error_code="NONE"))


@scenario(
    "transactions/commit/all-metadata-too-large",
    source="GroupMetadataManager#storeOffsets",
    clauses=("TC-17",),
    broker_config=TINY_METADATA,
)
def large_metadata_alone_leaves_nothing_pending(conversation: Conversation) -> None:
    """If all metadata is too large nothing is pending, and the group has no offsets afterwards."""
    ana = conversation.actor("ana")
    producer = announced(ana)

    ana.sends(producer.commits({"orders": {0: (7, "eleven long")}}))
    ana.receives(expect.txn_offset_commit({"orders": {0: "OFFSET_METADATA_TOO_LARGE"}}))
    ends(producer, committed=True)
    conversation.elapses(500)
    ana.asks(ask.offset_fetch(), expect.offset_fetch({}))


@scenario("transactions/commit/plain-commit-after", source=COMMITS, clauses=("TC-26",))
def a_later_plain_commit_stands(conversation: Conversation) -> None:
    """A plain commit after a pending one stands when the transaction commits."""
    producer = pending(conversation)
    ana = producer.actor
    ana.sends(ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {0: 99}}))
    ana.receives(expect.offset_commit({"orders": {0: "NONE"}}))

    ends(producer, committed=True)
    conversation.elapses(500)
    ana.asks(ask.offset_fetch(topics={"orders": (0,)}), expect.offset_fetch({"orders": {0: 99}}))


@scenario("transactions/commit/plain-commit-after-others", source=COMMITS, clauses=("TC-26",))
def a_later_plain_commit_stands_in_a_longer_log(conversation: Conversation) -> None:
    """A plain commit stands against a pending one, also if that is not the first record of the log."""
    ana = conversation.actor("ana")
    producer = announced(ana)
    ana.sends(ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {1: 7}}))
    ana.receives(expect.offset_commit({"orders": {1: "NONE"}}))
    ana.asks(producer.commits(ORDER_0), TAKEN)
    ana.sends(ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {0: 99}}))
    ana.receives(expect.offset_commit({"orders": {0: "NONE"}}))

    ends(producer, committed=True)
    conversation.elapses(500)
    ana.asks(ask.offset_fetch(topics={"orders": (0, 1)}), expect.offset_fetch({"orders": {0: 99, 1: 7}}))


@scenario("transactions/commit/plain-commit-before", source=COMMITS, clauses=("OF-20", "TC-26"))
def an_earlier_plain_commit_is_replaced(conversation: Conversation) -> None:
    """A plain commit before a pending one is replaced when the transaction commits."""
    ana = conversation.actor("ana")
    producer = announced(ana)
    ana.sends(ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {0: 7, 1: 8}}))
    ana.receives(expect.offset_commit({"orders": {0: "NONE", 1: "NONE"}}))
    ana.asks(producer.commits(ORDER_0), TAKEN)

    ends(producer, committed=True)
    sees(ana, {"orders": {0: 42, 1: 8}})


@scenario("transactions/commit/plain-commit-just-before", source=COMMITS, clauses=("OF-20", "TC-26"))
def a_plain_commit_just_before_is_replaced(conversation: Conversation) -> None:
    """A pending commit right after a plain one replaces it when the transaction commits."""
    ana = conversation.actor("ana")
    producer = announced(ana)
    ana.sends(ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {0: 7}}))
    ana.receives(expect.offset_commit({"orders": {0: "NONE"}}))
    ana.asks(producer.commits(ORDER_0), TAKEN)

    ends(producer, committed=True)
    sees(ana, {"orders": {0: 42}})


@scenario("transactions/commit/leader-epoch", source="KIP-320", clauses=("OF-08", "OF-20"))
def leader_epoch_and_metadata_are_kept(conversation: Conversation) -> None:
    """A transaction keeps leader epoch, from v2 on, and metadata; null metadata becomes an empty string."""
    ana = conversation.actor("ana")
    producer = announced(ana)
    partitions: Value = (
        {
            "partition_index": 0,
            "committed_offset": 8,
            "committed_leader_epoch": 3,
            "committed_metadata": "mine",
        },
        {"partition_index": 1, "committed_offset": 9, "committed_metadata": None},
    )
    orders: Value = {"name": "orders", "partitions": partitions}
    ana.sends(producer.commits({}, topics=(orders,)))
    ana.receives(expect.txn_offset_commit({"orders": {0: "NONE", 1: "NONE"}}))
    ends(producer, committed=True)

    for partition, offset, epoch, metadata in ((0, 8, 3, "mine"), (1, 9, -1, "")):
        kept: Pattern = {"committed_offset": offset, "committed_leader_epoch": epoch, "metadata": metadata}
        ana.repeats(
            ask.offset_fetch(topics={"orders": (partition,)}),
            until=expect.response("OffsetFetch", error_code="NONE", topics=({"partitions": (kept,)},)),
        )


@scenario("transactions/commit/several-groups", source=COMMITS, clauses=("TC-28",))
def one_transaction_serves_several_groups(conversation: Conversation) -> None:
    """One transaction may contain offsets of several groups, which are all committed."""
    ana = conversation.actor("ana")
    producer = announced(ana)
    other = conversation.group("other")
    ana.asks(producer.adds(group_id=other), error_code="NONE")
    ana.asks(producer.commits(ORDER_0), TAKEN)
    ana.asks(producer.commits({"orders": {0: 43}}, group_id=other), TAKEN)

    ends(producer, committed=True)
    sees(ana, {"orders": {0: 42}})
    ana.repeats(
        ask.offset_fetch(group_id=other, topics={"orders": (0,)}),
        until=expect.offset_fetch({"orders": {0: 43}}),
    )


@scenario("transactions/commit/several-producers", source=COMMITS, clauses=("TC-25",))
def of_two_producers_the_later_writer_wins(conversation: Conversation) -> None:
    """Of two producers' offsets for a partition, the one written last counts, not the one committed last."""
    early, late = (
        announced(conversation.actor("ana")),
        announced(conversation.actor("bob"), conversation.group("txn-of-bob")),
    )
    early.actor.asks(early.commits(ORDER_0), TAKEN)
    late.actor.asks(late.commits({"orders": {0: 43}}), TAKEN)

    ends(late, committed=True)
    sees(late.actor, {"orders": {0: 43}})
    ends(early, committed=True)
    conversation.elapses(500)
    early.actor.asks(ask.offset_fetch(topics={"orders": (0,)}), expect.offset_fetch({"orders": {0: 43}}))
