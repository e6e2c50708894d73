"""How partitions move from one member to another."""

from harness.scenario import Answer, Capability, Conversation, Member, ask, expect, one_of, scenario
from suites.consumer_groups.membership import group_is
from suites.consumer_groups.validation import ALL, BOTH, sole_member

BUILDS = "CurrentAssignmentBuilder#build"
COMPUTES = "CurrentAssignmentBuilder#computeNextAssignment"
UPDATES = "CurrentAssignmentBuilder#updateCurrentAssignment"
LEAVES = "GroupMetadataManager#consumerGroupFenceMembers"
TIMES_REBALANCE = "GroupMetadataManager#scheduleConsumerGroupRebalanceTimeout"
TIMES_SESSION = "GroupMetadataManager#scheduleConsumerGroupSessionTimeout"
DELAYS = "GroupMetadataManager#maybeUpdateTargetAssignment"
KEPT, FREED = {"orders": (0, 1)}, {"orders": (2,)}
SHORT_SESSION = {"consumer.session.timeout.ms": 4_000, "consumer.heartbeat.interval.ms": 500}
LONG_INTERVAL = {"consumer.assignment.interval.ms": 5_000}
SHORT_INTERVAL = {"consumer.assignment.interval.ms": 500}
INTERVAL_IS_OVER_MS = 5_500


def two_members(conversation: Conversation) -> tuple[Member, Member, Answer]:
    """Return ana, who has all partitions, bob, who waits, and the answer to ana's join."""
    ana, joined = sole_member(conversation)
    bob = conversation.member("bob")
    bob.enters(member_epoch=joined["member_epoch"] + 1, assigned={})
    return ana, bob, joined


def balanced(conversation: Conversation) -> tuple[Member, Member, Answer]:
    """Return ana and bob, who share the partitions, and the answer to ana's join."""
    ana, bob, joined = two_members(conversation)
    conversation.reconciles(ana, bob)
    return ana, bob, joined


@scenario("consumer_groups/reconciliation/second-member", source=BUILDS, clauses=("CR-01",))
def a_second_member_waits(conversation: Conversation) -> None:
    """A second member joins the next epoch at once, but gets no partitions while the first has them."""
    ana, _, joined = two_members(conversation)

    group_is(
        ana, "Reconciling", epoch=joined["member_epoch"] + 1, assignment_epoch=joined["member_epoch"] + 1
    )


@scenario(
    "consumer_groups/reconciliation/handover",
    source=BUILDS,
    clauses=("CR-02", "CR-04", "CR-06", "CR-07"),
)
def partitions_are_given_up_and_then_taken(conversation: Conversation) -> None:
    """A member gets its reduced assignment; when it has given up the rest, the waiting member gets that."""
    ana, bob, joined = two_members(conversation)

    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=KEPT)
    bob.heartbeats(member_epoch=joined["member_epoch"] + 1, assigned=None)
    ana.heartbeats(owned=KEPT, member_epoch=joined["member_epoch"] + 1, assigned=None)
    bob.heartbeats(member_epoch=joined["member_epoch"] + 1, assigned=FREED)
    group_is(ana, "Stable", epoch=joined["member_epoch"] + 1)


@scenario("consumer_groups/reconciliation/still-owned", source=COMPUTES, clauses=("CR-02", "CR-04"))
def nothing_moves_before_it_is_given_up(conversation: Conversation) -> None:
    """While a member still owns partitions that it must give up, no member's epoch or assignment changes."""
    ana, bob, joined = two_members(conversation)

    ana.heartbeats(owned=ALL, member_epoch=joined["member_epoch"], assigned=KEPT)
    for owned in (ALL, None, {"orders": (0, 1, 2)}):
        ana.heartbeats(owned=owned, member_epoch=joined["member_epoch"], assigned=None)
        bob.heartbeats(member_epoch=joined["member_epoch"] + 1, assigned=None)


