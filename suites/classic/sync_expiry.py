"""Members that are late to sync, and what extends a session while they wait."""

from harness.scenario import ANY, SHORT_SESSIONS, Actor, Conversation, ask, expect, scenario


def _completing_group(conversation: Conversation, *, rebalance_timeout_ms: int) -> tuple[Actor, Actor]:
    """Let ana, the leader, and bob join generation 3, and stop before they sync."""
    ana, bob = conversation.stable_group("ana", "bob", rebalance_timeout_ms=rebalance_timeout_ms)
    ana.sends(ask.join_group(rebalance_timeout_ms=rebalance_timeout_ms))
    bob.sends(ask.join_group(rebalance_timeout_ms=rebalance_timeout_ms))
    ana.receives(expect.join_group(error_code="NONE", generation_id=3, leader=ana.member_id))
    bob.receives(expect.join_group(error_code="NONE", generation_id=3))
    return ana, bob


@scenario(
    "classic/sync/parked-follower-outlives-its-session",
    source="ClassicGroupMember#hasSatisfiedHeartbeat",
    clauses=("SG-21", "SG-22", "OR-04"),
    broker_config=SHORT_SESSIONS,
)
def a_parked_follower_outlives_its_session(conversation: Conversation) -> None:
    """A follower whose SyncGroup is parked is not removed when its session timeout passes."""
    (ana,) = conversation.stable_group("ana")
    bob = conversation.actor("bob")
    bob.obtains_member_id()
    bob.sends(ask.join_group(session_timeout_ms=600))
    ana.asks(ask.join_group(), expect.join_group(error_code="NONE", generation_id=2))
    bob.receives(expect.join_group(error_code="NONE", generation_id=2))

    bob.sends(ask.sync_group())
    bob.stays_parked(for_ms=1400)
    ana.syncs_as_leader((ana, bob))

    bob.receives(expect.sync_group(error_code="NONE", assignment=bob.part))
    bob.asks(ask.heartbeat(), error_code="NONE")


@scenario(
    "classic/sync/follower-never-syncs",
    source="KAFKA-12890",
    clauses=("SG-23", "HB-01"),
)
def a_follower_that_never_syncs_is_dropped(conversation: Conversation) -> None:
    """A follower that heartbeats but does not sync is removed at the rebalance timeout.

    This is so since 2.8.1; before, it stayed.
    """
    ana, bob = _completing_group(conversation, rebalance_timeout_ms=2000)
    ana.syncs_as_leader((ana, bob))

    conversation.elapses(1700)
    bob.asks(ask.heartbeat(), error_code="NONE")
    conversation.elapses(600)

    bob.asks(ask.heartbeat(), error_code=ANY)
    ana.asks(ask.heartbeat(), error_code=ANY)


@scenario(
    "classic/sync/leader-never-syncs",
    source="KAFKA-12890",
    clauses=("SG-24", "SG-02"),
)
def a_leader_that_never_syncs_is_dropped(conversation: Conversation) -> None:
    """A leader that sends no assignments by the deadline is removed, and the others must rejoin.

    This is so since 2.8.1; before, they waited for it as long as it sent heartbeats.
    """
    ana, bob = _completing_group(conversation, rebalance_timeout_ms=1200)
    bob.sends(ask.sync_group())

    bob.stays_parked(for_ms=400)
    conversation.elapses(1400)
    ana.sends(ask.sync_group())

    ana.receives(expect.sync_group(error_code=ANY))
    bob.receives(expect.sync_group(error_code=ANY, assignment=b""))


@scenario(
    "classic/sync/leader-misses-the-deadline",
    source="KAFKA-12890",
    clauses=("SG-24",),
)
def the_deadline_for_syncing_ends_a_followers_wait(conversation: Conversation) -> None:
    """A follower whose leader does not sync gets REBALANCE_IN_PROGRESS at the rebalance timeout.

    This is so since 2.8.1; before, it stays parked.
    """
    _, bob = _completing_group(conversation, rebalance_timeout_ms=2000)

    bob.sends(ask.sync_group())
    bob.may_receive(
        expect.sync_group(error_code="REBALANCE_IN_PROGRESS", assignment=b""), within_ms=3000, due_ms=2000
    )


@scenario(
    "classic/sync/nobody-syncs",
    source="KAFKA-12890",
    clauses=("SG-25", "RB-12"),
)
def nobody_syncs(conversation: Conversation) -> None:
    """A group whose members all miss the deadline for syncing can be joined by others.

    Since 2.8.1 it is Empty by then; before, the newcomer's rebalance removed them.
    """
    ana, _ = _completing_group(conversation, rebalance_timeout_ms=2000)
    conversation.elapses(1700)
    ana.asks(ask.heartbeat(), error_code=ANY)
    conversation.elapses(600)
    carol = conversation.actor("carol")

    carol.sends(ask.join_group(version=3, rebalance_timeout_ms=2000))
    carol.receives(
        expect.join_group(
            error_code="NONE", leader=carol.member_id, members=({"member_id": carol.member_id},)
        )
    )

    ana.asks(ask.heartbeat(), error_code="UNKNOWN_MEMBER_ID")


@scenario(
    "classic/sync/leader-expires",
    source="GroupMetadataManager#removeMemberAndUpdateClassicGroup",
    clauses=("SG-27", "HB-12", "LD-03"),
    broker_config=SHORT_SESSIONS,
)
def a_leader_expires_before_it_syncs(conversation: Conversation) -> None:
    """A leader whose session times out before it syncs leaves the others with REBALANCE_IN_PROGRESS."""
    ana, bob = conversation.stable_group("ana", "bob", session_timeout_ms=2000)
    ana.sends(ask.join_group(session_timeout_ms=2000))
    bob.sends(ask.join_group(session_timeout_ms=2000))
    ana.receives(expect.join_group(error_code="NONE", generation_id=3, leader=ana.member_id))
    bob.receives(expect.join_group(error_code="NONE", generation_id=3))

    bob.sends(ask.sync_group())
    bob.receives(expect.sync_group(error_code="REBALANCE_IN_PROGRESS"), due_ms=2000)

    ana.asks(ask.heartbeat(), error_code="UNKNOWN_MEMBER_ID")
    bob.sends(ask.join_group(session_timeout_ms=2000))
    bob.receives(expect.join_group(error_code="NONE", generation_id=4, leader=bob.member_id))


@scenario(
    "classic/sync/syncs-instead-of-heartbeats",
    source="GroupMetadataManager#classicGroupSyncToClassicGroup",
    clauses=("SG-20", "SG-03"),
    broker_config=SHORT_SESSIONS,
)
def a_member_that_syncs_instead_of_heartbeating(conversation: Conversation) -> None:
    """A member that only repeats its SyncGroup gets its assignment for as long as its session lasts.

    In the Scala coordinator SyncGroup extends the session, in the Java one it does not.
    """
    (ana,) = conversation.stable_group("ana", session_timeout_ms=2000)

    conversation.elapses(1200)
    ana.asks(ask.sync_group(), expect.sync_group(error_code="NONE", assignment=ana.part))
    conversation.elapses(1400)

    ana.asks(ask.heartbeat(), error_code=ANY)
