"""What was removed does not come back when the log is read: each removal, in each type of group.

A group that a tombstone hides would hide its offsets too. So each scenario makes the group anew before it
asks.
"""

from harness.scenario import Actor, Capability, Conversation, ask, expect, one_of, scenario
from suites.consumer_groups.validation import sole_member
from suites.offsets.expiry import FREQUENT_EXPIRY
from suites.streams_groups.membership import ALL as ALL_TASKS
from suites.streams_groups.membership import sole_member as sole_streams_member
from suites.transactions.producers import ORDER_0, TAKEN, announced, ends

RESTARTS = (Capability.RESTART,)
KILLS = (Capability.KILL,)
MOVES = (Capability.CLUSTER,)
DELETES = "OffsetMetadataManager#deleteAllOffsets"
EXPIRES = "OffsetMetadataManager#cleanupExpiredOffsets"
TOPICS_DELETED = "OffsetMetadataManager#onTopicsDeleted"
DELETES_OFFSETS = "OffsetMetadataManager#deleteOffsets"
FENCES = "GroupMetadataManager#removeMember"
WITHIN_MS = 20_000


def _commits(ana: Actor, partition: int, offset: int) -> None:
    """Commit an offset of `orders` without being a member; a group in the log may not be loaded yet."""
    ana.repeats(
        ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {partition: offset}}),
        until=expect.offset_commit({"orders": {partition: "NONE"}}),
        within_ms=WITHIN_MS,
    )


def _commits_for_no_time(ana: Actor) -> None:
    """Commit an offset of a group without members that expires at once, and wait until it is gone."""
    ana.sends(
        ask.offset_commit(
            version=2, generation_id=-1, member_id="", retention_time_ms=0, topics={"orders": {0: 7}}
        )
    )
    ana.receives(expect.offset_commit({"orders": {0: "NONE"}}))
    ana.repeats(ask.offset_fetch(topics={"orders": (0,)}), until=expect.offset_fetch({"orders": {0: -1}}))


def _stays_away(conversation: Conversation, ana: Actor) -> None:
    """Have the log read, make the group anew, and find what it lost still missing."""
    conversation.elapses(500)
    conversation.restarts_coordinator()
    _is_still_missing(ana)


def _is_still_missing(ana: Actor) -> None:
    """Make the group anew, and find what it lost still missing."""
    _commits(ana, 1, 9)
    ana.asks(ask.offset_fetch(topics={"orders": (0, 1)}), expect.offset_fetch({"orders": {0: -1, 1: 9}}))


def _deleted(ana: Actor) -> None:
    ana.asks(ask.delete_groups(), expect.delete_groups("NONE"))


@scenario("loading/removed/simple-group", source=DELETES, clauses=("PE-20",), needs=RESTARTS)
def offsets_of_a_deleted_simple_group_stay_away(conversation: Conversation) -> None:
    """The offsets of a deleted group that never had members do not come back with a restart."""
    ana = conversation.actor("ana")
    _commits(ana, 0, 7)
    _deleted(ana)

    _stays_away(conversation, ana)


@scenario("loading/removed/classic-group", source=DELETES, clauses=("PE-20",), needs=RESTARTS)
def offsets_of_a_deleted_classic_group_stay_away(conversation: Conversation) -> None:
    """The offsets of a deleted group that had a member do not come back with a restart."""
    (ana,) = conversation.stable_group("ana")
    ana.asks(ask.offset_commit(topics={"orders": {0: 7}}), expect.offset_commit({"orders": {0: "NONE"}}))
    ana.asks(ask.leave_group(), error_code="NONE")
    _deleted(ana)

    _stays_away(conversation, ana)


@scenario(
    "loading/removed/classic-group-itself",
    source="ClassicGroup#createGroupTombstoneRecords",
    clauses=("PE-20",),
    needs=RESTARTS,
)
def a_deleted_classic_group_stays_away(conversation: Conversation) -> None:
    """A classic group that had a member and no offsets, and was deleted, is not there after a restart."""
    (ana,) = conversation.stable_group("ana")
    ana.asks(ask.leave_group(), error_code="NONE")
    _deleted(ana)

    conversation.elapses(500)
    conversation.restarts_coordinator()
    gone = expect.describe_groups(error_code="NONE", group_state="Dead")
    ana.repeats(ask.describe_groups(version=5), until=gone, within_ms=WITHIN_MS)
    ana.asks(ask.delete_groups(), expect.delete_groups("GROUP_ID_NOT_FOUND"))


