"""Heartbeat: the answer in each state, and what happens to a silent member."""

from harness.scenario import ANY, SHORT_SESSIONS, Conversation, ask, expect, scenario


@scenario(
    "classic/heartbeat/keeps-the-session-alive",
    source="GroupMetadataManager#rescheduleClassicGroupMemberHeartbeat",
    clauses=("HB-01",),
    broker_config=SHORT_SESSIONS,
)
def heartbeats_keep_the_session_alive(conversation: Conversation) -> None:
    """A member of a Stable group that heartbeats in time gets NONE beyond its session timeout."""
    (ana,) = conversation.stable_group("ana", session_timeout_ms=1500)

    for _ in range(3):
        conversation.elapses(800)
        ana.asks(ask.heartbeat(), error_code="NONE")


@scenario(
    "classic/heartbeat/during-a-rebalance",
    source="GroupMetadataManager#classicGroupHeartbeatToClassicGroup",
    clauses=("HB-02", "RB-23"),
)
def a_rebalance_is_reported_by_heartbeat(conversation: Conversation) -> None:
    """A member that has not rejoined gets REBALANCE_IN_PROGRESS for its Heartbeat during a rebalance."""
    ana, bob = conversation.stable_group("ana", "bob")
    ana.sends(ask.join_group())

    bob.asks(ask.heartbeat(), error_code="REBALANCE_IN_PROGRESS")
    ana.aside.asks(ask.heartbeat(), error_code="REBALANCE_IN_PROGRESS")

    bob.asks(ask.join_group(), expect.join_group(error_code="NONE", generation_id=3))
    ana.receives(expect.join_group(error_code="NONE", generation_id=3))


@scenario(
    "classic/heartbeat/before-assignments",
    source="GroupMetadataManager#classicGroupHeartbeatToClassicGroup",
    clauses=("HB-03",),
)
def a_heartbeat_before_the_assignments(conversation: Conversation) -> None:
    """A member may heartbeat while the group awaits assignments, and can still sync afterwards.

    The answer is NONE since 2.6.1 and REBALANCE_IN_PROGRESS before.
    """
    ana, bob = conversation.stable_group("ana", "bob")
    ana.sends(ask.join_group())
    bob.sends(ask.join_group())
    ana.receives(expect.join_group(error_code="NONE", generation_id=3))
    bob.receives(expect.join_group(error_code="NONE", generation_id=3))

    bob.asks(ask.heartbeat(), error_code=ANY)
    ana.asks(ask.heartbeat(), error_code=ANY)

    ana.syncs_as_leader((ana, bob))
    bob.asks(ask.sync_group(), expect.sync_group(error_code="NONE", assignment=bob.part))


@scenario(
    "classic/heartbeat/empty-group",
    source="GroupMetadataManager#classicGroupHeartbeatToClassicGroup",
    clauses=("HB-04",),
)
def an_empty_group_has_no_heartbeat(conversation: Conversation) -> None:
    """A Heartbeat of a former member to an Empty group gets UNKNOWN_MEMBER_ID."""
    (ana,) = conversation.stable_group("ana")
    ana.asks(ask.leave_group(), error_code="NONE")

    ana.asks(ask.heartbeat(), error_code="UNKNOWN_MEMBER_ID")


@scenario(
    "classic/heartbeat/stranger",
    source="ClassicGroup#validateMember",
    clauses=("HB-05",),
)
def a_stranger_has_no_heartbeat(conversation: Conversation) -> None:
    """A Heartbeat with an unknown or empty member id gets UNKNOWN_MEMBER_ID."""
    (ana,) = conversation.stable_group("ana")

    ana.asks(ask.heartbeat(member_id="nobody"), error_code="UNKNOWN_MEMBER_ID")
    ana.asks(ask.heartbeat(member_id=""), error_code="UNKNOWN_MEMBER_ID")


