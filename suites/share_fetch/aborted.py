"""Aborted transactions among the records that a ShareFetch reads with read_committed."""

from harness.scenario import Conversation, ask, expect, scenario
from harness.scenario.ask_shares import ACCEPT
from suites.share_fetch.isolation import readers, writes_in_transaction
from suites.share_fetch.readers import Reader, writes
from suites.transactions.producers import Producer, ends, is_through

FILTERS = "SharePartition#filterAbortedTransactionalAcquiredRecords"
FINDS = "SharePartition#fetchAbortedTransactionRecordBatches"
CUTS = "SharePartition#filterRecordBatchesFromAcquiredRecords"


def writes_through(
    zoe: Producer, ana: Reader, count: int, *, committed: bool, base_sequence: int = 0
) -> None:
    """Let a producer write records in a transaction, and end it."""
    writes_in_transaction(zoe, ana, count, base_sequence=base_sequence)
    ends(zoe, committed=committed)
    is_through(zoe, committed=committed)


@scenario("share_fetch/aborted/in-between", source=FILTERS, clauses=("SF-32",))
def aborted_records_in_between_are_archived(conversation: Conversation) -> None:
    """Aborted records between others that are acquired with them are left out, and are settled."""
    ana, zoe = readers(conversation, reads_committed=True)
    writes_through(zoe, ana, 3, committed=False)
    writes(ana.actor, ana.topic, 2)
    ana.fetches((0, 1, 1), (5, 7, 1))
    ana.acknowledges((0, 1, (ACCEPT,)), (5, 6, (ACCEPT,)))
    ana.acknowledges((0, 6, (ACCEPT,)))
    ana.gets_nothing()


@scenario("share_fetch/aborted/counted", source=FILTERS, clauses=("SF-32", "SI-04"))
def aborted_records_are_counted(conversation: Conversation) -> None:
    """Aborted records count as settled in the share state."""
    ana, zoe = readers(conversation, reads_committed=True)
    writes_through(zoe, ana, 3, committed=False)
    ana.fetches((0, 1, 1), (5, 5, 1))
    ana.acknowledges((1, 1, (ACCEPT,)))
    summary = expect.share_state("Summary", "NONE", start_offset=0, delivery_complete_count=4)
    ana.actor.asks(ask.share_group_state_summary(ana.topic, version=1), summary)


@scenario("share_fetch/aborted/then-committed", source=FINDS, clauses=("SF-32",))
def a_producer_may_commit_after_it_aborted(conversation: Conversation) -> None:
    """After an aborted transaction of a single record, the producer's committed records are acquired."""
    ana, zoe = readers(conversation, reads_committed=True)
    writes_through(zoe, ana, 1, committed=False)
    writes_through(zoe, ana, 2, committed=True, base_sequence=1)
    ana.fetches((0, 1, 1), (3, 6, 1))
    ana.acknowledges((0, 1, (ACCEPT,)), (3, 6, (ACCEPT,)))
    ana.gets_nothing()


@scenario("share_fetch/aborted/batch-by-batch", source=CUTS, clauses=("SF-32", "SF-34"))
def an_aborted_batch_may_be_acquired_by_itself(conversation: Conversation) -> None:
    """Of records that are acquired batch by batch, an aborted batch of one record is left out as a whole."""
    ana, zoe = readers(conversation, reads_committed=True)
    writes_through(zoe, ana, 1, committed=False)
    ana.fetches((0, 1, 1), (3, 3, 1), batch_size=1)
    ana.acknowledges((0, 1, (ACCEPT,)), (3, 3, (ACCEPT,)))
    ana.gets_nothing()
