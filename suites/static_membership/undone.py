"""Static members whose restart cannot be written, and is undone."""

from typing import Final

from harness.scenario import ANY, SHORT_SESSIONS, Conversation, ask, expect, scenario, subscription

SMALL_LOG: Final = {**SHORT_SESSIONS, "message.max.bytes": "1000", "offsets.commit.timeout.ms": "2000"}
"""Room for a group of two."""
MANY_TOPICS: Final = subscription("orders", *(f"topic-{number}-{'x' * 200}" for number in range(15)))
SESSION_MS: Final = 4_000


@scenario(
    "static_membership/undone/session",
    source="GroupMetadataManager#updateStaticMemberThenRebalanceOrCompleteJoin",
    clauses=("FI-02", "ST-12"),
    broker_config=SMALL_LOG,
)
def an_undone_restart_counts_as_a_heartbeat(conversation: Conversation) -> None:
    """When a static member's restart could not be written, the former member's session starts anew.

    The Scala coordinator keeps its successor's protocols for it; the Java one restores its own. Before
    2.6.1 the restart was not written and succeeded.
    """
    ana = conversation.actor("ana", group_instance_id="seat-a")
    bob = conversation.actor("bob", group_instance_id="seat-b")
    again = conversation.actor("bob-again", group_instance_id="seat-b")
    conversation.stable_group(ana, bob, session_timeout_ms=SESSION_MS)
    bob.asks(ask.heartbeat(), error_code="NONE")

    conversation.elapses(2_500)
    ana.asks(ask.heartbeat(), error_code="NONE")
    again.sends(ask.join_group(session_timeout_ms=SESSION_MS, protocols=(("range", MANY_TOPICS),)))
    again.receives(expect.join_group(error_code=ANY, generation_id=2, members=()))
    ana.asks(ask.describe_groups(), expect.describe_groups(error_code="NONE", group_state="Stable"))

    conversation.elapses(2_500)
    ana.asks(ask.heartbeat(), error_code=ANY)
