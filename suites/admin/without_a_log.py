"""A broker that coordinates no group, because there is no log to keep one in."""

from typing import Final

from harness.scenario import (
    ANY,
    SHORT_SESSIONS,
    Conversation,
    delete_groups,
    delete_groups_response,
    delete_topic,
    delete_topic_response,
    describe_groups,
    describe_groups_response,
    find_coordinator,
    find_coordinator_response,
    heartbeat,
    join_group,
    join_group_response,
    leave_group,
    list_groups,
    list_groups_response,
    scenario,
    sync_group,
    sync_group_response,
)

ALONE: Final = {"offset.metadata.max.bytes": "4094"} | SHORT_SESSIONS
"""The first means nothing here, but that whoever takes away every group has a broker to itself."""


@scenario(
    "admin/no-log/nobody-coordinates",
    source="GroupCoordinatorService#throwIfNotActive",
    clauses=("CO-07", "CO-08", "CO-09", "CO-10", "FC-01"),
    broker_config=ALONE,
)
def without_a_log_nobody_coordinates(conversation: Conversation) -> None:
    """Without `__consumer_offsets` every group API but ListGroups says NOT_COORDINATOR until it is back.

    4.0.0 goes on as if the log were there. The Java coordinator looks at the session timeout first.
    """
    eve = conversation.actor("eve")
    eve.asks(delete_topic("__consumer_offsets"), delete_topic_response(error_code="NONE"))
    conversation.elapses(1500)

    eve.sends(join_group(member_id="mm"))
    eve.receives(join_group_response(error_code=ANY, generation_id=-1, leader="", members=()))
    eve.sends(join_group(member_id="mm", session_timeout_ms=1))
    eve.receives(join_group_response(error_code=ANY, generation_id=-1, leader="", members=()))
    eve.asks(sync_group(generation_id=1, member_id="mm"), sync_group_response(error_code=ANY, assignment=b""))
    eve.asks(heartbeat(generation_id=1, member_id="mm"), error_code=ANY)
    eve.asks(leave_group(members=(("mm", None),)), error_code=ANY)
    eve.asks(leave_group(version=2, member_id="mm"), error_code=ANY)
    eve.asks(describe_groups(), describe_groups_response(error_code=ANY, members=()))
    eve.asks(delete_groups(), delete_groups_response(ANY))
    eve.asks(list_groups(), list_groups_response(error_code="NONE", groups=()))

    eve.sends(find_coordinator())
    eve.receives(find_coordinator_response(error_code="COORDINATOR_NOT_AVAILABLE", node_id=-1, host=""))
    eve.repeats(find_coordinator(), until=find_coordinator_response(error_code="NONE"))
