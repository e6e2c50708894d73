"""What a load leaves behind: deadlines of before, sessions that ran, groups that lost their last offset."""

from harness.scenario import (
    ANY,
    SHORT_SESSIONS,
    Capability,
    Conversation,
    delete_groups,
    delete_groups_response,
    describe_groups,
    describe_groups_response,
    heartbeat,
    join_group,
    leave_group,
    offset_commit,
    offset_commit_response,
    offset_delete,
    offset_fetch,
    offset_fetch_response,
    scenario,
    sync_group,
    sync_group_response,
)


@scenario(
    "loading/restart/nothing-is-left-over",
    source="GroupMetadataManager#onLoaded",
    clauses=("PR-01", "PR-02"),
    needs=(Capability.RESTART,),
    broker_config={"group.max.size": "2"} | SHORT_SESSIONS,
)
def nothing_is_left_over(conversation: Conversation) -> None:
    """After a load no deadline of before falls due, a full group stays Stable, and who is silent is dropped.

    A deleted group stays away. A simple group that lost its last offset comes back Empty from the Java
    coordinator's log, and not at all from the Scala one's.
    """
    ana, bob = conversation.stable_group("ana", "bob", rebalance_timeout_ms=2_000)
    carol, dan, eve = conversation.actors("carol", "dan", "eve")
    silent, simple, gone = (
        conversation.group("silent"),
        conversation.group("simple"),
        conversation.group("gone"),
    )
    carol.asks(join_group(group_id=silent, session_timeout_ms=2_000), error_code="MEMBER_ID_REQUIRED")
    carol.asks(join_group(group_id=silent, session_timeout_ms=2_000), error_code="NONE")
    carol.asks(sync_group(group_id=silent, assignments=((carol.member_id, carol.part),)), error_code="NONE")
    dan.sends(offset_commit(group_id=simple, generation_id=-1, member_id="", topics={"orders": {0: 1}}))
    dan.receives(offset_commit_response({"orders": {0: "NONE"}}))
    dan.asks(offset_delete(group_id=simple, topics={"orders": (0,)}), error_code="NONE")
    eve.asks(join_group(version=3, group_id=gone, member_id=""), error_code="NONE")
    eve.asks(sync_group(group_id=gone, assignments=((eve.member_id, eve.part),)), error_code="NONE")
    eve.asks(leave_group(group_id=gone), error_code="NONE")
    eve.asks(delete_groups(groups=(gone,)), delete_groups_response("NONE"))
    ana.sends(join_group(rebalance_timeout_ms=2_000))
    bob.asks(heartbeat(), error_code="REBALANCE_IN_PROGRESS")
    ana.disconnects()

    conversation.restarts_coordinator()
    bob.repeats(offset_fetch(), until=offset_fetch_response({}), within_ms=15_000)
    conversation.elapses(2_800)
    bob.asks(heartbeat(), error_code="NONE")
    bob.asks(sync_group(), sync_group_response(error_code="NONE", assignment=bob.part))
    carol.asks(heartbeat(group_id=silent), error_code="UNKNOWN_MEMBER_ID")
    dan.asks(describe_groups(groups=(simple,)), describe_groups_response(error_code="NONE", group_state=ANY))
    eve.asks(describe_groups(groups=(gone,)), describe_groups_response(error_code="NONE", group_state="Dead"))
