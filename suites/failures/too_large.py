"""Writes that are too large for the log: the answers, and what happens to the group."""

from typing import Final

from harness.scenario import ANY, ORDERS, Conversation, ask, expect, one_of, scenario, subscription

SMALL_LOG: Final = {"message.max.bytes": "1000", "offsets.commit.timeout.ms": "2000"}
"""Room for a group of two members with short names, or for one offset; requests behind a failed write
wait no longer than the timeout.
"""
WRITTEN: Final = one_of("NONE", "COORDINATOR_NOT_AVAILABLE")
"""The error codes for a write after one that was too large: with KAFKA-19760, it waits too long."""
FITTING_BYTES: Final = 138
"""The length of a group id with which a consumer's join has 70 bytes to spare in the log."""
LARGE: Final = b"x" * 3000
MANY_TOPICS: Final = subscription("orders", *(f"topic-{number}-{'x' * 200}" for number in range(15)))
STORES: Final = "GroupMetadataManager#storeGroup"


@scenario(
    "failures/too-large/assignments",
    source="CoordinatorOperationExceptionHelper#handleOperationException",
    clauses=("FI-01", "SG-28", "PE-02", "ER-02"),
    broker_config=SMALL_LOG,
)
def assignments_too_large_for_the_log(conversation: Conversation) -> None:
    """If assignments cannot be written, each SyncGroup gets UNKNOWN_SERVER_ERROR, and members rejoin.

    The Java coordinator of 3.8 and 3.9 then leaves a batch open forever, and writes nothing any more.
    """
    ana, bob = conversation.stable_group("ana", "bob")
    ana.sends(ask.join_group())
    bob.sends(ask.join_group())
    ana.receives(expect.join_group(error_code="NONE", generation_id=3))
    bob.receives(expect.join_group(error_code="NONE", generation_id=3))

    bob.sends(ask.sync_group())
    ana.sends(ask.sync_group(assignments=((ana.member_id, LARGE), (bob.member_id, b""))))
    ana.receives(expect.sync_group(error_code="UNKNOWN_SERVER_ERROR", assignment=b""))
    bob.receives(expect.sync_group(error_code="UNKNOWN_SERVER_ERROR", assignment=b""))
    ana.asks(ask.heartbeat(), error_code=ANY)

    ana.sends(ask.join_group())
    bob.sends(ask.join_group())
    ana.receives(expect.join_group(error_code="NONE", generation_id=4))
    bob.receives(expect.join_group(error_code="NONE", generation_id=4))
    ana.asks(
        ask.sync_group(assignments=((ana.member_id, ana.part), (bob.member_id, bob.part))), error_code=ANY
    )
    ana.asks(ask.heartbeat(), error_code=ANY)


@scenario(
    "failures/too-large/static-restart",
    source="GroupMetadataManager#classicGroupJoinNewStaticMember",
    clauses=("FI-02", "ST-12"),
    broker_config=SMALL_LOG,
)
def a_static_restart_too_large_for_the_log(conversation: Conversation) -> None:
    """A static rejoin that cannot be written is refused in the current generation; the former id stays.

    This is so since 2.6.1; before, nothing was written, and the rejoin succeeded.
    """
    ana = conversation.actor("ana", group_instance_id="seat-a")
    bob = conversation.actor("bob", group_instance_id="seat-b")
    again = conversation.actor("bob-again", group_instance_id="seat-b")
    conversation.stable_group(ana, bob)

    again.sends(ask.join_group(protocols=(("range", MANY_TOPICS),)))
    again.receives(expect.join_group(error_code=ANY, generation_id=2, members=()))
    bob.asks(ask.heartbeat(), error_code=ANY)
    ana.asks(ask.heartbeat(), error_code=ANY)


@scenario(
    "failures/too-large/new-group-in-two-steps",
    source="GroupMetadataManager#classicGroupJoinToClassicGroup",
    clauses=("FI-03", "ER-08"),
    broker_config=SMALL_LOG,
)
def a_new_group_too_large_in_two_steps(conversation: Conversation) -> None:
    """The pending id of a group that cannot be written is unknown to Java since 4.0, but valid before."""
    group_id = "two-steps-" + "g" * 1200
    ana = conversation.actor("ana")
    ana.asks(ask.join_group(group_id=group_id), error_code="MEMBER_ID_REQUIRED")
    conversation.elapses(200)
    ana.sends(ask.describe_groups(groups=(group_id,)))
    ana.receives(expect.describe_groups(error_code="NONE", group_state=ANY, members=()))

    ana.asks(ask.join_group(group_id=group_id), error_code=ANY)


@scenario(
    "failures/too-large/new-group-in-one-step",
    source="GroupMetadataManager#classicGroupJoinToClassicGroup",
    clauses=("FI-04", "ER-08"),
    broker_config=SMALL_LOG,
)
def a_new_group_too_large_in_one_step(conversation: Conversation) -> None:
    """A one-step join to a group that cannot be written fails in Java and succeeds in Scala."""
    joined_or_failed = expect.join_group(error_code=one_of("NONE", "UNKNOWN_SERVER_ERROR"))
    group_id = "one-step-" + "g" * 1200
    ana = conversation.actor("ana")
    bob = conversation.actor("bob", group_instance_id="seat-b")

    ana.asks(ask.join_group(version=3, group_id=group_id), joined_or_failed)
    bob.asks(ask.join_group(group_id=f"static-{group_id}"), joined_or_failed)


