"""Timeouts of classic members in a consumer group, and a regular expression that is cleared."""

from harness.scenario import (
    SHORT_SESSIONS,
    Actor,
    Conversation,
    Member,
    ask,
    expect,
    in_any_order,
    one_of,
    scenario,
)
from suites.migration.groups import (
    BOTH,
    FIRST,
    IN_PROGRESS,
    REQUIRED,
    SECOND,
    UNKNOWN,
    admitted,
    beats,
    classic_consumer,
    consumer,
    is_classic,
    join,
    rejoins,
    syncs,
)

STARTS_JOIN = "GroupMetadataManager#scheduleConsumerGroupJoinTimeoutIfAbsent"
ENDS_JOIN = "GroupMetadataManager#cancelConsumerGroupJoinTimeout"
STARTS_SYNC = "GroupMetadataManager#scheduleConsumerGroupSyncTimeout"
ENDS_SYNC = "GroupMetadataManager#cancelConsumerGroupSyncTimeout"
JOINS = "GroupMetadataManager#classicGroupJoinToConsumerGroup"
RECONCILES = "GroupMetadataManager#maybeReconcile"
SESSION = "GroupMetadataManager#scheduleConsumerGroupSessionTimeout"
SHORT_MS, SESSION_MS = 2_000, 6_000


def hurried(conversation: Conversation) -> tuple[Actor, Member]:
    """Make a classic group of ana, with a rebalance timeout of 2 s, that bob upgrades to a consumer group."""
    ana = classic_consumer(conversation, request=join(rebalance_timeout_ms=SHORT_MS))
    bob = conversation.member("bob")
    bob.enters("payments", member_epoch=ana.generation_id + 1, assigned={})
    return ana, bob


def whoever_has_not_synced(conversation: Conversation) -> tuple[Actor, Member]:
    """Let ana, who is classic, join a consumer group with the id of cat, a consumer, and not sync."""
    consumer(conversation)
    ana, cat = conversation.actor("ana"), conversation.member("cat")
    ana.asks(join(member_id=cat.member_id, rebalance_timeout_ms=SHORT_MS), error_code="NONE")
    return ana, cat


@scenario("migration/timers/join", source=STARTS_JOIN, clauses=("MG-40",))
def a_classic_member_rejoins_in_time(conversation: Conversation) -> None:
    """A classic member that does not rejoin within its rebalance timeout is removed despite heartbeats."""
    ana, bob = hurried(conversation)

    beats(ana, IN_PROGRESS)
    conversation.elapses(1_000)
    beats(ana, IN_PROGRESS)
    conversation.elapses(1_600)
    beats(ana, UNKNOWN)
    bob.heartbeats(assigned=BOTH)


@scenario("migration/timers/sync-starts-join", source=STARTS_JOIN, clauses=("MG-40",))
def a_refused_sync_starts_the_time(conversation: Conversation) -> None:
    """A SyncGroup refused with REBALANCE_IN_PROGRESS starts the member's rebalance timeout to rejoin."""
    ana, _ = hurried(conversation)

    ana.asks(ask.sync_group(), error_code=IN_PROGRESS)
    conversation.elapses(2_600)
    beats(ana, UNKNOWN)


@scenario("migration/timers/not-asked", source=STARTS_JOIN, clauses=("MG-40",))
def the_time_starts_with_the_answer(conversation: Conversation) -> None:
    """The time to rejoin does not start before a classic member has learned of the rebalance."""
    ana, _ = hurried(conversation)

    conversation.elapses(2_600)
    beats(ana, IN_PROGRESS)
    rejoins(ana, BOTH, rebalance_timeout_ms=SHORT_MS)
    syncs(ana, FIRST)


@scenario("migration/timers/rejoined", source=ENDS_JOIN, clauses=("MG-40",))
def whoever_has_rejoined_stays(conversation: Conversation) -> None:
    """A classic member that has rejoined and synced in time stays."""
    ana, bob = hurried(conversation)
    beats(ana, IN_PROGRESS)
    rejoins(ana, FIRST, rebalance_timeout_ms=SHORT_MS)
    syncs(ana, FIRST)

    conversation.elapses(2_600)
    beats(ana)
    bob.heartbeats(error_code="NONE")


@scenario("migration/timers/revoking", source=RECONCILES, clauses=("MG-40",))
def whoever_gives_up_has_no_time_of_its_own(conversation: Conversation) -> None:
    """A classic member that is to give up partitions and is not told again to rejoin stays."""
    ana, bob = hurried(conversation)
    beats(ana, IN_PROGRESS)
    rejoins(ana, BOTH, rebalance_timeout_ms=SHORT_MS)
    syncs(ana, FIRST)

    conversation.elapses(2_600)
    rejoins(ana, FIRST, rebalance_timeout_ms=SHORT_MS)
    bob.heartbeats(assigned=SECOND)


@scenario("migration/timers/sync", source=STARTS_SYNC, clauses=("MG-40",))
def a_classic_member_syncs_in_time(conversation: Conversation) -> None:
    """A classic member that does not sync within its rebalance timeout is removed despite heartbeats."""
    ana, bob = admitted(conversation, rebalance_timeout_ms=SHORT_MS)

    conversation.elapses(1_000)
    beats(ana)
    conversation.elapses(1_600)
    beats(ana, UNKNOWN)
    bob.heartbeats(error_code="NONE")


