"""What a ConsumerGroupHeartbeat must contain, and which member epochs are accepted."""

from harness.scenario import (
    LEAVES_FOR_A_WHILE,
    Answer,
    Conversation,
    Member,
    ask,
    expect,
    scenario,
)

VALIDATES = "GroupCoordinatorService#throwIfConsumerGroupHeartbeatRequestIsInvalid"
FINDS_GROUP = "GroupMetadataManager#consumerGroup"
FINDS_MEMBER = "ConsumerGroup#getOrMaybeCreateMember"
HEARTBEATS = "GroupMetadataManager#consumerGroupHeartbeat"
CHECKS_EPOCH = "GroupMetadataManager#throwIfConsumerGroupMemberEpochIsInvalid"
BLANK = " \t"
ALL = {"orders": (0, 1, 2)}
BOTH = {"orders": (0, 1, 2), "payments": (0, 1)}


def sole_member(conversation: Conversation) -> tuple[Member, Answer]:
    """Return ana, who has all partitions of `orders`, and the answer to her join."""
    ana = conversation.member("ana")
    return ana, ana.enters(assigned=ALL)


@scenario("consumer_groups/validation/group-id", source=VALIDATES, clauses=("CH-04",))
def a_group_has_an_id(conversation: Conversation) -> None:
    """A ConsumerGroupHeartbeat with an empty or blank group id gets INVALID_REQUEST."""
    ana = conversation.member("ana")

    for group_id in ("", BLANK):
        ana.enters(group_id=group_id, error_code="INVALID_REQUEST")


@scenario("consumer_groups/validation/member-id", source=VALIDATES, clauses=("CH-05",))
def a_member_names_itself(conversation: Conversation) -> None:
    """A ConsumerGroupHeartbeat v1 with an empty or blank member id gets INVALID_REQUEST."""
    ana = conversation.member("ana")

    for member_id in ("", BLANK):
        ana.enters(member_id=member_id, error_code="INVALID_REQUEST")


@scenario("consumer_groups/validation/named-by-the-coordinator", source=HEARTBEATS, clauses=("CH-06",))
def version_0_leaves_the_id_to_the_coordinator(conversation: Conversation) -> None:
    """A ConsumerGroupHeartbeat v0 that joins without a member id gets one, and uses it from then on."""
    ana = conversation.member("ana", named_by_server=True)
    joined = ana.enters(version=0, assigned=ALL)

    known = expect.group_member(ana.member_id, epoch=joined["member_epoch"], owned=ALL)
    ana.heartbeats(version=0, member_epoch=joined["member_epoch"], assigned=None)
    ana.asks(ask.consumer_group_describe(), expect.consumer_group_describe(members=(known,)))


@scenario("consumer_groups/validation/unnamed-and-not-joining", source=VALIDATES, clauses=("CH-07",))
def whoever_has_no_id_joins(conversation: Conversation) -> None:
    """A ConsumerGroupHeartbeat v0 without a member id that does not join gets INVALID_REQUEST."""
    ana = conversation.member("ana")

    for epoch in (1, -1):
        ana.heartbeats(version=0, member_id="", epoch=epoch, error_code="INVALID_REQUEST")


@scenario("consumer_groups/validation/rebalance-timeout", source=VALIDATES, clauses=("CH-08",))
def a_join_states_a_rebalance_timeout(conversation: Conversation) -> None:
    """A ConsumerGroupHeartbeat that joins without a rebalance timeout gets INVALID_REQUEST."""
    conversation.member("ana").enters(rebalance_timeout_ms=-1, error_code="INVALID_REQUEST")


@scenario("consumer_groups/validation/joins-with-partitions", source=VALIDATES, clauses=("CH-09",))
def a_join_owns_nothing(conversation: Conversation) -> None:
    """A join that owns partitions, or leaves owned partitions out, gets INVALID_REQUEST."""
    ana = conversation.member("ana")

    for owned in ({"orders": (0,)}, None):
        ana.enters(owned=owned, error_code="INVALID_REQUEST")


@scenario("consumer_groups/validation/joins-without-subscription", source=VALIDATES, clauses=("CH-10",))
def a_join_subscribes(conversation: Conversation) -> None:
    """A join with neither topic names nor a regular expression gets INVALID_REQUEST."""
    conversation.member("ana").enters(topics=None, error_code="INVALID_REQUEST")


