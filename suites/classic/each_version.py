"""Every version of the classic APIs: what it grants, and how it refuses.

The ladders of `precedence` cover how each version of SyncGroup, Heartbeat and LeaveGroup refuses.
"""

from harness.scenario import (
    NON_EMPTY,
    ORDERS,
    ROUND_ROBIN,
    Actor,
    Conversation,
    ask,
    expect,
    in_any_order,
    scenario,
    sweep,
)

JOINS = "GroupMetadataManager#classicGroupJoinToClassicGroup"


@scenario(
    "classic/versions/join-at-once",
    source="KafkaApis#handleJoinGroupRequest",
    clauses=("JG-03", "VF-08"),
    sweep=sweep("JoinGroup", 0, 3),
)
def a_member_joins_in_one_step(conversation: Conversation, version: int) -> None:
    """JoinGroup v{version} without a member id is admitted in one step, and leads generation 1."""
    ana = conversation.actor("ana")

    _leads_alone(ana, version)


def _leads_alone(ana: Actor, version: int) -> None:
    ana.sends(ask.join_group(version=version))
    ana.receives(
        expect.join_group(
            error_code="NONE",
            generation_id=1,
            protocol_name="range",
            leader=ana.member_id,
            members=({"member_id": ana.member_id, "metadata": ORDERS},),
        )
    )
    ana.syncs_as_leader((ana,))


@scenario(
    "classic/versions/join-in-two-steps",
    source="KIP-394",
    clauses=("JG-01", "JG-02", "VF-08"),
    sweep=sweep("JoinGroup", 4, 9),
)
def a_member_joins_in_two_steps(conversation: Conversation, version: int) -> None:
    """JoinGroup v{version} without a member id gets one with MEMBER_ID_REQUIRED, and joins with it."""
    ana = conversation.actor("ana")

    ana.sends(ask.join_group(version=version, member_id=""))
    ana.receives(expect.join_group(error_code="MEMBER_ID_REQUIRED", generation_id=-1, member_id=NON_EMPTY))
    _leads_alone(ana, version)


@scenario(
    "classic/versions/join-together",
    source="GroupMetadataManager#completeClassicGroupJoin",
    clauses=("JG-07", "JG-35"),
    sweep=sweep("JoinGroup", 0, 9),
)
def a_leader_learns_of_its_members(conversation: Conversation, version: int) -> None:
    """JoinGroup v{version} returns all members to the leader, and none to a follower."""
    (ana,) = conversation.stable_group("ana")
    bob = conversation.actor("bob")
    bob.obtains_member_id()

    bob.sends(ask.join_group(version=version))
    ana.sends(ask.join_group(version=version))
    both = in_any_order(
        {"member_id": ana.member_id, "metadata": ORDERS}, {"member_id": bob.member_id, "metadata": ORDERS}
    )
    ana.receives(expect.join_group(error_code="NONE", generation_id=2, leader=ana.member_id, members=both))
    bob.receives(expect.join_group(error_code="NONE", generation_id=2, leader=ana.member_id, members=()))


@scenario(
    "classic/versions/join-with-instance-id",
    source="KIP-345",
    clauses=("JG-04",),
    sweep=sweep("JoinGroup", 5, 9),
)
def a_static_member_joins_and_comes_back(conversation: Conversation, version: int) -> None:
    """JoinGroup v{version} with an instance id takes one step; a second one fences the former member."""
    ana, ana_again = (
        conversation.actor(name, group_instance_id="seat", client_id="ana") for name in ("ana", "ana-again")
    )
    ana.sends(ask.join_group(version=version))
    ana.receives(expect.join_group(error_code="NONE", generation_id=1, leader=ana.member_id))
    ana.syncs_as_leader((ana,))

    ana_again.asks(ask.join_group(version=version), expect.join_group(error_code="NONE", member_id=NON_EMPTY))
    ana.asks(ask.join_group(version=version), error_code="FENCED_INSTANCE_ID")


