"""What JoinGroup requires: timeouts, protocols, and who is admitted during a rebalance."""

from harness.scenario import (
    ANY,
    ORDERS,
    RANGE,
    ROUND_ROBIN,
    SHORT_SESSIONS,
    Conversation,
    ask,
    expect,
    in_any_order,
    scenario,
)

BOTH = (("range", ORDERS), ("roundrobin", ORDERS))


@scenario(
    "classic/join/session-timeout-at-the-bounds",
    source="GroupCoordinatorService#joinGroup",
    clauses=("JG-14", "JG-16"),
    broker_config=SHORT_SESSIONS,
)
def a_session_timeout_at_the_bounds_is_accepted(conversation: Conversation) -> None:
    """JoinGroup accepts the lowest and the highest session timeout that the coordinator is configured for."""
    ana, bob = conversation.actors("ana", "bob")

    ana.asks(ask.join_group(session_timeout_ms=100), error_code="MEMBER_ID_REQUIRED")
    bob.asks(ask.join_group(session_timeout_ms=1_800_000), error_code="MEMBER_ID_REQUIRED")


@scenario(
    "classic/join/session-timeout-out-of-bounds",
    source="GroupCoordinatorService#joinGroup",
    clauses=("JG-15", "VF-07"),
)
def a_session_timeout_out_of_bounds_is_refused(conversation: Conversation) -> None:
    """A session timeout one millisecond out of bounds gets INVALID_SESSION_TIMEOUT and creates no group."""
    ana = conversation.actor("ana")

    ana.sends(ask.join_group(member_id="nobody", session_timeout_ms=99))
    ana.receives(expect.join_group(error_code="INVALID_SESSION_TIMEOUT", member_id="nobody"))
    ana.sends(ask.join_group(member_id="", session_timeout_ms=1_800_001))
    ana.receives(
        expect.join_group(error_code="INVALID_SESSION_TIMEOUT", member_id="", generation_id=-1, leader="")
    )

    ana.asks(ask.describe_groups(), expect.describe_groups(group_state="Dead"))


@scenario(
    "classic/join/no-protocols",
    source="ClassicGroup#supportsProtocols",
    clauses=("JG-17", "DG-13"),
)
def a_member_without_protocols_is_refused(conversation: Conversation) -> None:
    """A first JoinGroup without protocols gets INCONSISTENT_GROUP_PROTOCOL, yet creates an Empty group."""
    ana = conversation.actor("ana")

    ana.sends(ask.join_group(protocols=()))
    ana.receives(expect.join_group(error_code="INCONSISTENT_GROUP_PROTOCOL", member_id="", generation_id=-1))

    ana.repeats(ask.describe_groups(), until=expect.describe_groups(group_state="Empty", members=()))


@scenario(
    "classic/join/no-protocol-type",
    source="ClassicGroup#supportsProtocols",
    clauses=("JG-18",),
)
def a_member_without_protocol_type_is_refused(conversation: Conversation) -> None:
    """A first JoinGroup with an empty protocol type gets INCONSISTENT_GROUP_PROTOCOL."""
    ana = conversation.actor("ana")

    ana.sends(ask.join_group(protocol_type=""))
    ana.receives(expect.join_group(error_code="INCONSISTENT_GROUP_PROTOCOL", member_id="", generation_id=-1))


@scenario(
    "classic/join/other-protocol-type",
    source="ClassicGroup#supportsProtocols",
    clauses=("JG-20",),
)
def a_member_of_another_protocol_type_is_refused(conversation: Conversation) -> None:
    """A JoinGroup with another protocol type than the group's gets INCONSISTENT_GROUP_PROTOCOL."""
    conversation.stable_group("ana")
    bob = conversation.actor("bob")

    bob.sends(ask.join_group(protocol_type="connect"))
    bob.receives(expect.join_group(error_code="INCONSISTENT_GROUP_PROTOCOL", member_id=""))


