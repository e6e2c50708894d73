"""Streams groups whose coordinator restarts or moves, and what it answers while it loads."""

from harness.scenario import (
    LEAVES_FOR_A_WHILE,
    Breakpoint,
    Capability,
    Conversation,
    PinText,
    StreamsMember,
    ask,
    ask_describe,
    expect,
    expect_describe,
    scenario,
)
from suites.failover.words import DISCONNECTS, MOVES, NOT_OURS, disconnected, killed, moved
from suites.streams_groups.membership import ALL, sole_member
from suites.streams_groups.reconciliation import AT_ONCE, two_members
from suites.streams_groups.static import static_member
from suites.streams_groups.statuses import DELAYED, DELAYS

RESTARTS = (Capability.RESTART,)
PAUSES = (Capability.RESTART, Capability.PAUSE_AT_LOADING)
DIES = (Capability.CLUSTER, Capability.KILL)
LOADS = "GroupMetadataManager#onLoaded"
REPLAYS = "GroupMetadataManager#replay"
CONVERTS = "GroupMetadataManager#classicGroupJoin"
RUNS = "CoordinatorRuntime#withActiveContextOrThrow"
LOADING = "COORDINATOR_LOAD_IN_PROGRESS"
SHORT_SESSION = {"streams.session.timeout.ms": 4_000, "streams.heartbeat.interval.ms": 500, **AT_ONCE}
LONG_DELAY = {"streams.initial.rebalance.delay.ms": 15_000}
WITHIN_MS = 20_000


def is_loaded(actor: StreamsMember, state: PinText) -> None:
    """Wait until the coordinator has loaded the group, and expect the group to be in a state."""
    loaded = expect_describe(error_code="NONE", group_state=state)
    actor.repeats(ask_describe(), until=loaded, within_ms=WITHIN_MS)


@scenario("streams_groups/loading/restart", source=LOADS, clauses=("KS-56",), needs=RESTARTS)
def a_group_outlives_its_coordinator(conversation: Conversation) -> None:
    """After a restart a streams group has its members, tasks, topology and epochs of before."""
    ana, joined = sole_member(conversation)
    conversation.restarts_coordinator()

    is_loaded(ana, "Stable")
    ana.heartbeats(owned=ana.assigned, member_epoch=joined["member_epoch"], assigned=None, statuses=())
    ana.describes("Stable", epoch=2, assignment_epoch=2)


@scenario("streams_groups/loading/reconciling", source=REPLAYS, clauses=("KS-56",), needs=RESTARTS)
def a_reconciliation_goes_on_after_a_restart(conversation: Conversation) -> None:
    """A task that a member was to give up before a restart goes to the other once it is given up."""
    ana, joined = sole_member(conversation)
    bob = conversation.streams_member("bob")
    bob.enters(member_epoch=joined["member_epoch"] + 1, assigned={})
    ana.heartbeats(owned=ana.assigned, member_epoch=joined["member_epoch"], assigned={"0": (0, 1)})
    conversation.restarts_coordinator()

    is_loaded(ana, "Reconciling")
    bob.heartbeats(owned=bob.assigned, assigned=None)
    ana.heartbeats(owned=ana.assigned, member_epoch=joined["member_epoch"] + 1, assigned=None)
    bob.heartbeats(owned=bob.assigned, member_epoch=joined["member_epoch"] + 1, assigned={"0": (2,)})
    ana.describes("Stable")


@scenario("streams_groups/loading/two-members", source=REPLAYS, clauses=("KS-56",), needs=RESTARTS)
def the_others_take_over_after_a_restart(conversation: Conversation) -> None:
    """When one of two members leaves after a restart, the other runs its tasks."""
    ana, bob = two_members(conversation)
    conversation.restarts_coordinator()

    is_loaded(ana, "Stable")
    bob.leaves()
    ana.heartbeats(owned=ana.assigned, assigned=ALL)
    ana.describes("Stable")


@scenario("streams_groups/loading/delay", source=DELAYS, clauses=("KS-56",), needs=RESTARTS)
def a_restart_ends_the_initial_delay(conversation: Conversation) -> None:
    """A restart within the initial rebalance delay ends it: the next heartbeat brings the tasks."""
    ana = conversation.streams_member("ana")
    ana.configures(LONG_DELAY)
    ana.enters(assigned={}, statuses=(DELAYED,))
    conversation.restarts_coordinator()

    is_loaded(ana, "Assigning")
    ana.heartbeats(owned={}, assigned=ALL, statuses=())
    ana.describes("Stable")