@scenario("loading/removed/consumer-group", source=DELETES, clauses=("PE-20",), needs=RESTARTS)
def offsets_of_a_deleted_consumer_group_stay_away(conversation: Conversation) -> None:
    """The offsets of a deleted consumer group do not come back with a restart."""
    ana, _ = sole_member(conversation)
    ana.leaves()
    _commits(ana, 0, 7)
    _deleted(ana)

    _stays_away(conversation, ana)


@scenario("loading/removed/streams-group", source=DELETES, clauses=("PE-20",), needs=RESTARTS)
def offsets_of_a_deleted_streams_group_stay_away(conversation: Conversation) -> None:
    """The offsets of a deleted streams group do not come back with a restart."""
    ana, _ = sole_streams_member(conversation)
    ana.leaves()
    _commits(ana, 0, 7)
    _deleted(ana)

    _stays_away(conversation, ana)


@scenario("loading/removed/after-a-kill", source=DELETES, clauses=("PE-20",), needs=KILLS)
def offsets_of_a_deleted_group_stay_away_after_a_kill(conversation: Conversation) -> None:
    """The offsets of a deleted group do not come back when its coordinator is killed."""
    ana = conversation.actor("ana")
    _commits(ana, 0, 7)
    _deleted(ana)

    conversation.elapses(500)
    conversation.kills_coordinator()
    _is_still_missing(ana)


@scenario("loading/removed/after-a-move", source=DELETES, clauses=("PE-20",), needs=MOVES)
def offsets_of_a_deleted_group_stay_away_after_a_move(conversation: Conversation) -> None:
    """The offsets of a deleted group are not in the group of its name at another coordinator."""
    ana = conversation.actor("ana")
    _commits(ana, 0, 7)
    _deleted(ana)

    conversation.moves_coordinator()
    ana.disconnects()
    _is_still_missing(ana)


@scenario("loading/removed/deleted-offset", source=DELETES_OFFSETS, clauses=("PE-20",), needs=RESTARTS)
def a_deleted_offset_stays_away(conversation: Conversation) -> None:
    """An offset that OffsetDelete removed from an Empty consumer group does not come back with a restart."""
    ana, _ = sole_member(conversation)
    ana.leaves()
    _commits(ana, 0, 7)
    ana.asks(
        ask.offset_delete(topics={"orders": (0,)}),
        expect.offset_delete(error_code="NONE", errors={"orders": {0: "NONE"}}),
    )

    _stays_away(conversation, ana)


@scenario("loading/removed/staged-offset", source=DELETES, clauses=("PE-20", "RP-14"), needs=RESTARTS)
def a_staged_offset_of_a_deleted_group_may_stay_away(conversation: Conversation) -> None:
    """An offset that a transaction staged in a group that was deleted is not in its successor since 4.0.

    Before, the transaction's end commits it when the log is read.
    """
    ana = conversation.actor("ana")
    producer = announced(ana)
    ana.asks(producer.commits(ORDER_0), TAKEN)
    _deleted(ana)
    ends(producer, committed=True)

    conversation.elapses(500)
    conversation.restarts_coordinator()
    _commits(ana, 1, 9)
    ana.asks(
        ask.offset_fetch(topics={"orders": (0, 1)}),
        expect.offset_fetch({"orders": {0: one_of(-1, 42), 1: 9}}),
    )


@scenario(
    "loading/removed/expired-offset",
    source=EXPIRES,
    clauses=("PE-21", "EX-08"),
    needs=RESTARTS,
    broker_config=FREQUENT_EXPIRY,
)
def an_expired_offset_stays_away(conversation: Conversation) -> None:
    """An expired offset, and the simple group that it was the last of, do not come back with a restart."""
    ana = conversation.actor("ana")
    _commits_for_no_time(ana)

    _stays_away(conversation, ana)


@scenario(
    "loading/removed/expired-in-classic-group",
    source=EXPIRES,
    clauses=("PE-21", "EX-08"),
    needs=RESTARTS,
    broker_config=FREQUENT_EXPIRY,
)
def an_expired_offset_of_a_classic_group_stays_away(conversation: Conversation) -> None:
    """An offset expires in an Empty classic group, and does not come back with a restart."""
    zoe = conversation.actor("zoe")
    # Of a static member that joins in one step no pass removes the group before it has joined.
    (ana,) = conversation.stable_group(conversation.actor("ana", group_instance_id="seat-a"))
    ana.asks(ask.leave_group(), error_code="NONE")
    _commits_for_no_time(zoe)

    _stays_away(conversation, zoe)