@scenario(
    "classic/versions/join-refused",
    source=JOINS,
    clauses=("CO-01", "JG-15", "JG-20", "JG-30", "VF-07"),
    sweep=sweep("JoinGroup", 0, 9),
)
def a_joiner_is_refused(conversation: Conversation, version: int) -> None:
    """JoinGroup v{version} is checked for its group id, session timeout, protocols, and member id."""
    conversation.stable_group("ana")
    bob = conversation.actor("bob")

    bob.climbs(
        (
            (
                ask.join_group(
                    version=version,
                    group_id="",
                    session_timeout_ms=1,
                    protocols=ROUND_ROBIN,
                    member_id="nobody",
                ),
                expect.join_group(error_code="INVALID_GROUP_ID", member_id="nobody"),
            ),
            (
                ask.join_group(
                    version=version, session_timeout_ms=1, protocols=ROUND_ROBIN, member_id="nobody"
                ),
                expect.join_group(error_code="INVALID_SESSION_TIMEOUT", member_id="nobody"),
            ),
            (
                ask.join_group(version=version, protocols=ROUND_ROBIN, member_id="nobody"),
                expect.join_group(error_code="INCONSISTENT_GROUP_PROTOCOL", member_id="nobody"),
            ),
            (
                ask.join_group(version=version, member_id="nobody"),
                expect.join_group(error_code="UNKNOWN_MEMBER_ID", generation_id=-1, leader="", members=()),
            ),
        )
    )


@scenario(
    "classic/versions/sync",
    source="GroupMetadataManager#classicGroupSyncToClassicGroup",
    clauses=("SG-01", "SG-02", "SG-03"),
    sweep=sweep("SyncGroup", 0, 5),
)
def members_get_their_assignments(conversation: Conversation, version: int) -> None:
    """SyncGroup v{version} parks a follower until the leader syncs, then returns each its assignment."""
    ana, bob = conversation.stable_group("ana", "bob")
    ana.sends(ask.join_group())
    bob.sends(ask.join_group())
    ana.receives(expect.join_group(error_code="NONE", generation_id=3))
    bob.receives(expect.join_group(error_code="NONE", generation_id=3))

    bob.sends(ask.sync_group(version=version))
    bob.stays_parked(for_ms=100)
    parts = ((ana.member_id, ana.part), (bob.member_id, b"all the rest"))
    ana.sends(ask.sync_group(version=version, assignments=parts))
    ana.receives(expect.sync_group(error_code="NONE", assignment=ana.part))
    bob.receives(expect.sync_group(error_code="NONE", assignment=b"all the rest"))
    bob.sends(ask.sync_group(version=version))
    bob.receives(expect.sync_group(error_code="NONE", assignment=b"all the rest"))


@scenario(
    "classic/versions/heartbeat",
    source="GroupMetadataManager#classicGroupHeartbeatToClassicGroup",
    clauses=("HB-01", "HB-11"),
    sweep=sweep("Heartbeat", 0, 4),
)
def a_member_lives(conversation: Conversation, version: int) -> None:
    """Heartbeat v{version} gets NONE in a Stable group, and ILLEGAL_GENERATION for the generation before."""
    ana, bob = conversation.stable_group("ana", "bob")

    for member in (ana, bob):
        member.asks(ask.heartbeat(version=version), error_code="NONE")
    bob.asks(
        ask.heartbeat(version=version, generation_id=bob.generation_id - 1), error_code="ILLEGAL_GENERATION"
    )


@scenario(
    "classic/versions/leave",
    source="GroupMetadataManager#classicGroupLeaveToClassicGroup",
    clauses=("LV-01", "LV-02"),
    sweep=sweep("LeaveGroup", 0, 5),
)
def members_leave_one_after_the_other(conversation: Conversation, version: int) -> None:
    """LeaveGroup v{version} starts a rebalance for those who stay; the last to leave empties the group."""
    ana, bob = conversation.stable_group("ana", "bob")

    bob.asks(ask.leave_group(version=version), error_code="NONE")
    ana.asks(ask.heartbeat(), error_code="REBALANCE_IN_PROGRESS")
    ana.asks(ask.leave_group(version=version), error_code="NONE")
    ana.asks(ask.heartbeat(), error_code="UNKNOWN_MEMBER_ID")
