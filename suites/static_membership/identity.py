"""How members are identified: member id, instance id, and which of them must agree."""

from harness.scenario import ANY, NON_EMPTY, Conversation, ask, containing, expect, scenario

VALIDATES = "ClassicGroup#validateMember"


@scenario(
    "static_membership/identity/no-member-id-required",
    source="GroupMetadataManager#classicGroupJoinNewStaticMember",
    clauses=("JG-04", "RB-25"),
)
def a_static_member_joins_in_one_step(conversation: Conversation) -> None:
    """A static member without a member id is admitted at once, with a new id."""
    ana = conversation.actor("ana", group_instance_id="seat-a")

    ana.sends(ask.join_group())
    ana.receives(
        expect.join_group(
            error_code="NONE",
            generation_id=1,
            leader=ana.member_id,
            member_id=NON_EMPTY,
            members=({"member_id": ana.member_id, "group_instance_id": "seat-a"},),
        )
    )


@scenario(
    "static_membership/identity/instance-id-may-be-omitted",
    source=VALIDATES,
    clauses=("HB-09", "JG-47"),
)
def a_static_member_need_not_name_its_instance_id(conversation: Conversation) -> None:
    """A static member that sends only its member id is served and stays static."""
    _, bob = conversation.stable_group("ana", conversation.actor("bob", group_instance_id="seat-b"))

    bob.asks(ask.heartbeat(group_instance_id=None), error_code="NONE")
    bob.sends(ask.sync_group(group_instance_id=None))
    bob.receives(expect.sync_group(error_code="NONE", assignment=bob.part))
    bob.sends(ask.join_group(group_instance_id=None))
    bob.receives(expect.join_group(error_code="NONE", generation_id=bob.generation_id))

    bob.repeats(
        ask.describe_groups(),
        until=expect.describe_groups(
            members=containing({"member_id": bob.member_id, "group_instance_id": "seat-b"})
        ),
    )


@scenario(
    "static_membership/identity/known-id-with-unmapped-instance",
    source=VALIDATES,
    clauses=("JG-45", "HB-08", "SG-18"),
)
def a_known_id_with_an_unmapped_instance_cannot_rejoin(conversation: Conversation) -> None:
    """A JoinGroup of a dynamic member with an unused instance id gets UNKNOWN_MEMBER_ID.

    Heartbeat and SyncGroup ignored the instance id before 3.0, and also refuse it since then.
    """
    _, bob = conversation.stable_group("ana", "bob")

    bob.asks(ask.heartbeat(group_instance_id="seat-x"), error_code=ANY)
    bob.asks(ask.sync_group(group_instance_id="seat-x"), error_code=ANY)
    bob.sends(ask.join_group(group_instance_id="seat-x"))
    bob.receives(expect.join_group(error_code="UNKNOWN_MEMBER_ID", member_id=bob.member_id))

    bob.asks(ask.heartbeat(), error_code="NONE")


@scenario(
    "static_membership/identity/seat-of-another-member",
    source=VALIDATES,
    clauses=("JG-46", "HB-07"),
)
def a_member_that_claims_anothers_seat_is_fenced(conversation: Conversation) -> None:
    """A member that uses another member's instance id gets FENCED_INSTANCE_ID, and both stay members."""
    ana, bob = conversation.stable_group(
        conversation.actor("ana", group_instance_id="seat-a"),
        conversation.actor("bob", group_instance_id="seat-b"),
    )

    bob.sends(ask.join_group(group_instance_id="seat-a"))
    bob.receives(expect.join_group(error_code="FENCED_INSTANCE_ID", member_id=bob.member_id))
    bob.asks(ask.heartbeat(group_instance_id="seat-a"), error_code="FENCED_INSTANCE_ID")
    bob.asks(ask.sync_group(group_instance_id="seat-a"), error_code="FENCED_INSTANCE_ID")

    ana.asks(ask.heartbeat(), error_code="NONE")
    bob.asks(ask.heartbeat(), error_code="NONE")


