"""The initial rebalance of an empty group, which waits for more members to arrive."""

from harness.scenario import ANY, SHORT_SESSIONS, Conversation, ask, expect, in_any_order, scenario

TWO_SECONDS = {"group.initial.rebalance.delay.ms": "2000"}
"""Long enough that the harness is in time for it even on a busy machine."""


@scenario(
    "classic/initial-delay/first-member-waits",
    source="GroupMetadataManager#prepareRebalance",
    clauses=("RB-01", "RB-07", "JG-02"),
    broker_config=TWO_SECONDS,
)
def the_first_member_waits(conversation: Conversation) -> None:
    """The first member of an empty group gets its answer after the initial rebalance delay, not before."""
    ana = conversation.actor("ana")
    ana.obtains_member_id()

    ana.sends(ask.join_group())
    ana.receives(expect.join_group(error_code="NONE", generation_id=1, leader=ana.member_id), due_ms=2000)


@scenario(
    "classic/initial-delay/zero",
    source="GroupMetadataManager#prepareRebalance",
    clauses=("RB-26",),
    broker_config={"group.initial.rebalance.delay.ms": "0"},
)
def without_delay_the_first_member_is_answered_at_once(conversation: Conversation) -> None:
    """With an initial rebalance delay of 0, the first member gets its answer at once."""
    ana = conversation.actor("ana")
    ana.obtains_member_id()

    ana.sends(ask.join_group())
    ana.receives(expect.join_group(error_code="NONE", generation_id=1), not_after_ms=1000)


@scenario(
    "classic/initial-delay/second-member-extends",
    source="GroupMetadataManager#tryCompleteInitialRebalanceElseSchedule",
    clauses=("RB-02", "LD-01", "LD-04"),
    broker_config=TWO_SECONDS,
)
def a_second_member_extends_the_delay(conversation: Conversation) -> None:
    """A member that arrives within the initial rebalance delay extends it by the same delay."""
    ana, bob = conversation.actors("ana", "bob")
    ana.sends(ask.join_group(version=3))

    bob.sends(ask.join_group(version=3))

    ana.receives(
        expect.join_group(
            error_code="NONE",
            generation_id=1,
            leader=ana.member_id,
            members=in_any_order({"member_id": ana.member_id}, {}),
        ),
        due_ms=4000,
    )
    bob.receives(expect.join_group(error_code="NONE", generation_id=1, leader=ana.member_id, members=()))


@scenario(
    "classic/initial-delay/emptied-group",
    source="GroupMetadataManager#addMemberThenRebalanceOrCompleteJoin",
    clauses=("RB-03",),
    broker_config=TWO_SECONDS,
)
def the_delay_is_due_again_in_an_emptied_group(conversation: Conversation) -> None:
    """An emptied group waits for the initial rebalance delay again when it is joined.

    Only the Java coordinator extends it for a second arrival. The two coordinators also answer a heartbeat of
    the previous generation differently.
    """
    ana, bob, carol = conversation.actors("ana", "bob", "carol")
    ana.asks(ask.join_group(version=3), expect.join_group(error_code="NONE", generation_id=1))
    ana.asks(ask.leave_group(), error_code="NONE")

    bob.obtains_member_id()
    bob.sends(ask.join_group())
    carol.sends(ask.join_group(version=3))
    conversation.elapses(2600)
    bob.aside.asks(ask.heartbeat(generation_id=2), error_code=ANY)

    bob.receives(expect.join_group(error_code="NONE", generation_id=3), not_before_ms=1900)
    carol.receives(expect.join_group(error_code="NONE", generation_id=3))


@scenario(
    "classic/initial-delay/capped-by-rebalance-timeout",
    source="GroupMetadataManager#tryCompleteInitialRebalanceElseSchedule",
    clauses=("RB-04",),
    broker_config=TWO_SECONDS,
)
def the_rebalance_timeout_caps_the_delay(conversation: Conversation) -> None:
    """Extensions of the initial rebalance delay end at the rebalance timeout."""
    ana, bob = conversation.actors("ana", "bob")
    ana.sends(ask.join_group(version=3, rebalance_timeout_ms=2400))

    bob.sends(ask.join_group(version=3, rebalance_timeout_ms=2400))

    ana.receives(expect.join_group(error_code="NONE", generation_id=1), due_ms=2400)
    bob.receives(expect.join_group(error_code="NONE", generation_id=1))


