"""SyncGroup: which answer each member gets, and when."""

from harness.scenario import Conversation, ask, expect, scenario


@scenario(
    "classic/sync/past-generation",
    source="GroupMetadataManager#validateSyncGroup",
    clauses=("SG-12",),
)
def a_sync_with_a_past_generation_is_refused(conversation: Conversation) -> None:
    """A SyncGroup with the generation before the current one gets ILLEGAL_GENERATION."""
    ana, _ = conversation.stable_group("ana", "bob")

    ana.asks(ask.sync_group(generation_id=ana.generation_id - 1), error_code="ILLEGAL_GENERATION")


@scenario(
    "classic/sync/future-generation",
    source="GroupMetadataManager#validateSyncGroup",
    clauses=("SG-12",),
)
def a_sync_with_a_future_or_no_generation_is_refused(conversation: Conversation) -> None:
    """A SyncGroup with the generation after the current one, or -1, gets ILLEGAL_GENERATION."""
    ana, _ = conversation.stable_group("ana", "bob")

    ana.sends(ask.sync_group(generation_id=ana.generation_id + 1))
    ana.receives(expect.sync_group(error_code="ILLEGAL_GENERATION", assignment=b""))
    ana.sends(ask.sync_group(generation_id=-1))
    ana.receives(expect.sync_group(error_code="ILLEGAL_GENERATION", assignment=b""))


@scenario(
    "classic/sync/follower-waits-for-leader",
    source="GroupMetadataManager#classicGroupSyncToClassicGroup",
    clauses=("SG-01", "SG-02"),
)
def a_follower_waits_for_the_leader(conversation: Conversation) -> None:
    """A follower's SyncGroup stays parked until the leader sends the assignments."""
    ana, bob = conversation.stable_group("ana", "bob")
    bob.sends(ask.join_group(protocols=(("range", b"\0\0"),)))
    ana.sends(ask.join_group())
    bob.receives(expect.join_group(error_code="NONE"))
    ana.receives(expect.join_group(error_code="NONE"))

    bob.sends(ask.sync_group())
    bob.stays_parked(for_ms=300)
    ana.syncs_as_leader((ana, bob))
    bob.receives(expect.sync_group(error_code="NONE", assignment=bob.part))


@scenario(
    "classic/sync/assignment-is-kept",
    source="GroupMetadataManager#classicGroupSyncToClassicGroup",
    clauses=("SG-03", "SG-08"),
)
def an_assignment_is_kept(conversation: Conversation) -> None:
    """In a Stable group a repeated SyncGroup returns the current assignment and ignores what it carries."""
    ana, bob = conversation.stable_group("ana", "bob")

    ana.sends(ask.sync_group(assignments=((ana.member_id, b"other"), (bob.member_id, b"other"))))
    ana.receives(expect.sync_group(error_code="NONE", assignment=ana.part))
    bob.asks(ask.sync_group(), expect.sync_group(error_code="NONE", assignment=bob.part))


@scenario(
    "classic/sync/member-without-assignment",
    source="GroupMetadataManager#setAndPropagateAssignment",
    clauses=("SG-05", "SG-07"),
)
def a_member_without_assignment_gets_an_empty_one(conversation: Conversation) -> None:
    """A member without an assignment from the leader gets empty bytes; one for a stranger is ignored."""
    ana, bob = conversation.stable_group("ana", "bob")
    ana.sends(ask.join_group())
    bob.sends(ask.join_group())
    ana.receives(expect.join_group(error_code="NONE"))
    bob.receives(expect.join_group(error_code="NONE"))
    bob.sends(ask.sync_group())

    ana.sends(ask.sync_group(assignments=((ana.member_id, b"all"), ("nobody", b"nothing"))))

    ana.receives(expect.sync_group(error_code="NONE", assignment=b"all"))
    bob.receives(expect.sync_group(error_code="NONE", assignment=b""))


@scenario(
    "classic/sync/leader-brings-nothing",
    source="GroupMetadataManager#setAndPropagateAssignment",
    clauses=("SG-05", "SG-01"),
)
def a_leader_may_bring_nothing(conversation: Conversation) -> None:
    """A leader that sends no assignments makes the group Stable with empty ones."""
    ana = conversation.actor("ana")
    ana.joins()

    ana.asks(ask.sync_group(), expect.sync_group(error_code="NONE", assignment=b""))
    ana.sends(ask.sync_group(assignments=((ana.member_id, b"late"),)))
    ana.receives(expect.sync_group(error_code="NONE", assignment=b""))


