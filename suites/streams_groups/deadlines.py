"""When tasks are assigned again, and when whoever keeps its tasks is removed."""

from harness.scenario import Conversation, StreamsMember, scenario, subtopology, topic_info
from suites.consumer_groups.membership import topic_made
from suites.streams_groups.membership import ALL, sole_member
from suites.streams_groups.reconciliation import ASSIGNS, AT_ONCE, RECONCILES, STANDBYS, TIMES

COMPUTES = "GroupMetadataManager#canComputeNextTargetAssignment"
RELABELS = "StreamsGroup#relabelRefinedAssignment"
INTERVAL = "streams.assignment.interval.ms"
DELAYED = 5


def _settle(*members: StreamsMember) -> None:
    """Let members heartbeat with the tasks that they were last assigned, four times in turn."""
    for _ in range(4):
        for each in members:
            each.heartbeats(owned=each.assigned, standby=each.standbys)


@scenario("streams_groups/reconciliation/rebalance-timeout-heartbeats", source=TIMES, clauses=("KS-33",))
def heartbeats_do_not_put_off_the_rebalance_timeout(conversation: Conversation) -> None:
    """A member that goes on heartbeating with a task to give up is removed at its rebalance timeout."""
    ana, bob = conversation.streams_member("ana"), conversation.streams_member("bob")
    ana.enters(rebalance_timeout_ms=3_000, assigned=ALL)
    bob.enters(assigned={})
    ana.heartbeats(owned=ana.assigned, assigned={"0": (0, 1)})
    conversation.elapses(2_000)
    ana.heartbeats(owned=ALL, assigned=None)
    conversation.elapses(1_600)

    ana.heartbeats(owned=ALL, error_code="UNKNOWN_MEMBER_ID")


@scenario("streams_groups/reconciliation/interval", source=COMPUTES, clauses=("KS-41", "KS-53"))
def assignments_keep_their_distance(conversation: Conversation) -> None:
    """A new epoch within the assignment interval is assigned only when the interval is over."""
    ana, joined = sole_member(conversation)
    ana.configures({INTERVAL: 3_000, **AT_ONCE})
    epoch = joined["member_epoch"]

    ana.heartbeats(version=1, rack_id="one", statuses=(DELAYED,), member_epoch=epoch, assigned=None)
    ana.describes("Assigning", epoch=epoch + 1, assignment_epoch=epoch)
    conversation.elapses(3_000)
    ana.heartbeats(rack_id="one", statuses=(), member_epoch=epoch + 1, assigned=None)


@scenario("streams_groups/reconciliation/interval-heartbeats", source=COMPUTES, clauses=("KS-41",))
def heartbeats_do_not_put_off_an_assignment(conversation: Conversation) -> None:
    """A heartbeat that changes nothing does not begin the assignment interval anew."""
    ana, joined = sole_member(conversation)
    ana.configures({INTERVAL: 3_000, **AT_ONCE})
    conversation.elapses(2_000)
    ana.heartbeats(version=1, owned=ana.assigned, member_epoch=joined["member_epoch"], assigned=None)
    conversation.elapses(2_000)

    ana.heartbeats(rack_id="one", statuses=(), member_epoch=joined["member_epoch"] + 1, assigned=None)


@scenario("streams_groups/reconciliation/standby-runs-nothing", source=RECONCILES, clauses=("KS-33", "KS-35"))
def a_standby_that_is_given_up_becomes_active(conversation: Conversation) -> None:
    """A member that runs nothing any more gets as active tasks what it had as standby tasks."""
    ana, bob = conversation.streams_member("ana"), conversation.streams_member("bob")
    stateful = subtopology(changelogs=(topic_info(topic_made(conversation, ana)),))
    ana.configures({STANDBYS: 1, **AT_ONCE})
    ana.enters(stateful, assigned=ALL, standbys={})
    bob.enters(stateful, assigned={})
    ana.leaves()

    bob.heartbeats(owned={}, standby={})
    bob.heartbeats(owned={}, standby={})
    bob.heartbeats(owned=ALL, standby={})
    bob.describes("Stable")


@scenario("streams_groups/reconciliation/standby-beside-it", source=RECONCILES, clauses=("KS-33", "KS-35"))
def a_process_runs_a_task_once(conversation: Conversation) -> None:
    """Two members of one process, and one of another, swap active and standby tasks as members go."""
    ana, bob = conversation.streams_member("ana"), conversation.streams_member("bob")
    carl, dora = conversation.streams_member("carl"), conversation.streams_member("dora")
    stateful = subtopology(changelogs=(topic_info(topic_made(conversation, ana)),))
    ana.configures({STANDBYS: 1, **AT_ONCE})
    members = ana, bob, carl, dora
    for each, process in zip(members, ("one", "one", "two", "two"), strict=True):
        each.enters(stateful, process_id=process)
    _settle(*members)
    ana.leaves()
    _settle(bob, carl, dora)
    ana.enters(stateful, process_id="two")
    carl.leaves()
    _settle(ana, bob, dora)
    bob.describes("Stable")


@scenario("streams_groups/reconciliation/two-standbys", source=ASSIGNS, clauses=("KS-35",))
def each_task_has_two_standbys(conversation: Conversation) -> None:
    """With two standby replicas, tasks and standbys of four processes settle anew as two of them leave."""
    ana, bob = conversation.streams_member("ana"), conversation.streams_member("bob")
    carl, dora = conversation.streams_member("carl"), conversation.streams_member("dora")
    parts = (
        subtopology(changelogs=(topic_info(topic_made(conversation, ana)),)),
        subtopology("1", sources=("payments",)),
    )
    ana.configures({STANDBYS: 2, **AT_ONCE})
    for newcomer, others in ((ana, ()), (bob, (ana,)), (carl, (ana, bob)), (dora, (ana, bob, carl))):
        newcomer.enters(*parts)
        _settle(*others, newcomer)
    bob.leaves()
    _settle(ana, carl, dora)
    carl.leaves()
    _settle(ana, dora)
    ana.describes("Stable")


@scenario("streams_groups/static/refused-successor-waits", source=RELABELS, clauses=("KS-40", "KS-47"))
def whoever_was_refused_waits_for_the_tasks(conversation: Conversation) -> None:
    """A member whose static join was refused and that joins without the instance id gets its tasks."""
    ana, carl = conversation.streams_member("ana", instance_id="one"), conversation.streams_member("carl")
    ana.configures({INTERVAL: 15_000, **AT_ONCE})
    ana.enters(version=1, assigned=ALL)
    ana.heartbeats(version=1, owned=ana.assigned, assigned=None)
    carl.enters(version=1, instance_id="one", error_code="UNRELEASED_INSTANCE_ID")
    carl.enters(version=1, assigned={}, statuses=(DELAYED,))
    ana.leaves()

    carl.heartbeats(version=1, owned={}, assigned=ALL, statuses=(DELAYED,))