@scenario("consumer_groups/validation/empty-names", source=VALIDATES, clauses=("CH-12",))
def instances_and_racks_have_names(conversation: Conversation) -> None:
    """A ConsumerGroupHeartbeat with an empty instance id or an empty rack gets INVALID_REQUEST."""
    ana = conversation.member("ana")

    ana.enters(instance_id="", error_code="INVALID_REQUEST")
    ana.enters(rack_id="", error_code="INVALID_REQUEST")


@scenario(
    "consumer_groups/validation/first-fault",
    source=VALIDATES,
    clauses=("CH-04", "CH-08", "CH-09", "CH-10", "CH-12"),
)
def the_first_fault_is_named(conversation: Conversation) -> None:
    """The error message of a ConsumerGroupHeartbeat with several faults names the first one checked.

    The order is: group id, instance id, rack, rebalance timeout, owned partitions, subscription.
    """
    ana = conversation.member("ana")
    refused = "INVALID_REQUEST"

    ana.enters(group_id="", instance_id="", error_code=refused)
    ana.enters(instance_id="", rack_id="", error_code=refused)
    ana.enters(rack_id="", rebalance_timeout_ms=-1, error_code=refused)
    ana.enters(rebalance_timeout_ms=-1, owned=None, error_code=refused)
    ana.enters(owned=None, topics=None, error_code=refused)


@scenario("consumer_groups/validation/lowest-epoch", source=VALIDATES, clauses=("CH-13",))
def epochs_end_at_minus_two(conversation: Conversation) -> None:
    """A ConsumerGroupHeartbeat with an epoch below -2 gets INVALID_REQUEST."""
    ana = conversation.member("ana", instance_id="one")

    for epoch in (-3, -4):
        ana.heartbeats(epoch=epoch, error_code="INVALID_REQUEST")


@scenario("consumer_groups/validation/dynamic-for-a-while", source=VALIDATES, clauses=("CH-14",))
def only_static_members_leave_for_a_while(conversation: Conversation) -> None:
    """A ConsumerGroupHeartbeat with epoch -2 and without an instance id gets INVALID_REQUEST."""
    conversation.member("ana").heartbeats(epoch=LEAVES_FOR_A_WHILE, error_code="INVALID_REQUEST")


@scenario("consumer_groups/validation/assignor", source=VALIDATES, clauses=("CH-15",))
def assignors_are_known(conversation: Conversation) -> None:
    """A ConsumerGroupHeartbeat with an unknown or empty assignor always gets UNSUPPORTED_ASSIGNOR."""
    ana = conversation.member("ana")
    bob = conversation.member("bob", instance_id="one")

    for assignor in ("nobody", ""):
        ana.enters(assignor=assignor, error_code="UNSUPPORTED_ASSIGNOR")
        for epoch in (1, -1):
            ana.heartbeats(epoch=epoch, assignor=assignor, error_code="UNSUPPORTED_ASSIGNOR")
        bob.heartbeats(epoch=LEAVES_FOR_A_WHILE, assignor=assignor, error_code="UNSUPPORTED_ASSIGNOR")
    ana.enters(assigned=ALL)
    ana.heartbeats(assignor="nobody", error_code="UNSUPPORTED_ASSIGNOR")
    ana.heartbeats(member_id="stranger", assignor="nobody", error_code="UNSUPPORTED_ASSIGNOR")


@scenario(
    "consumer_groups/validation/regular-expression",
    source="Utils#throwIfRegularExpressionIsInvalid",
    clauses=("CH-16",),
)
def regular_expressions_are_of_re2(conversation: Conversation) -> None:
    """A regular expression that RE2/J does not accept gets INVALID_REGULAR_EXPRESSION."""
    ana = conversation.member("ana")

    for regex in ("[", "*a", "(?!x)"):
        ana.enters(topics=None, regex=regex, error_code="INVALID_REGULAR_EXPRESSION")


@scenario("consumer_groups/validation/unknown-group", source=FINDS_GROUP, clauses=("CH-17", "CH-18"))
def only_a_join_makes_a_group(conversation: Conversation) -> None:
    """A ConsumerGroupHeartbeat to an unknown group that does not join gets GROUP_ID_NOT_FOUND."""
    ana = conversation.member("ana")
    bob = conversation.member("bob", instance_id="one")

    for epoch in (1, 7, -1):
        ana.heartbeats(epoch=epoch, error_code="GROUP_ID_NOT_FOUND")
    for epoch in (1, -1, LEAVES_FOR_A_WHILE):
        bob.heartbeats(epoch=epoch, error_code="GROUP_ID_NOT_FOUND")