@scenario("streams_groups/loading/sessions", source=LOADS, clauses=("KS-56",), needs=RESTARTS)
def a_restart_begins_sessions_anew(conversation: Conversation) -> None:
    """A member that sends nothing after a restart is removed when its session timeout has passed again."""
    ana = conversation.streams_member("ana")
    ana.configures(SHORT_SESSION)
    joined = ana.enters(assigned=ALL)
    conversation.restarts_coordinator()

    is_loaded(ana, "Stable")
    conversation.elapses(4_600)
    ana.describes("Empty", epoch=joined["member_epoch"] + 1)
    ana.heartbeats(owned=ALL, error_code="UNKNOWN_MEMBER_ID")


@scenario("streams_groups/loading/rebalance-timeout", source=LOADS, clauses=("KS-56",), needs=RESTARTS)
def a_restart_begins_rebalance_timeouts_anew(conversation: Conversation) -> None:
    """A member that does not give up its tasks after a restart either is removed."""
    ana, bob = conversation.streams_member("ana"), conversation.streams_member("bob")
    ana.enters(rebalance_timeout_ms=3_000, assigned=ALL)
    bob.enters(assigned={})
    ana.heartbeats(owned=ana.assigned, assigned={"0": (0, 1)})
    conversation.restarts_coordinator()

    is_loaded(ana, "Reconciling")
    conversation.elapses(3_600)
    ana.heartbeats(owned=ALL, error_code="UNKNOWN_MEMBER_ID")
    bob.heartbeats(owned={}, assigned=ALL)


@scenario("streams_groups/loading/away", source=REPLAYS, clauses=("KS-56",), needs=RESTARTS)
def whoever_was_away_is_away(conversation: Conversation) -> None:
    """A static member that left for a while may be replaced after a restart, and no epoch rises."""
    ana, joined = static_member(conversation)
    bob = conversation.streams_member("bob", instance_id="one")
    ana.leaves(epoch=LEAVES_FOR_A_WHILE)
    conversation.restarts_coordinator()

    is_loaded(ana, "Reconciling")
    bob.enters(version=1, process_id="process-ana", member_epoch=joined["member_epoch"], assigned=ALL)
    bob.describes("Stable", epoch=joined["member_epoch"], members=({"member_id": bob.member_id},))


@scenario("streams_groups/loading/empty", source=REPLAYS, clauses=("KS-56",), needs=RESTARTS)
def an_empty_group_keeps_its_epoch(conversation: Conversation) -> None:
    """After a restart an empty streams group keeps its epoch, and a new member runs all tasks."""
    ana, joined = sole_member(conversation)
    ana.leaves()
    conversation.restarts_coordinator()

    is_loaded(ana, "Empty")
    ana.describes("Empty", epoch=joined["member_epoch"] + 1)
    bob = conversation.streams_member("bob")
    bob.enters(member_epoch=joined["member_epoch"] + 2, assigned=ALL)


@scenario("streams_groups/loading/deleted", source=REPLAYS, clauses=("KS-56",), needs=RESTARTS)
def a_deleted_group_stays_deleted(conversation: Conversation) -> None:
    """A streams group that was deleted before a restart does not exist after it."""
    ana, _ = sole_member(conversation)
    ana.leaves()
    ana.asks(ask.delete_groups(), expect.delete_groups("NONE"))
    conversation.restarts_coordinator()

    gone = expect_describe(error_code="GROUP_ID_NOT_FOUND")
    ana.repeats(ask_describe(), until=gone, within_ms=WITHIN_MS)
    bob = conversation.streams_member("bob")
    bob.enters(member_epoch=2, assigned=ALL)


@scenario("streams_groups/loading/heartbeat", source=RUNS, clauses=("KS-57",), needs=PAUSES)
def nobody_is_served_while_loading(conversation: Conversation) -> None:
    """While its coordinator loads, every valid heartbeat is COORDINATOR_LOAD_IN_PROGRESS."""
    ana, joined = sole_member(conversation)
    epoch = joined["member_epoch"]
    bob = conversation.streams_member("bob")
    conversation.pauses_at(Breakpoint.LOADING)
    conversation.restarts_coordinator()

    ana.heartbeats(epoch=epoch, error_code=LOADING)
    ana.heartbeats(epoch=-1, error_code=LOADING)
    bob.enters(error_code=LOADING)
    bob.enters(rack_id="", error_code="INVALID_REQUEST")
    conversation.resumes_from(Breakpoint.LOADING)
    is_loaded(ana, "Stable")
    ana.heartbeats(epoch=epoch, owned=ana.assigned, member_epoch=epoch, assigned=None)