@scenario(
    "consumer_groups/reconciliation/described-on-the-way",
    source="ConsumerGroupMember#asConsumerGroupDescribeMember",
    clauses=("CR-05", "CD-08"),
)
def what_is_given_up_is_shown(conversation: Conversation) -> None:
    """ConsumerGroupDescribe returns target assignments; since 4.3 also revoked partitions as assigned."""
    ana, bob, joined = two_members(conversation)
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=KEPT)

    first = expect.group_member(ana.member_id, epoch=joined["member_epoch"], target=KEPT, member_type=1)
    second = expect.group_member(bob.member_id, epoch=joined["member_epoch"] + 1, owned={}, target=FREED)
    ana.asks(ask.consumer_group_describe(), expect.consumer_group_describe(members=(first, second)))


@scenario("consumer_groups/reconciliation/third-member", source=BUILDS, clauses=("CR-09",))
def a_third_member_gets_its_part(conversation: Conversation) -> None:
    """A third member gets a partition once it is given up, and then each of three has one."""
    ana, bob, joined = balanced(conversation)
    carol = conversation.member("carol")
    carol.enters(member_epoch=joined["member_epoch"] + 2, assigned={})

    conversation.reconciles(ana, bob, carol)
    group_is(ana, "Stable", epoch=joined["member_epoch"] + 2)
    parts = ((ana, {"orders": (0,)}), (bob, FREED), (carol, {"orders": (1,)}))
    members = tuple(expect.group_member(each.member_id, owned=part, target=part) for each, part in parts)
    ana.asks(ask.consumer_group_describe(), expect.consumer_group_describe(members=members))


@scenario("consumer_groups/reconciliation/twice-in-a-row", source=BUILDS, clauses=("CR-08",))
def more_is_to_be_given_up_at_once(conversation: Conversation) -> None:
    """A member that gave up partitions and must give up more stays in its epoch; before 4.2 it rises."""
    ana, _, joined = two_members(conversation)
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=KEPT)
    conversation.member("carol").enters(member_epoch=joined["member_epoch"] + 2, assigned={})

    ana.heartbeats(owned=KEPT, assigned={"orders": (0,)})
    ana.heartbeats(owned={"orders": (0,)}, member_epoch=joined["member_epoch"] + 2, assigned=None)


@scenario("consumer_groups/reconciliation/drops-while-revoking", source=UPDATES, clauses=("CR-26",))
def topics_may_be_dropped_while_partitions_go(conversation: Conversation) -> None:
    """Since 4.2, a member that drops its topics while revoking must give them up at once too."""
    ana, bob = conversation.members("ana", "bob")
    ana.enters(assigned=ALL)
    bob.enters(assigned={})
    ana.heartbeats(assigned=KEPT)

    ana.heartbeats(topics=())
    ana.heartbeats(owned=ALL)
    ana.heartbeats(owned={})
    conversation.reconciles(ana, bob)
    group_is(ana, "Stable")


@scenario("consumer_groups/reconciliation/takes-back", source=COMPUTES, clauses=("CR-27",))
def a_topic_may_be_taken_back(conversation: Conversation) -> None:
    """A member that drops a topic and adds it again keeps it; some releases make it wait once more."""
    ana, joined = sole_member(conversation)
    both = {**ALL, "payments": (0, 1)}
    ana.heartbeats(topics=("orders", "payments"), member_epoch=joined["member_epoch"] + 1, assigned=both)
    ana.heartbeats(topics=("orders",), member_epoch=joined["member_epoch"] + 1, assigned=ALL)

    ana.heartbeats(topics=("orders", "payments"), owned=ALL, member_epoch=joined["member_epoch"] + 3)
    ana.heartbeats(owned=ana.assigned)
    ana.heartbeats(owned=both, member_epoch=joined["member_epoch"] + 3, assigned=None)


@scenario("consumer_groups/reconciliation/leaver", source=LEAVES, clauses=("CR-10",))
def what_a_leaver_had_comes_back(conversation: Conversation) -> None:
    """The partitions of a member that left go to the other with its next heartbeat, in the next epoch."""
    ana, bob, joined = balanced(conversation)

    bob.leaves()
    group_is(ana, "Assigning", epoch=joined["member_epoch"] + 2, assignment_epoch=joined["member_epoch"] + 1)
    ana.heartbeats(owned=ana.assigned, member_epoch=joined["member_epoch"] + 2, assigned=ALL)


