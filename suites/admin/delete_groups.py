"""DeleteGroups: which groups are deleted, and what remains of the others."""

from harness.scenario import Conversation, ask, expect, in_any_order, scenario, sweep

VALIDATES = "ClassicGroup#validateDeleteGroup"


@scenario("admin/delete/simple-group", source="GroupCoordinatorShard#deleteGroups", clauses=("DL-02",))
def a_simple_group_is_deleted_with_its_offsets(conversation: Conversation) -> None:
    """DeleteGroups deletes a group that has only offsets, together with its offsets."""
    ana = conversation.actor("ana")
    ana.sends(ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {0: 3, 1: 4}}))
    ana.receives(expect.offset_commit({"orders": {0: "NONE", 1: "NONE"}}))

    ana.asks(ask.delete_groups(), expect.delete_groups("NONE"))

    ana.repeats(ask.describe_groups(), until=expect.describe_groups(group_state="Dead"))
    ana.repeats(ask.offset_fetch(), until=expect.offset_fetch({}))


@scenario("admin/delete/stable-group", source=VALIDATES, clauses=("DL-03",))
def a_stable_group_is_not_deleted(conversation: Conversation) -> None:
    """DeleteGroups refuses a Stable group with NON_EMPTY_GROUP; its members are still served."""
    ana, bob = conversation.stable_group("ana", "bob")

    ana.asks(ask.delete_groups(), expect.delete_groups("NON_EMPTY_GROUP"))

    bob.asks(ask.heartbeat(), error_code="NONE")
    bob.asks(ask.sync_group(), expect.sync_group(error_code="NONE", assignment=bob.part))


@scenario("admin/delete/rebalancing-group", source=VALIDATES, clauses=("DL-03",))
def a_rebalancing_group_is_not_deleted(conversation: Conversation) -> None:
    """DeleteGroups refuses a group with NON_EMPTY_GROUP while it prepares or completes a rebalance."""
    ana, bob = conversation.stable_group("ana", "bob")
    ana.sends(ask.join_group())

    bob.asks(ask.delete_groups(), expect.delete_groups("NON_EMPTY_GROUP"))
    bob.asks(ask.join_group(), error_code="NONE")
    ana.receives(expect.join_group(error_code="NONE"))
    bob.asks(ask.delete_groups(), expect.delete_groups("NON_EMPTY_GROUP"))

    ana.syncs_as_leader((ana, bob))


@scenario("admin/delete/pending-member", source=VALIDATES, clauses=("DL-08", "CO-30", "JG-10"))
def a_group_of_pending_members_is_deleted(conversation: Conversation) -> None:
    """DeleteGroups deletes a group that has only a pending member; its id then gets UNKNOWN_MEMBER_ID."""
    ana = conversation.actor("ana")
    ana.obtains_member_id()

    ana.asks(ask.delete_groups(), expect.delete_groups("NONE"))

    ana.asks(ask.join_group(), expect.join_group(error_code="UNKNOWN_MEMBER_ID", member_id=ana.member_id))


@scenario("admin/delete/each-on-its-own", source="GroupCoordinatorService#deleteGroups", clauses=("DL-05",))
def each_group_is_judged_on_its_own(conversation: Conversation) -> None:
    """DeleteGroups of an empty, a non-empty and an unknown group returns a result for each."""
    ana, _ = conversation.stable_group("ana", "bob")
    empty, never = conversation.group("empty"), conversation.group("never")
    ana.sends(ask.offset_commit(group_id=empty, generation_id=-1, member_id="", topics={"orders": {0: 1}}))
    ana.receives(expect.offset_commit({"orders": {0: "NONE"}}))

    ana.sends(ask.delete_groups(groups=(conversation.group("main"), never, empty)))
    ana.receives(
        expect.response(
            "DeleteGroups",
            results=in_any_order(
                {"group_id": conversation.group("main"), "error_code": "NON_EMPTY_GROUP"},
                {"group_id": never, "error_code": "GROUP_ID_NOT_FOUND"},
                {"group_id": empty, "error_code": "NONE"},
            ),
        )
    )


@scenario(
    "admin/delete/low-version",
    source="GroupCoordinatorShard#deleteGroups",
    clauses=("DL-02", "DL-03"),
    sweep=sweep("DeleteGroups", 0, 1),
)
def low_versions_delete_alike(conversation: Conversation, version: int) -> None:
    """DeleteGroups v{version} refuses a non-empty group and deletes an empty one, as later versions do."""
    (ana,) = conversation.stable_group("ana")

    ana.asks(ask.delete_groups(version=version), expect.delete_groups("NON_EMPTY_GROUP"))
    ana.asks(ask.leave_group(), error_code="NONE")
    ana.asks(ask.delete_groups(version=version), expect.delete_groups("NONE"))


@scenario(
    "admin/delete/with-message",
    source="GroupCoordinatorShard#deleteGroups",
    clauses=("DL-14", "DL-01", "DL-02", "DL-03"),
    sweep=sweep("DeleteGroups", 3, 3),
)
def no_classic_group_has_a_message(conversation: Conversation, version: int) -> None:
    """DeleteGroups v{version} has an error message field, which is null for classic groups, found or not."""
    (ana,) = conversation.stable_group("ana")

    for reported in ("NON_EMPTY_GROUP", "NONE", "GROUP_ID_NOT_FOUND"):
        ana.sends(ask.delete_groups(version=version))
        ana.receives(
            expect.response("DeleteGroups", results=({"error_code": reported, "error_message": None},))
        )
        if reported == "NON_EMPTY_GROUP":
            ana.asks(ask.leave_group(), error_code="NONE")


@scenario(
    "admin/delete/group-without-name",
    source="GroupCoordinatorService#isGroupIdNotEmpty",
    clauses=("DL-04", "OC-20", "OF-14"),
)
def the_group_without_a_name_is_a_group(conversation: Conversation) -> None:
    """The empty string is a valid group id for OffsetCommit, OffsetFetch and DeleteGroups."""
    ana = conversation.actor("ana")

    ana.sends(ask.offset_commit(group_id="", generation_id=-1, member_id="", topics={"orders": {2: 5}}))
    ana.receives(expect.offset_commit({"orders": {2: "NONE"}}))
    ana.repeats(
        ask.offset_fetch(group_id="", topics={"orders": (2,)}), until=expect.offset_fetch({"orders": {2: 5}})
    )
    ana.repeats(ask.describe_groups(groups=("",)), until=expect.describe_groups(group_state="Empty"))
    ana.asks(ask.delete_groups(groups=("",)), expect.delete_groups("NONE"))
    ana.repeats(ask.describe_groups(groups=("",)), until=expect.describe_groups(group_state="Dead"))
