"""What a load leaves: old deadlines, sessions that ran, and groups that lost their last offset."""

from harness.scenario import ANY, SHORT_SESSIONS, Capability, Conversation, ask, expect, scenario


@scenario(
    "loading/restart/nothing-is-left-over",
    source="GroupMetadataManager#onLoaded",
    clauses=("PR-01", "PR-02"),
    needs=(Capability.RESTART,),
    broker_config={"group.max.size": "2"} | SHORT_SESSIONS,
)
def nothing_is_left_over(conversation: Conversation) -> None:
    """After a load no old deadline falls due, a full group stays Stable, and silent members are removed.

    A deleted group stays deleted. A simple group that lost its last offset is Empty when the Java coordinator
    has loaded its log, and does not exist in the Scala one.
    """
    ana, bob = conversation.stable_group("ana", "bob", rebalance_timeout_ms=2_000)
    carol, dan, eve = conversation.actors("carol", "dan", "eve")
    silent, simple, gone = (
        conversation.group("silent"),
        conversation.group("simple"),
        conversation.group("gone"),
    )
    carol.asks(ask.join_group(group_id=silent, session_timeout_ms=2_000), error_code="MEMBER_ID_REQUIRED")
    carol.asks(ask.join_group(group_id=silent, session_timeout_ms=2_000), error_code="NONE")
    carol.asks(
        ask.sync_group(group_id=silent, assignments=((carol.member_id, carol.part),)), error_code="NONE"
    )
    dan.sends(ask.offset_commit(group_id=simple, generation_id=-1, member_id="", topics={"orders": {0: 1}}))
    dan.receives(expect.offset_commit({"orders": {0: "NONE"}}))
    dan.asks(ask.offset_delete(group_id=simple, topics={"orders": (0,)}), error_code="NONE")
    eve.asks(ask.join_group(version=3, group_id=gone, member_id=""), error_code="NONE")
    eve.asks(ask.sync_group(group_id=gone, assignments=((eve.member_id, eve.part),)), error_code="NONE")
    eve.asks(ask.leave_group(group_id=gone), error_code="NONE")
    eve.asks(ask.delete_groups(groups=(gone,)), expect.delete_groups("NONE"))
    ana.sends(ask.join_group(rebalance_timeout_ms=2_000))
    bob.asks(ask.heartbeat(), error_code="REBALANCE_IN_PROGRESS")
    ana.disconnects()

    conversation.restarts_coordinator()
    bob.repeats(ask.offset_fetch(), until=expect.offset_fetch({}), within_ms=15_000)
    conversation.elapses(2_800)
    bob.asks(ask.heartbeat(), error_code="NONE")
    bob.asks(ask.sync_group(), expect.sync_group(error_code="NONE", assignment=bob.part))
    carol.asks(ask.heartbeat(group_id=silent), error_code="UNKNOWN_MEMBER_ID")
    dan.sends(ask.describe_groups(groups=(simple,)))
    dan.receives(expect.describe_groups(error_code="NONE", group_state=ANY))
    eve.sends(ask.describe_groups(groups=(gone,)))
    eve.receives(expect.describe_groups(error_code="NONE", group_state="Dead"))