@scenario("consumer_groups/reconciliation/rebalance-timeout", source=TIMES_REBALANCE, clauses=("CR-11",))
def whoever_gives_nothing_up_is_removed(conversation: Conversation) -> None:
    """A member that does not give up revoked partitions within its rebalance timeout is removed."""
    ana, bob = conversation.members("ana", "bob")
    joined = ana.enters(rebalance_timeout_ms=2_000, assigned=ALL)
    bob.enters(assigned={})
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=KEPT)

    conversation.elapses(1_000)
    ana.heartbeats(owned=ALL, member_epoch=joined["member_epoch"], assigned=None)
    conversation.elapses(1_700)
    ana.heartbeats(owned=ALL, error_code="UNKNOWN_MEMBER_ID")
    bob.heartbeats(member_epoch=joined["member_epoch"] + 2, assigned=ALL)


@scenario("consumer_groups/reconciliation/session-timeout", source=TIMES_SESSION, clauses=("CR-12",))
def whoever_is_silent_is_removed(conversation: Conversation) -> None:
    """A member is removed when its session times out, and its partitions go to the other."""
    ana, bob = conversation.members("ana", "bob")
    ana.configures(SHORT_SESSION)
    joined = ana.enters(assigned=ALL)
    bob.enters(assigned={})

    conversation.elapses(2_000)
    bob.heartbeats(member_epoch=joined["member_epoch"] + 1, assigned=None)
    conversation.elapses(2_600)
    ana.heartbeats(error_code="UNKNOWN_MEMBER_ID")
    bob.heartbeats(member_epoch=joined["member_epoch"] + 2, assigned=ALL)
    group_is(bob, "Stable", epoch=joined["member_epoch"] + 2)


@scenario("consumer_groups/reconciliation/only-commits", source=TIMES_SESSION, clauses=("CR-13",))
def a_commit_prolongs_no_session(conversation: Conversation) -> None:
    """OffsetCommit does not extend a session: a member that only commits is removed."""
    ana = conversation.member("ana")
    ana.configures(SHORT_SESSION)
    ana.enters(assigned=ALL)

    conversation.elapses(2_000)
    ana.asks(
        ask.offset_commit(version=9, topics={"orders": {0: 7}}), expect.offset_commit({"orders": {0: "NONE"}})
    )
    conversation.elapses(2_600)
    ana.heartbeats(error_code="UNKNOWN_MEMBER_ID")


@scenario("consumer_groups/reconciliation/assignment-interval", source=DELAYS, clauses=("CR-15",))
def a_target_stands_for_a_while(conversation: Conversation) -> None:
    """Since 4.3, a member that joins within the assignment interval waits until its end."""
    ana, bob = conversation.members("ana", "bob")
    ana.configures(LONG_INTERVAL, error_code=one_of("NONE", "INVALID_CONFIG"))
    joined = ana.enters(assigned=ALL)

    bob.enters(assigned={})
    group_is(bob, one_of("Assigning", "Reconciling"), epoch=joined["member_epoch"] + 1)
    ana.heartbeats()
    conversation.elapses(INTERVAL_IS_OVER_MS)
    conversation.reconciles(ana, bob)
    group_is(bob, "Stable", epoch=joined["member_epoch"] + 1)


@scenario("consumer_groups/reconciliation/interval-and-dropped-topic", source=COMPUTES, clauses=("CR-16",))
def a_dropped_topic_need_not_wait(conversation: Conversation) -> None:
    """A member that drops a topic within the assignment interval must give it up at once."""
    ana = conversation.member("ana")
    ana.configures(LONG_INTERVAL, error_code=one_of("NONE", "INVALID_CONFIG"))
    joined = ana.enters("orders", "payments", assigned=BOTH)

    ana.heartbeats(topics=("orders",), member_epoch=joined["member_epoch"], assigned=ALL)
    ana.heartbeats(owned=ALL, assigned=None)
    conversation.elapses(INTERVAL_IS_OVER_MS)
    ana.heartbeats(owned=ALL, member_epoch=joined["member_epoch"] + 1, assigned=None)