@scenario("migration/timers/synced", source=ENDS_SYNC, clauses=("MG-40",))
def whoever_has_synced_stays(conversation: Conversation) -> None:
    """A classic member that has synced in time stays."""
    ana, _ = admitted(conversation, rebalance_timeout_ms=SHORT_MS)
    syncs(ana, {})

    conversation.elapses(2_600)
    beats(ana)


@scenario("migration/timers/session", source=SESSION, clauses=("MG-40",))
def a_silent_classic_member_is_removed(conversation: Conversation) -> None:
    """A silent classic member is removed after the session timeout of its JoinGroup."""
    bob = consumer(conversation)
    ana = conversation.actor("ana")
    joining = join(session_timeout_ms=SESSION_MS)
    ana.asks(joining, error_code=REQUIRED)
    ana.asks(joining, error_code="NONE")
    syncs(ana, {})

    conversation.elapses(4_000)
    beats(ana)
    conversation.elapses(4_000)
    beats(ana)
    conversation.elapses(7_000)
    beats(ana, UNKNOWN)
    bob.heartbeats(error_code="NONE")


@scenario("migration/timers/session-of-before", source=SESSION, clauses=("MG-40",))
def a_session_begins_anew_with_the_upgrade(conversation: Conversation) -> None:
    """A classic member that is silent after an upgrade is removed after its former session timeout."""
    ana = classic_consumer(conversation, request=join(session_timeout_ms=SESSION_MS))
    bob = conversation.member("bob")
    bob.enters("payments", member_epoch=ana.generation_id + 1, assigned={})

    conversation.elapses(7_000)
    beats(ana, UNKNOWN)
    bob.heartbeats(assigned=BOTH)


@scenario(
    "migration/timers/session-of-a-join", source=JOINS, clauses=("MG-40",), broker_config=SHORT_SESSIONS
)
def a_session_begins_with_the_join(conversation: Conversation) -> None:
    """A classic member that joins a consumer group, and sends nothing more, is removed after its session."""
    bob = consumer(conversation)
    ana = conversation.actor("ana")
    ana.asks(join(version=3, session_timeout_ms=SHORT_MS), error_code="NONE")

    conversation.elapses(2_600)
    beats(ana, UNKNOWN)
    bob.heartbeats(error_code="NONE")


@scenario(
    "migration/timers/session-of-a-downgrade",
    source="GroupMetadataManager#convertToClassicGroup",
    clauses=("MG-40", "MG-24"),
    broker_config=SHORT_SESSIONS,
)
def a_session_begins_anew_with_the_downgrade(conversation: Conversation) -> None:
    """A classic member that is silent after a downgrade is removed after its session, amid the rebalance."""
    bob = consumer(conversation)
    ana = conversation.actor("ana")
    ana.asks(join(version=3, session_timeout_ms=SHORT_MS), error_code="NONE")
    syncs(ana, {})
    bob.leaves()

    is_classic(bob, "PreparingRebalance", protocol_type="consumer")
    conversation.elapses(2_600)
    is_classic(bob, "Empty", protocol_type="consumer")
    beats(ana, UNKNOWN)


@scenario("migration/timers/left", source="GroupMetadataManager#cancelTimers", clauses=("MG-40", "MG-62"))
def whoever_has_left_may_return(conversation: Conversation) -> None:
    """A classic member that leaves before it syncs, and returns as a consumer with its id, stays."""
    ana, cat = whoever_has_not_synced(conversation)

    ana.asks(ask.leave_group(), error_code="NONE")
    cat.enters("payments")
    conversation.elapses(2_600)
    cat.heartbeats(error_code="NONE")


@scenario("migration/timers/removed", source=STARTS_SYNC, clauses=("MG-40", "MG-62"))
def whoever_was_removed_may_return(conversation: Conversation) -> None:
    """A classic member that was removed as it did not sync, and returns as a consumer with its id, stays."""
    ana, cat = whoever_has_not_synced(conversation)

    conversation.elapses(2_400)
    beats(ana, UNKNOWN)
    cat.enters("payments")
    conversation.elapses(1_000)
    cat.heartbeats(error_code="NONE")


@scenario("migration/timers/goes-over", source=STARTS_SYNC, clauses=("MG-65",))
def whoever_goes_over_still_has_to_sync(conversation: Conversation) -> None:
    """A classic member that becomes a consumer before it syncs is removed as if it had to sync."""
    _, cat = whoever_has_not_synced(conversation)

    cat.enters("payments", error_code=one_of("NONE", "FENCED_MEMBER_EPOCH"))
    conversation.elapses(2_600)
    cat.heartbeats(epoch=1, error_code=UNKNOWN)


@scenario(
    "migration/timers/regex",
    source=JOINS,
    clauses=("MG-41",),
)
def a_classic_member_has_no_regular_expression(conversation: Conversation) -> None:
    """In later releases a classic member that replaces a consumer loses its regular expression."""
    bob, dan = conversation.member("bob", instance_id="one"), conversation.member("dan")
    dan.enters("payments", assigned=BOTH)
    bob.enters(topics=None, regex="payments")
    ana = conversation.actor("ana", group_instance_id="one")

    ana.asks(join(), expect.join_group(error_code="NONE", leader=""))
    known = expect.group_member(
        ana.member_id, topics=("payments",), regex=one_of("", "payments"), member_type=0
    )
    other = expect.group_member(dan.member_id, topics=("payments",), regex="")
    described = expect.consumer_group_describe(members=in_any_order(known, other))
    dan.asks(ask.consumer_group_describe(), described)