@scenario(
    "classic/heartbeat/other-generation",
    source="GroupMetadataManager#validateClassicGroupHeartbeat",
    clauses=("HB-06", "HB-11"),
)
def another_generation_is_illegal(conversation: Conversation) -> None:
    """A Heartbeat with the previous generation, the next one, or -1 gets ILLEGAL_GENERATION."""
    ana, bob = conversation.stable_group("ana", "bob")

    ana.asks(ask.heartbeat(generation_id=ana.generation_id - 1), error_code="ILLEGAL_GENERATION")
    bob.asks(ask.heartbeat(generation_id=bob.generation_id + 1), error_code="ILLEGAL_GENERATION")
    bob.asks(ask.heartbeat(generation_id=-1), error_code="ILLEGAL_GENERATION")


@scenario(
    "classic/heartbeat/other-generation-keeps-no-session-alive",
    source="GroupMetadataManager#validateClassicGroupHeartbeat",
    clauses=("HB-06", "HB-12"),
    broker_config=SHORT_SESSIONS,
)
def an_illegal_heartbeat_keeps_no_session_alive(conversation: Conversation) -> None:
    """A Heartbeat refused with ILLEGAL_GENERATION does not extend the member's session."""
    (ana,) = conversation.stable_group("ana", session_timeout_ms=2000)

    conversation.elapses(1700)
    ana.asks(ask.heartbeat(generation_id=ana.generation_id + 1), error_code="ILLEGAL_GENERATION")
    conversation.elapses(600)

    ana.asks(ask.heartbeat(), error_code="UNKNOWN_MEMBER_ID")


@scenario(
    "classic/heartbeat/silent-follower",
    source="GroupMetadataManager#expireClassicGroupMemberHeartbeat",
    clauses=("HB-12", "HB-02"),
    broker_config=SHORT_SESSIONS,
)
def a_silent_follower_is_expelled(conversation: Conversation) -> None:
    """A follower is removed when its session times out, and the others get REBALANCE_IN_PROGRESS."""
    ana, bob = conversation.stable_group("ana", "bob", session_timeout_ms=2000)

    conversation.elapses(1000)
    ana.asks(ask.heartbeat(), error_code="NONE")
    conversation.elapses(1500)

    ana.asks(ask.heartbeat(), error_code="REBALANCE_IN_PROGRESS")
    bob.asks(ask.heartbeat(), error_code="UNKNOWN_MEMBER_ID")
    ana.asks(ask.join_group(), expect.join_group(error_code="NONE", members=({"member_id": ana.member_id},)))


@scenario(
    "classic/heartbeat/silent-last-member",
    source="GroupMetadataManager#expireClassicGroupMemberHeartbeat",
    clauses=("HB-12", "RB-25"),
    broker_config=SHORT_SESSIONS,
)
def the_last_silent_member_leaves_an_empty_group(conversation: Conversation) -> None:
    """When the last member's session times out the group becomes Empty, which counts as a generation."""
    (ana,) = conversation.stable_group("ana", session_timeout_ms=500)
    bob = conversation.actor("bob")
    conversation.elapses(1200)

    bob.sends(ask.join_group(version=3))
    bob.receives(expect.join_group(error_code="NONE", generation_id=3, leader=bob.member_id))

    ana.asks(ask.heartbeat(), error_code="UNKNOWN_MEMBER_ID")


@scenario(
    "classic/heartbeat/commits-count",
    source="GroupMetadataManager#rescheduleClassicGroupMemberHeartbeat",
    clauses=("HB-13",),
    broker_config=SHORT_SESSIONS,
)
def an_offset_commit_counts_as_a_heartbeat(conversation: Conversation) -> None:
    """OffsetCommit extends a member's session: one that only commits outlives its session timeout."""
    (ana,) = conversation.stable_group("ana", session_timeout_ms=1500)

    for offset in (1, 2, 3):
        conversation.elapses(800)
        ana.sends(ask.offset_commit(topics={"orders": {0: offset}}))
        ana.receives(expect.offset_commit({"orders": {0: "NONE"}}))

    ana.asks(ask.heartbeat(), error_code="NONE")
