"""Responses with values that the requested version cannot carry: Kafka failed to write them."""

from harness.scenario import ANY, Conversation, ask, expect, scenario


@scenario(
    "regressions/kafka-14422/leader-before-v5-of-a-static-member",
    source="KAFKA-14422",
    clauses=("JG-35",),
)
def a_leader_before_v5_learns_of_a_static_member(conversation: Conversation) -> None:
    """A leader that joins with v4 gets the list of members, without the instance id of a static member.

    From 2.5.0 to 3.3.1 the leader got UNSUPPORTED_VERSION. Whether the others were answered depended on
    the order of the members, so their answers are not expected here.
    """
    ana = conversation.actor("ana")
    ana.obtains_member_id()
    ana.asks(ask.join_group(version=4), expect.join_group(error_code="NONE", generation_id=1))
    ana.syncs_as_leader((ana,))
    bob = conversation.actor("bob", group_instance_id="b")
    bob.sends(ask.join_group(version=5))
    bob.stays_parked(for_ms=300)

    ana.asks(ask.join_group(version=4), error_code=ANY)


@scenario(
    "regressions/kafka-10239/static-member-described-before-v4",
    source="KAFKA-10239",
    clauses=("DG-03",),
)
def a_static_member_is_described_before_v4(conversation: Conversation) -> None:
    """DescribeGroups v0 to v3 describe a group with a static member too, without its instance id.

    2.5.0 answered UNSUPPORTED_VERSION.
    """
    ana = conversation.actor("ana", group_instance_id="a")
    ana.asks(ask.join_group(), expect.join_group(error_code="NONE", generation_id=1))
    ana.syncs_as_leader((ana,))

    for version in range(4):
        ana.asks(ask.describe_groups(version=version), expect.describe_groups(error_code=ANY))


@scenario(
    "regressions/kafka-15755/refused-leave-before-v3",
    source="KAFKA-15755",
    clauses=("CO-21",),
)
def a_leave_before_v3_is_refused_as_a_whole(conversation: Conversation) -> None:
    """A LeaveGroup before v3 that is refused as a whole gets the reason: here INVALID_GROUP_ID.

    In 3.4 and 3.5, up to 3.5.1, and in 3.6.0 the answer was UNSUPPORTED_VERSION. From v3 on it was right.
    """
    ana = conversation.actor("ana")

    for version in range(3):
        ana.asks(ask.leave_group(version=version, group_id="", member_id="nobody"), error_code=ANY)
    ana.asks(ask.leave_group(version=3, group_id="", member_id="nobody"), error_code="INVALID_GROUP_ID")


@scenario(
    "regressions/null-client-id/described",
    source="RequestHeader#parse",
    clauses=("VF-17",),
)
def a_member_without_a_client_id_is_described(conversation: Conversation) -> None:
    """DescribeGroups describes a group that has a member without a client id.

    Before 3.1 such an id was null, which neither response nor log can contain: UNKNOWN_SERVER_ERROR.
    """
    eve = conversation.actor("eve", client_id=None)
    eve.asks(ask.join_group(version=3, member_id=""), expect.join_group(error_code="NONE", generation_id=1))

    for version in (0, 5):
        eve.asks(ask.describe_groups(version=version), expect.describe_groups(error_code=ANY))
    assignments = ((eve.member_id, eve.part),)
    eve.asks(ask.sync_group(version=3, assignments=assignments), error_code=ANY)
    # Kafka 2.4 cannot write this error at v4 and never answers.
    eve.aside.sends(ask.sync_group(version=4, assignments=assignments))
    eve.aside.may_receive(expect.sync_group(error_code=ANY), within_ms=1000)
    eve.asks(ask.describe_groups(), expect.describe_groups(error_code=ANY))
    # No other client can remove this member, because it cannot be described.
    eve.asks(ask.leave_group(), error_code="NONE")
