"""Controls: what never was wrong, or was never fixed, so that every release answers alike.

They test the harness itself: if a control tells two releases apart, the harness is wrong.
"""

from harness.scenario import ORDERS, ROUND_ROBIN, Conversation, ask, expect, scenario, subscription


@scenario(
    "regressions/control/refused-joins",
    source="GroupMetadataManager#classicGroupJoinToClassicGroup",
)
def refused_joins_are_refused_alike(conversation: Conversation) -> None:
    """JoinGroup is refused for a wrong group id, protocol, session timeout or member id, in every release."""
    (ana,) = conversation.stable_group("ana")
    refusals = (
        (ask.join_group(version=5, member_id="", group_id=""), "INVALID_GROUP_ID"),
        (ask.join_group(version=5, member_id="", protocols=()), "INCONSISTENT_GROUP_PROTOCOL"),
        (ask.join_group(version=5, member_id="", protocol_type=""), "INCONSISTENT_GROUP_PROTOCOL"),
        (ask.join_group(version=5, member_id="", session_timeout_ms=50), "INVALID_SESSION_TIMEOUT"),
        (ask.join_group(version=5, member_id="nobody"), "UNKNOWN_MEMBER_ID"),
    )
    bob = conversation.actor("bob")
    for refused, error in refusals:
        bob.asks(refused, error_code=error)
    ana.asks(ask.heartbeat(), error_code="NONE")


@scenario(
    "regressions/control/leaving-members",
    source="GroupMetadataManager#classicGroupLeaveToClassicGroup",
    clauses=("LV-14",),
)
def leaving_members_are_answered_alike(conversation: Conversation) -> None:
    """LeaveGroup answers each member on its own: in an unknown group, listed twice, and an empty list."""
    ana, bob = conversation.stable_group("ana", "bob")
    elsewhere = conversation.group("unknown")

    ana.sends(ask.leave_group(version=3, group_id=elsewhere, members=((ana.member_id, None),)))
    ana.receives(expect.leave_group(error_code="NONE", members=({"error_code": "UNKNOWN_MEMBER_ID"},)))
    ana.asks(ask.leave_group(version=3, members=()), expect.leave_group(error_code="NONE", members=()))
    ana.sends(ask.leave_group(version=3, members=((bob.member_id, None), (bob.member_id, None))))
    ana.receives(
        expect.leave_group(
            error_code="NONE", members=({"error_code": "NONE"}, {"error_code": "UNKNOWN_MEMBER_ID"})
        )
    )


@scenario(
    "regressions/control/commits-of-members",
    source="ClassicGroup#validateOffsetCommit",
    clauses=("OC-11", "OC-15"),
)
def commits_of_members_are_judged_alike(conversation: Conversation) -> None:
    """OffsetCommit v7 requires the member id and generation, and a group that has its assignments."""
    ana = conversation.actor("ana")
    ana.joins()
    member, current = ana.member_id, ana.generation_id

    for member_id, generation_id, error in (
        (member, current, "REBALANCE_IN_PROGRESS"),
        ("", -1, "UNKNOWN_MEMBER_ID"),
    ):
        ana.sends(
            ask.offset_commit(
                version=7, member_id=member_id, generation_id=generation_id, topics={"orders": {0: 7}}
            )
        )
        ana.receives(expect.offset_commit({"orders": {0: error}}))

    ana.syncs_as_leader((ana,))
    for member_id, claimed, error in (
        (member, current, "NONE"),
        (member, current + 1, "ILLEGAL_GENERATION"),
        (member, -1, "ILLEGAL_GENERATION"),
        ("", -1, "UNKNOWN_MEMBER_ID"),
    ):
        ana.sends(
            ask.offset_commit(
                version=7, member_id=member_id, generation_id=claimed, topics={"orders": {0: 7}}
            )
        )
        ana.receives(expect.offset_commit({"orders": {0: error}}))


