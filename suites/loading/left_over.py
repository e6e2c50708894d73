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
    heartbeat_response,
    join_group,
    join_group_response,
    leave_group,
    leave_group_response,
    offset_commit,
    offset_commit_response,
    offset_delete,
    offset_delete_response,
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
    carol.sends(join_group(group_id=silent, session_timeout_ms=2_000))
    carol.receives(join_group_response(error_code="MEMBER_ID_REQUIRED"))
    carol.sends(join_group(group_id=silent, session_timeout_ms=2_000))
    carol.receives(join_group_response(error_code="NONE"))
    carol.sends(sync_group(group_id=silent, assignments=((carol.member_id, carol.part),)))
    carol.receives(sync_group_response(error_code="NONE"))
    dan.sends(offset_commit(group_id=simple, generation_id=-1, member_id="", topics={"orders": {0: 1}}))
    dan.receives(offset_commit_response({"orders": {0: "NONE"}}))
    dan.sends(offset_delete(group_id=simple, topics={"orders": (0,)}))
    dan.receives(offset_delete_response(error_code="NONE"))
    eve.sends(join_group(version=3, group_id=gone, member_id=""))
    eve.receives(join_group_response(error_code="NONE"))
    eve.sends(sync_group(group_id=gone, assignments=((eve.member_id, eve.part),)))
    eve.receives(sync_group_response(error_code="NONE"))
    eve.sends(leave_group(group_id=gone))
    eve.receives(leave_group_response(error_code="NONE"))
    eve.sends(delete_groups(groups=(gone,)))
    eve.receives(delete_groups_response("NONE"))
    ana.sends(join_group(rebalance_timeout_ms=2_000))
    bob.sends(heartbeat())
    bob.receives(heartbeat_response(error_code="REBALANCE_IN_PROGRESS"))
    ana.disconnects()

    conversation.restarts_coordinator()
    bob.repeats(offset_fetch(), until=offset_fetch_response({}), within_ms=15_000)
    conversation.elapses(2_800)
    bob.sends(heartbeat())
    bob.receives(heartbeat_response(error_code="NONE"))
    bob.sends(sync_group())
    bob.receives(sync_group_response(error_code="NONE", assignment=bob.part))
    carol.sends(heartbeat(group_id=silent))
    carol.receives(heartbeat_response(error_code="UNKNOWN_MEMBER_ID"))
    dan.sends(describe_groups(groups=(simple,)))
    dan.receives(describe_groups_response(error_code="NONE", group_state=ANY))
    eve.sends(describe_groups(groups=(gone,)))
    eve.receives(describe_groups_response(error_code="NONE", group_state="Dead"))
