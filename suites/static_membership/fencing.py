"""Fencing: the answers to a static member's former id, and the order of the checks."""

from harness.scenario import Actor, Conversation, ask, expect, scenario

VALIDATES = "ClassicGroup#validateMember"


def _replaced(conversation: Conversation) -> tuple[Actor, Actor]:
    """Form a group whose static follower has restarted; return its former and its new actor."""
    _, bob = conversation.stable_group("ana", conversation.actor("bob", group_instance_id="seat-b"))
    bob_again = conversation.actor("bob-again", group_instance_id="seat-b")
    bob_again.asks(ask.join_group(), expect.join_group(error_code="NONE", generation_id=bob.generation_id))
    return bob, bob_again


@scenario("static_membership/fencing/heartbeat", source=VALIDATES, clauses=("ST-07", "ST-08"))
def a_former_id_is_fenced_only_with_its_instance_id(conversation: Conversation) -> None:
    """A Heartbeat with a former id gets FENCED_INSTANCE_ID, or UNKNOWN_MEMBER_ID without instance id."""
    bob, _ = _replaced(conversation)

    bob.asks(ask.heartbeat(), error_code="FENCED_INSTANCE_ID")
    bob.asks(ask.heartbeat(group_instance_id=None), error_code="UNKNOWN_MEMBER_ID")


@scenario("static_membership/fencing/sync", source=VALIDATES, clauses=("ST-07", "ST-08"))
def a_former_id_gets_no_assignment(conversation: Conversation) -> None:
    """A SyncGroup with a former id gets FENCED_INSTANCE_ID, or UNKNOWN_MEMBER_ID without instance id."""
    bob, bob_again = _replaced(conversation)

    bob.asks(ask.sync_group(), expect.sync_group(error_code="FENCED_INSTANCE_ID", assignment=b""))
    bob.sends(ask.sync_group(group_instance_id=None))
    bob.receives(expect.sync_group(error_code="UNKNOWN_MEMBER_ID", assignment=b""))
    bob_again.asks(ask.sync_group(), expect.sync_group(error_code="NONE", assignment=bob.part))


@scenario("static_membership/fencing/join", source=VALIDATES, clauses=("ST-07", "ST-08", "VF-07"))
def a_former_id_cannot_rejoin(conversation: Conversation) -> None:
    """A JoinGroup with a former id gets FENCED_INSTANCE_ID, or UNKNOWN_MEMBER_ID without instance id."""
    bob, _ = _replaced(conversation)

    bob.sends(ask.join_group())
    bob.receives(
        expect.join_group(
            error_code="FENCED_INSTANCE_ID", generation_id=-1, leader="", member_id=bob.member_id, members=()
        )
    )
    bob.sends(ask.join_group(group_instance_id=None))
    bob.receives(expect.join_group(error_code="UNKNOWN_MEMBER_ID", generation_id=-1, member_id=bob.member_id))


@scenario("static_membership/fencing/low-versions", source="KIP-345", clauses=("VF-16",))
def a_former_id_is_unknown_where_versions_know_no_instance_id(conversation: Conversation) -> None:
    """In versions without instance ids, the former id gets UNKNOWN_MEMBER_ID; the new one is served."""
    bob, bob_again = _replaced(conversation)

    bob.asks(ask.heartbeat(version=2), error_code="UNKNOWN_MEMBER_ID")
    bob.asks(ask.sync_group(version=2), error_code="UNKNOWN_MEMBER_ID")
    bob.asks(ask.join_group(version=4), error_code="UNKNOWN_MEMBER_ID")
    bob_again.asks(ask.heartbeat(version=2), error_code="NONE")
    bob_again.asks(ask.sync_group(version=2), expect.sync_group(error_code="NONE", assignment=bob.part))


