"""Connections: served one request at a time, not bound to a member, closed on unreadable requests."""

from harness.scenario import ANY, Conversation, ask, expect, scenario, subscription

JOIN_GROUP_V99 = b"\x00\x0b\x00\x63\x00\x00\x00\x01\x00\x03eve"
"""A JoinGroup header: API key 11, version 99, correlation id 1, client id eve."""
HEARTBEAT_V0_CUT_SHORT = b"\x00\x0c\x00\x00\x00\x00\x00\x01\x00\x03eve\x00\x10four"
"""Heartbeat's key, version 0, correlation id 1, client id eve, and four of the group id's sixteen bytes."""
NO_SUCH_API = b"\x7f\xff\x00\x00\x00\x00\x00\x01\x00\x03eve"
"""A request header with an API key that does not exist."""


@scenario(
    "classic/connection/one-request-at-a-time",
    source="Processor#processCompletedReceives",
    clauses=("CX-01", "HB-15"),
)
def a_connection_serves_one_request_at_a_time(conversation: Conversation) -> None:
    """A Heartbeat sent behind a parked JoinGroup is processed after it and gets ILLEGAL_GENERATION."""
    ana, bob = conversation.stable_group("ana", "bob")
    ana.sends(ask.join_group())

    ana.sends(ask.heartbeat(generation_id=2))
    bob.sends(ask.join_group())

    ana.receives(expect.join_group(error_code="NONE", generation_id=3))
    ana.receives(expect.heartbeat(error_code="ILLEGAL_GENERATION"))
    bob.receives(expect.join_group(error_code="NONE", generation_id=3))


@scenario(
    "classic/connection/parked-one-after-the-other",
    source="Processor#processCompletedReceives",
    clauses=("CX-01",),
)
def requests_are_parked_one_after_the_other(conversation: Conversation) -> None:
    """When the first of three requests is answered and the second is parked, the third still waits."""
    ana, bob = conversation.stable_group("ana", "bob")
    ana.sends(ask.join_group())
    ana.sends(ask.join_group(protocols=(("range", subscription("payments")),)))
    ana.sends(ask.heartbeat(generation_id=4))
    bob.sends(ask.join_group())
    ana.receives(expect.join_group(error_code="NONE", generation_id=3))
    bob.receives(expect.join_group(error_code="NONE", generation_id=3))

    bob.sends(ask.join_group())
    ana.receives(expect.join_group(error_code="NONE", generation_id=4))
    ana.receives(expect.heartbeat(error_code=ANY))
    bob.receives(expect.join_group(error_code="NONE", generation_id=4))


@scenario(
    "classic/connection/requests-are-answered-in-order",
    source="Processor#processCompletedReceives",
    clauses=("CX-01",),
)
def requests_are_answered_in_order(conversation: Conversation) -> None:
    """Pipelined requests on one connection are answered in the order in which they were sent."""
    (ana,) = conversation.stable_group("ana")

    ana.sends(ask.heartbeat())
    ana.sends(ask.sync_group())
    ana.sends(ask.leave_group())
    ana.sends(ask.heartbeat())

    ana.receives(expect.heartbeat(error_code="NONE"))
    ana.receives(expect.sync_group(error_code="NONE", assignment=ana.part))
    ana.receives(expect.leave_group(error_code="NONE"))
    ana.receives(expect.heartbeat(error_code="UNKNOWN_MEMBER_ID"))


@scenario(
    "classic/connection/another-may-speak-for-a-member",
    source="GroupMetadataManager#validateClassicGroupHeartbeat",
    clauses=("CX-04",),
)
def another_connection_may_speak_for_a_member(conversation: Conversation) -> None:
    """Any connection and client id may heartbeat, sync and leave for a member whose id it has."""
    (ana,) = conversation.stable_group("ana")
    eve = conversation.actor("eve")

    eve.asks(ask.heartbeat(member_id=ana.member_id, generation_id=ana.generation_id), error_code="NONE")
    eve.sends(ask.sync_group(member_id=ana.member_id, generation_id=ana.generation_id))
    eve.receives(expect.sync_group(error_code="NONE", assignment=ana.part))
    eve.asks(ask.leave_group(member_id=ana.member_id), error_code="NONE")

    ana.asks(ask.heartbeat(), error_code="UNKNOWN_MEMBER_ID")


@scenario(
    "classic/connection/closed-connection-keeps-the-member",
    source="GroupMetadataManager#rescheduleClassicGroupMemberHeartbeat",
    clauses=("CX-02", "CX-04"),
)
def a_closed_connection_keeps_the_member(conversation: Conversation) -> None:
    """A member of a Stable group that closes its connection stays a member and may use another connection."""
    ana, bob = conversation.stable_group("ana", "bob")

    bob.disconnects()
    conversation.elapses(300)

    ana.asks(ask.heartbeat(), error_code="NONE")
    bob.aside.asks(ask.heartbeat(), error_code="NONE")


@scenario(
    "classic/connection/closed-while-a-sync-is-parked",
    source="ClassicGroup#completeSyncFuture",
    clauses=("CX-02", "SG-02"),
)
def a_connection_closed_while_a_sync_is_parked(conversation: Conversation) -> None:
    """A follower whose connection closes while its SyncGroup is parked gets its assignment on another."""
    ana, bob = conversation.stable_group("ana", "bob")
    ana.sends(ask.join_group())
    bob.sends(ask.join_group())
    ana.receives(expect.join_group(error_code="NONE", generation_id=3))
    bob.receives(expect.join_group(error_code="NONE", generation_id=3))
    bob.sends(ask.sync_group())
    bob.disconnects()

    ana.syncs_as_leader((ana, bob))

    bob.aside.asks(ask.sync_group(), expect.sync_group(error_code="NONE", assignment=bob.part))


@scenario(
    "classic/connection/version-out-of-range",
    source="RequestContext#parseRequest",
    clauses=("VF-06", "VR-11"),
)
def a_version_out_of_range_closes_the_connection(conversation: Conversation) -> None:
    """A JoinGroup of a version that the broker does not serve closes the connection without an answer."""
    eve = conversation.actor("eve")

    eve.sends_bytes(JOIN_GROUP_V99, says="a JoinGroup v99")

    eve.finds_connection_closed()


@scenario(
    "classic/connection/request-cut-short",
    source="Processor#processCompletedReceives",
    clauses=("VF-06",),
)
def a_request_cut_short_closes_the_connection(conversation: Conversation) -> None:
    """A Heartbeat that is cut short within its group id closes the connection, and affects no other."""
    eve = conversation.actor("eve")
    (ana,) = conversation.stable_group("ana")

    eve.sends_bytes(HEARTBEAT_V0_CUT_SHORT, says="a Heartbeat v0 that is cut short")
    eve.finds_connection_closed()

    ana.asks(ask.heartbeat(), error_code="NONE")


@scenario(
    "classic/connection/unknown-api",
    source="Processor#processCompletedReceives",
    clauses=("VF-06",),
)
def an_unknown_api_closes_the_connection(conversation: Conversation) -> None:
    """A request with an API key that does not exist closes the connection without an answer."""
    eve = conversation.actor("eve")

    eve.sends_bytes(NO_SUCH_API, says="a request of API 32767")

    eve.finds_connection_closed()
