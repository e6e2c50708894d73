"""Records that a leader does not find in the share state: those between the batches that it has read."""

from harness.scenario import Conversation, ask, expect, scenario
from harness.scenario.ask_shares import ACCEPT, RELEASE, Batches
from suites.share_fetch.readers import Reader, reader, writes

ACQUIRES = "SharePartition#acquire"
READS = "SharePartition#maybeInitialize"
MOVES = "SharePartition#maybeUpdateCachedStateAndOffsets"
FINDS = "SharePartition#nextFetchOffset"
AVAILABLE, ACKNOWLEDGED = 0, 2


def finds(conversation: Conversation, *sizes: int, state: Batches) -> Reader:
    """Return a member of a group whose state begins at offset 0 and has these batches."""
    ana = reader(conversation, *sizes)
    writing = ask.write_share_group_state(ana.topic, batches=state)
    ana.actor.asks(writing, expect.share_state("Write", "NONE"))
    return ana


def is_behind(member: Reader, first: int, last: int) -> None:
    """Expect that records are before the start offset, where they may be acknowledged again."""
    member.acknowledges((first, last, (ACCEPT,)))


def is_in_flight(member: Reader, first: int, last: int) -> None:
    """Expect that settled records are not before the start offset."""
    member.acknowledges((first, last, (ACCEPT,)), error_code="INVALID_RECORD_STATE")


@scenario("share_fetch/gaps/between", source=ACQUIRES, clauses=("SI-04", "SF-08"))
def records_between_are_new(conversation: Conversation) -> None:
    """Records before and between the batches of the share state are acquired as new ones."""
    state = ((2, 3, AVAILABLE, 1), (6, 7, ACKNOWLEDGED, 1))
    ana = finds(conversation, 2, 2, 2, 2, 2, state=state)
    ana.fetches((0, 1, 1), (2, 3, 2), (4, 5, 1), (8, 9, 1))
    ana.acknowledges((0, 9, (ACCEPT,)), error_code="INVALID_RECORD_STATE")
    ana.acknowledges((0, 5, (ACCEPT,)), (8, 9, (RELEASE,)))
    is_behind(ana, 0, 7)
    ana.fetches((8, 9, 2))


@scenario("share_fetch/gaps/one-by-one", source=FINDS, clauses=("SI-04", "SF-28"))
def gaps_come_in_their_order(conversation: Conversation) -> None:
    """Fetches for few records get gaps and batches of the share state in the order of their offsets."""
    state = ((2, 3, AVAILABLE, 1), (6, 7, AVAILABLE, 1))
    ana = finds(conversation, 2, 2, 2, 2, 2, state=state)
    for first, deliveries in ((0, 1), (2, 2), (4, 1), (6, 2), (8, 1)):
        ana.fetches((first, first + 1, deliveries), max_records=2)
    ana.gets_nothing()


@scenario("share_fetch/gaps/settled", source=MOVES, clauses=("SI-04", "SF-08"))
def a_gap_is_not_settled(conversation: Conversation) -> None:
    """The start offset does not pass a gap between settled batches until its records are settled."""
    state = ((0, 1, ACKNOWLEDGED, 1), (4, 5, ACKNOWLEDGED, 1))
    ana = finds(conversation, 2, 2, 2, 2, state=state)
    ana.fetches((2, 3, 1), max_records=2)
    is_in_flight(ana, 4, 5)
    ana.acknowledges((2, 3, (ACCEPT,)))
    is_behind(ana, 0, 3)
    ana.fetches((6, 7, 1))
    ana.acknowledges((6, 6, (ACCEPT,)))
    is_behind(ana, 4, 6)


@scenario("share_fetch/gaps/two", source=READS, clauses=("SI-04", "SF-08"))
def the_first_gap_counts(conversation: Conversation) -> None:
    """Of several gaps the first one is fetched first, also if settled records are before it."""
    state = ((0, 1, ACKNOWLEDGED, 1), (4, 5, ACKNOWLEDGED, 1), (8, 9, AVAILABLE, 1))
    ana = finds(conversation, 2, 2, 2, 2, 2, state=state)
    ana.fetches((2, 3, 1), max_records=2)
    ana.fetches((6, 7, 1), (8, 9, 2))
    ana.acknowledges((2, 3, (ACCEPT,)), (6, 9, (ACCEPT,)))
    is_behind(ana, 0, 9)