@scenario(
    "static_membership/fencing/heartbeat-ladder",
    source="GroupMetadataManager#validateClassicGroupHeartbeat",
    clauses=("HB-05", "HB-06", "HB-07"),
)
def a_heartbeat_is_fenced_before_its_generation_is_looked_at(conversation: Conversation) -> None:
    """Heartbeat checks the instance id first, then the member id, then the generation."""
    bob, bob_again = _replaced(conversation)
    past = bob.generation_id - 1

    bob_again.climbs(
        [
            (
                ask.heartbeat(member_id="", generation_id=past),
                expect.heartbeat(error_code="FENCED_INSTANCE_ID"),
            ),
            (
                ask.heartbeat(member_id="nobody", generation_id=past),
                expect.heartbeat(error_code="FENCED_INSTANCE_ID"),
            ),
            (
                ask.heartbeat(member_id=bob.member_id, generation_id=past),
                expect.heartbeat(error_code="FENCED_INSTANCE_ID"),
            ),
            (
                ask.heartbeat(member_id=bob.member_id, group_instance_id=None, generation_id=past),
                expect.heartbeat(error_code="UNKNOWN_MEMBER_ID"),
            ),
            (ask.heartbeat(generation_id=past), expect.heartbeat(error_code="ILLEGAL_GENERATION")),
            (ask.heartbeat(), expect.heartbeat(error_code="NONE")),
        ]
    )


@scenario(
    "static_membership/fencing/sync-ladder",
    source="GroupMetadataManager#validateSyncGroup",
    clauses=("SG-11", "SG-12", "SG-13", "SG-14", "SG-19", "CO-02", "CO-06"),
)
def a_sync_is_fenced_before_generation_and_protocol_are_looked_at(conversation: Conversation) -> None:
    """SyncGroup v5 requires a protocol, then checks group, instance, member, generation and protocol."""
    bob, bob_again = _replaced(conversation)
    past, other = bob.generation_id - 1, "connect"
    fenced = "FENCED_INSTANCE_ID"
    inconsistent = "INCONSISTENT_GROUP_PROTOCOL"

    refused = (
        (ask.sync_group(version=5, group_id="", member_id="", protocol_type=None), inconsistent),
        (ask.sync_group(version=5, group_id="", member_id="", protocol_type=other), "INVALID_GROUP_ID"),
        (ask.sync_group(version=5, member_id="", generation_id=past, protocol_type=other), fenced),
        (ask.sync_group(version=5, member_id="nobody", generation_id=past, protocol_type=other), fenced),
        (ask.sync_group(version=5, member_id=bob.member_id, generation_id=past, protocol_type=other), fenced),
        (
            ask.sync_group(version=5, member_id="nobody", group_instance_id=None, generation_id=past),
            "UNKNOWN_MEMBER_ID",
        ),
        (ask.sync_group(version=5, generation_id=past, protocol_type=other), "ILLEGAL_GENERATION"),
        (ask.sync_group(version=5, protocol_type=other), inconsistent),
        (ask.sync_group(version=5, protocol_name="roundrobin"), inconsistent),
    )
    bob_again.climbs(
        [
            *((request, expect.sync_group(error_code=error)) for request, error in refused),
            (ask.sync_group(version=5), expect.sync_group(error_code="NONE", assignment=bob.part)),
        ]
    )


@scenario(
    "static_membership/fencing/join-ladder",
    source="GroupMetadataManager#classicGroupJoinExistingMember",
    clauses=("ST-25", "ST-26", "ST-27", "CO-01", "JG-15", "CO-05"),
)
def a_join_is_fenced_after_its_protocols_were_looked_at(conversation: Conversation) -> None:
    """JoinGroup checks group id, session timeout, protocols, instance id and member id, in this order."""
    _, bob = conversation.stable_group("ana", conversation.actor("bob", group_instance_id="seat-b"))
    stranger = conversation.actor("stranger", group_instance_id="seat-b")
    others = (("sticky", b""),)

    stranger.climbs(
        [
            (
                ask.join_group(group_id="", session_timeout_ms=1, member_id="nobody", protocols=others),
                expect.join_group(error_code="INVALID_GROUP_ID", member_id="nobody"),
            ),
            (
                ask.join_group(session_timeout_ms=1, member_id="nobody", protocols=others),
                expect.join_group(error_code="INVALID_SESSION_TIMEOUT", member_id="nobody"),
            ),
            (
                ask.join_group(member_id="nobody", protocols=others),
                expect.join_group(error_code="INCONSISTENT_GROUP_PROTOCOL"),
            ),
            (
                ask.join_group(member_id="nobody"),
                expect.join_group(error_code="FENCED_INSTANCE_ID", member_id="nobody"),
            ),
            (
                ask.join_group(member_id="nobody", group_instance_id="seat-x"),
                expect.join_group(error_code="UNKNOWN_MEMBER_ID", member_id="nobody"),
            ),
            (
                ask.join_group(member_id=bob.member_id),
                expect.join_group(error_code="NONE", generation_id=bob.generation_id),
            ),
        ]
    )