@scenario(
    "regressions/control/deleting",
    source="ClassicGroup#validateOffsetDelete",
    clauses=("OD-08", "OD-09"),
)
def deleting_is_judged_alike(conversation: Conversation) -> None:
    """OffsetDelete and DeleteGroups refuse what members use, and answer for each group and topic."""
    ana = conversation.actor("ana")
    ana.joins()
    ana.syncs_as_leader((ana,))
    ana.sends(ask.offset_commit(topics={"orders": {0: 7}, "payments": {0: 7}}))
    ana.receives(expect.offset_commit({"orders": {0: "NONE"}, "payments": {0: "NONE"}}))
    others, unknown = conversation.group("others"), conversation.group("unknown")
    bob = conversation.actor("bob")
    bob.asks(ask.join_group(version=3, group_id=others, protocol_type="connect"), error_code="NONE")

    for topic, error in (
        ("orders", "GROUP_SUBSCRIBED_TO_TOPIC"),
        ("payments", "NONE"),
        ("no-such-topic", "UNKNOWN_TOPIC_OR_PARTITION"),
    ):
        ana.sends(ask.offset_delete(topics={topic: (0,)}))
        ana.receives(expect.offset_delete(error_code="NONE", errors={topic: {0: error}}))
    ana.sends(ask.offset_delete(group_id=others, topics={"orders": (0,)}))
    ana.receives(expect.offset_delete(error_code="NON_EMPTY_GROUP", errors={}))
    ana.sends(ask.offset_delete(group_id=unknown, topics={"orders": (0,)}))
    ana.receives(expect.offset_delete(error_code="GROUP_ID_NOT_FOUND", errors={}))
    for group, error in ((conversation.group("main"), "NON_EMPTY_GROUP"), (unknown, "GROUP_ID_NOT_FOUND")):
        ana.asks(ask.delete_groups(groups=(group,)), expect.delete_groups(error))
    ana.asks(ask.delete_groups(groups=("",)), expect.delete_groups("GROUP_ID_NOT_FOUND"))


@scenario(
    "regressions/control/static-restart",
    source="GroupMetadataManager#updateStaticMemberThenRebalanceOrCompleteJoin",
    clauses=("ST-01", "ST-09"),
)
def a_static_member_restarts_alike(conversation: Conversation) -> None:
    """A static leader that restarts keeps its generation and assignment, whatever it now subscribes to.

    A changed subscription starts no rebalance: this is KAFKA-12759, which is open.
    """
    ana = conversation.actor("ana", group_instance_id="seat-a")
    again = conversation.actor("ana-again", group_instance_id="seat-a")
    conversation.stable_group(ana)

    again.sends(ask.join_group(version=5, protocols=(("range", subscription("payments")),)))
    again.receives(expect.join_group(error_code="NONE", generation_id=1, leader=ana.member_id, members=()))
    again.asks(ask.sync_group(version=3), expect.sync_group(error_code="NONE", assignment=ana.part))
    ana.asks(ask.heartbeat(), error_code="FENCED_INSTANCE_ID")


@scenario(
    "regressions/control/pending-id-with-an-instance-id",
    source="GroupMetadataManager#classicGroupJoinExistingMember",
    clauses=("JG-13",),
)
def a_pending_id_with_an_instance_id_fails_alike(conversation: Conversation) -> None:
    """A static join with the member id of a pending dynamic member gets UNKNOWN_SERVER_ERROR."""
    ana = conversation.actor("ana")
    ana.obtains_member_id()

    for protocols in ((("range", ORDERS),), ROUND_ROBIN):
        ana.sends(ask.join_group(version=5, group_instance_id="seat-a", protocols=protocols))
        ana.receives(expect.join_group(error_code="UNKNOWN_SERVER_ERROR", member_id=""))


@scenario(
    "regressions/control/wrong-protocol-of-a-sync",
    source="GroupMetadataManager#validateSyncGroup",
    clauses=("SG-14",),
)
def a_wrong_protocol_of_a_sync_is_refused_alike(conversation: Conversation) -> None:
    """SyncGroup v5 without the selected protocol gets INCONSISTENT_GROUP_PROTOCOL; 2.4 does not have v5."""
    ana = conversation.actor("ana")
    ana.joins()

    for protocol_name in (None, "roundrobin"):
        ana.asks(
            ask.sync_group(version=5, protocol_name=protocol_name), error_code="INCONSISTENT_GROUP_PROTOCOL"
        )
