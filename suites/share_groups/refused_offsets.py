"""Offsets of share groups that cannot be described, altered or deleted, or only in part."""

from typing import Final

from harness.scenario import Conversation, ask, expect, one_of, scenario
from suites.consumer_groups.membership import topic_made
from suites.share_fetch.readers import has_state, topic_of
from suites.share_groups.membership import share_group_is, sole_sharer
from suites.share_groups.offsets import ALTERS, DELETES, DESCRIBES, NO_TOPIC, altered, deleted

FENCES = "GroupCoordinatorService#persisterInitialize"
RETRIES = "GroupMetadataManager#subscribedTopicsChangeMap"
VALIDATES = "DefaultStatePersister#validateGroupTopicPartitionData"
BEGINS = "GroupMetadataManager#maybeCreateInitializeShareGroupStateRequest (4.4.0)"
FENCED = "FENCED_STATE_EPOCH"
SHORT_RETRIES: Final = {"group.share.initialize.retry.interval.ms": "1"}
"""The interval is no shorter than offsets.commit.timeout.ms, whose default is five seconds."""
RETRY_MS: Final = 5_000
REFUSED_MS: Final = 500
"""Long enough for a broker to record that state was refused."""


@scenario("share_groups/offsets/alter-past-end", source=ALTERS, clauses=("SO-04",))
def the_partition_behind_the_last_is_refused(conversation: Conversation) -> None:
    """Of a topic's last partition and the next one, only the first can be altered."""
    ana = conversation.share_member("ana")

    ana.asks(
        ask.alter_share_group_offsets(topics={"orders": {2: 4, 3: 1}}),
        altered("orders", {2: "NONE", 3: NO_TOPIC}),
    )
    ana.asks(
        ask.describe_share_group_offsets(topics={"orders": (2,)}),
        expect.share_offsets({"orders": {2: one_of(4, -1)}}),
    )
    ana.asks(ask.describe_share_group_offsets(), expect.share_offsets())


@scenario("share_groups/offsets/describe-negative", source=VALIDATES, clauses=("SO-07",))
def a_negative_partition_fails_its_group(conversation: Conversation) -> None:
    """DescribeShareGroupOffsets with a negative partition, or none of a topic, is UNKNOWN_SERVER_ERROR.

    Partitions of topics that do not exist are not looked at.
    """
    ana, _ = sole_sharer(conversation)
    failed = expect.share_offsets({}, error_code="UNKNOWN_SERVER_ERROR")

    ana.asks(ask.describe_share_group_offsets(topics={"orders": (0, -1)}), failed)
    ana.asks(ask.describe_share_group_offsets(topics={"payments": (0,), "orders": ()}), failed)
    ana.asks(
        ask.describe_share_group_offsets(topics={"unheard-of": (-1,)}),
        expect.share_offsets({"unheard-of": {-1: -1}}),
    )
    ana.asks(
        ask.describe_share_group_offsets(topics={"unheard-of": (), "orders": (0,)}),
        expect.share_offsets({"unheard-of": {}, "orders": {0: -1}}),
    )
    ana.asks(ask.describe_share_group_offsets(group_id="", topics={"orders": (0,)}), failed)


@scenario("share_groups/offsets/alter-negative", source=VALIDATES, clauses=("SO-04", "SH-34"))
def nothing_is_altered_with_a_negative_partition(conversation: Conversation) -> None:
    """AlterShareGroupOffsets with a negative partition is UNKNOWN_SERVER_ERROR, and alters nothing.

    Since 4.2 it makes a group all the same, which can be deleted only at the second try.
    """
    ana = conversation.share_member("ana")
    either = one_of("UNKNOWN_SERVER_ERROR", "NONE")

    ana.asks(
        ask.alter_share_group_offsets(topics={"orders": {0: 1, -1: 1}}),
        expect.altered_share_offsets(error_code=either),
    )
    ana.asks(
        ask.describe_share_group_offsets(topics={"orders": (0,)}), expect.share_offsets({"orders": {0: -1}})
    )
    ana.asks(ask.describe_share_group_offsets(), expect.share_offsets({}))
    ana.asks(ask.delete_groups(), expect.delete_groups(one_of("UNKNOWN_SERVER_ERROR", "GROUP_ID_NOT_FOUND")))
    ana.asks(ask.delete_groups(), expect.delete_groups(one_of("NONE", "GROUP_ID_NOT_FOUND")))


@scenario("share_groups/offsets/alter-only-past-end", source=ALTERS, clauses=("SO-04", "SO-01", "SO-08"))
def altering_no_partition_makes_a_group(conversation: Conversation) -> None:
    """Since 4.2 a group is made even if no partition can be altered; it has no offsets to delete."""
    ana = conversation.share_member("ana")

    ana.asks(ask.alter_share_group_offsets(topics={"orders": {3: 1}}), altered("orders", {3: NO_TOPIC}))
    ana.asks(
        ask.share_group_describe(),
        expect.share_group_describe(error_code=one_of("NONE", "GROUP_ID_NOT_FOUND")),
    )
    ana.asks(ask.describe_share_group_offsets(), expect.share_offsets({}))
    ana.asks(
        ask.delete_share_group_offsets(topics=("orders",)),
        expect.deleted_share_offsets(error_code=one_of("NONE", "GROUP_ID_NOT_FOUND")),
    )
    ana.enters(assigned={})
    ana.awaits({"orders": (0, 1, 2)})


