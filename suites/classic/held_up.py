"""Requests behind a write that was too large: they wait only in a Java coordinator of 3.8 to 4.1."""

from typing import Final

from harness.scenario import ANY, Actor, Conversation, ask, expect, scenario, subscription

APPEND: Final = "KAFKA-19760, CoordinatorRuntime#append"
PAYMENTS: Final = subscription("payments")


SMALL_LOG: Final = {
    "message.max.bytes": "1000",
    "offset.metadata.max.bytes": "5000",
    "offsets.commit.timeout.ms": "2000",
}
"""Room for a small group, and time for more requests while a write waits."""


def _commits(
    group_id: str, actor: Actor, metadata_bytes: int, *, partition: int = 0, topic: str = "orders"
) -> None:
    """Commit an offset with that many bytes of metadata for a group without members.

    Each scenario has its own group. The name has the same length in every run, as every record contains it.
    """
    offsets = {topic: {partition: (7, "m" * metadata_bytes)}}
    actor.sends(ask.offset_commit(group_id=group_id, generation_id=-1, member_id="", topics=offsets))
    actor.receives(expect.response("OffsetCommit"))


@scenario("classic/held-up/membership", source=APPEND, clauses=("ER-02", "ER-09"), broker_config=SMALL_LOG)
def members_behind_a_write_that_was_too_large(conversation: Conversation) -> None:
    """Heartbeat, SyncGroup and LeaveGroup wait behind a batch that was left open, and time out."""
    ana, bob = conversation.stable_group("ana", "bob")
    eve = conversation.actor("eve")
    _commits("held-up-members", eve, 3_000)
    ana.sends(ask.heartbeat())
    ana.receives(expect.heartbeat(error_code=ANY), not_after_ms=2_700)
    ana.asks(ask.heartbeat(member_id="nobody"), error_code="UNKNOWN_MEMBER_ID")

    ana.sends(ask.join_group())
    bob.sends(ask.join_group())
    ana.receives(expect.join_group(error_code="NONE", generation_id=3))
    bob.receives(expect.join_group(error_code="NONE", generation_id=3))
    ana.asks(
        ask.sync_group(assignments=((ana.member_id, ana.part), (bob.member_id, bob.part))), error_code=ANY
    )
    ana.asks(ask.describe_groups(), expect.describe_groups(error_code="NONE", members=ANY))

    ana.asks(ask.leave_group(members=(("nobody", None),)), error_code=ANY)
    bob.asks(ask.leave_group(), error_code=ANY)
    ana.asks(ask.describe_groups(), expect.describe_groups(error_code="NONE", members=ANY))


@scenario(
    "classic/held-up/offsets",
    source=APPEND,
    clauses=("ER-04", "ER-09", "ER-10"),
    broker_config=SMALL_LOG,
)
def offsets_behind_a_write_that_was_too_large(conversation: Conversation) -> None:
    """Commits, and requests that write nothing, wait behind a batch that was left open until it is full."""
    ana, bob = conversation.actors("ana", "bob")
    simple = "held-up-offsets"
    everything = {"orders": (0, 1, 2), "payments": (0, 1)}
    _commits(simple, ana, 300)
    _commits(simple, ana, 3_000)
    # Refused because of its metadata alone, so that nothing is written.
    _commits(simple, ana, 6_000)
    ana.sends(ask.offset_fetch(version=7, group_id=simple, topics={"orders": (0,)}, require_stable=True))
    ana.receives(expect.response("OffsetFetch"))
    ana.asks(ask.offset_delete(group_id=simple, topics={"payments": (1,)}), error_code=ANY)
    ana.sends(ask.offset_delete(group_id="no-such-group", topics={"payments": (1,)}))
    ana.receives(expect.offset_delete(error_code="GROUP_ID_NOT_FOUND"))
    ana.asks(ask.delete_groups(groups=("no-such-group", "nor-that")), expect.response("DeleteGroups"))

    _commits(simple, ana, 300, partition=1)
    ana.sends(ask.offset_fetch(version=7, group_id=simple, topics={"orders": (0,)}, require_stable=True))
    ana.receives(expect.response("OffsetFetch"))
    _commits(simple, ana, 300, partition=2)
    ana.sends(ask.offset_fetch(group_id=simple, topics=everything))
    ana.receives(expect.response("OffsetFetch", error_code="NONE"))
    bob.sends(ask.offset_fetch(version=7, group_id=simple, topics=everything, require_stable=True))
    _commits(simple, ana, 300, topic="payments")
    bob.receives(expect.response("OffsetFetch"))
    ana.sends(ask.offset_fetch(group_id=simple, topics=everything))
    ana.receives(expect.response("OffsetFetch", error_code="NONE"))
    ana.sends(ask.offset_fetch(version=7, group_id=simple, topics=everything, require_stable=True))
    ana.receives(expect.response("OffsetFetch", error_code="NONE"))
    ana.asks(ask.delete_groups(groups=(simple,)), expect.delete_groups(ANY))