@scenario(
    "static_membership/identity/follower-rejoins-unchanged",
    source="GroupMetadataManager#classicGroupJoinExistingMember",
    clauses=("ST-24",),
)
def an_unchanged_static_follower_rejoins_without_a_rebalance(conversation: Conversation) -> None:
    """A static follower that rejoins unchanged with its id is answered at once, and keeps its id."""
    ana, bob = conversation.stable_group("ana", conversation.actor("bob", group_instance_id="seat-b"))

    bob.sends(ask.join_group())
    bob.receives(
        expect.join_group(
            error_code="NONE",
            generation_id=ana.generation_id,
            leader=ana.member_id,
            member_id=bob.member_id,
            members=(),
        )
    )

    ana.asks(ask.heartbeat(), error_code="NONE")


@scenario(
    "static_membership/identity/leader-rejoins-with-its-id",
    source="GroupMetadataManager#classicGroupJoinExistingMember",
    clauses=("ST-24", "LD-02"),
)
def a_static_leader_that_rejoins_with_its_id_starts_a_rebalance(conversation: Conversation) -> None:
    """A static leader that rejoins with its id waits for all others and leads the next generation."""
    ana, bob = conversation.stable_group(
        conversation.actor("ana", group_instance_id="seat-a"),
        conversation.actor("bob", group_instance_id="seat-b"),
    )

    ana.sends(ask.join_group())
    ana.stays_parked(for_ms=300)
    bob.asks(ask.heartbeat(), error_code="REBALANCE_IN_PROGRESS")

    bob.sends(ask.join_group())
    bob.receives(expect.join_group(error_code="NONE", generation_id=3, leader=ana.member_id, members=()))
    ana.receives(expect.join_group(error_code="NONE", generation_id=3, leader=ana.member_id))


@scenario(
    "static_membership/identity/pending-id-with-instance",
    source="GroupMetadataManager#classicGroupJoinExistingMember",
    clauses=("JG-13", "CO-27"),
)
def a_pending_id_may_not_become_static(conversation: Conversation) -> None:
    """A pending member that adds an instance id in its second JoinGroup gets UNKNOWN_SERVER_ERROR."""
    ana = conversation.actor("ana")
    asked = ana.asks(ask.join_group(version=5), error_code="MEMBER_ID_REQUIRED")

    ana.sends(ask.join_group(version=5, group_instance_id="seat-a"))
    ana.receives(expect.join_group(error_code="UNKNOWN_SERVER_ERROR", member_id=""))

    ana.sends(ask.join_group(version=5))
    ana.receives(expect.join_group(error_code="NONE", generation_id=1, member_id=asked["member_id"]))


@scenario("static_membership/identity/empty-instance-id", source="KIP-345", clauses=("VF-18",))
def an_empty_instance_id_is_an_instance_id(conversation: Conversation) -> None:
    """An empty instance id makes a static member like any other: one-step join, replacement, fencing."""
    ana = conversation.actor("ana", group_instance_id="")
    ana_again = conversation.actor("ana-again", group_instance_id="")
    ana.sends(ask.join_group())
    ana.receives(expect.join_group(error_code="NONE", generation_id=1, member_id=NON_EMPTY))
    ana.syncs_as_leader((ana,))

    ana_again.sends(ask.join_group())
    ana_again.receives(expect.join_group(error_code="NONE", generation_id=1, member_id=NON_EMPTY))

    ana.asks(ask.heartbeat(), error_code="FENCED_INSTANCE_ID")
    ana_again.asks(ask.heartbeat(), error_code="NONE")


@scenario("static_membership/identity/odd-instance-id", source="KIP-345", clauses=("VF-18",))
def an_instance_id_is_not_validated(conversation: Conversation) -> None:
    """An instance id of 300 characters with spaces, slashes and non-ASCII letters is accepted as it is."""
    odd = "häuser / 北 " + "x" * 300
    ana = conversation.actor("ana", group_instance_id=odd)

    ana.asks(ask.join_group(), expect.join_group(error_code="NONE", member_id=NON_EMPTY))
    ana.syncs_as_leader((ana,))

    ana.repeats(
        ask.describe_groups(),
        until=expect.describe_groups(group_state="Stable", members=({"group_instance_id": odd},)),
    )
    ana.sends(ask.leave_group(members=(("", odd),)))
    ana.receives(expect.leave_group(error_code="NONE", members=({"error_code": "NONE"},)))
