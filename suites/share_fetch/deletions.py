"""Records that are deleted from the log while members have them."""

from harness.scenario import Conversation, ask, expect, scenario
from harness.scenario.ask_shares import ACCEPT, RELEASE
from suites.share_fetch.acquiring import deletes_until
from suites.share_fetch.readers import RELEASED_MS, another, reader, writes

LOSES = "SharePartition#updateCacheAndOffsets"
TAKES = "SharePartition#acknowledgeBatchRecords"
SINCE_4_2 = 2
"""A version of ShareFetch. In 4.1 it depends on timing whether the end of a session counts as a delivery."""
LOCK_MS = 4_000


@scenario(
    "share_fetch/deletions/held-across",
    source="SharePartition#releaseAcquiredRecords",
    clauses=("SF-33", "SF-15"),
)
def the_rest_of_a_batch_returns(conversation: Conversation) -> None:
    """When a session closes, only what the log still has of its batch is delivered again."""
    ana = reader(conversation, 3, 6)
    bob = another(conversation, ana)
    ana.fetches((0, 2, 1), max_records=1, version=SINCE_4_2)
    bob.fetches((3, 8, 1), version=SINCE_4_2)
    ana.acknowledges((0, 2, (RELEASE,)))
    deletes_until(ana, 8)
    ana.gets_nothing(version=SINCE_4_2)
    bob.closes()
    conversation.elapses(RELEASED_MS)
    ana.fetches((8, 8, 2), version=SINCE_4_2)


@scenario(
    "share_fetch/deletions/lock-across",
    source="SharePartition#releaseAcquisitionLockOnTimeout",
    clauses=("SF-33", "SF-25"),
    broker_config={"group.share.min.record.lock.duration.ms": 1_000},
)
def the_rest_of_a_locked_batch_returns(conversation: Conversation) -> None:
    """When a lock times out, only what the log still has of its batch is delivered again."""
    ana = reader(conversation, 3, 6)
    bob = another(conversation, ana)
    configs = ask.group_configs({"share.record.lock.duration.ms": LOCK_MS})
    ana.actor.asks(configs, expect.group_configs(error_code="NONE"))
    ana.actor.awaits_metadata()
    ana.fetches((0, 2, 1), max_records=1)
    bob.fetches((3, 8, 1))
    ana.acknowledges((0, 2, (RELEASE,)))
    deletes_until(ana, 8)
    ana.gets_nothing()
    conversation.elapses(LOCK_MS + 300)
    ana.fetches((8, 8, 2))


@scenario("share_fetch/deletions/of-another", source=TAKES, clauses=("SF-33", "SF-10"))
def lost_records_of_another_may_be_acknowledged(conversation: Conversation) -> None:
    """An acknowledgement may begin in another member's batch that the log has deleted."""
    ana = reader(conversation, 2, 2, 3)
    bob, eve = another(conversation, ana), another(conversation, ana, name="eve")
    ana.fetches((0, 1, 1), max_records=1)
    bob.fetches((2, 3, 1), max_records=1)
    eve.fetches((4, 6, 1))
    ana.acknowledges((0, 1, (RELEASE,)))
    deletes_until(ana, 5)
    ana.gets_nothing()
    eve.acknowledges((2, 6, (ACCEPT,)))
    bob.acknowledges((2, 3, (ACCEPT,)))
    writes(ana.actor, ana.topic, 1)
    ana.fetches((7, 7, 1))


@scenario("share_fetch/deletions/released-one-by-one", source=LOSES, clauses=("SF-33", "SF-09"))
def single_released_records_are_lost(conversation: Conversation) -> None:
    """Of a batch whose records differ, only available ones before the log's start are archived.

    The number of settled records in the share state counts those from the new start offset on.
    """
    ana = reader(conversation, 3, 3)
    ana.fetches((0, 2, 1), (3, 5, 1), batch_size=1, version=SINCE_4_2)
    ana.acknowledges((1, 1, (RELEASE,)), (2, 2, (ACCEPT,)), (4, 4, (ACCEPT,)))
    deletes_until(ana, 4)
    ana.gets_nothing(version=SINCE_4_2)
    writes(ana.actor, ana.topic, 1)
    ana.fetches((6, 6, 1), version=SINCE_4_2)
    ana.acknowledges((6, 6, (ACCEPT,)))
    summary = expect.share_state("Summary", "NONE", start_offset=4, delivery_complete_count=2)
    ana.actor.asks(ask.share_group_state_summary(ana.topic, version=1), summary)


@scenario("share_fetch/deletions/up-to-a-batch", source="SharePartition#archiveRecords", clauses=("SF-33",))
def a_batch_at_the_start_is_whole(conversation: Conversation) -> None:
    """A released batch at the log's new start is delivered as a whole."""
    ana = reader(conversation, 3, 3)
    ana.fetches((0, 2, 1), (3, 5, 1), batch_size=1)
    ana.acknowledges((0, 2, (RELEASE,)), (3, 5, (RELEASE,)))
    deletes_until(ana, 3)
    ana.gets_nothing()
    ana.fetches((3, 5, 2))
