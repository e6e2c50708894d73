"""InitProducerId, AddOffsetsToTxn and EndTxn, as far as offsets depend on them."""

from harness.scenario import Conversation, ask, expect, one_of, scenario, sweep
from suites.transactions.producers import (
    ORDER_0,
    TAKEN,
    announced,
    ends,
    finds_its_coordinator,
    initialised,
    pending,
    sees,
)

ADDS = "TransactionCoordinator#handleAddPartitionsToTransaction"
ENDS = "TransactionCoordinator#handleEndTransaction"
INITIALISES = "TransactionCoordinator#handleInitProducerId"


@scenario("transactions/add/any-group", source=ADDS, clauses=("AO-01",))
def any_group_may_be_announced(conversation: Conversation) -> None:
    """AddOffsetsToTxn accepts any group, repeatedly, and creates none."""
    ana = conversation.actor("ana")
    producer = announced(ana)

    ana.asks(producer.adds(), error_code="NONE")
    ana.asks(ask.describe_groups(), expect.describe_groups(error_code="NONE", group_state="Dead"))


@scenario(
    "transactions/add/wrong-epoch", source=ADDS, clauses=("AO-02",), sweep=sweep("AddOffsetsToTxn", 0, 1)
)
def a_wrong_epoch_is_an_old_error_in_low_versions(conversation: Conversation, version: int) -> None:
    """AddOffsetsToTxn v{version} with another epoch gets INVALID_PRODUCER_EPOCH."""
    ana = conversation.actor("ana")
    producer = initialised(ana)

    for addend in (1, -1):
        ana.sends(
            ask.add_offsets_to_txn(
                version=version,
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch + addend,
            )
        )
        ana.receives(expect.add_offsets_to_txn(error_code="INVALID_PRODUCER_EPOCH"))
    ana.asks(producer.adds(version=version), error_code="NONE")


@scenario("transactions/add/fenced", source=ADDS, clauses=("AO-03",), sweep=sweep("AddOffsetsToTxn", 2, 4))
def a_wrong_epoch_is_fenced_in_high_versions(conversation: Conversation, version: int) -> None:
    """AddOffsetsToTxn v{version} with another epoch gets PRODUCER_FENCED."""
    ana = conversation.actor("ana")
    producer = initialised(ana)

    ana.sends(
        ask.add_offsets_to_txn(
            version=version, producer_id=producer.producer_id, producer_epoch=producer.producer_epoch + 1
        )
    )
    ana.receives(expect.add_offsets_to_txn(error_code="PRODUCER_FENCED"))
    ana.asks(producer.adds(version=version), error_code="NONE")


@scenario("transactions/add/ladder", source=ADDS, clauses=("AO-04", "AO-02"))
def the_transactional_id_is_checked_before_the_producer(conversation: Conversation) -> None:
    """AddOffsetsToTxn and EndTxn check transactional id, then producer id, then producer epoch."""
    ana = conversation.actor("ana")
    producer = initialised(ana)
    stranger, past = producer.producer_id + 1_000_000, producer.producer_epoch - 1

    for transactional_id, producer_id, error in (
        ("", stranger, "INVALID_REQUEST"),
        (conversation.group("nobody's"), producer.producer_id, "INVALID_PRODUCER_ID_MAPPING"),
        (producer.transactional_id, stranger, "INVALID_PRODUCER_ID_MAPPING"),
        (producer.transactional_id, producer.producer_id, "INVALID_PRODUCER_EPOCH"),
    ):
        ana.sends(
            ask.add_offsets_to_txn(
                transactional_id=transactional_id, producer_id=producer_id, producer_epoch=past
            )
        )
        ana.receives(expect.add_offsets_to_txn(error_code=error))
        ana.sends(
            ask.end_txn(
                transactional_id=transactional_id,
                producer_id=producer_id,
                producer_epoch=past,
                committed=True,
            )
        )
        ana.receives(expect.end_txn(error_code=error))


@scenario("transactions/end/future-epoch", source=ENDS, clauses=("AO-02",))
def an_end_with_a_future_epoch_is_refused(conversation: Conversation) -> None:
    """EndTxn with a future epoch is refused, but in 2.4 ends the transaction without ever completing."""
    producer = pending(conversation)
    ana = producer.actor

    ana.sends(
        ask.end_txn(
            producer_id=producer.producer_id, producer_epoch=producer.producer_epoch + 1, committed=True
        )
    )
    ana.receives(expect.end_txn(error_code="INVALID_PRODUCER_EPOCH"))
    ana.asks(producer.ends(committed=True), expect.response("EndTxn"))
    conversation.elapses(500)
    ana.asks(ask.offset_fetch(topics={"orders": (0,)}), expect.response("OffsetFetch", error_code="NONE"))


