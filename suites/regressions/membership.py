"""Members that were wrongly admitted, kept or removed."""

from harness.scenario import ANY, Conversation, ask, scenario


@scenario(
    "regressions/kafka-9885/room-for-an-id-given-before",
    source="KAFKA-9885",
    clauses=("MX-05", "MX-04"),
    broker_config={"group.max.size": "2"},
)
def a_member_id_given_before_is_no_reservation(conversation: Conversation) -> None:
    """A member that got its id while there was room cannot join once the group is full.

    Before 2.6.0 only members without an id were counted, so the group grew beyond its limit.
    """
    carol = conversation.actor("carol")
    carol.obtains_member_id()
    conversation.stable_group("ana", "bob", rebalance_timeout_ms=1500)

    carol.asks(ask.join_group(rebalance_timeout_ms=1500), error_code=ANY)


@scenario(
    "regressions/pr-9958/pending-id-leaves-with-an-instance-id",
    source="GroupCoordinator#handleLeaveGroup",
    clauses=("LV-13",),
)
def a_pending_id_leaves_with_an_instance_id(conversation: Conversation) -> None:
    """A LeaveGroup may name a pending member's id together with an instance id.

    Before 3.0.0 (pull request 9958) the request failed: UNKNOWN_SERVER_ERROR for the whole batch.
    """
    ana = conversation.actor("ana")
    ana.obtains_member_id()

    ana.asks(ask.leave_group(version=3, members=((ana.member_id, "made-up"),)), error_code=ANY)
    ana.asks(ask.leave_group(version=3, members=((ana.member_id, None),)), error_code="NONE")
