"""group.max.size: which members a full group refuses, and which it counts."""

from harness.scenario import ANY, ROUND_ROBIN, Conversation, ask, expect, scenario

TWO = {"group.max.size": "2"}


@scenario(
    "classic/max-size/full-group",
    source="GroupMetadataManager#acceptJoiningMember",
    clauses=("MX-01", "VF-07"),
    broker_config=TWO,
)
def a_full_group_takes_nobody(conversation: Conversation) -> None:
    """A newcomer to a full Stable group gets GROUP_MAX_SIZE_REACHED without an id; no rebalance starts."""
    ana, _ = conversation.stable_group("ana", "bob")
    carol = conversation.actor("carol")

    carol.sends(ask.join_group(member_id=""))
    carol.receives(
        expect.join_group(
            error_code="GROUP_MAX_SIZE_REACHED", member_id="", generation_id=-1, leader="", members=()
        )
    )
    carol.sends(ask.join_group(version=3, member_id=""))
    carol.receives(expect.join_group(error_code="GROUP_MAX_SIZE_REACHED", member_id=""))

    ana.asks(ask.heartbeat(), error_code="NONE")


@scenario(
    "classic/max-size/full-group-before-assignments",
    source="GroupMetadataManager#acceptJoiningMember",
    clauses=("MX-01",),
    broker_config=TWO,
)
def a_full_group_takes_nobody_before_the_assignments(conversation: Conversation) -> None:
    """A newcomer to a full group that awaits its assignments gets GROUP_MAX_SIZE_REACHED."""
    ana, bob = conversation.stable_group("ana", "bob")
    ana.sends(ask.join_group())
    bob.sends(ask.join_group())
    ana.receives(expect.join_group(error_code="NONE", generation_id=3))
    bob.receives(expect.join_group(error_code="NONE", generation_id=3))
    carol = conversation.actor("carol")

    carol.sends(ask.join_group(member_id=""))
    carol.receives(expect.join_group(error_code="GROUP_MAX_SIZE_REACHED", member_id=""))

    ana.syncs_as_leader((ana, bob))


@scenario(
    "classic/max-size/members-may-rejoin",
    source="GroupMetadataManager#acceptJoiningMember",
    clauses=("MX-01", "MX-10"),
    broker_config=TWO,
)
def members_of_a_full_group_may_rejoin(conversation: Conversation) -> None:
    """Both members of a full group may rejoin it: group.max.size limits only newcomers."""
    ana, bob = conversation.stable_group("ana", "bob")

    ana.sends(ask.join_group())
    bob.sends(ask.join_group())

    ana.receives(expect.join_group(error_code="NONE", generation_id=3, leader=ana.member_id))
    bob.receives(expect.join_group(error_code="NONE", generation_id=3, leader=ana.member_id))


@scenario(
    "classic/max-size/awaiting-member-repeats",
    source="GroupMetadataManager#acceptJoiningMember",
    clauses=("MX-10", "OR-01"),
    broker_config=TWO,
)
def an_awaiting_member_may_repeat_its_join(conversation: Conversation) -> None:
    """A member whose JoinGroup is already parked in a full group may repeat it."""
    ana, bob = conversation.stable_group("ana", "bob")
    ana.sends(ask.join_group())

    ana.aside.sends(ask.join_group())
    bob.sends(ask.join_group())

    ana.aside.receives(expect.join_group(error_code="NONE", generation_id=3, leader=ana.member_id))
    bob.receives(expect.join_group(error_code="NONE", generation_id=3, leader=ana.member_id))
    ana.stays_parked(for_ms=500)


@scenario(
    "classic/max-size/leaver-makes-room",
    source="GroupMetadataManager#acceptJoiningMember",
    clauses=("MX-01", "LV-01"),
    broker_config=TWO,
)
def a_leaver_makes_room(conversation: Conversation) -> None:
    """A newcomer refused with GROUP_MAX_SIZE_REACHED is admitted after a member has left."""
    ana, bob = conversation.stable_group("ana", "bob")
    carol = conversation.actor("carol")
    carol.asks(ask.join_group(member_id=""), error_code="GROUP_MAX_SIZE_REACHED")

    bob.asks(ask.leave_group(), error_code="NONE")
    carol.sends(ask.join_group(version=3, member_id=""))
    ana.sends(ask.join_group())

    ana.receives(expect.join_group(error_code="NONE", generation_id=3, leader=ana.member_id))
    carol.receives(expect.join_group(error_code="NONE", generation_id=3, leader=ana.member_id))