@scenario(
    "classic/initial-delay/longer-than-rebalance-timeout",
    source="GroupMetadataManager#prepareRebalance",
    clauses=("RB-05", "JG-23"),
    broker_config=TWO_SECONDS,
)
def the_delay_is_kept_against_a_shorter_rebalance_timeout(conversation: Conversation) -> None:
    """A first member with a rebalance timeout of 0 still waits for the initial rebalance delay."""
    ana = conversation.actor("ana")

    ana.sends(ask.join_group(version=3, rebalance_timeout_ms=0))
    ana.receives(expect.join_group(error_code="NONE", generation_id=1), due_ms=2000)


@scenario(
    "classic/initial-delay/pending-id-expires",
    source="GroupMetadataManager#removePendingMemberAndUpdateClassicGroup",
    clauses=("RB-07", "JG-09", "RB-08"),
    broker_config={**SHORT_SESSIONS, **TWO_SECONDS},
)
def a_pending_id_expires_within_the_delay(conversation: Conversation) -> None:
    """A pending member id that expires within the initial rebalance delay does not delay the first member.

    The Java coordinator then even ends the delay early; the Scala one waits until it is over.
    """
    ana, bob = conversation.actors("ana", "bob")
    bob.asks(ask.join_group(session_timeout_ms=400), error_code="MEMBER_ID_REQUIRED")

    ana.sends(ask.join_group(version=3))
    ana.receives(
        expect.join_group(error_code="NONE", generation_id=1, members=({"member_id": ana.member_id},)),
        not_after_ms=2300,
    )
    bob.asks(ask.join_group(), error_code="UNKNOWN_MEMBER_ID")


@scenario(
    "classic/initial-delay/only-member-leaves",
    source="GroupMetadataManager#completeClassicGroupJoin",
    clauses=("RB-09", "LV-16"),
    broker_config=TWO_SECONDS,
)
def the_only_member_leaves_within_the_delay(conversation: Conversation) -> None:
    """If the only member leaves during the initial delay, its parked JoinGroup gets UNKNOWN_MEMBER_ID."""
    ana, bob = conversation.actors("ana", "bob")
    ana.obtains_member_id()
    ana.sends(ask.join_group())

    ana.aside.asks(ask.leave_group(), error_code="NONE")
    ana.receives(
        expect.join_group(error_code="UNKNOWN_MEMBER_ID", member_id="", generation_id=-1),
        not_after_ms=1600,
    )
    conversation.elapses(3000)

    bob.sends(ask.join_group(version=3))
    bob.receives(expect.join_group(error_code="NONE", generation_id=2, leader=bob.member_id))


@scenario(
    "classic/initial-delay/heartbeats-before-the-first-generation",
    source="GroupMetadataManager#validateClassicGroupHeartbeat",
    clauses=("HB-10", "HB-02"),
    broker_config=TWO_SECONDS,
)
def generation_zero_may_heartbeat(conversation: Conversation) -> None:
    """Before the first generation, a parked member may heartbeat with generation 0 and no other."""
    ana = conversation.actor("ana")
    ana.obtains_member_id()
    ana.sends(ask.join_group())

    ana.aside.asks(ask.heartbeat(generation_id=0), error_code="REBALANCE_IN_PROGRESS")
    ana.aside.asks(ask.heartbeat(generation_id=-1), error_code="ILLEGAL_GENERATION")
    ana.aside.asks(ask.heartbeat(generation_id=1), error_code="ILLEGAL_GENERATION")

    ana.receives(expect.join_group(error_code="NONE", generation_id=1))


@scenario(
    "classic/initial-delay/syncs-before-the-first-generation",
    source="GroupMetadataManager#validateSyncGroup",
    clauses=("SG-09", "SG-15"),
    broker_config=TWO_SECONDS,
)
def a_sync_before_the_first_generation_comes_too_early(conversation: Conversation) -> None:
    """SyncGroup v4 of generation 0 gets REBALANCE_IN_PROGRESS during the initial rebalance delay.

    At v5, whose protocol no selected one can match, the Scala coordinator returns an inconsistent protocol.
    """
    ana = conversation.actor("ana")
    ana.obtains_member_id()
    ana.sends(ask.join_group())

    ana.aside.sends(ask.sync_group(generation_id=0))
    ana.aside.receives(expect.sync_group(error_code="REBALANCE_IN_PROGRESS", assignment=b""))
    ana.aside.sends(ask.sync_group(version=5, generation_id=0))
    ana.aside.receives(expect.sync_group(error_code=ANY, assignment=b""))

    ana.receives(expect.join_group(error_code="NONE", generation_id=1))
