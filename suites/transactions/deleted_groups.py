"""Groups that are deleted while a transaction has offsets for them, and the effect of a restart."""

from harness.scenario import Capability, Conversation, ask, expect, scenario
from suites.transactions.producers import ORDER_0, TAKEN, announced, ends


@scenario(
    "transactions/deleted-group/had-members",
    source="GroupMetadataManager#doLoadGroupsAndOffsets",
    clauses=("TC-32", "RP-14"),
    needs=(Capability.RESTART,),
)
def a_deleted_group_may_come_back_for_its_offset(conversation: Conversation) -> None:
    """Until 3.9 a group deleted with a pending offset is back after a restart, despite its tombstone.

    Only a group that had members has a tombstone. The pending offset is committed in the log only, and read
    when the log is loaded; 4.x writes a tombstone for the offset, too.
    """
    (ana,) = conversation.stable_group("ana")
    producer = announced(ana)
    ana.asks(producer.commits(ORDER_0), TAKEN)
    ana.asks(ask.leave_group(), error_code="NONE")
    ana.asks(ask.delete_groups(), expect.delete_groups("NONE"))
    ends(producer, committed=True)
    conversation.elapses(500)
    conversation.restarts_coordinator()

    ana.repeats(ask.describe_groups(), until=expect.describe_groups(error_code="NONE"))
    ana.asks(ask.offset_fetch(topics={"orders": (0,)}), expect.response("OffsetFetch", error_code="NONE"))
