"""A log whose batches are compressed."""

from harness.scenario import (
    Capability,
    Conversation,
    heartbeat,
    offset_commit,
    offset_commit_response,
    offset_fetch,
    offset_fetch_response,
    scenario,
)


@scenario(
    "loading/restart/compressed-log",
    source="GroupCoordinatorConfig#offsetTopicCompressionType",
    clauses=("PE-13", "PR-01"),
    needs=(Capability.RESTART,),
    broker_config={"offsets.topic.compression.codec": "1"},
)
def a_compressed_log_is_loaded(conversation: Conversation) -> None:
    """With a compressed log members and offsets come back as with any other."""
    (ana,) = conversation.stable_group("ana")
    ana.asks(offset_commit(topics={"orders": {0: 7}}), offset_commit_response({"orders": {0: "NONE"}}))

    conversation.restarts_coordinator()
    ana.repeats(
        offset_fetch(topics={"orders": (0,)}),
        until=offset_fetch_response({"orders": {0: 7}}),
        within_ms=15_000,
    )
    ana.asks(heartbeat(), error_code="NONE")
