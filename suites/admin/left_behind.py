"""Groups that a request left behind although it was refused."""

from harness.scenario import (
    ANY,
    Capability,
    Conversation,
    containing,
    describe_groups,
    describe_groups_response,
    join_group,
    list_groups,
    list_groups_response,
    offset_fetch,
    offset_fetch_response,
    scenario,
)

MAKES = "GroupMetadataManager#classicGroupJoinToClassicGroup"


@scenario("admin/list/left-behind-by-a-refused-join", source=MAKES, clauses=("LG-12", "JG-17", "DG-13"))
def a_refused_join_leaves_a_group_behind(conversation: Conversation) -> None:
    """A group that a refused JoinGroup made is listed, without a protocol type."""
    ana = conversation.actor("ana")
    ana.asks(join_group(protocols=()), error_code="INCONSISTENT_GROUP_PROTOCOL")

    ana.repeats(
        list_groups(),
        until=list_groups_response(
            error_code="NONE",
            groups=containing({"group_id": conversation.group("main"), "protocol_type": ""}),
        ),
    )


@scenario(
    "loading/restart/left-behind-by-a-refused-join",
    source=MAKES,
    clauses=("PE-10", "RP-13", "JG-17"),
    needs=(Capability.RESTART,),
)
def what_a_refused_join_left_may_outlive_a_restart(conversation: Conversation) -> None:
    """A group that a refused JoinGroup made is Empty after a restart of the Java coordinator, else Dead."""
    ana = conversation.actor("ana")
    ana.asks(join_group(protocols=()), error_code="INCONSISTENT_GROUP_PROTOCOL")
    ana.repeats(describe_groups(), until=describe_groups_response(group_state="Empty"))

    conversation.restarts_coordinator()
    ana.repeats(offset_fetch(), until=offset_fetch_response({}), within_ms=15_000)
    ana.sends(describe_groups())
    ana.receives(describe_groups_response(error_code="NONE", group_state=ANY, protocol_type="", members=()))
