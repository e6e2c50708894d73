"""DescribeGroups: what the response contains in each state of a group.

A coordinator may describe only what its log has committed, so a recent change is requested repeatedly.
"""

from harness.scenario import ORDERS, Conversation, ask, expect, in_any_order, scenario, starting_with, sweep

DESCRIBES = "GroupMetadataManager#describeGroups"


@scenario(
    "admin/describe/stable",
    source=DESCRIBES,
    clauses=("DG-03", "DS-01", "DS-07", "DG-09"),
    sweep=sweep("DescribeGroups", 5, 6),
)
def a_stable_group_shows_metadata_and_assignments(conversation: Conversation, version: int) -> None:
    """DescribeGroups v{version} returns a Stable group's members, their metadata and their assignments."""
    ana, bob = conversation.stable_group("ana", "bob")

    ana.repeats(
        ask.describe_groups(version=version),
        until=expect.describe_groups(
            error_code="NONE",
            group_state="Stable",
            protocol_type="consumer",
            protocol_data="range",
            members=in_any_order(
                *(
                    {
                        "member_id": member.member_id,
                        "group_instance_id": None,
                        "client_id": member.name,
                        "client_host": starting_with("/"),
                        "member_metadata": ORDERS,
                        "member_assignment": member.part,
                    }
                    for member in (ana, bob)
                )
            ),
        ),
    )


@scenario("admin/describe/static-member", source=DESCRIBES, clauses=("DG-07",))
def a_static_member_shows_its_instance_id(conversation: Conversation) -> None:
    """DescribeGroups v4 returns the instance id of a static member."""
    ana, bob = conversation.stable_group("ana", conversation.actor("bob", group_instance_id="seat-b"))

    members = in_any_order(
        {"member_id": ana.member_id, "group_instance_id": None},
        {"member_id": bob.member_id, "group_instance_id": "seat-b"},
    )
    ana.repeats(
        ask.describe_groups(version=4), until=expect.describe_groups(group_state="Stable", members=members)
    )


@scenario(
    "admin/describe/low-version", source=DESCRIBES, clauses=("DG-03",), sweep=sweep("DescribeGroups", 0, 4)
)
def low_versions_show_a_stable_group(conversation: Conversation, version: int) -> None:
    """DescribeGroups v{version} returns the protocol, members and assignments of a Stable group."""
    (ana,) = conversation.stable_group("ana")

    ana.repeats(
        ask.describe_groups(version=version),
        until=expect.describe_groups(
            error_code="NONE",
            group_state="Stable",
            protocol_data="range",
            members=({"member_id": ana.member_id, "member_metadata": ORDERS, "member_assignment": ana.part},),
        ),
    )


@scenario("admin/describe/preparing-rebalance", source=DESCRIBES, clauses=("DG-04", "DS-02"))
def a_group_that_prepares_a_rebalance_hides_its_protocol(conversation: Conversation) -> None:
    """While a group prepares a rebalance, DescribeGroups omits its protocol and its members' metadata."""
    ana, bob = conversation.stable_group("ana", "bob")
    ana.sends(ask.join_group())
    bob.asks(ask.offset_commit(topics={"orders": {0: 1}}), expect.offset_commit({"orders": {0: "NONE"}}))

    members = in_any_order(
        {"member_id": ana.member_id, "client_id": "ana", "member_metadata": b""},
        {"member_id": bob.member_id, "client_id": "bob", "member_metadata": b""},
    )
    bob.repeats(
        ask.describe_groups(),
        until=expect.describe_groups(
            error_code="NONE",
            group_state="PreparingRebalance",
            protocol_type="consumer",
            protocol_data="",
            members=members,
        ),
    )


@scenario("admin/describe/completing-rebalance", source=DESCRIBES, clauses=("DG-04", "DS-03"))
def a_group_that_completes_a_rebalance_hides_its_protocol(conversation: Conversation) -> None:
    """While a group awaits its assignments, DescribeGroups omits its protocol and its members' metadata."""
    ana = conversation.actor("ana")
    ana.joins()
    ana.sends(
        ask.offset_commit(
            group_id=conversation.group("elsewhere"),
            generation_id=-1,
            member_id="",
            topics={"orders": {0: 1}},
        )
    )
    ana.receives(expect.offset_commit({"orders": {0: "NONE"}}))

    ana.repeats(
        ask.describe_groups(),
        until=expect.describe_groups(
            error_code="NONE",
            group_state="CompletingRebalance",
            protocol_data="",
            members=({"member_id": ana.member_id, "member_metadata": b"", "member_assignment": b""},),
        ),
    )


@scenario("admin/describe/empty", source=DESCRIBES, clauses=("DG-05", "PV-08"))
def an_empty_group_remembers_its_protocol_type(conversation: Conversation) -> None:
    """A group whose members have left is Empty, and keeps its protocol type but not its protocol."""
    (ana,) = conversation.stable_group("ana")
    ana.asks(ask.leave_group(), error_code="NONE")

    ana.repeats(
        ask.describe_groups(),
        until=expect.describe_groups(
            error_code="NONE", group_state="Empty", protocol_type="consumer", protocol_data="", members=()
        ),
    )


@scenario("admin/describe/simple", source=DESCRIBES, clauses=("DG-06", "OC-01"))
def a_group_of_offsets_alone_is_empty(conversation: Conversation) -> None:
    """A group that only has committed offsets is Empty and has no protocol type."""
    ana = conversation.actor("ana")
    ana.sends(ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {0: 1}}))
    ana.receives(expect.offset_commit({"orders": {0: "NONE"}}))

    ana.repeats(
        ask.describe_groups(),
        until=expect.describe_groups(
            error_code="NONE", group_state="Empty", protocol_type="", protocol_data="", members=()
        ),
    )


@scenario("admin/describe/pending", source=DESCRIBES, clauses=("DS-05", "DS-06", "JG-01"))
def a_pending_member_is_not_shown(conversation: Conversation) -> None:
    """A group with only a pending member is described as Empty, without protocol type and members."""
    ana = conversation.actor("ana")
    ana.obtains_member_id()

    ana.repeats(
        ask.describe_groups(),
        until=expect.describe_groups(error_code="NONE", group_state="Empty", protocol_type="", members=()),
    )


@scenario("admin/describe/pending-in-stable", source=DESCRIBES, clauses=("JG-06",))
def a_pending_member_does_not_disturb_a_stable_group(conversation: Conversation) -> None:
    """DescribeGroups does not list a pending member of a Stable group, and the group stays Stable."""
    (ana,) = conversation.stable_group("ana")
    bob = conversation.actor("bob")
    bob.obtains_member_id()

    ana.repeats(
        ask.describe_groups(),
        until=expect.describe_groups(group_state="Stable", members=({"member_id": ana.member_id},)),
    )


@scenario("admin/describe/several", source="GroupMetadataManager#describeGroups", clauses=("DG-08", "DG-12"))
def duplicates_are_described_twice(conversation: Conversation) -> None:
    """DescribeGroups describes a group twice if it is named twice, and none if none is named."""
    ana = conversation.actor("ana")
    never = conversation.group("never")

    ana.sends(ask.describe_groups(groups=(never, never)))
    ana.receives(
        expect.response(
            "DescribeGroups",
            groups=(
                {"group_id": never, "error_code": "NONE", "group_state": "Dead"},
                {"group_id": never, "error_code": "NONE", "group_state": "Dead"},
            ),
        )
    )
    ana.asks(ask.describe_groups(groups=()), expect.response("DescribeGroups", groups=()))
