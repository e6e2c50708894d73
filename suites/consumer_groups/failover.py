"""Consumer groups whose coordinator moves to another broker, in a cluster of three."""

from harness.scenario import LEAVES_FOR_A_WHILE, Capability, Conversation, ask, expect, scenario
from suites.consumer_groups.loading import exchanges, is_loaded
from suites.consumer_groups.membership import group_is
from suites.consumer_groups.reconciliation import KEPT, SHORT_SESSION, two_members
from suites.consumer_groups.regular_expressions import resolved_member
from suites.consumer_groups.validation import ALL, sole_member
from suites.failover.words import MOVES, NOT_OURS, disconnected, killed, moved

LOADS = "GroupMetadataManager#onLoaded"
REPLAYS = "GroupMetadataManager#replay"
RUNS = "CoordinatorRuntime#withActiveContextOrThrow"
DIES = (Capability.CLUSTER, Capability.KILL)
DISCONNECTS = (Capability.CLUSTER, Capability.DISCONNECT)


@scenario("consumer_groups/failover/move", source=LOADS, clauses=("KF-01",), needs=MOVES)
def reconciliation_goes_on_elsewhere(conversation: Conversation) -> None:
    """A group continues its reconciliation in the same epochs after its coordinator moves."""
    ana, bob, joined = two_members(conversation)
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=KEPT)
    moved(conversation, ana, bob)

    is_loaded(ana, "Reconciling")
    exchanges(ana, bob, joined)


@scenario("consumer_groups/failover/kill", source=LOADS, clauses=("KF-01",), needs=DIES)
def reconciliation_outlives_its_coordinator(conversation: Conversation) -> None:
    """A group continues its reconciliation after its coordinator's broker is killed."""
    ana, bob, joined = two_members(conversation)
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=KEPT)
    killed(conversation, ana)
    bob.disconnects()

    is_loaded(ana, "Reconciling")
    exchanges(ana, bob, joined)


@scenario("consumer_groups/failover/disconnect", source=LOADS, clauses=("KF-01",), needs=DISCONNECTS)
def reconciliation_outlives_a_lost_network(conversation: Conversation) -> None:
    """A group continues its reconciliation after its coordinator's broker loses its network."""
    ana, bob, joined = two_members(conversation)
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=KEPT)
    disconnected(conversation, ana)
    bob.disconnects()

    is_loaded(ana, "Reconciling")
    exchanges(ana, bob, joined)


@scenario("consumer_groups/failover/former", source=RUNS, clauses=("KF-02",), needs=MOVES)
def a_former_coordinator_refuses(conversation: Conversation) -> None:
    """A former coordinator answers heartbeats and ConsumerGroupDescribe with NOT_COORDINATOR."""
    ana, joined = sole_member(conversation)
    bob = conversation.member("bob")
    bob.looks_up("orders")
    conversation.moves_coordinator()

    epoch = joined["member_epoch"]
    ana.heartbeats(epoch=epoch, error_code=NOT_OURS)
    ana.heartbeats(version=0, epoch=epoch, error_code=NOT_OURS)
    ana.heartbeats(epoch=-1, error_code=NOT_OURS)
    ana.asks(ask.consumer_group_describe(), expect.consumer_group_describe(error_code=NOT_OURS, members=()))
    ana.disconnects()
    is_loaded(ana, "Stable")
    ana.heartbeats(epoch=epoch, member_epoch=epoch, assigned=None)


@scenario("consumer_groups/failover/static", source=REPLAYS, clauses=("KF-01",), needs=MOVES)
def an_absence_moves_too(conversation: Conversation) -> None:
    """A static member that left temporarily can be replaced at the new coordinator, in the same epoch."""
    ana = conversation.member("ana", instance_id="one")
    bob = conversation.member("bob", instance_id="one")
    joined = ana.enters(assigned=ALL)
    ana.leaves(epoch=LEAVES_FOR_A_WHILE)
    moved(conversation, ana)

    is_loaded(ana, "Reconciling")
    bob.enters(member_epoch=joined["member_epoch"], assigned=ALL)
    group_is(bob, "Stable", epoch=joined["member_epoch"])


@scenario("consumer_groups/failover/regex", source=REPLAYS, clauses=("KF-01",), needs=MOVES)
def a_resolution_moves_too(conversation: Conversation) -> None:
    """A regular expression stays resolved when the coordinator moves."""
    ana, joined = resolved_member(conversation)
    moved(conversation, ana)

    is_loaded(ana, "Stable")
    ana.heartbeats(member_epoch=joined["member_epoch"] + 1, assigned=None)
    bob = conversation.member("bob")
    bob.enters(topics=None, regex="orders", member_epoch=joined["member_epoch"] + 2, assigned={})
    conversation.reconciles(ana, bob)


@scenario("consumer_groups/failover/sessions", source=LOADS, clauses=("KF-03",), needs=MOVES)
def sessions_begin_anew_elsewhere(conversation: Conversation) -> None:
    """A member that is silent at the new coordinator is removed after a full session timeout."""
    ana = conversation.member("ana")
    ana.configures(SHORT_SESSION)
    joined = ana.enters(assigned=ALL)
    moved(conversation, ana)

    is_loaded(ana, "Stable")
    conversation.elapses(4_600)
    group_is(ana, "Empty", epoch=joined["member_epoch"] + 1)
