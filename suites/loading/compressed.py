"""A log whose batches are compressed."""

from harness.scenario import Capability, Conversation, ask, expect, scenario


@scenario(
    "loading/restart/compressed-log",
    source="GroupCoordinatorConfig#offsetTopicCompressionType",
    clauses=("PE-13", "PR-01"),
    needs=(Capability.RESTART,),
    broker_config={"offsets.topic.compression.codec": "1"},
)
def a_compressed_log_is_loaded(conversation: Conversation) -> None:
    """Members and offsets are loaded from a compressed log as from any other."""
    (ana,) = conversation.stable_group("ana")
    ana.asks(ask.offset_commit(topics={"orders": {0: 7}}), expect.offset_commit({"orders": {0: "NONE"}}))

    conversation.restarts_coordinator()
    ana.repeats(
        ask.offset_fetch(topics={"orders": (0,)}),
        until=expect.offset_fetch({"orders": {0: 7}}),
        within_ms=15_000,
    )
    ana.asks(ask.heartbeat(), error_code="NONE")
