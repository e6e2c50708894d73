"""Members that a coordinator has only from its log, in the rebalance after its load."""

from harness.scenario import ANY, Capability, Conversation, ask, expect, scenario

RESTARTS = (Capability.RESTART,)
READS = "GroupMetadataManager#readGroupMessageValue"
OTHER_RANGE = (("range", b"\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff"),)
"""A subscription to nothing, which differs from the one that members join with."""
REBALANCE_MS = 3_000


def _rebalanced_without_bob(conversation: Conversation) -> None:
    ana, bob = conversation.stable_group("ana", "bob", rebalance_timeout_ms=REBALANCE_MS)
    conversation.restarts_coordinator()
    ana.repeats(ask.offset_fetch(), until=expect.offset_fetch({}), within_ms=15_000)

    ana.sends(ask.join_group(rebalance_timeout_ms=REBALANCE_MS, protocols=OTHER_RANGE))
    ana.receives(
        expect.join_group(error_code="NONE", generation_id=3, members=ANY), not_before_ms=REBALANCE_MS - 400
    )
    bob.asks(ask.heartbeat(), error_code=ANY)


@scenario(
    "loading/members/silent-in-rebalance", source=READS, clauses=("RB-12", "RB-14", "PR-01"), needs=RESTARTS
)
def a_loaded_member_that_stays_silent_may_stay(conversation: Conversation) -> None:
    """A loaded dynamic member that does not rejoin in time is removed since 2.8; before, it stays.

    Before 2.8.0 every member that was loaded counted as static.
    """
    _rebalanced_without_bob(conversation)


@scenario(
    "loading/members/newcomer-in-rebalance", source=READS, clauses=("RB-12", "RB-14", "PR-01"), needs=RESTARTS
)
def a_newcomer_is_dropped_whatever_loaded_members_are(conversation: Conversation) -> None:
    """A dynamic member that joined after the load and does not rejoin in time is always removed."""
    ana, _ = conversation.stable_group("ana", "bob", rebalance_timeout_ms=REBALANCE_MS)
    conversation.restarts_coordinator()
    ana.repeats(ask.offset_fetch(), until=expect.offset_fetch({}), within_ms=15_000)
    carol = conversation.actor("carol")
    carol.obtains_member_id()
    carol.sends(ask.join_group(rebalance_timeout_ms=REBALANCE_MS))
    ana.sends(ask.join_group(rebalance_timeout_ms=REBALANCE_MS, protocols=OTHER_RANGE))
    ana.receives(expect.join_group(error_code="NONE", generation_id=3, members=ANY))
    carol.receives(expect.join_group(error_code="NONE", generation_id=3))

    ana.sends(ask.join_group(rebalance_timeout_ms=REBALANCE_MS))
    ana.receives(expect.join_group(error_code="NONE", generation_id=4, members=ANY))
    carol.asks(ask.heartbeat(), error_code="UNKNOWN_MEMBER_ID")
