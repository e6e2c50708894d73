"""The state that the share coordinator keeps of share partitions, as their leaders request it."""

from harness.scenario import Actor, Conversation, GroupRef, ask, expect, scenario
from harness.scenario.ask_shares import ACCEPT, RELEASE
from suites.share_fetch.readers import FIRST_MS, RELEASED_MS, another, has_state, reader, topic_of

BEGINS = "ShareCoordinatorShard#initializeState"
READS = "ShareCoordinatorShard#readStateAndMaybeUpdateLeaderEpoch"
WRITES = "ShareCoordinatorShard#writeState"
DELETES = "ShareCoordinatorShard#deleteState"
SUMS_UP = "ShareCoordinatorShard#readStateSummary"
AVAILABLE, ACKNOWLEDGED, ARCHIVED = 0, 2, 4


def begun(conversation: Conversation, *, epoch: int = 0, offset: int = 0) -> tuple[Actor, GroupRef]:
    """Return an actor that has initialized the state of a partition."""
    actor = conversation.actor("ana")
    topic = topic_of(conversation, actor)
    has_state(actor, topic, epoch=epoch, offset=offset)
    return actor, topic


@scenario("share_fetch/states/begun", source=BEGINS, clauses=("SI-01",))
def state_begins(conversation: Conversation) -> None:
    """Initialized share state has an epoch and an offset, and no batches."""
    ana, topic = begun(conversation, epoch=3, offset=7)
    read = expect.share_state("Read", "NONE", state_epoch=3, start_offset=7, state_batches=())
    ana.asks(ask.read_share_group_state(topic), read)


@scenario("share_fetch/states/fenced", source=BEGINS, clauses=("SI-01",))
def an_older_state_is_fenced(conversation: Conversation) -> None:
    """Share state is not initialized with an older epoch, but with the same or a newer one."""
    ana, topic = begun(conversation, epoch=3)
    for epoch, error in ((2, "FENCED_STATE_EPOCH"), (3, "NONE"), (5, "NONE"), (3, "FENCED_STATE_EPOCH")):
        asked = ask.initialize_share_group_state(topic, state_epoch=epoch, start_offset=epoch)
        ana.asks(asked, expect.share_state("Initialize", error))
    ana.asks(ask.read_share_group_state(topic), expect.share_state("Read", "NONE", start_offset=5))


@scenario("share_fetch/states/none", source=READS, clauses=("SI-02",))
def state_that_there_is_not_cannot_be_read(conversation: Conversation) -> None:
    """Reading or writing missing share state gets INVALID_REQUEST."""
    ana, topic = begun(conversation)
    other = conversation.group("other")
    ana.asks(ask.read_share_group_state(topic, group_id=other), expect.share_state("Read", "INVALID_REQUEST"))
    ana.asks(
        ask.write_share_group_state(topic, group_id=other), expect.share_state("Write", "INVALID_REQUEST")
    )


@scenario("share_fetch/states/older-leader", source=READS, clauses=("SI-03",))
def an_older_leader_is_fenced(conversation: Conversation) -> None:
    """A read with a leader epoch fences requests with older leader epochs: FENCED_LEADER_EPOCH."""
    ana, topic = begun(conversation)
    ana.asks(ask.read_share_group_state(topic, leader_epoch=4), expect.share_state("Read", "NONE"))
    fenced = "FENCED_LEADER_EPOCH"
    ana.asks(ask.read_share_group_state(topic, leader_epoch=3), expect.share_state("Read", fenced))
    ana.asks(ask.write_share_group_state(topic, leader_epoch=3), expect.share_state("Write", fenced))
    ana.asks(ask.write_share_group_state(topic, leader_epoch=4), expect.share_state("Write", "NONE"))


@scenario("share_fetch/states/older-epoch", source=WRITES, clauses=("SI-01",))
def an_older_state_cannot_be_written(conversation: Conversation) -> None:
    """A write with an older state epoch gets FENCED_STATE_EPOCH."""
    ana, topic = begun(conversation, epoch=2)
    for epoch, error in ((1, "FENCED_STATE_EPOCH"), (2, "NONE")):
        asked = ask.write_share_group_state(topic, state_epoch=epoch)
        ana.asks(asked, expect.share_state("Write", error))


@scenario(
    "share_fetch/states/merged", source="PersisterStateBatchCombiner#combineStateBatches", clauses=("SI-04",)
)
def what_is_written_is_merged(conversation: Conversation) -> None:
    """Written batches are merged: overlaps are cut, equal neighbours joined, and the latest state counts."""
    ana, topic = begun(conversation)
    for batches in (
        ((0, 9, AVAILABLE, 1), (10, 14, ACKNOWLEDGED, 1)),
        ((3, 5, ACKNOWLEDGED, 1), (15, 19, ACKNOWLEDGED, 1)),
        ((4, 7, AVAILABLE, 2), (0, 2, AVAILABLE, 0)),
    ):
        ana.asks(ask.write_share_group_state(topic, batches=batches), expect.share_state("Write", "NONE"))
    ana.asks(ask.read_share_group_state(topic), expect.share_state("Read", "NONE"))


