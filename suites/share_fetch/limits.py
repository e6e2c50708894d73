"""How many records a ShareFetch acquires, from one partition or several, and how many sessions there are."""

from harness.scenario import Conversation, ask, expect, scenario
from harness.scenario.ask_shares import ACCEPT, RELEASE
from suites.share_fetch.acquiring import RECORD_LIMIT
from suites.share_fetch.deliveries import BATCH_OF_TWO
from suites.share_fetch.readers import (
    FIRST_MS,
    RELEASED_MS,
    Reader,
    another,
    has_state,
    reader,
    topic_of,
    writes,
)

ACQUIRES = "SharePartition#acquire"
MOST = "ShareFetchUtils#processFetchResponse"


def reads_two(conversation: Conversation) -> Reader:
    """Return a member with a session for two empty partitions."""
    actor = conversation.actor("ana")
    topic = topic_of(conversation, actor, partitions=2)
    has_state(actor, topic, partitions=(0, 1))
    ana = Reader(actor, topic, partitions=(0, 1))
    ana.sends_fetch(max_wait_ms=FIRST_MS)
    actor.receives(expect.share_fetch(acquired={topic: {0: (), 1: ()}}))
    return ana


@scenario("share_fetch/limits/over-partitions", source=MOST, clauses=("SF-28", "SF-24"))
def partitions_share_the_number_of_records(conversation: Conversation) -> None:
    """If the first partition has max_records records, the second gives none; it comes first the next time."""
    ana = reads_two(conversation)
    for partition in (0, 1):
        writes(ana.actor, ana.topic, 3, 3, partition=partition)
    for _ in range(4):
        ana.fetches(max_records=3)
        # A broker may hold a partition for a moment after its answer, and passes it over then.
        conversation.elapses(RELEASED_MS)


@scenario("share_fetch/limits/over-partitions-in-batches", source=MOST, clauses=("SF-28", "SF-34"))
def batches_of_a_partition_count_together(conversation: Conversation) -> None:
    """All batches that are acquired of the first partition count for max_records."""
    ana = reads_two(conversation)
    for partition in (0, 1):
        writes(ana.actor, ana.topic, 2, 2, 2, partition=partition)
    ana.fetches(max_records=7, batch_size=1)


@scenario("share_fetch/limits/exactly-released", source=ACQUIRES, clauses=("SF-28",))
def released_records_may_be_enough(conversation: Conversation) -> None:
    """A ShareFetch for as many records as were released gets no new ones."""
    ana = reader(conversation, 2)
    ana.fetches((0, 1, 1))
    ana.acknowledges((0, 1, (RELEASE,)))
    writes(ana.actor, ana.topic, 2)
    ana.fetches((0, 1, 2), max_records=2)
    ana.fetches((2, 3, 1))


@scenario("share_fetch/limits/released-whole", source=ACQUIRES, clauses=("SF-28",))
def a_released_batch_comes_whole(conversation: Conversation) -> None:
    """A released batch comes as a whole, even if it has more than max_records records."""
    ana = reader(conversation, 6)
    ana.fetches((0, 5, 1))
    ana.acknowledges((0, 5, (RELEASE,)))
    ana.fetches((0, 5, 2), max_records=3)


@scenario("share_fetch/limits/passed-over", source=ACQUIRES, clauses=("SF-28", "SF-09"))
def a_batch_that_is_read_in_part_stays_whole(conversation: Conversation) -> None:
    """A batch of another member that a ShareFetch reads in part is released as a whole later."""
    ana = reader(conversation, 2, 2, 2)
    bob = another(conversation, ana)
    ana.fetches((0, 1, 1), max_records=1)
    bob.fetches((2, 5, 1))
    ana.acknowledges((0, 1, (RELEASE,)))
    ana.fetches((0, 1, 2), max_bytes=2 * BATCH_OF_TWO)
    bob.acknowledges((2, 5, (RELEASE,)))
    ana.fetches((2, 5, 2))


@scenario(
    "share_fetch/limits/record-limit-unreached",
    source="SharePartition#createBatches, KIP-1206",
    clauses=("SF-28",),
)
def fewer_records_than_the_limit_come_together(conversation: Conversation) -> None:
    """In record-limit mode, a ShareFetch acquires all records if there are no more than max_records."""
    ana = reader(conversation, 3)
    ana.fetches((0, 2, 1), version=2, max_records=7, share_acquire_mode=RECORD_LIMIT)
    writes(ana.actor, ana.topic, 2)
    ana.fetches((3, 4, 1), version=2, max_records=2, share_acquire_mode=RECORD_LIMIT)
    ana.acknowledges((0, 4, (ACCEPT,)))
    ana.gets_nothing(version=2)


@scenario("share_fetch/limits/two-members", source="ShareSessionCache#remove", clauses=("SF-20", "SF-15"))
def a_session_ends_by_itself(conversation: Conversation) -> None:
    """When a member's connection closes, the records of another member of the group stay acquired."""
    ana = reader(conversation, 2, 2)
    bob = another(conversation, ana)
    bob.fetches((0, 1, 1), max_records=1, version=2)
    ana.fetches((2, 3, 1), version=2)
    ana.actor.disconnects()
    conversation.elapses(RELEASED_MS)
    bob.fetches((2, 3, 2), version=2)
    bob.acknowledges((0, 3, (ACCEPT,)))


@scenario(
    "share_fetch/limits/by-duration",
    source="SharePartition#startOffsetDuringInitialization",
    clauses=("SF-31",),
)
def a_group_may_begin_some_time_ago(conversation: Conversation) -> None:
    """With share.auto.offset.reset=by_duration, a group starts with the first record that is not older."""
    actor = conversation.actor("ana")
    topic = topic_of(conversation, actor, 3)
    long_ago = {"share.auto.offset.reset": "by_duration:P30000D"}
    actor.asks(ask.group_configs(long_ago), expect.group_configs(error_code="NONE"))
    actor.awaits_metadata()
    has_state(actor, topic, offset=-1)
    Reader(actor, topic).fetches((0, 2, 1))


@scenario(
    "share_fetch/limits/added", source="CachedSharePartition#maybeUpdateResponseData", clauses=("SF-24",)
)
def an_added_partition_is_said_once(conversation: Conversation) -> None:
    """A partition that is added to a session is in the next answer without records, but not in later ones."""
    ana = reader(conversation)
    asked = ask.share_fetch(member_id=ana.member_id, share_session_epoch=0)
    ana.actor.asks(asked, expect.share_fetch(acquired={}))
    later = ask.share_fetch(
        member_id=ana.member_id, share_session_epoch=1, topics={ana.topic: {0: ()}}, max_wait_ms=FIRST_MS
    )
    ana.actor.asks(later, expect.share_fetch(acquired={ana.topic: {0: ()}}))
    ana.epoch = 2
    ana.gets_nothing()
