"""LeaveGroup: what the leaving member and the remaining members get."""

from harness.scenario import Conversation, ask, expect, scenario, sweep


@scenario(
    "classic/leave/follower",
    source="GroupMetadataManager#classicGroupLeaveToClassicGroup",
    clauses=("LV-01", "VF-12"),
)
def a_follower_leaves(conversation: Conversation) -> None:
    """A follower's LeaveGroup gets NONE, the others must rebalance, and its id becomes UNKNOWN_MEMBER_ID."""
    ana, bob = conversation.stable_group("ana", "bob")

    bob.sends(ask.leave_group())
    bob.receives(
        expect.leave_group(
            error_code="NONE",
            members=({"member_id": bob.member_id, "group_instance_id": None, "error_code": "NONE"},),
        )
    )

    ana.asks(ask.heartbeat(), error_code="REBALANCE_IN_PROGRESS")
    ana.asks(ask.sync_group(), error_code="REBALANCE_IN_PROGRESS")
    bob.asks(ask.heartbeat(), error_code="UNKNOWN_MEMBER_ID")


@scenario(
    "classic/leave/last-member",
    source="GroupMetadataManager#removeMemberAndUpdateClassicGroup",
    clauses=("LV-02", "HB-04"),
    broker_config={"group.initial.rebalance.delay.ms": "0"},
)
def the_last_member_leaves(conversation: Conversation) -> None:
    """When the last member leaves, the group is Empty at once and the next to join waits for nobody."""
    (ana,) = conversation.stable_group("ana")
    bob = conversation.actor("bob")

    ana.asks(ask.leave_group(), error_code="NONE")

    bob.sends(ask.join_group(version=3))
    bob.receives(expect.join_group(error_code="NONE", generation_id=3), not_after_ms=1000)


@scenario(
    "classic/leave/stranger",
    source="GroupMetadataManager#classicGroupLeaveToClassicGroup",
    clauses=("LV-03", "VF-12"),
    sweep=sweep("LeaveGroup", 3, 5),
)
def a_stranger_cannot_leave(conversation: Conversation, version: int) -> None:
    """LeaveGroup v{version} of an unknown id gets NONE at the top level, UNKNOWN_MEMBER_ID for the member."""
    (ana,) = conversation.stable_group("ana")

    ana.sends(ask.leave_group(version=version, members=(("nobody", None),)))
    ana.receives(
        expect.leave_group(
            error_code="NONE",
            members=({"member_id": "nobody", "group_instance_id": None, "error_code": "UNKNOWN_MEMBER_ID"},),
        )
    )

    ana.asks(ask.heartbeat(), error_code="NONE")


@scenario(
    "classic/leave/one-member-before-v3",
    source="KafkaApis#handleLeaveGroupRequest",
    clauses=("VF-11", "LV-02"),
    sweep=sweep("LeaveGroup", 0, 2),
)
def before_v3_the_members_error_stands_on_top(conversation: Conversation, version: int) -> None:
    """A LeaveGroup v{version} names one member, whose error is the top-level error of the response."""
    (ana,) = conversation.stable_group("ana")

    ana.asks(ask.leave_group(version=version, member_id="nobody"), error_code="UNKNOWN_MEMBER_ID")
    ana.asks(ask.leave_group(version=version), error_code="NONE")

    ana.asks(ask.leave_group(version=version), error_code="UNKNOWN_MEMBER_ID")


@scenario(
    "classic/leave/pending-id",
    source="GroupMetadataManager#classicGroupLeaveToClassicGroup",
    clauses=("LV-12", "JG-10"),
)
def a_pending_id_may_leave(conversation: Conversation) -> None:
    """A pending member's LeaveGroup gets NONE, and its id then gets UNKNOWN_MEMBER_ID."""
    ana = conversation.actor("ana")
    ana.obtains_member_id()

    ana.asks(ask.leave_group(), expect.leave_group(error_code="NONE", members=({"error_code": "NONE"},)))

    ana.asks(ask.join_group(), expect.join_group(error_code="UNKNOWN_MEMBER_ID", member_id=ana.member_id))


