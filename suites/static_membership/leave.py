"""LeaveGroup of static members: by themselves or an administrator, one by one and in batches."""

from harness.scenario import ANY, Conversation, ask, expect, scenario, subscription

LEAVES = "GroupMetadataManager#classicGroupLeaveToClassicGroup"


@scenario("static_membership/leave/by-itself", source=LEAVES, clauses=("LV-07", "LV-01", "VF-12"))
def a_static_member_leaves_by_its_own_word(conversation: Conversation) -> None:
    """A static member that leaves with both its ids is removed at once, and the others rebalance."""
    ana, bob = conversation.stable_group("ana", conversation.actor("bob", group_instance_id="seat-b"))

    bob.sends(ask.leave_group())
    bob.receives(
        expect.leave_group(
            error_code="NONE",
            members=({"member_id": bob.member_id, "group_instance_id": "seat-b", "error_code": "NONE"},),
        )
    )

    ana.asks(ask.heartbeat(), error_code="REBALANCE_IN_PROGRESS")
    bob.asks(ask.heartbeat(), error_code="UNKNOWN_MEMBER_ID")


@scenario("static_membership/leave/by-an-administrator", source=LEAVES, clauses=("LV-05", "VF-12"))
def an_administrator_removes_a_seat(conversation: Conversation) -> None:
    """LeaveGroup with only an instance id removes the static member; the answer has an empty member id."""
    ana, bob = conversation.stable_group("ana", conversation.actor("bob", group_instance_id="seat-b"))
    admin = conversation.actor("admin")

    admin.sends(ask.leave_group(members=(("", "seat-b"),)))
    admin.receives(
        expect.leave_group(
            error_code="NONE",
            members=({"member_id": "", "group_instance_id": "seat-b", "error_code": "NONE"},),
        )
    )

    bob.asks(ask.heartbeat(), error_code="UNKNOWN_MEMBER_ID")
    ana.asks(ask.heartbeat(), error_code="REBALANCE_IN_PROGRESS")


@scenario("static_membership/leave/removed-while-joining", source=LEAVES, clauses=("LV-16", "LV-05"))
def an_administrator_ends_a_parked_join(conversation: Conversation) -> None:
    """When a static member is removed, its parked JoinGroup gets UNKNOWN_MEMBER_ID without an id."""
    _, bob = conversation.stable_group("ana", conversation.actor("bob", group_instance_id="seat-b"))
    admin = conversation.actor("admin")
    bob.sends(ask.join_group(protocols=(("range", subscription("payments")),)))
    bob.stays_parked(for_ms=200)

    admin.sends(ask.leave_group(members=(("", "seat-b"),)))
    admin.receives(expect.leave_group(error_code="NONE", members=({"error_code": "NONE"},)))
    bob.receives(expect.join_group(error_code="UNKNOWN_MEMBER_ID", generation_id=-1, member_id=""))


@scenario("static_membership/leave/fenced", source=LEAVES, clauses=("LV-08",))
def a_former_id_cannot_leave_for_its_successor(conversation: Conversation) -> None:
    """A replaced member that leaves with its instance id gets FENCED_INSTANCE_ID; its successor stays."""
    _, bob = conversation.stable_group("ana", conversation.actor("bob", group_instance_id="seat-b"))
    bob_again = conversation.actor("bob-again", group_instance_id="seat-b")
    bob_again.asks(ask.join_group(), error_code="NONE")

    bob.sends(ask.leave_group())
    bob.receives(
        expect.leave_group(
            error_code="NONE",
            members=(
                {
                    "member_id": bob.member_id,
                    "group_instance_id": "seat-b",
                    "error_code": "FENCED_INSTANCE_ID",
                },
            ),
        )
    )

    bob_again.asks(ask.heartbeat(), error_code="NONE")


@scenario(
    "static_membership/leave/low-version",
    source="LeaveGroupResponse#LeaveGroupResponse",
    clauses=("VF-11", "VF-16"),
)
def a_low_version_leaves_by_member_id_alone(conversation: Conversation) -> None:
    """LeaveGroup v2 has one top-level error, and removes a static member by its member id alone."""
    _, bob = conversation.stable_group("ana", conversation.actor("bob", group_instance_id="seat-b"))
    bob_again = conversation.actor("bob-again", group_instance_id="seat-b")
    bob_again.asks(ask.join_group(), error_code="NONE")

    bob.asks(ask.leave_group(version=2), error_code="UNKNOWN_MEMBER_ID")
    bob_again.asks(ask.leave_group(version=2), error_code="NONE")
    bob_again.asks(ask.heartbeat(), error_code="UNKNOWN_MEMBER_ID")


