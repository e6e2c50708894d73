"""Dead groups: a deleted group is answered as if it had never existed."""

from harness.scenario import GONE, Actor, Conversation, ask, expect, scenario, sweep


def _bereaved(conversation: Conversation) -> Actor:
    """Return a member, with id and generation, whose group and committed offset have been deleted."""
    (ana,) = conversation.stable_group("ana")
    ana.asks(ask.offset_commit(topics={"orders": {0: 7}}), expect.offset_commit({"orders": {0: "NONE"}}))
    ana.asks(ask.leave_group(), error_code="NONE")
    ana.asks(ask.delete_groups(), expect.delete_groups("NONE"))
    return ana


@scenario(
    "admin/dead/heartbeat",
    source="GroupMetadataManager#classicGroupHeartbeat",
    clauses=("CO-19", "HB-04"),
)
def a_heartbeat_to_a_dead_group_is_unknown(conversation: Conversation) -> None:
    """A Heartbeat to a deleted group, or to one that never existed, gets UNKNOWN_MEMBER_ID."""
    ana = _bereaved(conversation)

    ana.asks(ask.heartbeat(), error_code="UNKNOWN_MEMBER_ID")
    ana.asks(ask.heartbeat(group_id=conversation.group("never")), error_code="UNKNOWN_MEMBER_ID")


@scenario("admin/dead/sync", source="GroupMetadataManager#classicGroupSync", clauses=("CO-18", "VF-09"))
def a_sync_to_a_dead_group_is_unknown(conversation: Conversation) -> None:
    """A SyncGroup to a deleted group, or to one that never existed, gets UNKNOWN_MEMBER_ID."""
    ana = _bereaved(conversation)

    ana.asks(ask.sync_group(), expect.sync_group(error_code="UNKNOWN_MEMBER_ID", assignment=b""))
    ana.sends(ask.sync_group(group_id=conversation.group("never")))
    ana.receives(expect.sync_group(error_code="UNKNOWN_MEMBER_ID", assignment=b""))


@scenario("admin/dead/leave", source="GroupMetadataManager#classicGroupLeave", clauses=("LV-03", "CO-22"))
def a_leave_from_a_dead_group_is_unknown(conversation: Conversation) -> None:
    """LeaveGroup from a deleted or never existing group returns UNKNOWN_MEMBER_ID for each member."""
    ana = _bereaved(conversation)
    unknown = expect.leave_group(
        error_code="NONE", members=({"member_id": ana.member_id, "error_code": "UNKNOWN_MEMBER_ID"},)
    )

    ana.asks(ask.leave_group(), unknown)
    ana.asks(ask.leave_group(group_id=conversation.group("never")), unknown)
    ana.asks(ask.leave_group(members=()), expect.leave_group(error_code="NONE", members=()))


@scenario(
    "admin/dead/leave-low-version",
    source="LeaveGroupResponse#LeaveGroupResponse",
    clauses=("CO-21", "VF-11"),
    sweep=sweep("LeaveGroup", 0, 2),
)
def a_low_version_leave_from_a_dead_group_is_unknown(conversation: Conversation, version: int) -> None:
    """LeaveGroup v{version} from a deleted group returns UNKNOWN_MEMBER_ID as its top-level error."""
    ana = _bereaved(conversation)

    ana.asks(ask.leave_group(version=version), error_code="UNKNOWN_MEMBER_ID")
    ana.sends(ask.leave_group(version=version, group_id=conversation.group("never")))
    ana.receives(expect.leave_group(error_code="UNKNOWN_MEMBER_ID"))


@scenario(
    "admin/dead/join-with-member-id",
    source="GroupMetadataManager#classicGroupJoinToClassicGroup",
    clauses=("CO-16", "CO-17", "JG-48"),
)
def a_former_member_cannot_rejoin_a_dead_group(conversation: Conversation) -> None:
    """A JoinGroup with a member id to a deleted group gets UNKNOWN_MEMBER_ID and does not create a group."""
    ana = _bereaved(conversation)

    ana.sends(ask.join_group())
    ana.receives(expect.join_group(error_code="UNKNOWN_MEMBER_ID", member_id=ana.member_id, generation_id=-1))
    ana.sends(ask.join_group(group_instance_id="seat-a"))
    ana.receives(expect.join_group(error_code="UNKNOWN_MEMBER_ID", member_id=ana.member_id))
    ana.sends(ask.join_group(group_id=conversation.group("never")))
    ana.receives(expect.join_group(error_code="UNKNOWN_MEMBER_ID", member_id=ana.member_id))

    ana.repeats(ask.describe_groups(), until=GONE)


@scenario("admin/dead/join-anew", source="GroupMetadataManager#classicGroupJoin", clauses=("RB-25", "JG-02"))
def a_deleted_group_begins_again(conversation: Conversation) -> None:
    """A member that joins a deleted group as new becomes the leader of generation 1."""
    ana = _bereaved(conversation)
    bob = conversation.actor("bob")

    bob.obtains_member_id()
    bob.asks(ask.join_group(), expect.join_group(error_code="NONE", generation_id=1, leader=bob.member_id))

    ana.asks(ask.heartbeat(), error_code="UNKNOWN_MEMBER_ID")