@scenario(
    "classic/max-size/last-to-rejoin",
    source="GroupMetadataManager#acceptJoiningMember",
    clauses=("MX-06", "MX-08", "MX-07"),
    broker_config=TWO,
)
def whoever_rejoins_last_may_find_no_room(conversation: Conversation) -> None:
    """In a rebalance the limit counts only members that rejoined, so a newcomer may displace a slow one.

    This is so since 2.6; before, the newcomer was refused. The Scala coordinator then answers the others at
    once, the Java one at the deadline: a heartbeat of the old generation shows which.
    """
    ana, bob = conversation.stable_group("ana", "bob", rebalance_timeout_ms=2000)
    carol = conversation.actor("carol")
    ana.sends(ask.join_group(rebalance_timeout_ms=2000))

    carol.sends(ask.join_group(version=3, member_id="", rebalance_timeout_ms=2000))
    bob.sends(ask.join_group(rebalance_timeout_ms=2000))

    bob.receives(expect.join_group(error_code=ANY))
    conversation.elapses(200)
    ana.aside.asks(ask.heartbeat(), error_code=ANY)

    ana.receives(
        expect.join_group(error_code="NONE", generation_id=3, leader=ana.member_id), not_after_ms=2300
    )
    carol.receives(expect.join_group(error_code=ANY))


@scenario(
    "classic/max-size/pending-id-finds-no-room",
    source="GroupMetadataManager#acceptJoiningMember",
    clauses=("MX-09", "RB-19"),
    broker_config=TWO,
)
def a_pending_id_may_find_no_room(conversation: Conversation) -> None:
    """A pending member that joins a rebalance with group.max.size members gets GROUP_MAX_SIZE_REACHED.

    The Scala coordinator then answers the others at once, the Java one at the deadline: a heartbeat of the
    old generation shows which. The first step uses v8 because before 2.6 a group of that size gave out no
    member id during a rebalance.
    """
    ana, bob = conversation.stable_group("ana", "bob", rebalance_timeout_ms=2000)
    carol = conversation.actor("carol")
    ana.sends(ask.join_group(rebalance_timeout_ms=2000))
    carol.asks(ask.join_group(version=8, member_id=""), error_code="MEMBER_ID_REQUIRED")
    bob.sends(ask.join_group(rebalance_timeout_ms=2000))
    ana.stays_parked(for_ms=300)

    carol.asks(ask.join_group(), expect.join_group(error_code="GROUP_MAX_SIZE_REACHED", member_id=""))
    conversation.elapses(200)
    ana.aside.asks(ask.heartbeat(), error_code=ANY)

    ana.receives(
        expect.join_group(error_code="NONE", generation_id=3, leader=ana.member_id), not_after_ms=2300
    )
    bob.receives(expect.join_group(error_code="NONE", generation_id=3))


@scenario(
    "classic/precedence/join-full-group",
    source="GroupMetadataManager#classicGroupJoinToClassicGroup",
    clauses=("MX-01", "JG-15", "CO-01", "JG-20"),
    broker_config=TWO,
)
def a_full_group_comes_before_protocols(conversation: Conversation) -> None:
    """JoinGroup of a newcomer is checked for its group id, session timeout, room, then protocols."""
    _, bob = conversation.stable_group("ana", "bob")
    carol = conversation.actor("carol")

    carol.climbs(
        (
            (
                ask.join_group(group_id="", member_id="", session_timeout_ms=1, protocols=ROUND_ROBIN),
                expect.join_group(error_code="INVALID_GROUP_ID"),
            ),
            (
                ask.join_group(member_id="", session_timeout_ms=1, protocols=ROUND_ROBIN),
                expect.join_group(error_code="INVALID_SESSION_TIMEOUT"),
            ),
            (
                ask.join_group(member_id="", protocols=ROUND_ROBIN),
                expect.join_group(error_code="GROUP_MAX_SIZE_REACHED"),
            ),
        )
    )

    bob.asks(ask.leave_group(), error_code="NONE")
    carol.asks(ask.join_group(member_id="", protocols=ROUND_ROBIN), error_code="INCONSISTENT_GROUP_PROTOCOL")