@scenario("static_membership/leave/twice-in-a-batch", source=LEAVES, clauses=("LV-14",))
def the_same_seat_cannot_leave_twice(conversation: Conversation) -> None:
    """For an instance id named twice in a LeaveGroup, the second entry gets UNKNOWN_MEMBER_ID."""
    conversation.stable_group("ana", conversation.actor("bob", group_instance_id="seat-b"))
    admin = conversation.actor("admin")

    admin.sends(ask.leave_group(members=(("", "seat-b"), ("", "seat-b"))))
    admin.receives(
        expect.leave_group(
            error_code="NONE",
            members=(
                {"group_instance_id": "seat-b", "error_code": "NONE"},
                {"group_instance_id": "seat-b", "error_code": "UNKNOWN_MEMBER_ID"},
            ),
        )
    )


@scenario("static_membership/leave/mixed-batch", source=LEAVES, clauses=("LV-06", "LV-08", "LV-10", "LV-15"))
def each_of_a_batch_is_judged_alone(conversation: Conversation) -> None:
    """LeaveGroup answers each member of a batch on its own, in order; failures do not affect others."""
    ana, bob = conversation.stable_group(
        conversation.actor("ana", group_instance_id="seat-a"),
        conversation.actor("bob", group_instance_id="seat-b"),
    )
    admin = conversation.actor("admin")

    admin.sends(
        ask.leave_group(
            members=(
                ("nobody", "seat-a"),
                ("nobody", "seat-x"),
                ("", "seat-x"),
                ("nobody", None),
                (bob.member_id, "seat-a"),
                ("", "seat-b"),
            )
        )
    )
    admin.receives(
        expect.leave_group(
            error_code="NONE",
            members=(
                {"member_id": "nobody", "error_code": "FENCED_INSTANCE_ID"},
                {"member_id": "nobody", "error_code": "UNKNOWN_MEMBER_ID"},
                {"member_id": "", "error_code": "UNKNOWN_MEMBER_ID"},
                {"member_id": "nobody", "error_code": "UNKNOWN_MEMBER_ID"},
                {"member_id": bob.member_id, "error_code": "FENCED_INSTANCE_ID"},
                {"member_id": "", "error_code": "NONE"},
            ),
        )
    )

    bob.asks(ask.heartbeat(), error_code="UNKNOWN_MEMBER_ID")
    ana.asks(ask.heartbeat(), error_code="REBALANCE_IN_PROGRESS")


@scenario("static_membership/leave/unmapped-instance", source=LEAVES, clauses=("LV-09",))
def a_valid_id_with_an_unmapped_instance_may_not_count(conversation: Conversation) -> None:
    """A dynamic member that leaves with an unused instance id is removed before 3.0, and unknown since.

    In both cases its group continues, and the leader is served.
    """
    ana, bob = conversation.stable_group("ana", "bob")

    bob.sends(ask.leave_group(group_instance_id="seat-x"))
    bob.receives(
        expect.leave_group(
            error_code="NONE", members=({"member_id": bob.member_id, "group_instance_id": "seat-x"},)
        )
    )
    bob.asks(ask.heartbeat(), error_code=ANY)
    ana.asks(ask.heartbeat(), error_code=ANY)


@scenario(
    "static_membership/leave/ladder", source=LEAVES, clauses=("LV-05", "LV-06", "LV-07", "LV-08", "LV-10")
)
def a_leave_is_checked_from_the_group_to_the_member(conversation: Conversation) -> None:
    """LeaveGroup checks the group id, then the group, then the instance id, then the member id."""
    _, bob = conversation.stable_group("ana", conversation.actor("bob", group_instance_id="seat-b"))
    nowhere = conversation.group("nowhere")
    former = bob.member_id
    bob_again = conversation.actor("bob-again", group_instance_id="seat-b")
    bob_again.asks(ask.join_group(), error_code="NONE")

    bob_again.climbs(
        [
            (
                ask.leave_group(group_id="", members=(("nobody", "seat-b"),)),
                expect.leave_group(error_code="INVALID_GROUP_ID", members=()),
            ),
            (
                ask.leave_group(group_id=nowhere, members=(("nobody", "seat-b"),)),
                expect.leave_group(error_code="NONE", members=({"error_code": "UNKNOWN_MEMBER_ID"},)),
            ),
            *(
                (
                    ask.leave_group(members=((member_id, instance),)),
                    expect.leave_group(error_code="NONE", members=({"error_code": error},)),
                )
                for member_id, instance, error in (
                    ("nobody", "seat-b", "FENCED_INSTANCE_ID"),
                    (former, "seat-b", "FENCED_INSTANCE_ID"),
                    (former, "seat-x", "UNKNOWN_MEMBER_ID"),
                    (former, None, "UNKNOWN_MEMBER_ID"),
                )
            ),
            (ask.leave_group(), expect.leave_group(error_code="NONE", members=({"error_code": "NONE"},))),
        ]
    )