def _fills_the_batch(group_id: str, *actors: Actor) -> None:
    """Write enough at once to close a batch that was left open."""
    for partition, actor in enumerate(actors):
        offsets = {"orders": {partition: (8, "m" * 300)}}
        actor.sends(ask.offset_commit(group_id=group_id, generation_id=-1, member_id="", topics=offsets))
    for actor in actors:
        actor.receives(expect.response("OffsetCommit"))


@scenario(
    "classic/held-up/assignments-of-a-former-state",
    source="GroupMetadataManager#classicGroupSyncToClassicGroup",
    clauses=("SG-29",),
    broker_config=SMALL_LOG,
)
def assignments_written_when_the_group_rebalances(conversation: Conversation) -> None:
    """Assignments that are written after the next rebalance has begun are discarded."""
    ana, bob, *others = conversation.stable_group("ana", "bob") + conversation.actors("eve", "fay", "gil")
    _commits("held-up-state", others[0], 3_000)
    ana.sends(ask.join_group())
    bob.sends(ask.join_group())
    ana.receives(expect.join_group(error_code="NONE", generation_id=3))
    bob.receives(expect.join_group(error_code="NONE", generation_id=3))
    ana.sends(ask.sync_group(assignments=((ana.member_id, ana.part), (bob.member_id, bob.part))))
    conversation.elapses(200)
    bob.sends(ask.join_group(protocols=(("range", PAYMENTS),)))
    ana.receives(expect.sync_group(error_code=ANY))

    _fills_the_batch("held-up-state", *others)
    ana.sends(ask.describe_groups())
    ana.receives(expect.describe_groups(error_code="NONE", group_state="PreparingRebalance"))
    ana.asks(ask.join_group(), expect.join_group(error_code="NONE", generation_id=4))
    bob.receives(expect.join_group(error_code="NONE", generation_id=4))


@scenario(
    "classic/held-up/assignments-of-a-former-generation",
    source="GroupMetadataManager#classicGroupSyncToClassicGroup",
    clauses=("SG-29",),
    broker_config=SMALL_LOG,
)
def assignments_written_in_the_next_generation(conversation: Conversation) -> None:
    """Assignments that are written when the next generation already awaits its own are discarded."""
    ana, bob, *others = conversation.stable_group("ana", "bob") + conversation.actors("eve", "fay", "gil")
    _commits("held-up-generation", others[0], 3_000)
    ana.sends(ask.join_group())
    bob.sends(ask.join_group())
    ana.receives(expect.join_group(error_code="NONE", generation_id=3))
    bob.receives(expect.join_group(error_code="NONE", generation_id=3))
    ana.sends(ask.sync_group(assignments=((ana.member_id, ana.part), (bob.member_id, bob.part))))
    conversation.elapses(200)
    bob.sends(ask.join_group(protocols=(("range", PAYMENTS),)))
    ana.receives(expect.sync_group(error_code=ANY))
    ana.asks(ask.join_group(), expect.join_group(error_code="NONE", generation_id=4))
    bob.receives(expect.join_group(error_code="NONE", generation_id=4))

    _fills_the_batch("held-up-generation", *others)
    ana.sends(ask.describe_groups())
    ana.receives(expect.describe_groups(error_code="NONE", group_state="CompletingRebalance"))


def _restarts_twice(conversation: Conversation, version: int) -> None:
    """Let a static member rejoin a second time before its first rejoin is written."""
    ana = conversation.actor("ana", group_instance_id="seat-a")
    bob = conversation.actor("bob", group_instance_id="seat-b")
    again = conversation.actor("bob-again", group_instance_id="seat-b")
    anew = conversation.actor("bob-anew", group_instance_id="seat-b")
    conversation.stable_group(ana, bob)
    others = conversation.actors("eve", "fay", "gil")
    _commits(f"held-up-restarts-v{version}", others[0], 3_000)
    again.sends(ask.join_group(version=version))
    conversation.elapses(200)
    anew.sends(ask.join_group(version=version))
    again.receives(expect.join_group(error_code=ANY))
    conversation.elapses(200)

    _fills_the_batch(f"held-up-restarts-v{version}", *others)
    anew.receives(expect.join_group(error_code="NONE", generation_id=2))
    anew.asks(ask.heartbeat(generation_id=2), error_code=ANY)
    ana.asks(ask.describe_groups(), expect.describe_groups(error_code="NONE", group_state="Stable"))


@scenario(
    "classic/held-up/static-restarts",
    source="GroupMetadataManager#updateStaticMemberThenRebalanceOrCompleteJoin",
    clauses=("ST-12", "ST-13"),
    broker_config=SMALL_LOG,
)
def a_static_member_restarts_again_before_the_first_is_written(conversation: Conversation) -> None:
    """A static member that rejoins before its previous rejoin is written fences that one."""
    _restarts_twice(conversation, 6)


@scenario(
    "classic/held-up/static-restarts-that-may-skip",
    source="GroupMetadataManager#updateStaticMemberThenRebalanceOrCompleteJoin",
    clauses=("ST-12", "ST-13"),
    broker_config=SMALL_LOG,
)
def a_static_member_that_may_skip_restarts_again(conversation: Conversation) -> None:
    """A static member rejoins twice with v9, which is answered from the group's state at the write."""
    _restarts_twice(conversation, 9)
