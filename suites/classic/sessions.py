"""Sessions of pending member ids, of members that await assignments, and of deleted groups."""

from harness.scenario import ANY, SHORT_SESSIONS, Conversation, ask, expect, scenario


@scenario(
    "classic/session/of-a-given-id",
    source="GroupMetadataManager#classicGroupJoinNewDynamicMember",
    clauses=("JG-09",),
    broker_config=SHORT_SESSIONS,
)
def a_given_id_lasts_one_session(conversation: Conversation) -> None:
    """A pending member id gets UNKNOWN_MEMBER_ID once the requested session timeout is over."""
    ana = conversation.actor("ana")
    ana.asks(ask.join_group(session_timeout_ms=2_000), error_code="MEMBER_ID_REQUIRED")

    conversation.elapses(2_300)
    ana.asks(ask.join_group(session_timeout_ms=2_000), error_code="UNKNOWN_MEMBER_ID")


@scenario(
    "classic/session/of-a-given-id-in-time",
    source="GroupMetadataManager#classicGroupJoinNewDynamicMember",
    clauses=("JG-09",),
    broker_config=SHORT_SESSIONS,
)
def a_given_id_lasts_until_its_session_ends(conversation: Conversation) -> None:
    """A pending member id may join until the requested session timeout is over."""
    ana = conversation.actor("ana")
    ana.asks(ask.join_group(session_timeout_ms=2_000), error_code="MEMBER_ID_REQUIRED")

    conversation.elapses(1_700)
    ana.asks(ask.join_group(session_timeout_ms=2_000), expect.join_group(error_code="NONE", generation_id=1))


@scenario(
    "classic/session/of-another-member",
    source="GroupMetadataManager#expireClassicGroupMemberHeartbeat",
    clauses=("JG-09",),
    broker_config=SHORT_SESSIONS,
)
def a_given_id_outlives_the_session_of_another(conversation: Conversation) -> None:
    """A pending member id may join although a member was removed meanwhile at the end of its session."""
    ana, bob = conversation.actors("ana", "bob")
    conversation.stable_group(ana, session_timeout_ms=1_000)
    bob.obtains_member_id()

    conversation.elapses(1_600)
    ana.asks(ask.heartbeat(), error_code="UNKNOWN_MEMBER_ID")
    bob.asks(ask.join_group(), expect.join_group(error_code="NONE", leader=bob.member_id))


@scenario(
    "classic/session/after-another-left",
    source="GroupMetadataManager#removeMemberAndUpdateClassicGroup",
    clauses=("JG-09", "LV-01"),
)
def a_given_id_outlives_the_leave_of_another(conversation: Conversation) -> None:
    """A pending member id may join although the only member left meanwhile."""
    ana, bob = conversation.actors("ana", "bob")
    conversation.stable_group(ana)
    bob.obtains_member_id()

    ana.asks(ask.leave_group(), error_code="NONE")
    bob.asks(ask.join_group(), expect.join_group(error_code="NONE", leader=bob.member_id))


@scenario(
    "classic/session/heartbeats-before-the-assignments",
    source="GroupMetadataManager#classicGroupHeartbeatToClassicGroup",
    clauses=("HB-03",),
    broker_config=SHORT_SESSIONS,
)
def heartbeats_before_the_assignments_keep_a_session(conversation: Conversation) -> None:
    """A member that is late to sync keeps its session with heartbeats since 2.6.1; before, it ends."""
    ana = conversation.actor("ana")
    ana.obtains_member_id()
    ana.asks(ask.join_group(session_timeout_ms=1_500), expect.join_group(error_code="NONE", generation_id=1))

    for _ in range(3):
        conversation.elapses(900)
        ana.asks(ask.heartbeat(), error_code=ANY)
    ana.asks(ask.sync_group(assignments=((ana.member_id, ana.part),)), error_code=ANY)


@scenario(
    "classic/session/of-a-deleted-group",
    source="GroupMetadataManager#expireClassicGroupMemberHeartbeat",
    clauses=("CO-30",),
    broker_config=SHORT_SESSIONS,
)
def a_given_id_goes_with_its_group(conversation: Conversation) -> None:
    """Deleting a group also ends its pending member ids, and the end of their session has no effect."""
    ana = conversation.actor("ana")
    ana.asks(ask.join_group(session_timeout_ms=1_000), error_code="MEMBER_ID_REQUIRED")

    ana.asks(ask.delete_groups(), expect.delete_groups(ANY))
    conversation.elapses(1_600)
    ana.asks(ask.join_group(session_timeout_ms=1_000), error_code="UNKNOWN_MEMBER_ID")
