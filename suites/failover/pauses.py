"""The coordinator's broker is paused for a while, and then continues."""

from harness.scenario import Capability, Conversation, ask, expect, scenario
from suites.failover.words import has_committed, lives

PAUSES = (Capability.PAUSE,)


@scenario("failover/pause/short", source="GroupMetadataManager#classicGroupHeartbeat", needs=PAUSES)
def a_coordinator_that_stood_still_answers(conversation: Conversation) -> None:
    """Requests to a paused broker are answered when it continues, and members are still in the group."""
    ana, bob = conversation.stable_group("ana", "bob")
    conversation.pauses_coordinator()
    ana.sends(ask.heartbeat())
    bob.sends(ask.offset_commit(topics={"orders": {0: 7}}))
    ana.stays_parked(for_ms=500)
    bob.stays_parked(for_ms=500)
    conversation.resumes_coordinator()

    ana.receives(expect.heartbeat(error_code="NONE"))
    bob.receives(expect.offset_commit({"orders": {0: "NONE"}}))
    has_committed(bob, 7)
    lives(bob)
