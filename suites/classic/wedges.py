"""Groups that never complete and requests that fail internally: what stays unanswered, what remains."""

from harness.scenario import ANY, Conversation, ask, expect, scenario

UNREADABLE = b"\0\0\x7f\xff\xff\xff"
"""A subscription v0 that claims two thousand million topics and ends there."""


@scenario(
    "classic/wedge/doubled-protocol",
    source="ClassicGroup#selectProtocol",
    clauses=("PV-06", "OR-05", "OR-08"),
)
def a_doubled_protocol_wedges_the_group(conversation: Conversation) -> None:
    """A member that lists its only protocol twice is never answered: one member cannot outvote two votes."""
    doubled = (("range", b"\0\0"), ("range", b"\0\0"))
    ana = conversation.actor("ana")
    ana.obtains_member_id(protocols=doubled)

    ana.sends(ask.join_group(protocols=doubled))
    ana.stays_parked(for_ms=700)
    ana.aside.sends(ask.describe_groups())
    ana.aside.receives(expect.describe_groups(error_code="NONE", group_state="PreparingRebalance"))
    ana.aside.asks(ask.delete_groups(), expect.delete_groups("NON_EMPTY_GROUP"))


@scenario(
    "classic/wedge/unreadable-subscription",
    source="ConsumerProtocol#deserializeSubscription",
    clauses=("JG-60", "OR-06", "OR-08"),
)
def an_unreadable_subscription_may_wedge_the_group(conversation: Conversation) -> None:
    """A first member with an unreadable subscription is never answered from 2.7 on, until 4.4."""
    ana = conversation.actor("ana")
    protocols = (("range", UNREADABLE),)
    ana.obtains_member_id(protocols=protocols)

    ana.sends(ask.join_group(protocols=protocols))
    ana.may_receive(expect.join_group(error_code="NONE"), within_ms=4000)
    ana.aside.asks(ask.heartbeat(generation_id=0), error_code="ILLEGAL_GENERATION")
    ana.aside.asks(ask.heartbeat(generation_id=1), error_code=ANY)


@scenario(
    "classic/wedge/nobody-gets-into-it",
    source="ConsumerProtocol#deserializeSubscription",
    clauses=("JG-61", "OR-06"),
)
def nobody_gets_into_a_wedged_group(conversation: Conversation) -> None:
    """A group stuck on an unreadable subscription can be left, but neither joined nor deleted."""
    ana, bob = conversation.actors("ana", "bob")
    protocols = (("range", UNREADABLE),)
    ana.obtains_member_id(protocols=protocols)
    ana.sends(ask.join_group(protocols=protocols))
    conversation.elapses(500)

    bob.obtains_member_id()
    bob.sends(ask.join_group())
    conversation.elapses(300)
    ana.aside.asks(ask.delete_groups(), expect.delete_groups("NON_EMPTY_GROUP"))
    ana.aside.asks(ask.leave_group(), error_code="NONE")
    ana.receives(expect.join_group())
    bob.may_receive(expect.join_group(error_code="NONE"), within_ms=1000)


@scenario(
    "classic/wedge/internal-error-in-v6",
    source="JoinGroupRequest#getErrorResponse",
    clauses=("CO-28", "OR-07", "CO-27", "JG-13"),
)
def an_internal_error_may_stay_unsaid_in_v6(conversation: Conversation) -> None:
    """A JoinGroup v6 that fails internally gets UNKNOWN_SERVER_ERROR, but no answer at all from 2.4."""
    ana = conversation.actor("ana")
    ana.obtains_member_id()

    ana.sends(ask.join_group(group_instance_id="ana-1"))
    ana.may_receive(expect.join_group(error_code="UNKNOWN_SERVER_ERROR", member_id=""), within_ms=1000)
    ana.aside.asks(ask.heartbeat(generation_id=1), error_code="UNKNOWN_MEMBER_ID")
