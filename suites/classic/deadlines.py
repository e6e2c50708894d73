"""Rebalance timeouts that are over when they begin, and the longest ones."""

from harness.scenario import Conversation, ask, expect, one_of, scenario, sweep

EXPIRES = "GroupMetadataManager#schedulePendingSync"
COMPLETES = "GroupMetadataManager#prepareRebalance"
NO_TIME, LONGEST_MS = -1, 2**31 - 1
RACE = one_of("NONE", "UNKNOWN_MEMBER_ID")
"""A deadline that is over when it begins races with the next request."""


@scenario(
    "classic/deadlines/no-rebalance-time", source=EXPIRES, clauses=("JG-52",), sweep=sweep("JoinGroup", 1, 3)
)
def without_rebalance_time_nobody_syncs_later(conversation: Conversation, version: int) -> None:
    """A member with a rebalance timeout of -1 that syncs later was removed (JoinGroup v{version})."""
    ana = conversation.actor("ana")
    ana.asks(ask.join_group(version=version, rebalance_timeout_ms=NO_TIME), error_code="NONE")

    conversation.elapses(600)
    ana.sends(ask.sync_group(assignments=((ana.member_id, ana.part),)))
    ana.receives(expect.sync_group(error_code="UNKNOWN_MEMBER_ID", assignment=b""))
    ana.asks(ask.heartbeat(), error_code="UNKNOWN_MEMBER_ID")


@scenario("classic/deadlines/sync-at-once", source=EXPIRES, clauses=("JG-52",))
def without_rebalance_time_a_sync_may_win(conversation: Conversation) -> None:
    """The SyncGroup of a member with a rebalance timeout of -1 gets its assignment or UNKNOWN_MEMBER_ID.

    Kafka sets a timer that is due at once, and the request may overtake it.
    """
    ana = conversation.actor("ana")
    ana.obtains_member_id()
    ana.asks(
        ask.join_group(rebalance_timeout_ms=NO_TIME), expect.join_group(error_code="NONE", generation_id=1)
    )

    ana.sends(ask.sync_group(assignments=((ana.member_id, ana.part),)))
    ana.receives(expect.sync_group(error_code=RACE))


@scenario("classic/deadlines/nobody-waits", source=COMPLETES, clauses=("JG-53",))
def without_rebalance_time_nobody_is_waited_for(conversation: Conversation) -> None:
    """If all rebalance timeouts of a group are 0, a join ends the round at once, without the other member."""
    ana, bob = conversation.actors("ana", "bob")
    ana.obtains_member_id()
    ana.asks(
        ask.join_group(rebalance_timeout_ms=1_000), expect.join_group(error_code="NONE", generation_id=1)
    )
    ana.syncs_as_leader((ana,))
    ana.asks(ask.join_group(rebalance_timeout_ms=0), expect.join_group(error_code="NONE", generation_id=2))
    ana.sends(ask.sync_group(assignments=((ana.member_id, ana.part),)))
    ana.receives(expect.sync_group(error_code=RACE))

    bob.obtains_member_id()
    bob.asks(ask.join_group(rebalance_timeout_ms=0), error_code="NONE")


@scenario("classic/deadlines/longest-rebalance-time", source=COMPLETES, clauses=("JG-53",))
def the_longest_rebalance_time_ends_nothing(conversation: Conversation) -> None:
    """A member with the longest rebalance timeout is waited for, and is not removed before it syncs."""
    ana, bob = conversation.actors("ana", "bob")
    conversation.stable_group(ana, rebalance_timeout_ms=LONGEST_MS)

    bob.obtains_member_id()
    bob.sends(ask.join_group(rebalance_timeout_ms=LONGEST_MS))
    bob.stays_parked(for_ms=600)
    ana.asks(
        ask.join_group(rebalance_timeout_ms=LONGEST_MS), expect.join_group(error_code="NONE", generation_id=2)
    )
    bob.receives(expect.join_group(error_code="NONE", generation_id=2))
    conversation.elapses(600)
    bob.sends(ask.sync_group())
    ana.syncs_as_leader((ana, bob))
    bob.receives(expect.sync_group(error_code="NONE", assignment=bob.part))
