"""A ListGroups that depends on more than a group's state."""

from harness.scenario import ANY, Conversation, ask, expect, scenario, subscription

LISTS = "GroupCoordinator#handleListGroups"
BOTH = (("range", subscription("orders")), ("roundrobin", subscription("orders")))
ROUNDROBIN = (("roundrobin", subscription("orders")),)


@scenario(
    "regressions/list/unsupported-protocol",
    source=LISTS,
    clauses=("LG-04", "ST-10"),
    broker_config={"group.max.size": "9"},
)
def a_member_without_the_groups_protocol_breaks_a_list_by_state(conversation: Conversation) -> None:
    """On 2.6.0 a static member that rejoins without the group's protocol breaks ListGroups by state.

    Until 3.7 a list by state describes every group, and until 2.6.0 a static member could replace the
    protocols of a Stable group. So no group of the broker could be listed by state any more.
    """
    ana = conversation.actor("ana", group_instance_id="i1")
    ana.asks(ask.join_group(version=5, protocols=BOTH), error_code="NONE")
    ana.asks(ask.sync_group(assignments=((ana.member_id, ana.part),)), error_code="NONE")
    again = conversation.actor("again", group_instance_id="i1")
    again.asks(ask.join_group(version=5, protocols=ROUNDROBIN), error_code="NONE")

    again.sends(ask.list_groups(version=4, states_filter=("Stable",)))
    again.receives(expect.list_groups(error_code=ANY, groups=ANY))
    again.asks(ask.list_groups(version=4), expect.list_groups(error_code="NONE", groups=ANY))
    again.asks(ask.leave_group(), error_code="NONE")
    again.repeats(
        ask.list_groups(version=4, states_filter=("Stable",)), until=expect.list_groups(error_code="NONE")
    )
