"""Generations are 32-bit numbers: what follows the last one."""

from harness.scenario import Capability, Conversation, ask, expect, group_record, scenario

LAST = 2**31 - 1
WITHIN_MS = 15_000


@scenario(
    "classic/generation/after-the-last",
    source="ClassicGroup#initNextGeneration",
    needs=(Capability.RESTART, Capability.WRITE_LOG),
)
def generations_go_on_from_below(conversation: Conversation) -> None:
    """The generation after 2147483647 is -2147483648, and its members may heartbeat and commit as usual."""
    ana = conversation.actor("ana")
    conversation.appends(group_record(generation=LAST))
    conversation.restarts_coordinator()
    never = conversation.group("never")
    ana.repeats(ask.offset_fetch(group_id=never), until=expect.offset_fetch({}), within_ms=WITHIN_MS)

    ana.obtains_member_id()
    ana.asks(ask.join_group(), expect.join_group(error_code="NONE", generation_id=-LAST - 1))
    ana.syncs_as_leader((ana,))

    ana.asks(ask.heartbeat(), error_code="NONE")
    ana.asks(ask.offset_commit(topics={"orders": {0: 1}}), expect.offset_commit({"orders": {0: "NONE"}}))
    ana.sends(ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {1: 1}}))
    ana.receives(expect.offset_commit({"orders": {1: "UNKNOWN_MEMBER_ID"}}))
