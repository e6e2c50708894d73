"""A broker that coordinates no group because `__consumer_offsets` is missing."""

from harness.scenario import ANY, SHORT_SESSIONS, Conversation, ask, expect, scenario


@scenario(
    "admin/no-log/nobody-coordinates",
    source="GroupCoordinatorService#throwIfNotActive",
    clauses=("CO-07", "CO-08", "CO-09", "CO-10", "FC-01"),
    broker_config=SHORT_SESSIONS,
)
def without_a_log_nobody_coordinates(conversation: Conversation) -> None:
    """Without `__consumer_offsets`, every group API but ListGroups returns NOT_COORDINATOR until it is back.

    4.0.0 goes on as if the log were there. The Java coordinator checks the session timeout first.
    """
    eve = conversation.actor("eve")
    eve.asks(ask.delete_topic("__consumer_offsets"), expect.delete_topic(error_code="NONE"))
    conversation.elapses(1500)

    eve.sends(ask.join_group(member_id="mm"))
    eve.receives(expect.join_group(error_code=ANY, generation_id=-1, leader="", members=()))
    eve.sends(ask.join_group(member_id="mm", session_timeout_ms=1))
    eve.receives(expect.join_group(error_code=ANY, generation_id=-1, leader="", members=()))
    eve.sends(ask.sync_group(generation_id=1, member_id="mm"))
    eve.receives(expect.sync_group(error_code=ANY, assignment=b""))
    eve.asks(ask.heartbeat(generation_id=1, member_id="mm"), error_code=ANY)
    eve.asks(ask.leave_group(members=(("mm", None),)), error_code=ANY)
    eve.asks(ask.leave_group(version=2, member_id="mm"), error_code=ANY)
    eve.asks(ask.describe_groups(), expect.describe_groups(error_code=ANY, members=()))
    eve.asks(ask.delete_groups(), expect.delete_groups(ANY))
    eve.asks(ask.list_groups(), expect.list_groups(error_code="NONE", groups=()))

    eve.sends(ask.find_coordinator())
    eve.receives(expect.find_coordinator(error_code="COORDINATOR_NOT_AVAILABLE", node_id=-1, host=""))
    eve.repeats(ask.find_coordinator(), until=expect.find_coordinator(error_code="NONE"))
