"""JoinGroup's first step: the creation of member ids, and what a pending member may do."""

from harness.scenario import (
    NON_EMPTY,
    ORDERS,
    ROUND_ROBIN,
    SHORT_SESSIONS,
    Conversation,
    ask,
    expect,
    in_any_order,
    scenario,
)


@scenario(
    "classic/join/first-step-mints-an-id",
    source="GroupMetadataManager#classicGroupJoinNewDynamicMember",
    clauses=("JG-01", "VF-07", "VF-17"),
)
def the_first_step_mints_a_member_id(conversation: Conversation) -> None:
    """A JoinGroup v4+ without an id gets MEMBER_ID_REQUIRED with a new id, and creates an Empty group."""
    ana = conversation.actor("ana")

    ana.sends(ask.join_group(member_id=""))
    ana.receives(
        expect.join_group(
            error_code="MEMBER_ID_REQUIRED",
            generation_id=-1,
            leader="",
            member_id=NON_EMPTY,
            members=(),
        )
    )

    ana.repeats(
        ask.describe_groups(),
        until=expect.describe_groups(
            error_code="NONE", group_state="Empty", protocol_type="", protocol_data="", members=()
        ),
    )


@scenario(
    "classic/join/second-step-makes-a-leader",
    source="GroupMetadataManager#completeClassicGroupJoin",
    clauses=("JG-02", "LD-01", "RB-25", "VF-08", "PV-03"),
)
def the_second_step_makes_the_first_member_leader(conversation: Conversation) -> None:
    """The first member to join with its id leads generation 1 and is the only one in the member list."""
    ana = conversation.actor("ana")
    ana.obtains_member_id()

    ana.sends(ask.join_group())
    ana.receives(
        expect.join_group(
            error_code="NONE",
            generation_id=1,
            protocol_name="range",
            leader=ana.member_id,
            member_id=ana.member_id,
            members=({"member_id": ana.member_id, "group_instance_id": None, "metadata": ORDERS},),
        )
    )


@scenario(
    "classic/join/one-step-before-v4",
    source="GroupMetadataManager#classicGroupJoinNewDynamicMember",
    clauses=("JG-03",),
)
def before_v4_one_step_is_enough(conversation: Conversation) -> None:
    """A JoinGroup v3 without a member id is admitted at once, with an id that the coordinator creates."""
    ana = conversation.actor("ana")

    ana.sends(ask.join_group(version=3))
    ana.receives(
        expect.join_group(error_code="NONE", generation_id=1, member_id=NON_EMPTY, leader=ana.member_id)
    )


@scenario(
    "classic/join/each-first-step-mints-another-id",
    source="GroupMetadataManager#classicGroupJoinNewDynamicMember",
    clauses=("JG-05", "CX-04"),
)
def each_first_step_mints_another_id(conversation: Conversation) -> None:
    """A client that takes the first step twice gets two member ids, and both may join."""
    ana = conversation.actor("ana")
    first = ana.asks(ask.join_group(member_id=""), error_code="MEMBER_ID_REQUIRED")
    second = ana.asks(ask.join_group(member_id=""), error_code="MEMBER_ID_REQUIRED")

    ana.sends(ask.join_group(member_id=first["member_id"]))
    ana.receives(expect.join_group(error_code="NONE", member_id=first["member_id"]))
    ana.aside.sends(ask.join_group(member_id=second["member_id"]))
    ana.sends(ask.join_group(member_id=first["member_id"]))

    ana.receives(
        expect.join_group(
            error_code="NONE",
            members=in_any_order({"member_id": first["member_id"]}, {"member_id": second["member_id"]}),
        )
    )
    ana.aside.receives(expect.join_group(error_code="NONE", member_id=second["member_id"]))


@scenario(
    "classic/join/first-step-starts-no-rebalance",
    source="GroupMetadataManager#classicGroupJoinNewDynamicMember",
    clauses=("JG-06",),
)
def the_first_step_starts_no_rebalance(conversation: Conversation) -> None:
    """A newcomer's first step leaves a group Stable, and DescribeGroups does not list the newcomer."""
    (ana,) = conversation.stable_group("ana")
    bob = conversation.actor("bob")

    bob.obtains_member_id()

    ana.asks(ask.heartbeat(), error_code="NONE")
    ana.repeats(
        ask.describe_groups(),
        until=expect.describe_groups(group_state="Stable", members=({"member_id": ana.member_id},)),
    )