@scenario(
    "failures/too-large/emptied-group",
    source="GroupMetadataManager#classicGroupLeaveToClassicGroup",
    clauses=("FI-05", "FI-06"),
    broker_config=SMALL_LOG,
)
def an_emptied_group_too_large_for_the_log(conversation: Conversation) -> None:
    """If an emptied group cannot be written, Java returns a top-level error; the group is still Empty."""
    ana, bob = conversation.actors("ana", "bob")
    typed = ask.join_group(protocol_type="t" * 1200, protocols=(("range", ORDERS),))
    ana.asks(typed, error_code="MEMBER_ID_REQUIRED")
    ana.asks(typed, expect.join_group(error_code="NONE", generation_id=1))

    ana.asks(ask.leave_group(), error_code=ANY)
    ana.sends(ask.describe_groups())
    ana.receives(expect.describe_groups(error_code="NONE", group_state="Empty", members=()))
    ana.asks(ask.heartbeat(), error_code="UNKNOWN_MEMBER_ID")
    bob.joins()
    bob.asks(ask.heartbeat(generation_id=3), error_code=ANY)


@scenario(
    "failures/too-large/commit",
    source="CoordinatorOperationExceptionHelper#handleOperationException",
    clauses=("ER-04", "OC-49", "ER-09"),
    broker_config=SMALL_LOG,
)
def a_commit_too_large_for_the_log(conversation: Conversation) -> None:
    """A commit that cannot be written fails for every partition, and nothing of it is stored."""
    ana = conversation.actor("ana")
    offsets = {"orders": {0: (7, "short"), 1: (8, "m" * 3000)}}

    ana.sends(ask.offset_commit(generation_id=-1, member_id="", topics=offsets))
    ana.receives(expect.response("OffsetCommit"))
    ana.asks(ask.describe_groups(), expect.describe_groups(error_code="NONE", group_state=ANY, members=()))
    ana.asks(ask.offset_fetch(topics={"orders": (0, 1)}), expect.offset_fetch({"orders": {0: -1, 1: -1}}))


@scenario(
    "failures/too-large/deletion",
    source="GroupCoordinatorShard#deleteGroups",
    clauses=("ER-07", "DL-10"),
    broker_config=SMALL_LOG,
)
def a_deletion_too_large_for_the_log(conversation: Conversation) -> None:
    """A deletion that cannot be written gets NONE in Scala, until a restart, and fails in Java."""
    group_id = "deletion-" + "g" * 300
    partitions = {"orders": (0, 1, 2), "payments": (0, 1)}
    ana = conversation.actor("ana")
    for topic, indexes in partitions.items():
        for index in indexes:
            one = {topic: {index: 7}}
            ana.sends(ask.offset_commit(group_id=group_id, generation_id=-1, member_id="", topics=one))
            ana.receives(expect.offset_commit(expect.partitions_of({topic: (index,)}, "NONE")))

    ana.asks(ask.offset_delete(group_id=group_id, topics=partitions), error_code=ANY)
    ana.sends(ask.offset_fetch(group_id=group_id, topics=partitions))
    ana.receives(expect.response("OffsetFetch", error_code="NONE"))
    ana.sends(ask.offset_commit(group_id=group_id, generation_id=-1, member_id="", topics={"orders": {0: 9}}))
    ana.receives(expect.response("OffsetCommit"))
    ana.asks(ask.delete_groups(groups=(group_id,)), expect.delete_groups(ANY))
    ana.sends(ask.describe_groups(groups=(group_id,)))
    ana.receives(expect.describe_groups(error_code="NONE", group_state=ANY, members=()))


@scenario(
    "failures/too-large/consumer",
    source="GroupMetadataManager#consumerGroupHeartbeat",
    clauses=("FI-07",),
    broker_config=SMALL_LOG,
)
def a_join_writes_five_records(conversation: Conversation) -> None:
    """The first consumer's join writes five records. If they do not fit, it gets UNKNOWN_SERVER_ERROR.

    No group exists then. A sixth record would not fit with the shorter group id either. Releases with
    KAFKA-19760 then write nothing more.
    """
    ana = conversation.member("ana")
    fits, too_long = "f" * FITTING_BYTES, "t" * (FITTING_BYTES + 30)

    ana.enters("missing", group_id=fits, assigned={})
    ana.enters("missing", group_id=too_long, error_code="UNKNOWN_SERVER_ERROR")
    ana.asks(
        ask.consumer_group_describe(group_ids=(too_long,)),
        expect.consumer_group_describe(error_code="GROUP_ID_NOT_FOUND"),
    )
    ana.heartbeats(group_id=fits, epoch=-1, error_code=WRITTEN)
    ana.asks(ask.delete_groups(groups=(fits,)), expect.delete_groups(WRITTEN))
