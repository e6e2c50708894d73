"""The fields of the responses of each version."""

from harness.scenario import NON_EMPTY, ORDERS, SHORT_SESSIONS, Conversation, ask, expect, scenario


@scenario(
    "classic/wire/join-error-before-v7",
    source="KafkaApis#handleJoinGroupRequest",
    clauses=("VF-07",),
)
def an_error_before_v7_has_an_empty_protocol(conversation: Conversation) -> None:
    """A refused JoinGroup v6 returns an empty protocol name, no leader and no members."""
    ana = conversation.actor("ana")

    ana.sends(ask.join_group(member_id="nobody"))
    ana.receives(
        expect.join_group(
            error_code="UNKNOWN_MEMBER_ID", generation_id=-1, protocol_name="", leader="", members=()
        )
    )


@scenario(
    "classic/wire/join-error-since-v7",
    source="KIP-559",
    clauses=("VF-07",),
)
def an_error_since_v7_has_no_protocol(conversation: Conversation) -> None:
    """A refused JoinGroup v7 returns neither protocol type nor protocol name."""
    ana = conversation.actor("ana")

    ana.sends(ask.join_group(version=7, member_id="nobody"))
    ana.receives(
        expect.join_group(
            error_code="UNKNOWN_MEMBER_ID",
            generation_id=-1,
            protocol_type=None,
            protocol_name=None,
            leader="",
            members=(),
        )
    )


@scenario(
    "classic/wire/join-since-v7",
    source="KIP-559",
    clauses=("VF-08", "JG-02"),
)
def a_success_since_v7_names_the_protocol_type(conversation: Conversation) -> None:
    """A JoinGroup v7 that succeeds returns the group's protocol type and name."""
    ana = conversation.actor("ana")
    ana.obtains_member_id()

    ana.sends(ask.join_group(version=7))
    ana.receives(
        expect.join_group(error_code="NONE", generation_id=1, protocol_type="consumer", protocol_name="range")
    )


@scenario(
    "classic/wire/join-with-a-reason",
    source="KIP-800",
    clauses=("VF-15", "JG-02"),
)
def a_reason_to_join_changes_nothing(conversation: Conversation) -> None:
    """A JoinGroup v8 with a long reason is answered like one without."""
    ana = conversation.actor("ana")
    ana.obtains_member_id()
    supported: dict[str, str | bytes] = {"name": "range", "metadata": ORDERS}

    ana.sends(
        ask.request(
            "JoinGroup",
            8,
            group_id=conversation.group("main"),
            session_timeout_ms=30_000,
            rebalance_timeout_ms=30_000,
            member_id=ana.member_id,
            protocol_type="consumer",
            protocols=(supported,),
            reason="because " * 100,
        )
    )
    ana.receives(expect.join_group(error_code="NONE", generation_id=1, leader=ana.member_id))


@scenario(
    "classic/wire/throttle-time",
    source="JoinGroupResponse.json",
    clauses=("VF-13",),
)
def nobody_is_throttled_without_quotas(conversation: Conversation) -> None:
    """The first versions with a throttle time return 0 where there are no quotas."""
    ana = conversation.actor("ana")

    ana.sends(ask.join_group(version=2))
    ana.receives(expect.response("JoinGroup", throttle_time_ms=0, error_code="NONE", member_id=NON_EMPTY))
    ana.asks(ask.sync_group(version=1), expect.response("SyncGroup", throttle_time_ms=0, error_code="NONE"))
    ana.asks(ask.heartbeat(version=1), expect.response("Heartbeat", throttle_time_ms=0, error_code="NONE"))
    ana.asks(ask.leave_group(version=1), expect.response("LeaveGroup", throttle_time_ms=0, error_code="NONE"))


@scenario(
    "classic/wire/oldest-versions",
    source="KIP-896",
    clauses=("VF-01", "VF-02", "VF-03", "VF-04", "JG-03", "VF-11"),
)
def the_oldest_versions_still_work(conversation: Conversation) -> None:
    """A client of 2015 joins, syncs, heartbeats and leaves with version 0 of each API."""
    ana = conversation.actor("ana")

    ana.sends(ask.join_group(version=0))
    ana.receives(
        expect.join_group(
            error_code="NONE",
            generation_id=1,
            leader=ana.member_id,
            members=({"member_id": ana.member_id, "metadata": ORDERS},),
        )
    )
    ana.sends(ask.sync_group(version=0, assignments=((ana.member_id, ana.part),)))
    ana.receives(expect.sync_group(error_code="NONE", assignment=ana.part))
    ana.asks(ask.heartbeat(version=0), error_code="NONE")
    ana.asks(ask.leave_group(version=0), error_code="NONE")


@scenario(
    "classic/wire/join-v0-rebalance-timeout",
    source="JoinGroupRequest.json",
    clauses=("VF-14", "RB-10"),
    broker_config=SHORT_SESSIONS,
)
def the_session_timeout_is_the_rebalance_timeout_in_v0(conversation: Conversation) -> None:
    """JoinGroup v0 has no rebalance timeout, so its session timeout is used for both."""
    ana, bob = conversation.actors("ana", "bob")
    ana.sends(ask.join_group(version=0, session_timeout_ms=2000))
    ana.receives(expect.join_group(error_code="NONE", generation_id=1))
    ana.syncs_as_leader((ana,))

    bob.sends(ask.join_group(version=0, session_timeout_ms=2000))
    conversation.elapses(700)
    ana.asks(ask.heartbeat(), error_code="REBALANCE_IN_PROGRESS")

    bob.receives(
        expect.join_group(error_code="NONE", generation_id=2, members=({"member_id": bob.member_id},)),
        due_ms=2000,
    )
