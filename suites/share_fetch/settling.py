"""What is settled: the start offset that moves, and the number of settled records behind it."""

from collections.abc import Sequence

from harness.scenario import Conversation, ask, expect, scenario
from harness.scenario.ask_shares import ACCEPT, REJECT, RELEASE
from suites.share_fetch.dead_letters import ANY_NAME, letters_of
from suites.share_fetch.deliveries import LOCK_MS, SHORT_LOCKS
from suites.share_fetch.readers import Reader, another, reader, writes

MOVES = "SharePartition#maybeUpdateCachedStateAndOffsets"
FINDS = "SharePartition#fetchSubMapForAcknowledgementBatch"
COUNTS = "SharePartition#deliveryCompleteCount"
WAKES = "SharePartition#rollbackOrProcessStateUpdates"
LOCKS = {"group.share.partition.max.record.locks": 100}
WAKES_MS, WAITS_MS = 2_500, 6_000
SINCE_4_2 = 2
"""A version of ShareFetch. Fetches of 4.1 at the limit of records in flight depend on timing."""


def counts(member: Reader, settled: int, *, start_offset: int) -> None:
    """Expect the number of settled records from the start offset on, which share state has since 4.2."""
    summary = expect.share_state(
        "Summary", "NONE", start_offset=start_offset, delivery_complete_count=settled
    )
    member.actor.asks(ask.share_group_state_summary(member.topic, version=1), summary)


@scenario("share_fetch/settling/counted", source=COUNTS, clauses=("SI-04", "SF-09"))
def settled_records_are_counted(conversation: Conversation) -> None:
    """The share state counts accepted and rejected records behind the start offset, not released ones."""
    ana = reader(conversation, 6)
    ana.fetches((0, 5, 1))
    ana.acknowledges((1, 2, (RELEASE,)))
    ana.acknowledges((3, 3, (ACCEPT,)))
    counts(ana, 1, start_offset=0)
    ana.acknowledges((5, 5, (REJECT,)))
    counts(ana, 2, start_offset=0)


@scenario("share_fetch/settling/counted-from-state", source=COUNTS, clauses=("SI-04", "SF-08"))
def settled_records_of_the_state_are_counted(conversation: Conversation) -> None:
    """A leader counts the settled records of the share state that it reads."""
    ana = reader(conversation, 2, 2, 3)
    batches = ((0, 1, 0, 1), (2, 3, 2, 1), (4, 6, 0, 1))
    writing = ask.write_share_group_state(ana.topic, batches=batches)
    ana.actor.asks(writing, expect.share_state("Write", "NONE"))
    ana.fetches((0, 1, 2), (4, 6, 2))
    ana.acknowledges((6, 6, (ACCEPT,)))
    counts(ana, 3, start_offset=0)


@scenario("share_fetch/settling/single", source=MOVES, clauses=("SF-09", "SF-10"))
def a_single_record_moves_the_start(conversation: Conversation) -> None:
    """The start offset moves past an accepted batch of a single record, or the last record of a batch."""
    ana = reader(conversation, 1)
    ana.fetches((0, 0, 1))
    ana.acknowledges((0, 0, (ACCEPT,)))
    ana.acknowledges((0, 0, (ACCEPT,)))
    writes(ana.actor, ana.topic, 3)
    ana.fetches((1, 3, 1))
    ana.acknowledges((1, 2, (ACCEPT,)))
    ana.acknowledges((3, 3, (ACCEPT,)))
    ana.acknowledges((0, 3, (ACCEPT,)))


@scenario("share_fetch/settling/from-before", source=FINDS, clauses=("SF-10", "SF-21"))
def acknowledgements_may_begin_before_the_start(conversation: Conversation) -> None:
    """An acknowledgement may begin before the start offset, where no batches are left, and end behind it."""
    ana = reader(conversation, 2, 2, 2)
    ana.fetches((0, 1, 1), (2, 3, 1), (4, 5, 1), batch_size=1)
    ana.acknowledges((0, 1, (ACCEPT,)))
    ana.acknowledges((0, 2, (ACCEPT,)))
    ana.acknowledges((0, 3, (RELEASE,)))
    ana.fetches((3, 3, 2))
    ana.acknowledges((0, 5, (ACCEPT,)))
    ana.gets_nothing()


