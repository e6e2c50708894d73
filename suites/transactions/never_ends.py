"""Transactions that never complete: the log has newer markers, and refuses theirs."""

from typing import Final

from harness.scenario import ANY, Conversation, ask, expect, scenario
from suites.transactions.producers import Producer, ends, pending

REFUSES: Final = "TransactionMarkerRequestCompletionHandler#onComplete"
UNFINISHED: Final = "CONCURRENT_TRANSACTIONS"
OFFSETS: Final = "__consumer_offsets"
_NEWER: Final = 5


def _refused_for_good(conversation: Conversation) -> Producer:
    """Return a producer with a pending offset, whose markers the log refuses."""
    producer = pending(conversation)
    producer.actor.sends(
        ask.write_txn_markers(
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch + _NEWER,
            committed=False,
            topics={OFFSETS: (0,)},
        )
    )
    producer.actor.receives(expect.write_txn_markers({OFFSETS: {0: "NONE"}}))
    return producer


@scenario("transactions/never-ends/asked", source=REFUSES, clauses=("AO-06",))
def a_transaction_that_never_ends_is_asked_for(conversation: Conversation) -> None:
    """Until an ended transaction has completed, its producer's requests get CONCURRENT_TRANSACTIONS.

    Before 4.0 a wrong epoch is reported first.
    """
    producer = _refused_for_good(conversation)
    ana = producer.actor
    ends(producer, committed=True)
    conversation.elapses(300)

    ana.asks(producer.adds(), error_code=UNFINISHED)
    for producer_id, producer_epoch in (
        (producer.producer_id, producer.producer_epoch + 1),
        (producer.producer_id + 1_000_000, producer.producer_epoch),
    ):
        ana.asks(
            ask.add_offsets_to_txn(producer_id=producer_id, producer_epoch=producer_epoch), error_code=ANY
        )
    for committed in (True, False):
        ana.asks(producer.ends(committed=committed), error_code=UNFINISHED)
    ana.asks(ask.init_producer_id(), error_code=UNFINISHED)


@scenario("transactions/never-ends/named", source=REFUSES, clauses=("AO-06",))
def a_stranger_to_a_transaction_that_never_ends(conversation: Conversation) -> None:
    """While an ended transaction cannot complete, another producer id gets CONCURRENT_TRANSACTIONS."""
    producer = _refused_for_good(conversation)
    ana = producer.actor
    ends(producer, committed=False)
    conversation.elapses(300)

    stranger = producer.producer_id + 1_000_000
    ana.asks(ask.init_producer_id(version=3, producer_id=stranger, producer_epoch=0), error_code=UNFINISHED)


@scenario("transactions/never-ends/version-5", source=REFUSES, clauses=("AO-06", "TC-04"))
def version_5_asks_first_whether_a_transaction_has_ended(conversation: Conversation) -> None:
    """EndTxn v5 of another producer id is refused for the id, then with CONCURRENT_TRANSACTIONS."""
    producer = _refused_for_good(conversation)
    ana = producer.actor
    stranger = ask.end_txn(
        version=5,
        producer_id=producer.producer_id + 1_000_000,
        producer_epoch=producer.producer_epoch,
        committed=True,
    )
    ana.asks(stranger, error_code="INVALID_PRODUCER_ID_MAPPING")
    ana.asks(producer.ends(committed=True, version=5), error_code="NONE")
    conversation.elapses(300)

    for asked in (stranger, producer.ends(committed=True, version=5)):
        ana.asks(asked, error_code=UNFINISHED)