@scenario("share_groups/offsets/uncounted", source=DESCRIBES, clauses=("SO-06", "SI-04"))
def a_lag_needs_the_count_of_settled_records(conversation: Conversation) -> None:
    """Without the number of settled records, the lag is -1, though there is a start offset."""
    ana = conversation.share_member("ana")
    topic = topic_of(conversation, ana, 5)
    has_state(ana, topic)
    described = ask.describe_share_group_offsets(version=1, topics={topic: (0,)})

    ana.asks(described, expect.share_offsets({topic: {0: 0}}))
    ana.asks(ask.write_share_group_state(topic, start_offset=2), expect.share_state("Write", "NONE"))
    ana.asks(described, expect.share_offsets({topic: {0: 2}}))


@scenario("share_groups/offsets/without-state", source=DELETES, clauses=("SO-08", "SH-34"))
def a_group_without_state_is_deleted(conversation: Conversation) -> None:
    """A group that never had share state has no offsets to delete, and can be deleted."""
    ana = conversation.share_member("ana")
    ana.enters("unheard-of", assigned={})
    ana.leaves()

    ana.asks(
        ask.delete_share_group_offsets(topics=("orders", "unheard-of")),
        expect.deleted_share_offsets(error_code="NONE", responses=()),
    )
    ana.asks(ask.describe_share_group_offsets(), expect.share_offsets({}))
    ana.asks(ask.delete_groups(), expect.delete_groups("NONE"))
    ana.asks(ask.share_group_describe(), expect.share_group_describe(error_code="GROUP_ID_NOT_FOUND"))


@scenario("share_groups/offsets/delete-only-unknown", source=DELETES, clauses=("SO-08",))
def nothing_that_can_be_deleted(conversation: Conversation) -> None:
    """DeleteShareGroupOffsets of topics that have none is refused for each of them, and deletes nothing."""
    ana, _ = sole_sharer(conversation)
    ana.leaves()

    ana.asks(
        ask.delete_share_group_offsets(topics=("payments", "unheard-of")),
        deleted({"payments": NO_TOPIC, "unheard-of": NO_TOPIC}),
    )
    ana.asks(ask.describe_share_group_offsets(), expect.share_offsets({"orders": {0: -1, 1: -1, 2: -1}}))
    share_group_is(ana, "Empty")


@scenario("share_groups/offsets/alter-fenced", source=FENCES, clauses=("SO-01", "SO-04", "SI-01"))
def the_share_coordinator_refuses_an_offset(conversation: Conversation) -> None:
    """A partition whose state the share coordinator refuses keeps its offset, and names the error."""
    ana = conversation.share_member("ana")
    topic = topic_of(conversation, ana, partitions=2)
    has_state(ana, topic, offset=3, partitions=(1,), epoch=50)

    ana.asks(
        ask.alter_share_group_offsets(topics={topic: {0: 7, 1: 8, 2: 9}, "unheard-of": {1: 4}}),
        expect.altered_share_offsets(error_code="NONE"),
    )
    ana.asks(
        ask.describe_share_group_offsets(topics={topic: (0, 1)}),
        expect.share_offsets({topic: {0: one_of(7, -1), 1: 3}}),
    )
    ana.asks(ask.describe_share_group_offsets(), expect.share_offsets({}))


@scenario(
    "share_groups/offsets/tried-again",
    source=RETRIES,
    clauses=("SI-01", "SH-14", "SO-01"),
    broker_config=SHORT_RETRIES,
)
def refused_state_is_tried_again_later(conversation: Conversation) -> None:
    """State that was refused to AlterShareGroupOffsets is asked for again after an interval, by a member.

    Altering something else does not shorten the interval. In 4.1, which alters nothing, the member asks at
    once, and again with its next heartbeat.
    """
    ana = conversation.share_member("ana")
    topic = topic_of(conversation, ana)
    has_state(ana, topic, epoch=50)
    ana.asks(ask.alter_share_group_offsets(topics={topic: {0: 7}}), altered(topic, {0: FENCED}))
    ana.asks(ask.alter_share_group_offsets(topics={"orders": {0: 1}}), altered("orders", {0: "NONE"}))

    ana.enters(topic, assigned={})
    conversation.elapses(REFUSED_MS)
    ana.asks(ask.delete_share_group_state(topic), expect.share_state("Delete", "NONE"))
    ana.heartbeats(assigned=None)
    conversation.elapses(RETRY_MS - REFUSED_MS)
    ana.heartbeats()
    ana.repeats(
        ask.share_group_heartbeat(subscribed_topic_names=(topic,)),
        until=expect.share_group_heartbeat(error_code="NONE", assignment=expect.assigned({topic: (0,)})),
    )
    ana.asks(ask.read_share_group_state(topic), expect.share_state("Read", "NONE"))


@scenario("share_groups/offsets/of-new-partitions", source=BEGINS, clauses=("SH-31", "SO-09"))
def new_partitions_are_read_from_their_start(conversation: Conversation) -> None:
    """Partitions that a group's topic gets later start at offset 0 since 4.4; before, they have no offset."""
    ana = conversation.share_member("ana")
    topic = topic_made(conversation, ana, partitions=1)
    other = topic_of(conversation, ana, name="other")
    ana.enters(topic, assigned={})
    ana.awaits({topic: (0,)})
    ana.asks(ask.create_partitions(topic, count=3), expect.create_partitions(error_code="NONE"))
    ana.awaits_metadata()

    ana.heartbeats(topics=(topic, other))
    ana.awaits({topic: (0, 1, 2), other: (0,)})
    begun = one_of(0, -1)
    ana.asks(
        ask.describe_share_group_offsets(),
        expect.share_offsets({topic: {0: -1, 1: begun, 2: begun}, other: {0: -1}}),
    )