@scenario("transactions/end/twice", source=ENDS, clauses=("OF-20",))
def what_is_decided_stays_decided(conversation: Conversation) -> None:
    """Up to v4 EndTxn may be repeated, but not reversed; without a transaction it gets INVALID_TXN_STATE."""
    ana = conversation.actor("ana")
    producer = initialised(ana)
    ana.asks(producer.ends(committed=True), error_code="INVALID_TXN_STATE")
    ana.asks(producer.adds(), error_code="NONE")
    ana.asks(producer.commits(ORDER_0), TAKEN)
    ends(producer, committed=True)
    sees(ana, {"orders": {0: 42}})

    ana.repeats(producer.ends(committed=True), until=expect.end_txn(error_code="NONE"))
    ana.asks(producer.ends(committed=False), error_code="INVALID_TXN_STATE")


@scenario("transactions/end/next-transaction", source=ENDS, clauses=("OF-20", "OF-21"))
def transactions_follow_each_other(conversation: Conversation) -> None:
    """A producer aborts one transaction and commits the next, each with its own offsets."""
    producer = pending(conversation)
    ana = producer.actor
    ends(producer, committed=False)

    ana.repeats(producer.adds(), until=expect.add_offsets_to_txn(error_code="NONE"))
    ana.asks(producer.commits({"orders": {1: 43}}), expect.txn_offset_commit({"orders": {1: "NONE"}}))
    ends(producer, committed=True)
    sees(ana, {"orders": {0: -1, 1: 43}})


@scenario("transactions/end/version-5", source="KIP-890", clauses=("TC-04",))
def version_5_gives_a_new_epoch_each_time(conversation: Conversation) -> None:
    """EndTxn v5 returns a new epoch, which the next transaction needs; the old one may only repeat."""
    ana = conversation.actor("ana")
    producer = initialised(ana)
    ana.sends(producer.ends(committed=True, version=5))
    ana.receives(expect.end_txn(error_code="INVALID_TXN_STATE", producer_id=-1, producer_epoch=-1))
    ana.asks(producer.commits(ORDER_0, version=5), TAKEN)
    ana.sends(producer.ends(committed=True, version=5))
    ended = ana.receives(expect.end_txn(error_code="NONE", producer_epoch=1))
    sees(ana, {"orders": {0: 42}})

    ana.repeats(
        producer.ends(committed=True, version=5),
        until=expect.end_txn(error_code="NONE", producer_epoch=1),
    )
    ana.asks(producer.ends(committed=False, version=5), error_code="INVALID_TXN_STATE")
    ana.sends(producer.commits({"orders": {0: 43}}, version=5))
    ana.receives(expect.txn_offset_commit({"orders": {0: "INVALID_PRODUCER_EPOCH"}}))
    ana.asks(producer.commits({"orders": {0: 44}}, version=5, producer_epoch=ended["producer_epoch"]), TAKEN)
    ana.sends(
        ask.end_txn(
            version=5,
            producer_id=ended["producer_id"],
            producer_epoch=ended["producer_epoch"],
            committed=False,
        )
    )
    ana.receives(expect.end_txn(error_code="NONE", producer_epoch=2))
    ana.repeats(
        ask.offset_fetch(version=7, topics={"orders": (0,)}, require_stable=True),
        until=expect.offset_fetch({"orders": {0: 42}}),
    )


@scenario("transactions/end/version-5-empty", source="KIP-890", clauses=("TC-04",))
def version_5_aborts_what_never_began(conversation: Conversation) -> None:
    """EndTxn v5 may abort without a transaction, repeatedly, each time with a new epoch."""
    ana = conversation.actor("ana")
    producer = initialised(ana)

    ana.sends(producer.ends(committed=False, version=5))
    ended = ana.receives(expect.end_txn(error_code="NONE", producer_epoch=1))
    again = ask.end_txn(
        version=5, producer_id=ended["producer_id"], producer_epoch=ended["producer_epoch"], committed=False
    )
    ana.repeats(again, until=expect.end_txn(error_code="NONE", producer_epoch=2))
    ana.repeats(producer.ends(committed=False, version=5), until=expect.end_txn(error_code="PRODUCER_FENCED"))