@scenario(
    "classic/join/second-step-waits-for-all-members",
    source="GroupMetadataManager#maybePrepareRebalanceOrCompleteJoin",
    clauses=("JG-07", "LD-02", "LD-04"),
)
def the_second_step_waits_for_all_members(conversation: Conversation) -> None:
    """A newcomer's JoinGroup stays parked until the members of the Stable group have rejoined."""
    (ana,) = conversation.stable_group("ana")
    bob = conversation.actor("bob")
    bob.obtains_member_id()

    bob.sends(ask.join_group())
    bob.stays_parked(for_ms=300)
    ana.asks(ask.heartbeat(), error_code="REBALANCE_IN_PROGRESS")
    ana.sends(ask.join_group())

    ana.receives(
        expect.join_group(
            error_code="NONE",
            generation_id=2,
            leader=ana.member_id,
            members=in_any_order({"member_id": ana.member_id}, {"member_id": bob.member_id}),
        )
    )
    bob.receives(expect.join_group(error_code="NONE", generation_id=2, leader=ana.member_id, members=()))


@scenario(
    "classic/join/pending-id-expires",
    source="GroupMetadataManager#expireClassicGroupMemberHeartbeat",
    clauses=("JG-09",),
    broker_config=SHORT_SESSIONS,
)
def a_pending_id_expires_with_its_session(conversation: Conversation) -> None:
    """A pending member id that is not used within its session timeout gets UNKNOWN_MEMBER_ID."""
    ana = conversation.actor("ana")
    ana.asks(ask.join_group(session_timeout_ms=500), error_code="MEMBER_ID_REQUIRED")

    conversation.elapses(1200)

    ana.asks(ask.join_group(), expect.join_group(error_code="UNKNOWN_MEMBER_ID", member_id=ana.member_id))


@scenario(
    "classic/join/pending-id-is-no-member",
    source="ClassicGroup#hasMember",
    clauses=("JG-10",),
)
def a_pending_id_is_no_member(conversation: Conversation) -> None:
    """A pending member's Heartbeat and SyncGroup get UNKNOWN_MEMBER_ID until it takes the second step."""
    (ana,) = conversation.stable_group("ana")
    bob = conversation.actor("bob")
    bob.obtains_member_id()

    bob.asks(ask.heartbeat(generation_id=ana.generation_id), error_code="UNKNOWN_MEMBER_ID")
    bob.asks(ask.sync_group(generation_id=ana.generation_id), error_code="UNKNOWN_MEMBER_ID")


@scenario(
    "classic/join/only-the-second-step-counts",
    source="GroupMetadataManager#classicGroupJoinExistingMember",
    clauses=("JG-11", "CX-04"),
)
def only_the_second_step_counts(conversation: Conversation) -> None:
    """The second step may use other protocols, another connection and another client id than the first."""
    ana, bob = conversation.actors("ana", "bob")
    ana.obtains_member_id(protocols=ROUND_ROBIN)

    bob.sends(ask.join_group(member_id=ana.member_id))
    bob.receives(
        expect.join_group(
            error_code="NONE",
            protocol_name="range",
            member_id=ana.member_id,
            members=({"member_id": ana.member_id, "metadata": ORDERS},),
        )
    )


@scenario(
    "classic/join/pending-id-survives-inconsistent-protocols",
    source="GroupMetadataManager#classicGroupJoinExistingMember",
    clauses=("JG-12",),
)
def a_pending_id_survives_inconsistent_protocols(conversation: Conversation) -> None:
    """A second step refused with INCONSISTENT_GROUP_PROTOCOL leaves the member id pending for a retry."""
    (ana,) = conversation.stable_group("ana")
    bob = conversation.actor("bob")
    bob.obtains_member_id()
    bob.sends(ask.join_group(protocols=ROUND_ROBIN))
    bob.receives(expect.join_group(error_code="INCONSISTENT_GROUP_PROTOCOL", generation_id=-1))
    ana.asks(ask.heartbeat(), error_code="NONE")

    bob.sends(ask.join_group())
    ana.sends(ask.join_group())

    ana.receives(expect.join_group(error_code="NONE", generation_id=2))
    bob.receives(expect.join_group(error_code="NONE", generation_id=2))


@scenario(
    "classic/join/pending-id-with-an-instance-id",
    source="GroupMetadataManager#classicGroupJoinExistingMember",
    clauses=("JG-13", "CO-27"),
)
def a_pending_id_cannot_become_static(conversation: Conversation) -> None:
    """A second step with an instance id gets UNKNOWN_SERVER_ERROR without an id, and stays pending."""
    ana = conversation.actor("ana")
    minted = ana.asks(ask.join_group(member_id=""), error_code="MEMBER_ID_REQUIRED")

    # Kafka 2.4 cannot write this error at v6 and never answers; at v5 it can.
    ana.sends(ask.join_group(version=5, group_instance_id="ana-1"))
    ana.receives(
        expect.join_group(error_code="UNKNOWN_SERVER_ERROR", member_id="", generation_id=-1, members=())
    )

    ana.sends(ask.join_group(member_id=minted["member_id"]))
    ana.receives(expect.join_group(error_code="NONE", generation_id=1, member_id=minted["member_id"]))