@scenario(
    "share_fetch/states/cut", source="PersisterStateBatchCombiner#combineStateBatches", clauses=("SI-04",)
)
def a_start_offset_cuts(conversation: Conversation) -> None:
    """A write with a start offset drops what is before it; one without keeps the offset."""
    ana, topic = begun(conversation)
    first = ask.write_share_group_state(topic, batches=((0, 9, AVAILABLE, 1),), start_offset=4)
    ana.asks(first, expect.share_state("Write", "NONE"))
    second = ask.write_share_group_state(topic, batches=((2, 5, ARCHIVED, 1),))
    ana.asks(second, expect.share_state("Write", "NONE"))
    ana.asks(ask.read_share_group_state(topic), expect.share_state("Read", "NONE", start_offset=4))


@scenario("share_fetch/states/deleted", source=DELETES, clauses=("SI-05",))
def state_is_deleted(conversation: Conversation) -> None:
    """Deleted share state is gone, may be deleted again, and may be initialized with any epoch."""
    ana, topic = begun(conversation, epoch=5)
    for _ in range(2):
        ana.asks(ask.delete_share_group_state(topic), expect.share_state("Delete", "NONE"))
    ana.asks(ask.read_share_group_state(topic), expect.share_state("Read", "INVALID_REQUEST"))
    again = ask.initialize_share_group_state(topic, state_epoch=1)
    ana.asks(again, expect.share_state("Initialize", "NONE"))


@scenario("share_fetch/states/summary", source=SUMS_UP, clauses=("SI-06",))
def a_summary_tells_how_far_a_group_is(conversation: Conversation) -> None:
    """ReadShareGroupStateSummary returns the start offset, or -1 without state."""
    ana, topic = begun(conversation, epoch=2, offset=9)
    other = conversation.group("other")
    ana.asks(ask.share_group_state_summary(topic), expect.share_state("Summary", "NONE", start_offset=9))
    nothing = expect.share_state("Summary", "NONE", start_offset=-1, state_epoch=0)
    ana.asks(ask.share_group_state_summary(topic, group_id=other), nothing)


@scenario("share_fetch/states/summary-counts", source=SUMS_UP, clauses=("SI-06",))
def a_summary_counts_what_is_done(conversation: Conversation) -> None:
    """ReadShareGroupStateSummary v1 counts records after the start offset that need no delivery."""
    ana = reader(conversation, 6)
    ana.fetches((0, 5, 1))
    ana.acknowledges((3, 4, (ACCEPT,)))
    asked = ask.share_group_state_summary(ana.topic, version=1)
    ana.actor.asks(asked, expect.share_state("Summary", "NONE", start_offset=0, delivery_complete_count=2))
    ana.acknowledges((0, 2, (ACCEPT,)))
    ana.actor.asks(asked, expect.share_state("Summary", "NONE", delivery_complete_count=5))


@scenario("share_fetch/states/unknown", source=SUMS_UP, clauses=("SI-07",))
def unknown_partitions_have_no_state(conversation: Conversation) -> None:
    """Initialize, delete and summary of a missing partition get UNKNOWN_TOPIC_OR_PARTITION."""
    ana, topic = begun(conversation)
    unknown = "UNKNOWN_TOPIC_OR_PARTITION"
    ana.asks(ask.initialize_share_group_state(topic, partition=7), expect.share_state("Initialize", unknown))
    ana.asks(ask.delete_share_group_state(topic, partition=7), expect.share_state("Delete", unknown))
    ana.asks(ask.share_group_state_summary(topic, partition=7), expect.share_state("Summary", unknown))
    ana.asks(
        ask.initialize_share_group_state(topic, partition=-1),
        expect.share_state("Initialize", "INVALID_REQUEST"),
    )


@scenario("share_fetch/states/negative", source=SUMS_UP, clauses=("SI-07",))
def partitions_below_0_are_invalid(conversation: Conversation) -> None:
    """Read, write, delete and summary of partition -1 get INVALID_REQUEST."""
    ana, topic = begun(conversation)
    asked = {
        "Read": ask.read_share_group_state(topic, partition=-1),
        "Write": ask.write_share_group_state(topic, partition=-1),
        "Delete": ask.delete_share_group_state(topic, partition=-1),
        "Summary": ask.share_group_state_summary(topic, partition=-1),
    }
    for verb, request in asked.items():
        ana.asks(request, expect.share_state(verb, "INVALID_REQUEST"))