@scenario("consumer_groups/reconciliation/interval-and-former-epoch", source=UPDATES, clauses=("CR-28",))
def a_dropped_topic_ends_the_former_epoch(conversation: Conversation) -> None:
    """After a member has dropped a topic, its previous epoch gets FENCED_MEMBER_EPOCH."""
    ana = conversation.member("ana")
    ana.configures(LONG_INTERVAL, error_code=one_of("NONE", "INVALID_CONFIG"))
    joined = ana.enters(assigned=ALL)
    conversation.elapses(INTERVAL_IS_OVER_MS)
    ana.heartbeats(topics=("orders", "payments"), member_epoch=joined["member_epoch"] + 1)

    ana.heartbeats(topics=("orders",), member_epoch=joined["member_epoch"] + 1, assigned=ALL)
    ana.heartbeats(epoch=joined["member_epoch"], owned=ALL, error_code="FENCED_MEMBER_EPOCH")


@scenario("consumer_groups/reconciliation/interval-and-no-topic", source=UPDATES, clauses=("CR-28",))
def whoever_has_nothing_may_drop_a_topic(conversation: Conversation) -> None:
    """A member without partitions keeps its previous epoch since 4.3 while it subscribes to anything.

    A topic that does not exist is enough. Before 4.3 the previous epoch is that of the previous subscription.
    """
    ana = conversation.member("ana")
    joined = ana.enters("missing", assigned={})
    ana.heartbeats(topics=("missing", "absent"), member_epoch=joined["member_epoch"] + 1, assigned=None)
    ana.configures(LONG_INTERVAL, error_code=one_of("NONE", "INVALID_CONFIG"))

    ana.heartbeats(topics=("absent",), assigned=None)
    ana.heartbeats(epoch=joined["member_epoch"], owned={}, error_code=one_of("NONE", "FENCED_MEMBER_EPOCH"))
    ana.heartbeats(topics=(), assigned=None)
    ana.heartbeats(epoch=joined["member_epoch"], owned={}, error_code="FENCED_MEMBER_EPOCH")


@scenario("consumer_groups/reconciliation/interval-ends", source=DELAYS, clauses=("CR-15", "CR-17"))
def an_interval_ends_on_time(conversation: Conversation) -> None:
    """A topic that is added when the assignment interval ends is assigned at once."""
    ana = conversation.member("ana")
    ana.configures(SHORT_INTERVAL, error_code=one_of("NONE", "INVALID_CONFIG"))
    joined = ana.enters(assigned=ALL)

    conversation.elapses(SHORT_INTERVAL["consumer.assignment.interval.ms"])
    ana.heartbeats(topics=("orders", "payments"), member_epoch=joined["member_epoch"] + 1, assigned=BOTH)


@scenario("consumer_groups/reconciliation/interval-and-added-topic", source=DELAYS, clauses=("CR-17",))
def an_added_topic_waits(conversation: Conversation) -> None:
    """A topic added within the assignment interval is assigned after it, or at once before 4.3."""
    ana = conversation.member("ana")
    ana.configures(LONG_INTERVAL, error_code=one_of("NONE", "INVALID_CONFIG"))
    joined = ana.enters(assigned=ALL)

    ana.heartbeats(topics=("orders", "payments"))
    conversation.elapses(INTERVAL_IS_OVER_MS)
    ana.heartbeats(owned=ALL, member_epoch=joined["member_epoch"] + 1)
    ana.heartbeats(owned=ana.assigned, member_epoch=joined["member_epoch"] + 1, assigned=None)


@scenario(
    "consumer_groups/reconciliation/restart",
    source="GroupMetadataManager#onLoaded",
    clauses=("CR-18",),
    needs=(Capability.RESTART,),
)
def a_restart_changes_nothing(conversation: Conversation) -> None:
    """A restart in the middle of a reconciliation changes neither epochs nor assignments."""
    ana, bob, joined = two_members(conversation)
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=KEPT)
    conversation.restarts_coordinator()
    ana.repeats(
        ask.consumer_group_describe(), until=expect.consumer_group_describe(group_state="Reconciling")
    )

    ana.heartbeats(owned=ALL, member_epoch=joined["member_epoch"], assigned=None)
    bob.heartbeats(member_epoch=joined["member_epoch"] + 1, assigned=None)
    ana.heartbeats(owned=KEPT, member_epoch=joined["member_epoch"] + 1, assigned=None)
    bob.heartbeats(member_epoch=joined["member_epoch"] + 1, assigned=FREED)
    group_is(ana, "Stable", epoch=joined["member_epoch"] + 1)
