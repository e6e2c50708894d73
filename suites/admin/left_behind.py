"""Groups that a refused request left behind."""

from harness.scenario import ANY, Capability, Conversation, ask, containing, expect, scenario

MAKES = "GroupMetadataManager#classicGroupJoinToClassicGroup"


@scenario("admin/list/left-behind-by-a-refused-join", source=MAKES, clauses=("LG-12", "JG-17", "DG-13"))
def a_refused_join_leaves_a_group_behind(conversation: Conversation) -> None:
    """A group that a refused JoinGroup created is listed by ListGroups, without a protocol type."""
    ana = conversation.actor("ana")
    ana.asks(ask.join_group(protocols=()), error_code="INCONSISTENT_GROUP_PROTOCOL")

    ana.repeats(
        ask.list_groups(),
        until=expect.list_groups(
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
    """A group that a refused JoinGroup created is Empty after a restart of a Java coordinator, else Dead."""
    ana = conversation.actor("ana")
    ana.asks(ask.join_group(protocols=()), error_code="INCONSISTENT_GROUP_PROTOCOL")
    ana.repeats(ask.describe_groups(), until=expect.describe_groups(group_state="Empty"))

    conversation.restarts_coordinator()
    ana.repeats(ask.offset_fetch(), until=expect.offset_fetch({}), within_ms=15_000)
    ana.sends(ask.describe_groups())
    ana.receives(expect.describe_groups(error_code="NONE", group_state=ANY, protocol_type="", members=()))
