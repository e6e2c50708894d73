"""Requests that are never answered, because another replaced them or their member is gone."""

from harness.scenario import Actor, Conversation, ask, expect, scenario


def _all_joined(conversation: Conversation, *names: str) -> tuple[Actor, ...]:
    """Let a Stable group rejoin, and stop before any member syncs."""
    actors = conversation.stable_group(*names)
    for actor in actors:
        actor.sends(ask.join_group())
    for actor in actors:
        actor.receives(expect.join_group(error_code="NONE", generation_id=3))
    return actors


@scenario(
    "classic/orphan/second-join-takes-the-place",
    source="ClassicGroup#updateMember",
    clauses=("OR-01", "OR-08"),
)
def a_second_join_takes_the_place_of_the_first(conversation: Conversation) -> None:
    """Of two JoinGroups that one member parks on two connections, only the second is ever answered."""
    ana, bob = conversation.stable_group("ana", "bob")
    ana.sends(ask.join_group())
    ana.aside.sends(ask.join_group())

    bob.sends(ask.join_group())

    ana.aside.receives(expect.join_group(error_code="NONE", generation_id=3, leader=ana.member_id))
    bob.receives(expect.join_group(error_code="NONE", generation_id=3))
    ana.stays_parked(for_ms=500)


@scenario(
    "classic/orphan/second-sync-takes-the-place",
    source="GroupMetadataManager#classicGroupSyncToClassicGroup",
    clauses=("OR-02", "OR-08"),
)
def a_second_sync_takes_the_place_of_the_first(conversation: Conversation) -> None:
    """Of two SyncGroups that one follower parks on two connections, only the second is ever answered."""
    ana, bob = _all_joined(conversation, "ana", "bob")
    bob.sends(ask.sync_group())
    bob.aside.sends(ask.sync_group())

    ana.syncs_as_leader((ana, bob))

    bob.aside.receives(expect.sync_group(error_code="NONE", assignment=bob.part))
    bob.stays_parked(for_ms=500)


@scenario(
    "classic/orphan/leaver-with-a-parked-sync",
    source="GroupMetadataManager#removeMemberAndUpdateClassicGroup",
    clauses=("OR-03", "LV-17"),
)
def a_leavers_parked_sync_is_never_answered(conversation: Conversation) -> None:
    """A follower that leaves while its SyncGroup is parked never gets an answer to the SyncGroup."""
    _, bob = _all_joined(conversation, "ana", "bob")
    bob.sends(ask.sync_group())

    bob.aside.asks(ask.leave_group(), error_code="NONE")

    bob.stays_parked(for_ms=500)


@scenario(
    "classic/orphan/first-of-a-batch-with-parked-syncs",
    source="GroupMetadataManager#classicGroupLeaveToClassicGroup",
    clauses=("LV-18", "OR-03"),
)
def the_first_leaver_of_a_batch_is_never_answered(conversation: Conversation) -> None:
    """Of two followers with parked SyncGroups that one batch removes, the first never gets an answer.

    The second gets REBALANCE_IN_PROGRESS from the Scala coordinator and no answer from the Java one.
    """
    ana, bob, carol = _all_joined(conversation, "ana", "bob", "carol")
    bob.sends(ask.sync_group())
    carol.sends(ask.sync_group())

    ana.sends(ask.leave_group(members=((bob.member_id, None), (carol.member_id, None))))
    ana.receives(expect.leave_group(error_code="NONE", members=({"error_code": "NONE"},) * 2))

    bob.stays_parked(for_ms=500)


@scenario(
    "classic/orphan/closed-connection-joins-again",
    source="ClassicGroup#updateMember",
    clauses=("OR-01", "JG-28"),
)
def a_closed_connections_join_is_taken_over(conversation: Conversation) -> None:
    """A member that disconnected while its JoinGroup was parked may join again, and is counted once."""
    ana, bob = conversation.stable_group("ana", "bob")
    bob.sends(ask.join_group(protocols=(("range", b"\0\0"),)))
    bob.disconnects()
    bob.aside.sends(ask.join_group(protocols=(("range", b"\0\0"),)))

    ana.sends(ask.join_group())

    bob.aside.receives(expect.join_group(error_code="NONE", generation_id=3))
    ana.receives(expect.join_group(error_code="NONE", generation_id=3, members=({}, {})))
    ana.syncs_as_leader((ana, bob))
    bob.aside.asks(ask.sync_group(), expect.sync_group(error_code="NONE", assignment=bob.part))