@scenario(
    "loading/removed/expired-in-consumer-group",
    source=EXPIRES,
    clauses=("PE-21", "EX-08"),
    needs=RESTARTS,
    broker_config=FREQUENT_EXPIRY,
)
def an_expired_offset_of_a_consumer_group_stays_away(conversation: Conversation) -> None:
    """An offset expires in an Empty consumer group, and does not come back with a restart."""
    ana, _ = sole_member(conversation)
    ana.leaves()
    _commits_for_no_time(ana)

    _stays_away(conversation, ana)


@scenario(
    "loading/removed/expired-in-streams-group",
    source=EXPIRES,
    clauses=("PE-21", "EX-08"),
    needs=RESTARTS,
    broker_config=FREQUENT_EXPIRY,
)
def an_expired_offset_of_a_streams_group_stays_away(conversation: Conversation) -> None:
    """An offset expires in an Empty streams group, though its topology names the topic, and stays away."""
    ana, _ = sole_streams_member(conversation)
    ana.leaves()
    _commits_for_no_time(ana)

    _stays_away(conversation, ana)


@scenario(
    "loading/removed/deleted-topic",
    source=TOPICS_DELETED,
    clauses=("PE-21", "EX-17"),
    needs=RESTARTS,
    broker_config=FREQUENT_EXPIRY,
)
def an_offset_of_a_deleted_topic_stays_away(conversation: Conversation) -> None:
    """The offsets of a deleted topic do not come back with a restart, when the topic is made anew."""
    ana = conversation.actor("ana")
    topic = conversation.group("topic")
    ana.asks(ask.create_topic(topic), expect.create_topic(error_code="NONE"))
    ana.repeats(
        ask.offset_commit(generation_id=-1, member_id="", topics={topic: {0: 7}}),
        until=expect.offset_commit({topic: {0: "NONE"}}),
    )
    ana.asks(ask.delete_topic(topic), expect.delete_topic(error_code="NONE"))
    ana.repeats(
        ask.offset_fetch(topics={topic: (0,)}), until=expect.offset_fetch({topic: {0: -1}}), within_ms=10_000
    )

    conversation.elapses(500)
    conversation.restarts_coordinator()
    _commits(ana, 1, 9)
    ana.asks(ask.offset_fetch(topics={topic: (0,)}), expect.offset_fetch({topic: {0: -1}}))


@scenario(
    "loading/removed/taken-over-by-streams",
    source="GroupMetadataManager#getOrMaybeCreateStreamsGroup",
    clauses=("PE-22",),
    needs=RESTARTS,
)
def a_classic_group_that_streams_took_over_stays_away(conversation: Conversation) -> None:
    """An Empty classic group that a streams group replaced is not back after a restart; its offset is."""
    (ana,) = conversation.stable_group("ana")
    ana.asks(ask.offset_commit(topics={"orders": {0: 7}}), expect.offset_commit({"orders": {0: "NONE"}}))
    ana.asks(ask.leave_group(), error_code="NONE")
    bob = conversation.streams_member("bob")
    bob.enters(assigned=ALL_TASKS)

    conversation.elapses(500)
    conversation.restarts_coordinator()
    kept = expect.offset_fetch({"orders": {0: 7}})
    ana.repeats(ask.offset_fetch(topics={"orders": (0,)}), until=kept, within_ms=WITHIN_MS)
    ana.asks(ask.describe_groups(), expect.describe_groups(error_code="NONE", group_state="Dead"))
    bob.heartbeats()
    bob.describes("Stable")


@scenario("loading/removed/left-members", source=FENCES, clauses=("PE-22",), needs=RESTARTS)
def members_that_left_stay_away(conversation: Conversation) -> None:
    """A member that left a classic group, and a consumer that left a consumer group, are not back."""
    (ana,) = conversation.stable_group("ana")
    ana.asks(ask.leave_group(), error_code="NONE")
    group = conversation.group("other")
    bob, eve = conversation.members("bob", "eve")
    bob.enters(group_id=group)
    eve.enters(group_id=group)
    bob.heartbeats(group_id=group, epoch=-1)

    conversation.elapses(500)
    conversation.restarts_coordinator()
    described = expect.consumer_group_describe(error_code="NONE", members=({"member_id": eve.member_id},))
    eve.repeats(ask.consumer_group_describe(group_ids=(group,)), until=described, within_ms=WITHIN_MS)
    bob.heartbeats(group_id=group, epoch=bob.epoch, error_code="UNKNOWN_MEMBER_ID")
    ana.repeats(
        ask.describe_groups(),
        until=expect.describe_groups(error_code="NONE", group_state="Empty", members=()),
        within_ms=WITHIN_MS,
    )
    ana.asks(ask.heartbeat(), error_code="UNKNOWN_MEMBER_ID")
