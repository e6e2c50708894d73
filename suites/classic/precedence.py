"""Ladders: requests with several faults at once, which show the order of the checks."""

from harness.scenario import ANY, RANGE, ROUND_ROBIN, Conversation, ask, expect, scenario, sweep


@scenario(
    "classic/precedence/join-stable-group",
    source="GroupMetadataManager#classicGroupJoinToClassicGroup",
    clauses=("CO-01", "JG-15", "JG-20", "JG-30", "JG-01"),
)
def a_joiner_of_a_stable_group_climbs(conversation: Conversation) -> None:
    """A JoinGroup is checked for its group id, then its session timeout, protocols, and member id."""
    conversation.stable_group("ana")
    bob = conversation.actor("bob")

    bob.climbs(
        (
            (
                ask.join_group(group_id="", session_timeout_ms=1, protocols=ROUND_ROBIN, member_id="nobody"),
                expect.join_group(error_code="INVALID_GROUP_ID", member_id="nobody"),
            ),
            (
                ask.join_group(session_timeout_ms=1, protocols=ROUND_ROBIN, member_id="nobody"),
                expect.join_group(error_code="INVALID_SESSION_TIMEOUT", member_id="nobody"),
            ),
            (
                ask.join_group(protocols=ROUND_ROBIN, member_id="nobody"),
                expect.join_group(error_code="INCONSISTENT_GROUP_PROTOCOL", member_id="nobody"),
            ),
            (
                ask.join_group(protocols=RANGE, member_id="nobody"),
                expect.join_group(error_code="UNKNOWN_MEMBER_ID", member_id="nobody"),
            ),
            (
                ask.join_group(protocols=RANGE, member_id=""),
                expect.join_group(error_code="MEMBER_ID_REQUIRED"),
            ),
        )
    )


@scenario(
    "classic/precedence/join-unknown-group",
    source="GroupMetadataManager#classicGroupJoinToClassicGroup",
    clauses=("CO-01", "JG-15", "CO-16", "JG-17", "JG-01"),
)
def a_joiner_of_an_unknown_group_climbs(conversation: Conversation) -> None:
    """JoinGroup to an unknown group checks the member id, then protocols, before it creates a member id."""
    ana = conversation.actor("ana")

    ana.climbs(
        (
            (
                ask.join_group(group_id="", session_timeout_ms=1, protocols=(), member_id="nobody"),
                expect.join_group(error_code="INVALID_GROUP_ID"),
            ),
            (
                ask.join_group(session_timeout_ms=1, protocols=(), member_id="nobody"),
                expect.join_group(error_code="INVALID_SESSION_TIMEOUT"),
            ),
            (
                ask.join_group(protocols=(), member_id="nobody"),
                expect.join_group(error_code="UNKNOWN_MEMBER_ID", member_id="nobody"),
            ),
            (
                ask.join_group(protocols=(), member_id=""),
                expect.join_group(error_code="INCONSISTENT_GROUP_PROTOCOL", member_id=""),
            ),
            (ask.join_group(member_id=""), expect.join_group(error_code="MEMBER_ID_REQUIRED")),
        )
    )


@scenario(
    "classic/precedence/sync-since-v5",
    source="GroupMetadataManager#validateSyncGroup",
    clauses=("CO-06", "CO-02", "CO-18", "SG-11", "SG-12", "SG-13", "SG-14", "SG-09"),
)
def a_sync_during_a_rebalance_climbs(conversation: Conversation) -> None:
    """SyncGroup v5 is checked for having a protocol, then group, member, generation, protocol and state."""
    (ana,) = conversation.stable_group("ana")
    bob = conversation.actor("bob")
    bob.sends(ask.join_group(version=3))
    inconsistent = expect.sync_group(error_code="INCONSISTENT_GROUP_PROTOCOL", assignment=b"")

    ana.climbs(
        (
            (
                ask.sync_group(
                    version=5, protocol_name=None, group_id="", member_id="nobody", generation_id=9
                ),
                inconsistent,
            ),
            (
                ask.sync_group(
                    version=5, protocol_name="x", group_id="", member_id="nobody", generation_id=9
                ),
                expect.sync_group(error_code="INVALID_GROUP_ID", assignment=b""),
            ),
            (
                ask.sync_group(
                    version=5, protocol_name="x", group_id=conversation.group("elsewhere"), generation_id=9
                ),
                expect.sync_group(error_code="UNKNOWN_MEMBER_ID", assignment=b""),
            ),
            (
                ask.sync_group(version=5, protocol_name="x", member_id="nobody", generation_id=9),
                expect.sync_group(error_code="UNKNOWN_MEMBER_ID", assignment=b""),
            ),
            (
                ask.sync_group(version=5, protocol_name="x", generation_id=9),
                expect.sync_group(error_code="ILLEGAL_GENERATION", assignment=b""),
            ),
            (ask.sync_group(version=5, protocol_type="x"), inconsistent),
            (ask.sync_group(version=5, protocol_name="x"), inconsistent),
            (
                ask.sync_group(version=5),
                expect.sync_group(error_code="REBALANCE_IN_PROGRESS", assignment=b""),
            ),
        )
    )