@scenario(
    "classic/sync/follower-brings-assignments",
    source="GroupMetadataManager#classicGroupSyncToClassicGroup",
    clauses=("SG-08", "SG-02"),
)
def a_followers_assignments_are_ignored(conversation: Conversation) -> None:
    """Assignments in a follower's SyncGroup are ignored: it waits for the leader's."""
    ana, bob = conversation.stable_group("ana", "bob")
    ana.sends(ask.join_group())
    bob.sends(ask.join_group())
    ana.receives(expect.join_group(error_code="NONE"))
    bob.receives(expect.join_group(error_code="NONE"))

    bob.sends(ask.sync_group(assignments=((ana.member_id, b"by bob"), (bob.member_id, b"by bob"))))
    bob.stays_parked(for_ms=300)
    ana.syncs_as_leader((ana, bob))

    bob.receives(expect.sync_group(error_code="NONE", assignment=bob.part))


@scenario(
    "classic/sync/during-a-rebalance",
    source="GroupMetadataManager#classicGroupSyncToClassicGroup",
    clauses=("SG-09", "JG-07"),
)
def a_sync_during_a_rebalance_comes_too_late(conversation: Conversation) -> None:
    """A SyncGroup after a rebalance has begun gets REBALANCE_IN_PROGRESS."""
    (ana,) = conversation.stable_group("ana")
    bob = conversation.actor("bob")
    bob.sends(ask.join_group(version=3))

    ana.asks(ask.sync_group(), expect.sync_group(error_code="REBALANCE_IN_PROGRESS", assignment=b""))

    ana.asks(ask.join_group(), expect.join_group(error_code="NONE", generation_id=2))
    bob.receives(expect.join_group(error_code="NONE", generation_id=2))


@scenario(
    "classic/sync/empty-group",
    source="GroupMetadataManager#classicGroupSync",
    clauses=("SG-10", "SG-11"),
)
def an_empty_group_knows_no_member_to_sync(conversation: Conversation) -> None:
    """A SyncGroup of a former member to an Empty group gets UNKNOWN_MEMBER_ID."""
    (ana,) = conversation.stable_group("ana")
    ana.asks(ask.leave_group(), error_code="NONE")

    ana.asks(ask.sync_group(), expect.sync_group(error_code="UNKNOWN_MEMBER_ID", assignment=b""))


@scenario(
    "classic/sync/protocol-is-echoed-since-v5",
    source="KIP-559",
    clauses=("VF-10", "SG-03"),
)
def the_protocol_is_echoed_since_v5(conversation: Conversation) -> None:
    """SyncGroup v5 returns the group's protocol type and name."""
    (ana,) = conversation.stable_group("ana")

    ana.sends(ask.sync_group(version=5))
    ana.receives(
        expect.sync_group(
            error_code="NONE", protocol_type="consumer", protocol_name="range", assignment=ana.part
        )
    )


@scenario(
    "classic/sync/other-protocol-since-v5",
    source="GroupMetadataManager#isProtocolInconsistent",
    clauses=("SG-13", "SG-14", "VF-09"),
)
def another_protocol_is_refused_since_v5(conversation: Conversation) -> None:
    """SyncGroup v5 with another protocol type or name than the group's gets INCONSISTENT_GROUP_PROTOCOL."""
    (ana,) = conversation.stable_group("ana")

    ana.sends(ask.sync_group(version=5, protocol_type="connect"))
    ana.receives(
        expect.sync_group(
            error_code="INCONSISTENT_GROUP_PROTOCOL", protocol_type=None, protocol_name=None, assignment=b""
        )
    )
    ana.sends(ask.sync_group(version=5, protocol_name="roundrobin"))
    ana.receives(expect.sync_group(error_code="INCONSISTENT_GROUP_PROTOCOL", assignment=b""))


@scenario(
    "classic/sync/protocol-is-mandatory-since-v5",
    source="KafkaApis#handleSyncGroupRequest",
    clauses=("CO-06", "VF-09"),
)
def the_protocol_is_mandatory_since_v5(conversation: Conversation) -> None:
    """SyncGroup v5 without a protocol type or name gets INCONSISTENT_GROUP_PROTOCOL."""
    (ana,) = conversation.stable_group("ana")

    ana.sends(ask.sync_group(version=5, protocol_type=None))
    ana.receives(expect.sync_group(error_code="INCONSISTENT_GROUP_PROTOCOL", assignment=b""))
    ana.sends(ask.sync_group(version=5, protocol_name=None))
    ana.receives(expect.sync_group(error_code="INCONSISTENT_GROUP_PROTOCOL", assignment=b""))