@scenario(
    "classic/leave/twice-in-one-batch",
    source="GroupMetadataManager#classicGroupLeaveToClassicGroup",
    clauses=("LV-14", "VF-12"),
)
def a_member_leaves_twice_in_one_batch(conversation: Conversation) -> None:
    """A member that is named twice in one LeaveGroup gets NONE the first time, then UNKNOWN_MEMBER_ID."""
    ana, bob = conversation.stable_group("ana", "bob")

    ana.sends(ask.leave_group(members=((bob.member_id, None), (bob.member_id, None))))
    ana.receives(
        expect.leave_group(
            error_code="NONE",
            members=(
                {"member_id": bob.member_id, "error_code": "NONE"},
                {"member_id": bob.member_id, "error_code": "UNKNOWN_MEMBER_ID"},
            ),
        )
    )


@scenario(
    "classic/leave/mixed-batch",
    source="GroupMetadataManager#classicGroupLeaveToClassicGroup",
    clauses=("LV-15", "LV-12", "VF-12"),
)
def each_member_of_a_batch_is_judged_alone(conversation: Conversation) -> None:
    """LeaveGroup of a stranger, a member, a pending id and an empty id is answered for each, in order."""
    ana, bob = conversation.stable_group("ana", "bob")
    carol = conversation.actor("carol")
    carol.obtains_member_id()

    ana.sends(
        ask.leave_group(
            members=(("nobody", None), (bob.member_id, None), (carol.member_id, None), ("", None))
        )
    )
    ana.receives(
        expect.leave_group(
            error_code="NONE",
            members=(
                {"member_id": "nobody", "error_code": "UNKNOWN_MEMBER_ID"},
                {"member_id": bob.member_id, "error_code": "NONE"},
                {"member_id": carol.member_id, "error_code": "NONE"},
                {"member_id": "", "error_code": "UNKNOWN_MEMBER_ID"},
            ),
        )
    )

    ana.asks(ask.join_group(), expect.join_group(error_code="NONE", members=({"member_id": ana.member_id},)))


@scenario(
    "classic/leave/while-its-join-is-parked",
    source="GroupMetadataManager#removeMemberAndUpdateClassicGroup",
    clauses=("LV-16",),
)
def a_leaver_whose_join_is_parked(conversation: Conversation) -> None:
    """A member that leaves while its JoinGroup is parked gets UNKNOWN_MEMBER_ID without an id for that."""
    (ana,) = conversation.stable_group("ana")
    bob = conversation.actor("bob")
    bob.obtains_member_id()
    bob.sends(ask.join_group())

    bob.aside.asks(ask.leave_group(), error_code="NONE")

    bob.receives(
        expect.join_group(error_code="UNKNOWN_MEMBER_ID", member_id="", generation_id=-1, members=())
    )
    ana.asks(ask.join_group(), expect.join_group(error_code="NONE", members=({"member_id": ana.member_id},)))


@scenario(
    "classic/leave/while-others-await-assignments",
    source="GroupMetadataManager#prepareRebalance",
    clauses=("LV-01", "JG-08"),
)
def a_leaver_ends_the_others_syncs(conversation: Conversation) -> None:
    """A member that leaves before the assignments ends parked SyncGroups with REBALANCE_IN_PROGRESS."""
    ana, bob, carol = conversation.stable_group("ana", "bob", "carol")
    for actor in (ana, bob, carol):
        actor.sends(ask.join_group())
    for actor in (ana, bob, carol):
        actor.receives(expect.join_group(error_code="NONE", generation_id=3))
    carol.sends(ask.sync_group())

    bob.asks(ask.leave_group(), error_code="NONE")

    carol.receives(expect.sync_group(error_code="REBALANCE_IN_PROGRESS", assignment=b""))
    ana.asks(ask.sync_group(), expect.sync_group(error_code="REBALANCE_IN_PROGRESS", assignment=b""))


@scenario(
    "classic/leave/with-a-reason",
    source="KIP-800",
    clauses=("VF-15", "LV-02"),
)
def a_reason_changes_nothing(conversation: Conversation) -> None:
    """A reason in JoinGroup v8+ or LeaveGroup v5, however long, changes nothing."""
    ana = conversation.actor("ana")
    ana.obtains_member_id()
    ana.asks(ask.join_group(version=9), expect.join_group(error_code="NONE", generation_id=1))

    member = {"member_id": ana.member_id, "group_instance_id": None, "reason": "tired " * 100}
    ana.sends(ask.request("LeaveGroup", 5, group_id=conversation.group("main"), members=(member,)))
    ana.receives(
        expect.leave_group(error_code="NONE", members=({"member_id": ana.member_id, "error_code": "NONE"},))
    )