@scenario(
    "admin/dead/commit",
    source="OffsetMetadataManager#validateOffsetCommit",
    clauses=("OC-02", "OC-04", "OC-07"),
)
def a_member_commits_to_a_dead_group_in_vain(conversation: Conversation) -> None:
    """A member's commit to an Empty group gets UNKNOWN_MEMBER_ID, and ILLEGAL_GENERATION after deletion."""
    (ana,) = conversation.stable_group("ana")
    ana.asks(ask.leave_group(), error_code="NONE")

    ana.sends(ask.offset_commit(topics={"orders": {0: 1}}))
    ana.receives(expect.offset_commit({"orders": {0: "UNKNOWN_MEMBER_ID"}}))
    ana.asks(ask.delete_groups(), expect.delete_groups("NONE"))
    ana.sends(ask.offset_commit(topics={"orders": {0: 1}}))
    ana.receives(expect.offset_commit({"orders": {0: "ILLEGAL_GENERATION"}}))
    ana.sends(
        ask.offset_commit(group_id=conversation.group("never"), generation_id=0, topics={"orders": {0: 1}})
    )
    ana.receives(expect.offset_commit({"orders": {0: "ILLEGAL_GENERATION"}}))


@scenario("admin/dead/describe", source="GroupMetadataManager#describeGroups", clauses=("DG-01", "DS-04"))
def a_dead_group_is_described_as_dead(conversation: Conversation) -> None:
    """DescribeGroups returns state Dead without an error for a deleted or never existing group."""
    ana = _bereaved(conversation)
    dead = expect.describe_groups(
        error_code="NONE", group_state="Dead", protocol_type="", protocol_data="", members=()
    )

    ana.repeats(ask.describe_groups(), until=dead)
    ana.asks(ask.describe_groups(groups=(conversation.group("never"),)), dead)
    ana.asks(ask.describe_groups(version=0, groups=(conversation.group("never"),)), dead)


@scenario("admin/dead/describe-v6", source="KIP-1043", clauses=("DS-04", "DG-01"))
def describe_v6_does_not_find_a_dead_group(conversation: Conversation) -> None:
    """DescribeGroups v6 returns GROUP_ID_NOT_FOUND and state Dead for a group that never existed."""
    ana = conversation.actor("ana")

    ana.sends(ask.describe_groups(version=6))
    ana.receives(
        expect.describe_groups(
            error_code="GROUP_ID_NOT_FOUND", group_state="Dead", protocol_type="", members=()
        )
    )


@scenario(
    "admin/dead/fetch", source="OffsetMetadataManager#fetchOffsets", clauses=("OF-02", "OF-03", "DL-02")
)
def a_dead_group_has_no_offsets(conversation: Conversation) -> None:
    """OffsetFetch of a deleted group is no error: -1 for a named partition, no topics in a full fetch."""
    ana = _bereaved(conversation)

    ana.repeats(ask.offset_fetch(topics={"orders": (0,)}), until=expect.offset_fetch({"orders": {0: -1}}))
    ana.asks(ask.offset_fetch(), expect.offset_fetch({}))
    ana.sends(
        ask.offset_fetch(group_id=conversation.group("never"), topics={"orders": (0,), "payments": (1,)})
    )
    ana.receives(expect.offset_fetch({"orders": {0: -1}, "payments": {1: -1}}))
    ana.asks(ask.offset_fetch(group_id=conversation.group("never")), expect.offset_fetch({}))


@scenario(
    "admin/dead/offset-delete", source="OffsetMetadataManager#deleteOffsets", clauses=("OD-01", "OD-16")
)
def a_dead_group_has_no_offsets_to_delete(conversation: Conversation) -> None:
    """OffsetDelete of a deleted or never existing group gets GROUP_ID_NOT_FOUND and no result per topic."""
    ana = _bereaved(conversation)
    not_found = expect.offset_delete(error_code="GROUP_ID_NOT_FOUND", errors={})

    ana.asks(ask.offset_delete(topics={"orders": (0,)}), not_found)
    ana.sends(
        ask.offset_delete(
            group_id=conversation.group("never"), topics={"orders": (0,), "no-such-topic": (0,)}
        )
    )
    ana.receives(not_found)


@scenario("admin/dead/delete-again", source="GroupMetadataManager#validateDeleteGroup", clauses=("DL-01",))
def a_dead_group_cannot_be_deleted(conversation: Conversation) -> None:
    """DeleteGroups of a deleted or never existing group gets GROUP_ID_NOT_FOUND."""
    ana = _bereaved(conversation)

    ana.asks(ask.delete_groups(), expect.delete_groups("GROUP_ID_NOT_FOUND"))
    ana.sends(ask.delete_groups(version=0, groups=(conversation.group("never"),)))
    ana.receives(expect.delete_groups("GROUP_ID_NOT_FOUND"))
