"""Group ids: the empty one, the unknown one, and what creates a group."""

from harness.scenario import Conversation, ask, expect, scenario


@scenario(
    "classic/join/empty-group-id", source="GroupCoordinatorService#joinGroup", clauses=("CO-01", "VF-07")
)
def an_empty_group_id_cannot_be_joined(conversation: Conversation) -> None:
    """A JoinGroup with an empty group id gets INVALID_GROUP_ID and its own member id back."""
    ana = conversation.actor("ana")

    ana.sends(ask.join_group(group_id="", member_id="nobody"))
    ana.receives(
        expect.join_group(
            error_code="INVALID_GROUP_ID", member_id="nobody", generation_id=-1, leader="", members=()
        )
    )


@scenario(
    "classic/sync/empty-group-id", source="GroupCoordinatorService#syncGroup", clauses=("CO-02", "VF-09")
)
def an_empty_group_id_cannot_be_synced(conversation: Conversation) -> None:
    """A SyncGroup with an empty group id gets INVALID_GROUP_ID and an empty assignment."""
    ana = conversation.actor("ana")

    ana.sends(ask.sync_group(group_id="", generation_id=1, member_id="nobody"))
    ana.receives(expect.sync_group(error_code="INVALID_GROUP_ID", assignment=b""))


@scenario("classic/heartbeat/empty-group-id", source="GroupCoordinatorService#heartbeat", clauses=("CO-03",))
def an_empty_group_id_has_no_heartbeat(conversation: Conversation) -> None:
    """A Heartbeat with an empty group id gets INVALID_GROUP_ID."""
    ana = conversation.actor("ana")

    ana.asks(ask.heartbeat(group_id="", generation_id=1, member_id="nobody"), error_code="INVALID_GROUP_ID")


@scenario(
    "classic/join/unknown-group-with-a-member-id",
    source="GroupMetadataManager#classicGroupJoinToClassicGroup",
    clauses=("CO-16",),
)
def a_member_id_does_not_create_a_group(conversation: Conversation) -> None:
    """A JoinGroup with a member id to an unknown group gets UNKNOWN_MEMBER_ID and creates no group."""
    ana = conversation.actor("ana")

    ana.sends(ask.join_group(member_id="nobody"))
    ana.receives(expect.join_group(error_code="UNKNOWN_MEMBER_ID", member_id="nobody", generation_id=-1))

    ana.asks(ask.describe_groups(), expect.describe_groups(error_code="NONE", group_state="Dead", members=()))


@scenario(
    "classic/sync/unknown-group",
    source="GroupMetadataManager#classicGroupSync",
    clauses=("CO-18", "VF-09"),
)
def an_unknown_group_cannot_be_synced(conversation: Conversation) -> None:
    """A SyncGroup to an unknown group gets UNKNOWN_MEMBER_ID."""
    ana = conversation.actor("ana")

    ana.sends(ask.sync_group(generation_id=1, member_id="nobody"))
    ana.receives(expect.sync_group(error_code="UNKNOWN_MEMBER_ID", assignment=b""))


@scenario(
    "classic/heartbeat/unknown-group",
    source="GroupMetadataManager#classicGroupHeartbeat",
    clauses=("CO-19",),
)
def an_unknown_group_has_no_heartbeat(conversation: Conversation) -> None:
    """A Heartbeat to an unknown group gets UNKNOWN_MEMBER_ID."""
    ana = conversation.actor("ana")

    ana.asks(ask.heartbeat(generation_id=1, member_id="nobody"), error_code="UNKNOWN_MEMBER_ID")


@scenario(
    "classic/leave/unknown-group-before-v3",
    source="GroupMetadataManager#classicGroupLeave",
    clauses=("CO-21", "VF-11"),
)
def an_unknown_group_cannot_be_left(conversation: Conversation) -> None:
    """A LeaveGroup v2 to an unknown group gets UNKNOWN_MEMBER_ID at the top level."""
    ana = conversation.actor("ana")

    ana.asks(ask.leave_group(version=2, member_id="nobody"), error_code="UNKNOWN_MEMBER_ID")


@scenario(
    "classic/leave/nobody-leaves-an-unknown-group",
    source="GroupMetadataManager#classicGroupLeave",
    clauses=("CO-22",),
)
def an_empty_batch_leaves_an_unknown_group(conversation: Conversation) -> None:
    """A LeaveGroup that names no member gets NONE even if the group is unknown."""
    ana = conversation.actor("ana")

    ana.asks(ask.leave_group(members=()), expect.leave_group(error_code="NONE", members=()))


@scenario(
    "classic/leave/nobody-leaves-a-stable-group",
    source="GroupMetadataManager#classicGroupLeaveToClassicGroup",
    clauses=("CO-22",),
)
def an_empty_batch_starts_no_rebalance(conversation: Conversation) -> None:
    """A LeaveGroup that names no member gets NONE and leaves a Stable group unchanged."""
    (ana,) = conversation.stable_group("ana")

    ana.asks(ask.leave_group(members=()), expect.leave_group(error_code="NONE", members=()))

    ana.asks(ask.heartbeat(), error_code="NONE")


@scenario(
    "classic/join/deleted-group-forgets-pending-id",
    source="ClassicGroup#validateDeleteGroup",
    clauses=("CO-30",),
)
def deleting_a_group_forgets_its_pending_ids(conversation: Conversation) -> None:
    """A group with only a pending member can be deleted; its id then gets UNKNOWN_MEMBER_ID."""
    ana = conversation.actor("ana")
    ana.obtains_member_id()

    ana.asks(ask.delete_groups(), expect.delete_groups("NONE"))

    ana.asks(ask.join_group(), expect.join_group(error_code="UNKNOWN_MEMBER_ID", member_id=ana.member_id))


@scenario("classic/join/odd-group-id", source="GroupCoordinatorService#joinGroup", clauses=("VF-19",))
def any_characters_may_stand_in_a_group_id(conversation: Conversation) -> None:
    """A group id may contain spaces, slashes, a line break and letters beyond ASCII."""
    ana = conversation.actor("ana")
    odd = conversation.group("a group/of\n\N{LATIN SMALL LETTER U WITH DIAERESIS}ber-people")

    ana.sends(ask.join_group(version=3, group_id=odd))
    ana.receives(expect.join_group(error_code="NONE", generation_id=1, leader=ana.member_id))

    ana.asks(ask.leave_group(group_id=odd), error_code="NONE")