@scenario("streams_groups/loading/administrators", source=RUNS, clauses=("KS-57",), needs=PAUSES)
def nothing_is_described_while_loading(conversation: Conversation) -> None:
    """While its coordinator loads, describing, listing or deleting is COORDINATOR_LOAD_IN_PROGRESS."""
    ana, _ = sole_member(conversation)
    conversation.pauses_at(Breakpoint.LOADING)
    conversation.restarts_coordinator()

    ana.asks(ask_describe(), expect_describe(error_code=LOADING, members=()))
    ana.asks(ask.delete_groups(), expect.delete_groups(LOADING))
    ana.asks(ask.list_groups(version=5), expect.list_groups(error_code=LOADING, groups=()))
    conversation.resumes_from(Breakpoint.LOADING)
    is_loaded(ana, "Stable")


@scenario("streams_groups/failover/move", source=LOADS, clauses=("KS-58",), needs=MOVES)
def reconciliation_goes_on_elsewhere(conversation: Conversation) -> None:
    """A streams group that reconciles when its coordinator moves goes on where it was."""
    ana, joined = sole_member(conversation)
    bob = conversation.streams_member("bob")
    bob.enters(member_epoch=joined["member_epoch"] + 1, assigned={})
    ana.heartbeats(owned=ana.assigned, member_epoch=joined["member_epoch"], assigned={"0": (0, 1)})
    moved(conversation, ana, bob)

    is_loaded(ana, "Reconciling")
    ana.heartbeats(owned=ana.assigned, member_epoch=joined["member_epoch"] + 1, assigned=None)
    bob.heartbeats(owned=bob.assigned, member_epoch=joined["member_epoch"] + 1, assigned={"0": (2,)})
    ana.describes("Stable")


@scenario("streams_groups/failover/kill", source=LOADS, clauses=("KS-58",), needs=DIES)
def a_group_outlives_its_broker(conversation: Conversation) -> None:
    """A streams group whose coordinator's broker dies goes on in the same epochs."""
    ana, joined = sole_member(conversation)
    killed(conversation, ana)

    is_loaded(ana, "Stable")
    ana.heartbeats(owned=ana.assigned, member_epoch=joined["member_epoch"], assigned=None, statuses=())


@scenario("streams_groups/failover/disconnect", source=LOADS, clauses=("KS-58",), needs=DISCONNECTS)
def a_group_outlives_a_lost_network(conversation: Conversation) -> None:
    """A streams group whose coordinator's broker loses its network goes on in the same epochs."""
    ana, joined = sole_member(conversation)
    disconnected(conversation, ana)

    is_loaded(ana, "Stable")
    ana.heartbeats(owned=ana.assigned, member_epoch=joined["member_epoch"], assigned=None, statuses=())


@scenario("streams_groups/failover/former", source=RUNS, clauses=("KS-58",), needs=MOVES)
def a_former_coordinator_refuses(conversation: Conversation) -> None:
    """A broker that no longer coordinates a streams group answers NOT_COORDINATOR."""
    ana, joined = sole_member(conversation)
    epoch = joined["member_epoch"]
    conversation.moves_coordinator()

    ana.heartbeats(epoch=epoch, error_code=NOT_OURS)
    ana.heartbeats(epoch=-1, error_code=NOT_OURS)
    ana.asks(ask_describe(), expect_describe(error_code=NOT_OURS, members=()))
    ana.disconnects()
    is_loaded(ana, "Stable")
    ana.heartbeats(epoch=epoch, owned=ana.assigned, member_epoch=epoch, assigned=None)


@scenario("streams_groups/loading/converted", source=CONVERTS, clauses=("KS-40", "KS-56"), needs=RESTARTS)
def a_converted_group_stays_classic(conversation: Conversation) -> None:
    """After a restart, a classic group that took the id of an empty streams group is still there."""
    ana, _ = sole_member(conversation)
    ana.leaves()
    bob = conversation.actor("bob")
    conversation.stable_group(bob)
    conversation.restarts_coordinator()

    stable = expect.describe_groups(error_code="NONE", group_state="Stable")
    bob.repeats(ask.describe_groups(version=6), until=stable, within_ms=WITHIN_MS)
    bob.asks(ask_describe(), expect_describe(error_code="GROUP_ID_NOT_FOUND"))


@scenario("streams_groups/loading/not-converted", source=CONVERTS, clauses=("KS-40", "KS-56"), needs=RESTARTS)
def a_refused_classic_member_removes_no_records(conversation: Conversation) -> None:
    """After a restart, an empty streams group is there though a JoinGroup got UNKNOWN_MEMBER_ID in vain."""
    ana, joined = sole_member(conversation)
    ana.leaves()
    bob = conversation.actor("bob")
    bob.asks(ask.join_group(member_id="stranger"), expect.join_group(error_code="UNKNOWN_MEMBER_ID"))
    conversation.restarts_coordinator()

    is_loaded(ana, "Empty")
    ana.describes("Empty", epoch=joined["member_epoch"] + 1)