@scenario("share_fetch/states/of-a-leader", source="SharePartition#writeShareGroupState", clauses=("SI-04",))
def a_leader_writes_what_it_hears(conversation: Conversation) -> None:
    """The share state contains what members acknowledged, but not what is in flight."""
    ana = reader(conversation, 6)
    ana.fetches((0, 5, 1))
    ana.acknowledges((0, 5, (ACCEPT, RELEASE, ACCEPT, ACCEPT, RELEASE, RELEASE)))
    ana.actor.asks(ask.read_share_group_state(ana.topic), expect.share_state("Read", "NONE", start_offset=0))
    ana.fetches()
    ana.acknowledges((1, 1, (ACCEPT,)))
    ana.actor.asks(ask.read_share_group_state(ana.topic), expect.share_state("Read", "NONE"))


@scenario("share_fetch/states/begun-anew", source="SharePartition#fetchPersisterError", clauses=("SI-08",))
def a_leader_finds_that_state_has_begun_anew(conversation: Conversation) -> None:
    """A leader whose state was initialized again fails one write, then reads the new state."""
    ana = reader(conversation, 4)
    ana.fetches((0, 3, 1))
    again = ask.initialize_share_group_state(ana.topic, state_epoch=1, start_offset=2)
    ana.actor.asks(again, expect.share_state("Initialize", "NONE"))
    ana.acknowledges((0, 1, (ACCEPT,)), error_code="NOT_LEADER_OR_FOLLOWER")
    ana.fetches()


@scenario(
    "share_fetch/states/read-again", source="SharePartition#maybeInitialize", clauses=("SI-04", "SF-20")
)
def state_outlives_the_last_session(conversation: Conversation) -> None:
    """After the last member has left, the next one finds what was acknowledged, including a gap."""
    ana = reader(conversation, 6)
    ana.fetches((0, 5, 1))
    ana.acknowledges((0, 0, (ACCEPT,)))
    ana.acknowledges((3, 3, (ACCEPT,)))
    ana.actor.disconnects()
    conversation.elapses(RELEASED_MS)
    bob = another(conversation, ana)
    bob.fetches()
    bob.closes()


@scenario("share_fetch/states/not-known", source="RecordState#forId", clauses=("SI-09",))
def a_leader_does_not_know_every_state(conversation: Conversation) -> None:
    """A partition whose share state has an unknown delivery state gets UNKNOWN_SERVER_ERROR."""
    ana = reader(conversation, 3)
    for state in (9, -1):
        writing = ask.write_share_group_state(ana.topic, batches=((0, 1, state, 1),))
        ana.actor.asks(writing, expect.share_state("Write", "NONE"))
        ana.sends_fetch(max_wait_ms=FIRST_MS)
        unknown = {ana.topic: {0: "UNKNOWN_SERVER_ERROR"}}
        ana.actor.receives(expect.share_fetch(acquired=unknown))
        again = ask.initialize_share_group_state(ana.topic, start_offset=1)
        ana.actor.asks(again, expect.share_state("Initialize", "NONE"))
    ana.fetches((1, 2, 1))


@scenario("share_fetch/states/two-epochs", source=WRITES, clauses=("SI-01", "SI-03"))
def the_leader_counts_before_the_state(conversation: Conversation) -> None:
    """A write whose leader epoch and state epoch are both older gets FENCED_LEADER_EPOCH."""
    ana, topic = begun(conversation, epoch=2)
    ana.asks(ask.read_share_group_state(topic, leader_epoch=4), expect.share_state("Read", "NONE"))
    older = ask.write_share_group_state(topic, leader_epoch=3, state_epoch=1)
    ana.asks(older, expect.share_state("Write", "FENCED_LEADER_EPOCH"))
    summary = expect.share_state("Summary", "NONE", leader_epoch=4, state_epoch=2)
    ana.asks(ask.share_group_state_summary(topic), summary)


@scenario("share_fetch/states/partition-behind-the-last", source=BEGINS, clauses=("SI-07",))
def the_number_of_partitions_is_none(conversation: Conversation) -> None:
    """The partition whose number is the topic's number of partitions is unknown."""
    ana, topic = begun(conversation)
    unknown = "UNKNOWN_TOPIC_OR_PARTITION"
    ana.asks(ask.initialize_share_group_state(topic, partition=1), expect.share_state("Initialize", unknown))
    ana.asks(ask.share_group_state_summary(topic, partition=1), expect.share_state("Summary", unknown))


@scenario(
    "share_fetch/states/topic-deleted",
    source="ShareCoordinatorShard#maybeCleanupShareState",
    clauses=("SI-02", "SI-07"),
)
def the_state_of_a_deleted_topic_goes(conversation: Conversation) -> None:
    """The share state of a deleted topic is gone: reading gets INVALID_REQUEST, and it cannot begin anew."""
    ana, topic = begun(conversation, epoch=3)
    ana.asks(ask.delete_topic(topic), expect.delete_topic(error_code="NONE"))
    ana.awaits_metadata()

    beginning = ask.initialize_share_group_state(topic, state_epoch=4)
    ana.asks(beginning, expect.share_state("Initialize", "UNKNOWN_TOPIC_OR_PARTITION"))
    ana.repeats(ask.read_share_group_state(topic), until=expect.share_state("Read", "INVALID_REQUEST"))
