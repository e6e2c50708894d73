"""How long the coordinator waits for members."""

from harness.scenario import LEAVES_FOR_A_WHILE, Conversation, ask, expect, scenario
from suites.consumer_groups.membership import group_is
from suites.consumer_groups.reconciliation import FREED, KEPT, SHORT_SESSION, TIMES_REBALANCE, TIMES_SESSION
from suites.consumer_groups.validation import ALL
from suites.failures.lingering import LINGER_MS, LINGERING, SHORT_COMMITS

ENDS_REBALANCE = "GroupMetadataManager#maybeReconcile"
HALF_MS, REST_MS = 2_500, 2_100
"""Two parts of a session of 4 s: it outlasts the first, but not both together."""
TIMEOUT_MS = 2_000
"""A rebalance timeout."""


@scenario("consumer_groups/sessions/prolonged", source=TIMES_SESSION, clauses=("CR-21",))
def each_heartbeat_begins_a_session(conversation: Conversation) -> None:
    """Heartbeats in time extend a member's session; a refused heartbeat does not."""
    ana = conversation.member("ana")
    ana.configures(SHORT_SESSION)
    joined = ana.enters(assigned=ALL)

    for _ in range(2):
        conversation.elapses(HALF_MS)
        ana.heartbeats(member_epoch=joined["member_epoch"], assigned=None)
    conversation.elapses(HALF_MS)
    ana.heartbeats(epoch=ana.epoch + 1, error_code="FENCED_MEMBER_EPOCH")
    conversation.elapses(REST_MS)
    ana.heartbeats(error_code="UNKNOWN_MEMBER_ID")


@scenario("consumer_groups/sessions/last-one", source=TIMES_SESSION, clauses=("CR-25",))
def a_group_is_emptied_by_silence(conversation: Conversation) -> None:
    """When the only member's session times out, the group is Empty, in the next epoch."""
    ana = conversation.member("ana")
    ana.configures(SHORT_SESSION)
    joined = ana.enters(assigned=ALL)

    conversation.elapses(HALF_MS + REST_MS)
    group_is(ana, "Empty", epoch=joined["member_epoch"] + 1)
    ana.asks(ask.delete_groups(), expect.delete_groups("NONE"))


@scenario("consumer_groups/sessions/away", source=TIMES_SESSION, clauses=("CR-22",))
def whoever_is_away_too_long_is_removed(conversation: Conversation) -> None:
    """A static member that left temporarily is removed at its session timeout, and its partitions move."""
    ana = conversation.member("ana", instance_id="one")
    bob = conversation.member("bob")
    ana.configures(SHORT_SESSION)
    joined = ana.enters(assigned=ALL)
    bob.enters(assigned={})
    ana.leaves(epoch=LEAVES_FOR_A_WHILE)

    conversation.elapses(HALF_MS)
    bob.heartbeats(member_epoch=joined["member_epoch"] + 1)
    conversation.elapses(REST_MS)
    bob.heartbeats(member_epoch=joined["member_epoch"] + 2, assigned=ALL)
    carol = conversation.member("carol", instance_id="one")
    carol.enters(member_epoch=joined["member_epoch"] + 3, assigned={})


@scenario("consumer_groups/sessions/gives-up-in-time", source=ENDS_REBALANCE, clauses=("CR-23",))
def whoever_gives_up_in_time_stays(conversation: Conversation) -> None:
    """A member that gives up its partitions within its rebalance timeout is not removed later."""
    ana, bob = conversation.members("ana", "bob")
    joined = ana.enters(rebalance_timeout_ms=TIMEOUT_MS, assigned=ALL)
    bob.enters(rebalance_timeout_ms=TIMEOUT_MS, assigned={})
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=KEPT)
    ana.heartbeats(owned=KEPT, member_epoch=joined["member_epoch"] + 1, assigned=None)

    conversation.elapses(TIMEOUT_MS + 500)
    ana.heartbeats(owned=KEPT, member_epoch=joined["member_epoch"] + 1, assigned=None)
    bob.heartbeats(member_epoch=joined["member_epoch"] + 1, assigned=FREED)


@scenario("consumer_groups/sessions/waits-long", source=TIMES_REBALANCE, clauses=("CR-24",))
def whoever_waits_is_not_timed(conversation: Conversation) -> None:
    """A member that waits for partitions may wait longer than its rebalance timeout."""
    ana, bob = conversation.members("ana", "bob")
    joined = ana.enters(assigned=ALL)
    bob.enters(rebalance_timeout_ms=TIMEOUT_MS, assigned={})
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=KEPT)

    conversation.elapses(TIMEOUT_MS + 500)
    bob.heartbeats(member_epoch=joined["member_epoch"] + 1, assigned=None)
    ana.heartbeats(owned=ALL, member_epoch=joined["member_epoch"], assigned=None)


@scenario("consumer_groups/sessions/not-told-yet", source=TIMES_REBALANCE, clauses=("CR-24",))
def whoever_knows_nothing_is_not_timed(conversation: Conversation) -> None:
    """The rebalance timeout does not start until the member has received the revocation."""
    ana, bob = conversation.members("ana", "bob")
    joined = ana.enters(rebalance_timeout_ms=TIMEOUT_MS, assigned=ALL)
    bob.enters(assigned={})

    conversation.elapses(TIMEOUT_MS + 500)
    ana.heartbeats(owned=ALL, member_epoch=joined["member_epoch"], assigned=KEPT)
    ana.heartbeats(owned=KEPT, member_epoch=joined["member_epoch"] + 1, assigned=None)


@scenario("consumer_groups/sessions/leaves-while-giving-up", source=TIMES_REBALANCE, clauses=("CR-22",))
def an_absence_ends_the_rebalance_timeout(conversation: Conversation) -> None:
    """A static member that leaves temporarily while revoking is not removed at its rebalance timeout."""
    ana = conversation.member("ana", instance_id="one")
    bob = conversation.member("bob")
    joined = ana.enters(rebalance_timeout_ms=TIMEOUT_MS, assigned=ALL)
    bob.enters(assigned={})
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=KEPT)
    ana.leaves(epoch=LEAVES_FOR_A_WHILE)

    conversation.elapses(TIMEOUT_MS + 500)
    away = expect.group_member(ana.member_id, epoch=LEAVES_FOR_A_WHILE, instance_id="one")
    here = expect.group_member(bob.member_id, epoch=joined["member_epoch"] + 1)
    described = expect.consumer_group_describe(group_epoch=joined["member_epoch"] + 1, members=(away, here))
    bob.asks(ask.consumer_group_describe(), described)


@scenario(
    "consumer_groups/sessions/at-rest",
    source="GroupMetadataManager#hasMemberSubscriptionChanged",
    clauses=("CR-30",),
    broker_config=SHORT_COMMITS | LINGERING,
)
def whoever_changes_nothing_waits_for_no_write(conversation: Conversation) -> None:
    """A heartbeat that changes nothing is answered at once, though the coordinator gathers writes."""
    ana = conversation.member("ana")
    ana.enters()
    conversation.elapses(2 * LINGER_MS)

    ana.sends(ask.consumer_group_heartbeat())
    ana.receives(expect.consumer_group_heartbeat(error_code="NONE"), not_after_ms=LINGER_MS // 2)