@scenario(
    "classic/join/no-protocol-common-to-all",
    source="ClassicGroup#supportsProtocols",
    clauses=("JG-20",),
)
def a_protocol_of_some_members_is_not_enough(conversation: Conversation) -> None:
    """A JoinGroup whose only protocol not all members support gets INCONSISTENT_GROUP_PROTOCOL."""
    (ana,) = conversation.stable_group("ana", protocols=RANGE)
    bob, carol = conversation.actors("bob", "carol")
    bob.obtains_member_id(protocols=BOTH)
    bob.sends(ask.join_group(protocols=BOTH))

    carol.sends(ask.join_group(protocols=ROUND_ROBIN))
    carol.receives(expect.join_group(error_code="INCONSISTENT_GROUP_PROTOCOL", member_id=""))

    ana.asks(ask.join_group(), expect.join_group(error_code="NONE", protocol_name="range"))
    bob.receives(expect.join_group(error_code="NONE", protocol_name="range"))


@scenario(
    "classic/join/empty-group-takes-another-type",
    source="ClassicGroup#supportsProtocols",
    clauses=("JG-21",),
)
def an_empty_group_takes_another_protocol_type(conversation: Conversation) -> None:
    """Members of another protocol type may join a group that all its consumers have left."""
    (ana,) = conversation.stable_group("ana")
    ana.asks(ask.leave_group(), error_code="NONE")
    bob = conversation.actor("bob")

    bob.sends(ask.join_group(version=3, protocol_type="connect", protocols=(("compatible", b"worker"),)))
    bob.receives(
        expect.join_group(
            error_code="NONE",
            protocol_name="compatible",
            members=({"member_id": bob.member_id, "metadata": b"worker"},),
        )
    )


@scenario(
    "classic/join/lone-member-cannot-swap-protocols",
    source="ClassicGroup#supportsProtocols",
    clauses=("JG-22", "JG-41"),
)
def a_lone_member_cannot_swap_its_protocols_at_once(conversation: Conversation) -> None:
    """A lone member that drops all its protocols gets INCONSISTENT_GROUP_PROTOCOL: its old list counts."""
    (ana,) = conversation.stable_group("ana", protocols=RANGE)

    ana.sends(ask.join_group(protocols=ROUND_ROBIN))
    ana.receives(expect.join_group(error_code="INCONSISTENT_GROUP_PROTOCOL", generation_id=-1))
    ana.sends(ask.join_group(protocols=(("roundrobin", ORDERS), ("range", ORDERS))))
    ana.receives(expect.join_group(error_code="NONE", generation_id=2, protocol_name="roundrobin"))

    ana.sends(ask.join_group(protocols=ROUND_ROBIN))
    ana.receives(expect.join_group(error_code="NONE", generation_id=3, protocol_name="roundrobin"))


@scenario(
    "classic/join/rebalance-timeout-zero",
    source="ClassicGroup#rebalanceTimeoutMs",
    clauses=("JG-23",),
)
def a_rebalance_timeout_of_zero_is_accepted(conversation: Conversation) -> None:
    """A JoinGroup with a rebalance timeout of 0 succeeds, but leaves the member no time to sync.

    Source of what follows: KAFKA-12890; before 2.8.1 no member was removed for not syncing.
    """
    ana = conversation.actor("ana")
    ana.obtains_member_id()

    ana.sends(ask.join_group(rebalance_timeout_ms=0))
    ana.receives(expect.join_group(error_code="NONE", generation_id=1, leader=ana.member_id))

    conversation.elapses(500)
    ana.asks(ask.heartbeat(), error_code=ANY)


@scenario(
    "classic/join/parked-newcomer-outlives-its-session",
    source="ClassicGroupMember#hasSatisfiedHeartbeat",
    clauses=("JG-25", "OR-04"),
    broker_config=SHORT_SESSIONS,
)
def a_parked_newcomer_outlives_its_session(conversation: Conversation) -> None:
    """A newcomer whose JoinGroup is parked is not removed when its session timeout passes."""
    (ana,) = conversation.stable_group("ana")
    bob = conversation.actor("bob")
    bob.obtains_member_id()
    bob.sends(ask.join_group(session_timeout_ms=500))

    bob.stays_parked(for_ms=1200)
    ana.sends(ask.join_group())

    ana.receives(
        expect.join_group(
            error_code="NONE",
            members=in_any_order({"member_id": ana.member_id}, {"member_id": bob.member_id}),
        )
    )
    bob.receives(expect.join_group(error_code="NONE"))


