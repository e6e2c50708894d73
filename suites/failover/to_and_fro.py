"""The coordinator moves on while it is still loading, until it is back at the first broker."""

from harness.scenario import ANY, Breakpoint, Capability, Conversation, ask, expect, scenario
from suites.failover.words import commits

_LOADED_MS = 3_000
"""The time after which every load that may continue is done."""


@scenario(
    "failover/to-and-fro/while-loading",
    source="KAFKA-10614, GroupMetadataManager#scheduleLoadGroupAndOffsets",
    needs=(Capability.CLUSTER, Capability.PAUSE_AT_LOADING),
)
def a_coordinator_is_elected_again_before_it_has_loaded(conversation: Conversation) -> None:
    """A broker that is elected again while it loads for the first time loads once more.

    Before 2.8.1 it took the second election for the first, and resigned for good when it had loaded.
    """
    (ana,) = conversation.stable_group("ana")
    commits(ana, 7)
    conversation.pauses_at(Breakpoint.LOADING)
    for _ in range(4):
        conversation.moves_coordinator()
    ana.disconnects()
    conversation.resumes_from(Breakpoint.LOADING)
    conversation.elapses(_LOADED_MS)

    ana.asks(ask.heartbeat(), error_code=ANY)
    ana.asks(ask.offset_fetch(topics={"orders": (0,)}), expect.response("OffsetFetch"))