@scenario("transactions/init/fences", source=INITIALISES, clauses=("OF-21",))
def a_new_producer_aborts_the_former_ones_transaction(conversation: Conversation) -> None:
    """InitProducerId for a transactional id in use aborts its transaction and fences its producer."""
    producer = pending(conversation)
    ana, bob = producer.actor, conversation.actor("bob")

    bob.sends(ask.init_producer_id())
    bob.receives(expect.init_producer_id(error_code="CONCURRENT_TRANSACTIONS", producer_id=-1))
    bob.repeats(ask.init_producer_id(), until=expect.init_producer_id(error_code="NONE"))
    ana.asks(producer.ends(committed=True), error_code="INVALID_PRODUCER_EPOCH")
    ana.sends(producer.commits({"orders": {1: 43}}))
    ana.receives(expect.response("TxnOffsetCommit", topics=({"partitions": ({"partition_index": 1},)},)))
    ana.asks(ask.offset_fetch(topics={"orders": (0,)}), expect.offset_fetch({"orders": {0: -1}}))


@scenario("transactions/init/again", source=INITIALISES, clauses=("AO-02",))
def each_start_gives_a_new_epoch(conversation: Conversation) -> None:
    """InitProducerId returns the same producer id with the next epoch; another id gets another producer."""
    ana, bob = conversation.actors("ana", "bob")
    producer = initialised(ana)

    ana.sends(ask.init_producer_id())
    ana.receives(
        expect.init_producer_id(error_code="NONE", producer_id=producer.producer_id, producer_epoch=1)
    )
    ana.asks(producer.adds(), error_code="INVALID_PRODUCER_EPOCH")
    initialised(bob, conversation.group("txn-of-bob"))
    bob.sends(ask.init_producer_id(transactional_id=None))
    bob.receives(expect.init_producer_id(error_code="NONE", producer_epoch=0))


@scenario("transactions/init/continued", source="KIP-360", clauses=("AO-03",))
def a_producer_that_names_itself_goes_on(conversation: Conversation) -> None:
    """InitProducerId v3+ with producer id and epoch returns the next epoch, also when repeated."""
    ana = conversation.actor("ana")
    producer = initialised(ana)
    named = ask.init_producer_id(
        version=3, producer_id=producer.producer_id, producer_epoch=producer.producer_epoch
    )

    for _ in range(2):
        ana.sends(named)
        ana.receives(
            expect.init_producer_id(error_code="NONE", producer_id=producer.producer_id, producer_epoch=1)
        )
    ana.sends(
        ask.init_producer_id(
            version=3, producer_id=producer.producer_id, producer_epoch=producer.producer_epoch + 7
        )
    )
    ana.receives(expect.init_producer_id(error_code="INVALID_PRODUCER_EPOCH"))
    ana.sends(ask.init_producer_id(version=3, producer_id=producer.producer_id, producer_epoch=-1))
    ana.receives(expect.init_producer_id(error_code="INVALID_REQUEST", producer_id=-1, producer_epoch=-1))


@scenario(
    "transactions/init/continued-when-fenced",
    source="KIP-890",
    clauses=("AO-03",),
    sweep=sweep("InitProducerId", 3, 5),
)
def a_fenced_producer_may_come_back(conversation: Conversation, version: int) -> None:
    """A producer fenced by another's InitProducerId may continue with v{version} only in 4.x."""
    ana, bob = conversation.actors("ana", "bob")
    producer = announced(ana)
    bob.asks(ask.init_producer_id(), error_code="CONCURRENT_TRANSACTIONS")

    ana.repeats(
        ask.init_producer_id(
            version=version, producer_id=producer.producer_id, producer_epoch=producer.producer_epoch
        ),
        until=expect.init_producer_id(error_code=one_of("NONE", "INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED")),
    )


@scenario("transactions/init/refused", source=INITIALISES, clauses=("AO-04",))
def a_producer_needs_a_name_and_a_timeout(conversation: Conversation) -> None:
    """InitProducerId refuses an empty transactional id, then a timeout that is not positive or too long."""
    ana = conversation.actor("ana")
    finds_its_coordinator(ana)
    initialised(ana)

    for transactional_id, timeout_ms, error in (
        ("", 0, "INVALID_REQUEST"),
        (conversation.group("txn"), 0, "INVALID_TRANSACTION_TIMEOUT"),
        (conversation.group("txn"), 900_001, "INVALID_TRANSACTION_TIMEOUT"),
    ):
        ana.sends(ask.init_producer_id(transactional_id=transactional_id, transaction_timeout_ms=timeout_ms))
        ana.receives(expect.init_producer_id(error_code=error, producer_id=-1, producer_epoch=-1))