@scenario(
    "classic/precedence/sync-before-v5",
    source="GroupMetadataManager#validateSyncGroup",
    clauses=("CO-02", "CO-18", "SG-11", "SG-12", "SG-03"),
    sweep=sweep("SyncGroup", 0, 4),
)
def a_sync_before_v5_climbs(conversation: Conversation, version: int) -> None:
    """SyncGroup v{version} is checked for its group id, then the group, the member and the generation."""
    (ana,) = conversation.stable_group("ana")

    ana.climbs(
        (
            (
                ask.sync_group(version=version, group_id="", member_id="nobody", generation_id=9),
                expect.sync_group(error_code="INVALID_GROUP_ID"),
            ),
            (
                ask.sync_group(version=version, group_id=conversation.group("elsewhere"), generation_id=9),
                expect.sync_group(error_code="UNKNOWN_MEMBER_ID"),
            ),
            (
                ask.sync_group(version=version, member_id="nobody", generation_id=9),
                expect.sync_group(error_code="UNKNOWN_MEMBER_ID"),
            ),
            (
                ask.sync_group(version=version, generation_id=9),
                expect.sync_group(error_code="ILLEGAL_GENERATION"),
            ),
            (ask.sync_group(version=version), expect.sync_group(error_code="NONE", assignment=ana.part)),
        )
    )


@scenario(
    "classic/precedence/heartbeat",
    source="GroupMetadataManager#validateClassicGroupHeartbeat",
    clauses=("CO-03", "CO-19", "HB-05", "HB-06", "HB-02"),
    sweep=sweep("Heartbeat", 0, 4),
)
def a_heartbeat_during_a_rebalance_climbs(conversation: Conversation, version: int) -> None:
    """Heartbeat v{version} is checked for its group id, the group, member, generation, then state."""
    (ana,) = conversation.stable_group("ana")
    bob = conversation.actor("bob")
    bob.sends(ask.join_group(version=3))

    ana.climbs(
        (
            (
                ask.heartbeat(version=version, group_id="", member_id="nobody", generation_id=9),
                expect.heartbeat(error_code="INVALID_GROUP_ID"),
            ),
            (
                ask.heartbeat(version=version, group_id=conversation.group("elsewhere"), generation_id=9),
                expect.heartbeat(error_code="UNKNOWN_MEMBER_ID"),
            ),
            (
                ask.heartbeat(version=version, member_id="nobody", generation_id=9),
                expect.heartbeat(error_code="UNKNOWN_MEMBER_ID"),
            ),
            (
                ask.heartbeat(version=version, generation_id=9),
                expect.heartbeat(error_code="ILLEGAL_GENERATION"),
            ),
            (ask.heartbeat(version=version), expect.heartbeat(error_code="REBALANCE_IN_PROGRESS")),
        )
    )


@scenario(
    "classic/precedence/leave-before-v3",
    source="KAFKA-15755",
    clauses=("CO-21", "VF-11", "LV-02"),
    sweep=sweep("LeaveGroup", 0, 2),
)
def a_leaver_before_v3_climbs(conversation: Conversation, version: int) -> None:
    """LeaveGroup v{version} is checked for its group id, then the group, then the member.

    Some releases could not write the answer to the first: see `regressions/kafka-15755`.
    """
    (ana,) = conversation.stable_group("ana")

    ana.climbs(
        (
            (
                ask.leave_group(version=version, group_id="", member_id="nobody"),
                expect.leave_group(error_code=ANY),
            ),
            (
                ask.leave_group(version=version, group_id=conversation.group("elsewhere")),
                expect.leave_group(error_code="UNKNOWN_MEMBER_ID"),
            ),
            (
                ask.leave_group(version=version, member_id="nobody"),
                expect.leave_group(error_code="UNKNOWN_MEMBER_ID"),
            ),
            (ask.leave_group(version=version), expect.leave_group(error_code="NONE")),
        )
    )