@scenario(
    "classic/join/parked-newcomer-heartbeats",
    source="ClassicGroupMember#hasSatisfiedHeartbeat",
    clauses=("JG-26",),
    broker_config=SHORT_SESSIONS,
)
def a_heartbeat_shortens_a_newcomers_patience(conversation: Conversation) -> None:
    """A newcomer that heartbeats while its JoinGroup is parked becomes subject to its session timeout.

    This is so since 2.5; in 2.4 it stays parked.
    """
    (ana,) = conversation.stable_group("ana")
    bob = conversation.actor("bob")
    bob.obtains_member_id()
    bob.sends(ask.join_group(session_timeout_ms=500))

    bob.aside.asks(ask.heartbeat(generation_id=ana.generation_id), error_code="REBALANCE_IN_PROGRESS")
    conversation.elapses(1200)
    ana.sends(ask.join_group())

    ana.receives(expect.join_group(error_code="NONE", generation_id=2, leader=ana.member_id))
    bob.receives(expect.join_group())


@scenario(
    "classic/join/parked-newcomer-is-removed",
    source="ClassicGroupMember#hasSatisfiedHeartbeat",
    clauses=("JG-26",),
    broker_config=SHORT_SESSIONS,
)
def a_newcomer_that_falls_silent_is_removed(conversation: Conversation) -> None:
    """A newcomer that heartbeats while its JoinGroup v7 is parked, and falls silent, is removed."""
    (ana,) = conversation.stable_group("ana")
    bob = conversation.actor("bob")
    bob.obtains_member_id()
    bob.sends(ask.join_group(version=7, session_timeout_ms=500))

    bob.aside.asks(ask.heartbeat(generation_id=ana.generation_id), error_code="REBALANCE_IN_PROGRESS")
    bob.receives(expect.join_group(error_code="UNKNOWN_MEMBER_ID"), within_ms=5_000)
    ana.asks(ask.join_group(), expect.join_group(error_code="NONE", generation_id=2, members=({},)))


@scenario(
    "classic/join/newcomer-ends-parked-syncs",
    source="GroupMetadataManager#prepareRebalance",
    clauses=("JG-08",),
)
def a_newcomer_ends_parked_syncs(conversation: Conversation) -> None:
    """A member that joins while assignments are awaited ends parked SyncGroups: REBALANCE_IN_PROGRESS."""
    ana, bob = conversation.stable_group("ana", "bob")
    ana.sends(ask.join_group())
    bob.sends(ask.join_group())
    ana.receives(expect.join_group(error_code="NONE"))
    bob.receives(expect.join_group(error_code="NONE"))
    bob.sends(ask.sync_group())
    carol = conversation.actor("carol")

    carol.sends(ask.join_group(version=3))

    bob.receives(expect.sync_group(error_code="REBALANCE_IN_PROGRESS", assignment=b""))
    ana.asks(ask.heartbeat(), error_code="REBALANCE_IN_PROGRESS")
    ana.sends(ask.join_group())
    bob.sends(ask.join_group())
    ana.receives(expect.join_group(error_code="NONE", leader=ana.member_id))
    carol.receives(expect.join_group(error_code="NONE", leader=ana.member_id))


@scenario(
    "classic/join/retry-before-v4-makes-a-second-member",
    source="GroupMetadataManager#classicGroupJoinNewDynamicMember",
    clauses=("JG-29",),
)
def a_retry_before_v4_makes_a_second_member(conversation: Conversation) -> None:
    """A JoinGroup v3 without a member id that is repeated while the first is parked adds two members."""
    (ana,) = conversation.stable_group("ana")
    bob = conversation.actor("bob")
    bob.sends(ask.join_group(version=3, member_id=""))
    bob.aside.sends(ask.join_group(version=3, member_id=""))

    ana.sends(ask.join_group())

    ana.receives(
        expect.join_group(error_code="NONE", members=in_any_order({"member_id": ana.member_id}, {}, {}))
    )
    bob.receives(expect.join_group(error_code="NONE"))
    bob.aside.receives(expect.join_group(error_code="NONE"))