@scenario("consumer_groups/validation/unknown-member", source=FINDS_MEMBER, clauses=("CH-19",))
def only_a_join_makes_a_member(conversation: Conversation) -> None:
    """A ConsumerGroupHeartbeat of an unknown member that does not join gets UNKNOWN_MEMBER_ID."""
    ana, joined = sole_member(conversation)

    for epoch in (1, -1):
        ana.heartbeats(member_id="stranger", epoch=epoch, error_code="UNKNOWN_MEMBER_ID")
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=None)


@scenario(
    "consumer_groups/validation/unknown-instance",
    source="GroupMetadataManager#getOrMaybeSubscribeStaticConsumerGroupMember",
    clauses=("CH-20",),
)
def only_a_join_makes_an_instance(conversation: Conversation) -> None:
    """A ConsumerGroupHeartbeat of an unknown instance that does not join gets UNKNOWN_MEMBER_ID."""
    sole_member(conversation)
    bob = conversation.member("bob", instance_id="one")

    for epoch in (1, -1, LEAVES_FOR_A_WHILE):
        bob.heartbeats(epoch=epoch, error_code="UNKNOWN_MEMBER_ID")


@scenario("consumer_groups/validation/first-join", source=HEARTBEATS, clauses=("CH-21", "CH-22"))
def a_sole_member_has_all_partitions(conversation: Conversation) -> None:
    """A member that joins alone gets all partitions at once, and no assignment with its next heartbeat."""
    ana = conversation.member("ana")

    joined = ana.enters(assigned=ALL, interval_ms=5_000)
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=None, interval_ms=5_000)


@scenario("consumer_groups/validation/full-request", source=HEARTBEATS, clauses=("CH-23", "CH-24"))
def a_full_request_gets_a_full_response(conversation: Conversation) -> None:
    """A heartbeat with all fields gets the assignment again; one that leaves a field out does not."""
    ana, joined = sole_member(conversation)
    timeout_ms, topics = 30_000, ("orders",)

    ana.heartbeats(rebalance_timeout_ms=timeout_ms, topics=topics, owned=ALL, assigned=ALL)
    ana.heartbeats(topics=topics, owned=ALL, assigned=None)
    ana.heartbeats(rebalance_timeout_ms=timeout_ms, owned=ALL, assigned=None)
    ana.heartbeats(rebalance_timeout_ms=timeout_ms, topics=topics, assigned=None)
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=None)


@scenario("consumer_groups/validation/epoch-too-high", source=CHECKS_EPOCH, clauses=("CH-25",))
def an_epoch_of_the_future_is_fenced(conversation: Conversation) -> None:
    """A ConsumerGroupHeartbeat with a higher epoch than the member's gets FENCED_MEMBER_EPOCH."""
    ana, joined = sole_member(conversation)

    ana.heartbeats(epoch=ana.epoch + 1, error_code="FENCED_MEMBER_EPOCH")
    ana.heartbeats(epoch=ana.epoch + 1, owned=ALL, error_code="FENCED_MEMBER_EPOCH")
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=None)


@scenario("consumer_groups/validation/previous-epoch", source=CHECKS_EPOCH, clauses=("CH-26", "CH-27"))
def the_previous_epoch_is_taken_of_whoever_owns_no_more(conversation: Conversation) -> None:
    """The previous epoch is accepted if all owned partitions are the member's own, and fenced otherwise."""
    ana, joined = sole_member(conversation)
    ana.heartbeats(topics=("orders", "payments"), member_epoch=joined["member_epoch"] + 1, assigned=BOTH)

    for owned in ({}, {"orders": (1,)}, BOTH):
        ana.heartbeats(epoch=joined["member_epoch"], owned=owned, member_epoch=joined["member_epoch"] + 1)
    for unfit in (None, {"orders": (0, 3)}):
        ana.heartbeats(epoch=joined["member_epoch"], owned=unfit, error_code="FENCED_MEMBER_EPOCH")


@scenario("consumer_groups/validation/epoch-too-low", source=CHECKS_EPOCH, clauses=("CH-28",))
def an_epoch_before_the_previous_one_is_fenced(conversation: Conversation) -> None:
    """An epoch below the member's previous one gets FENCED_MEMBER_EPOCH, whatever it owns."""
    ana, joined = sole_member(conversation)
    ana.heartbeats(topics=("orders", "payments"), member_epoch=joined["member_epoch"] + 1)
    ana.heartbeats(topics=("orders", "payments", "missing"), member_epoch=joined["member_epoch"] + 2)

    ana.heartbeats(epoch=joined["member_epoch"], owned={}, error_code="FENCED_MEMBER_EPOCH")
    ana.heartbeats(epoch=joined["member_epoch"], error_code="FENCED_MEMBER_EPOCH")