@scenario(
    "share_fetch/settling/lock-in-vain",
    source="SharePartition#releaseAcquisitionLockOnTimeout",
    clauses=("SF-25",),
    broker_config=SHORT_LOCKS,
)
def the_lock_of_settled_records_has_no_effect(conversation: Conversation) -> None:
    """The lock of records that were accepted in time releases nothing when it ends."""
    ana = reader(conversation, 2)
    ana.fetches((0, 1, 1))
    ana.acknowledges((0, 1, (ACCEPT,)))
    conversation.elapses(LOCK_MS + 300)
    ana.gets_nothing()
    writes(ana.actor, ana.topic, 1)
    ana.fetches((2, 2, 1))


@scenario("share_fetch/settling/single-held", source="SharePartition#nextFetchOffset", clauses=("SF-29",))
def a_fetch_waits_behind_a_single_record(conversation: Conversation) -> None:
    """A ShareFetch waits while the only record is acquired by another member."""
    ana = reader(conversation, 1)
    bob = another(conversation, ana)
    ana.fetches((0, 0, 1))
    bob.sends_fetch(max_wait_ms=4_000)
    bob.actor.stays_parked(for_ms=400)
    writes(ana.actor, ana.topic, 2)
    bob.is_given((1, 2, 1))


def full(conversation: Conversation) -> tuple[Reader, Reader]:
    """Return a member with as many records as may be in flight, and one that waits for those behind them."""
    ana = reader(conversation, 50, 50, 50)
    bob = another(conversation, ana)
    ana.fetches((0, 99, 1), version=SINCE_4_2)
    return ana, bob


def waits_until(ana: Reader, bob: Reader, *acknowledged: tuple[int, int, Sequence[int]]) -> None:
    """Let one member wait until the other has acknowledged records, and expect those behind them."""
    bob.sends_fetch(max_wait_ms=WAITS_MS, version=SINCE_4_2)
    ana.acknowledges(*acknowledged)
    given = expect.share_fetch(acquired={bob.topic: {0: ((100, 149, 1),)}})
    bob.actor.receives(given, not_after_ms=WAKES_MS)


@scenario("share_fetch/settling/wakes", source=WAKES, clauses=("SF-29", "SF-30"), broker_config=LOCKS)
def a_start_that_moves_wakes_who_waits(conversation: Conversation) -> None:
    """A ShareFetch that waits at the limit of records in flight is answered when the start offset moves."""
    ana, bob = full(conversation)
    waits_until(ana, bob, (0, 49, (ACCEPT,)))


@scenario(
    "share_fetch/settling/dead-letters-wake",
    source="SharePartition#initiateDLQAndArchive (4.4.0)",
    clauses=("SF-29", "SF-30", "SF-36"),
    broker_config={**LOCKS, **ANY_NAME},
)
def dead_letters_wake_who_waits(conversation: Conversation) -> None:
    """A ShareFetch that waits at the limit is answered when rejected records are in the dead letter topic."""
    ana, bob = full(conversation)
    letters_of(conversation, ana)
    waits_until(ana, bob, (0, 49, (REJECT,)))


@scenario("share_fetch/settling/wakes-nobody", source=WAKES, clauses=("SF-29",))
def a_release_wakes_nobody(conversation: Conversation) -> None:
    """A waiting ShareFetch is not answered by a release that leaves the start offset, but after its wait."""
    ana = reader(conversation, 4)
    bob = another(conversation, ana)
    ana.fetches((0, 3, 1), version=SINCE_4_2)
    ana.acknowledges((0, 0, (ACCEPT,)))
    bob.sends_fetch(max_wait_ms=2_000, version=SINCE_4_2)
    ana.acknowledges((2, 2, (RELEASE,)))
    bob.actor.stays_parked(for_ms=500)
    bob.is_given((2, 2, 2))


@scenario(
    "share_fetch/settling/last-at-the-limit",
    source="SharePartition#lastOffsetAndMaxRecordsToAcquire",
    clauses=("SF-30",),
    broker_config=LOCKS,
)
def the_last_record_is_given_at_the_limit(conversation: Conversation) -> None:
    """At the limit of records in flight, the last of them is acquired again if it was released."""
    ana = reader(conversation, 99, 1, 1)
    ana.fetches((0, 98, 1), (99, 99, 1), batch_size=1, max_records=100, version=SINCE_4_2)
    ana.acknowledges((99, 99, (RELEASE,)))
    ana.fetches((99, 99, 2), version=SINCE_4_2)
