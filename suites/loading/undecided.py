"""Transactions that cannot end while the group coordinator loads, and offsets without a group.

The Java coordinator writes the markers of its own log, and cannot before it is loaded; the Scala one lets the
broker write them.
"""

from harness.scenario import Breakpoint, Capability, Conversation, ask, expect, scenario
from suites.loading.transactions import decides
from suites.transactions.producers import ORDER_0, TAKEN, Producer, announces, initialised, sees

PAUSES = (Capability.RESTART, Capability.PAUSE_AT_LOADING)
SOURCE = "TransactionCoordinator#handleEndTransaction"


def _decides_while_loading(conversation: Conversation, *, committed: bool, version: int) -> Producer:
    """Let a producer with a pending offset end its transaction while the group coordinator loads."""
    ana = conversation.actor("ana")
    producer = initialised(ana)
    announces(producer)
    ana.asks(producer.commits(ORDER_0), TAKEN)
    conversation.pauses_at(Breakpoint.LOADING)
    conversation.restarts_coordinator()
    ana.repeats(
        producer.ends(committed=committed, version=version),
        until=expect.end_txn(error_code="NONE"),
        within_ms=10_000,
    )
    return producer


def _asks_meanwhile(conversation: Conversation, producer: Producer, *, version: int) -> None:
    """Send all requests that a transaction between EndTxn and its markers may refuse.

    Where the broker itself writes the markers, this has happened by then.
    """
    ana = producer.actor
    conversation.elapses(1_000)
    for committed in (True, False):
        ana.asks(producer.ends(committed=committed, version=version), expect.response("EndTxn"))
        ana.sends(
            ask.end_txn(
                version=version,
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch + 1,
                committed=committed,
            )
        )
        ana.receives(expect.response("EndTxn"))
    ana.asks(producer.adds(), expect.response("AddOffsetsToTxn"))
    ana.asks(ask.init_producer_id(), expect.response("InitProducerId"))


@scenario("loading/held/commit-without-end", source=SOURCE, needs=PAUSES)
def a_commit_cannot_end(conversation: Conversation) -> None:
    """A transaction whose commit waits for the load may be committed again, but not aborted or used."""
    producer = _decides_while_loading(conversation, committed=True, version=1)
    _asks_meanwhile(conversation, producer, version=1)

    conversation.resumes_from(Breakpoint.LOADING)
    sees(producer.actor, {"orders": {0: 42}})


@scenario("loading/held/abort-without-end", source=SOURCE, needs=PAUSES)
def an_abort_cannot_end(conversation: Conversation) -> None:
    """A transaction whose abort waits for the load may be aborted again, but not committed or used."""
    producer = _decides_while_loading(conversation, committed=False, version=1)
    _asks_meanwhile(conversation, producer, version=1)

    conversation.resumes_from(Breakpoint.LOADING)
    sees(producer.actor, {"orders": {0: -1}})


@scenario("loading/held/commit-without-end-v5", source="KIP-890", needs=PAUSES)
def a_commit_of_version_2_cannot_end(conversation: Conversation) -> None:
    """EndTxn v5 returns a new epoch at once; with the old one the commit may be repeated, not reversed."""
    producer = _decides_while_loading(conversation, committed=True, version=5)
    _asks_meanwhile(conversation, producer, version=5)

    conversation.resumes_from(Breakpoint.LOADING)
    sees(producer.actor, {"orders": {0: 42}})


@scenario("loading/held/abort-without-end-v5", source="KIP-890", needs=PAUSES)
def an_abort_of_version_2_cannot_end(conversation: Conversation) -> None:
    """EndTxn v5 returns a new epoch at once; with the old one the abort may be repeated, not reversed."""
    producer = _decides_while_loading(conversation, committed=False, version=5)
    _asks_meanwhile(conversation, producer, version=5)

    conversation.resumes_from(Breakpoint.LOADING)
    sees(producer.actor, {"orders": {0: -1}})


@scenario(
    "loading/transaction/of-a-deleted-group",
    source="GroupMetadataManager#replay",
    needs=(Capability.RESTART,),
)
def offsets_that_outlive_their_group(conversation: Conversation) -> None:
    """Offsets committed after their group was deleted may be visible, before and after a load."""
    ana = conversation.actor("ana")
    producer = initialised(ana)
    announces(producer)
    ana.asks(producer.commits(ORDER_0), TAKEN)
    ana.asks(ask.delete_groups(), expect.response("DeleteGroups"))
    decides(producer)

    for is_loaded in (False, True):
        if is_loaded:
            conversation.restarts_coordinator()
        ana.repeats(
            ask.offset_fetch(topics={"orders": (0,)}),
            until=expect.response("OffsetFetch", error_code="NONE"),
            within_ms=15_000,
        )
        ana.asks(ask.describe_groups(), expect.response("DescribeGroups"))


@scenario("transactions/init/former-producer", source="TransactionCoordinator#prepareInitProducerIdTransit")
def a_producer_that_names_another_is_fenced(conversation: Conversation) -> None:
    """InitProducerId v3 with another producer id than its transaction's is refused."""
    ana = conversation.actor("ana")
    producer = initialised(ana)

    ana.sends(ask.init_producer_id(version=3, producer_id=999_999, producer_epoch=0))
    ana.receives(expect.response("InitProducerId"))
    ana.sends(
        ask.init_producer_id(
            version=3, producer_id=producer.producer_id, producer_epoch=producer.producer_epoch
        )
    )
    ana.receives(expect.response("InitProducerId", error_code="NONE"))
    ana.sends(ask.init_producer_id(version=1, transaction_timeout_ms=900_000))
    ana.receives(expect.response("InitProducerId", error_code="NONE"))