@scenario("share_fetch/gaps/none", source=READS, clauses=("SI-04", "SF-08"))
def share_state_may_have_no_gap(conversation: Conversation) -> None:
    """Batches of the share state that follow each other from the start offset on have no gap."""
    state = ((0, 1, AVAILABLE, 1), (2, 3, ACKNOWLEDGED, 1))
    ana = finds(conversation, 2, 2, 2, state=state)
    ana.fetches((0, 1, 2), max_records=2)
    ana.acknowledges((0, 1, (ACCEPT,)))
    is_behind(ana, 2, 3)
    ana.fetches((4, 5, 1))


@scenario(
    "share_fetch/gaps/within-a-batch", source="SharePartition#acquireNewBatchRecords", clauses=("SF-28",)
)
def a_gap_ends_within_a_batch(conversation: Conversation) -> None:
    """Since 4.2, a gap that ends within a batch of the log is acquired up to its end, and no further."""
    ana = finds(conversation, 10, state=((5, 9, AVAILABLE, 1),))
    ana.fetches(max_records=2)
    ana.fetches((5, 9, 2))


@scenario("share_fetch/gaps/across-batches", source=ACQUIRES, clauses=("SF-28",))
def a_batch_of_the_state_may_end_within_one_of_the_log(conversation: Conversation) -> None:
    """The rest of a batch of the share state is acquired before the new records of the same log batch."""
    ana = finds(conversation, 3, 3, state=((0, 3, AVAILABLE, 1),))
    ana.fetches((0, 2, 2), version=2, max_bytes=1)
    ana.fetches((3, 3, 2), (4, 5, 1), version=2)


@scenario("share_fetch/gaps/behind-a-part", source=MOVES, clauses=("SI-04", "SF-10"))
def a_part_before_a_gap_stays(conversation: Conversation) -> None:
    """Part of a batch of the share state, accepted while a gap is open, stays in flight."""
    state = ((0, 3, AVAILABLE, 1), (6, 7, AVAILABLE, 1))
    ana = finds(conversation, 2, 2, 2, 2, state=state)
    ana.fetches((0, 1, 2), version=2, max_bytes=1)
    ana.acknowledges((0, 1, (ACCEPT,)))
    is_in_flight(ana, 0, 1)
    ana.fetches((2, 3, 2), (4, 5, 1), (6, 7, 2), version=2)


@scenario("share_fetch/gaps/to-the-end", source=MOVES, clauses=("SI-04", "SF-10"))
def the_last_record_closes_a_gap(conversation: Conversation) -> None:
    """Once the records before the last one of the share state are acquired, the gap is one record wide."""
    state = ((2, 3, AVAILABLE, 1), (7, 7, ACKNOWLEDGED, 1))
    ana = finds(conversation, 2, 2, 3, 1, state=state)
    ana.fetches((0, 1, 1), (2, 3, 2), (4, 6, 1))
    ana.acknowledges((0, 6, (ACCEPT,)))
    is_in_flight(ana, 7, 7)
    writes(ana.actor, ana.topic, 1)
    ana.fetches((8, 8, 1))
    ana.acknowledges((8, 8, (ACCEPT,)))
    is_behind(ana, 7, 8)


@scenario(
    "share_fetch/gaps/unread", source="SharePartition#fetchSubMapForAcknowledgementBatch", clauses=("SF-21",)
)
def a_gap_cannot_be_acknowledged(conversation: Conversation) -> None:
    """Acknowledging records of a gap that nobody has acquired gets INVALID_RECORD_STATE."""
    ana = finds(conversation, 2, 2, 2, state=((4, 5, AVAILABLE, 1),))
    ana.fetches((0, 1, 1), max_records=2)
    ana.acknowledges((0, 3, (ACCEPT,)), error_code="INVALID_REQUEST")
    ana.acknowledges((0, 1, (ACCEPT,)))
    ana.acknowledges((2, 3, (ACCEPT,)), error_code="INVALID_RECORD_STATE")
    ana.fetches((2, 3, 1), (4, 5, 2))
