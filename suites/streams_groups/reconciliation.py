"""Tasks that move from one member to another."""

from harness.scenario import Conversation, StreamsMember, scenario, subtopology, topic_info
from suites.consumer_groups.membership import topic_made
from suites.streams_groups.membership import ALL, sole_member

RECONCILES = "streams.CurrentAssignmentBuilder#build"
ASSIGNS = "StickyTaskAssignor#assign"
FENCES = "GroupMetadataManager#streamsGroupFenceMember"
TIMES = "GroupMetadataManager#scheduleStreamsGroupRebalanceTimeout"
STANDBYS = "streams.num.standby.replicas"
AT_ONCE = {"streams.initial.rebalance.delay.ms": 0}
EXPIRES = "GroupMetadataManager#scheduleStreamsGroupSessionTimeout"


def two_members(conversation: Conversation) -> tuple[StreamsMember, StreamsMember]:
    """Return ana with two tasks and bob with one, each in a process of its own."""
    ana, _ = sole_member(conversation)
    bob = conversation.streams_member("bob")
    bob.enters(assigned={}, standbys={})
    ana.heartbeats(owned=ana.assigned, assigned={"0": (0, 1)})
    ana.heartbeats(owned=ana.assigned, assigned=None)
    bob.heartbeats(owned=bob.assigned, assigned={"0": (2,)})
    return ana, bob


@scenario("streams_groups/reconciliation/second-joins", source=RECONCILES, clauses=("KS-33", "KS-53"))
def a_second_member_waits_for_its_tasks(conversation: Conversation) -> None:
    """A second member gets tasks when the first has given them up; until then the group is Reconciling."""
    ana, joined = sole_member(conversation)
    bob = conversation.streams_member("bob")
    bob.enters(member_epoch=joined["member_epoch"] + 1, assigned={}, statuses=())
    ana.describes("Reconciling", epoch=joined["member_epoch"] + 1)

    ana.heartbeats(owned=ana.assigned, member_epoch=joined["member_epoch"], assigned={"0": (0, 1)})
    bob.heartbeats(owned=bob.assigned, assigned=None)
    ana.heartbeats(owned=ana.assigned, member_epoch=joined["member_epoch"] + 1, assigned=None)
    bob.heartbeats(owned=bob.assigned, member_epoch=joined["member_epoch"] + 1, assigned={"0": (2,)})
    ana.describes("Stable")


@scenario("streams_groups/reconciliation/not-given-up", source=RECONCILES, clauses=("KS-33",))
def tasks_that_are_kept_are_not_given(conversation: Conversation) -> None:
    """While a member still runs a task that it must give up, no other member gets it."""
    ana, joined = sole_member(conversation)
    bob = conversation.streams_member("bob")
    bob.enters(assigned={})
    ana.heartbeats(owned=ana.assigned, assigned={"0": (0, 1)})

    ana.heartbeats(owned=ALL, member_epoch=joined["member_epoch"], assigned=None)
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=None)
    bob.heartbeats(owned=bob.assigned, assigned=None)


@scenario("streams_groups/reconciliation/one-leaves", source=FENCES, clauses=("KS-40",))
def the_others_take_over(conversation: Conversation) -> None:
    """When a member leaves, the other gets its tasks with the next heartbeat."""
    ana, bob = two_members(conversation)
    bob.leaves()

    ana.heartbeats(owned=ana.assigned, assigned=ALL)
    ana.describes("Stable")


@scenario("streams_groups/reconciliation/three-members", source=ASSIGNS, clauses=("KS-16",))
def each_of_three_runs_one_task(conversation: Conversation) -> None:
    """Of three members each gets one of three tasks."""
    ana, bob = two_members(conversation)
    carl = conversation.streams_member("carl")
    carl.enters(assigned={})

    ana.heartbeats(owned=ana.assigned)
    ana.heartbeats(owned=ana.assigned)
    bob.heartbeats(owned=bob.assigned)
    carl.heartbeats(owned=carl.assigned)
    ana.describes("Stable")


@scenario("streams_groups/reconciliation/two-threads", source=ASSIGNS, clauses=("KS-16",))
def members_of_one_process_share(conversation: Conversation) -> None:
    """Two members of one process share the tasks as two processes do."""
    ana = conversation.streams_member("ana")
    ana.enters(process_id="one", assigned=ALL)
    bob = conversation.streams_member("bob")
    bob.enters(process_id="one", assigned={})

    ana.heartbeats(owned=ana.assigned, assigned={"0": (0, 1)})
    ana.heartbeats(owned=ana.assigned, assigned=None)
    bob.heartbeats(owned=bob.assigned, assigned={"0": (2,)})


@scenario("streams_groups/reconciliation/two-subtopologies", source=ASSIGNS, clauses=("KS-16",))
def subtopologies_have_their_own_tasks(conversation: Conversation) -> None:
    """Tasks of two subtopologies are balanced together."""
    ana, bob = conversation.streams_member("ana"), conversation.streams_member("bob")
    parts = (subtopology("0"), subtopology("1", sources=("payments",)))
    ana.enters(*parts, assigned={"0": (0, 1, 2), "1": (0, 1)})
    bob.enters(*parts, assigned={})

    ana.heartbeats(owned=ana.assigned)
    ana.heartbeats(owned=ana.assigned, assigned=None)
    bob.heartbeats(owned=bob.assigned)
    ana.describes("Stable")


@scenario("streams_groups/reconciliation/standby", source=ASSIGNS, clauses=("KS-35",))
def standbys_run_elsewhere(conversation: Conversation) -> None:
    """With one standby replica, each task has a standby in the process that does not run it."""
    ana, bob = conversation.streams_member("ana"), conversation.streams_member("bob")
    changelog = topic_made(conversation, ana)
    stateful = subtopology(changelogs=(topic_info(changelog),))
    ana.configures({STANDBYS: 1, **AT_ONCE})
    ana.enters(stateful, assigned=ALL, standbys={})
    bob.enters(stateful, assigned={})

    ana.heartbeats(owned=ana.assigned)
    ana.heartbeats(owned=ana.assigned)
    bob.heartbeats(owned=bob.assigned)
    ana.heartbeats(owned=ana.assigned, standby=ana.standbys)
    ana.describes("Stable")


@scenario("streams_groups/reconciliation/no-warm-up", source=ASSIGNS, clauses=("KS-52",))
def no_task_is_warmed_up(conversation: Conversation) -> None:
    """A stateful task moves to a new member without a warm-up task there."""
    ana, bob = conversation.streams_member("ana"), conversation.streams_member("bob")
    changelog = topic_made(conversation, ana)
    stateful = subtopology(changelogs=(topic_info(changelog),))
    ana.enters(stateful, assigned=ALL, warmups={})
    bob.enters(stateful, assigned={}, warmups={})

    ana.heartbeats(owned=ana.assigned, assigned={"0": (0, 1)}, warmups={})
    ana.heartbeats(owned=ana.assigned)
    bob.heartbeats(owned=bob.assigned, assigned={"0": (2,)}, warmups={})
    ana.describes("Stable")


@scenario("streams_groups/reconciliation/standby-takes-over", source=ASSIGNS, clauses=("KS-35",))
def a_standby_takes_over(conversation: Conversation) -> None:
    """When the member that runs a task leaves, the member with its standby runs it."""
    ana, bob = conversation.streams_member("ana"), conversation.streams_member("bob")
    changelog = topic_made(conversation, ana)
    stateful = subtopology(changelogs=(topic_info(changelog),))
    ana.configures({STANDBYS: 1, **AT_ONCE})
    ana.enters(stateful, assigned=ALL, standbys={})
    bob.enters(stateful, assigned={})
    ana.leaves()

    bob.heartbeats(owned=bob.assigned, standby=bob.standbys)
    bob.heartbeats(owned=bob.assigned, standby=bob.standbys)
    bob.heartbeats(owned=bob.assigned, standby=bob.standbys)
    bob.describes("Stable")


@scenario("streams_groups/reconciliation/standbys-asked-for", source=ASSIGNS, clauses=("KS-35", "KS-41"))
def a_configuration_raises_the_epoch(conversation: Conversation) -> None:
    """When a group's number of standby tasks is changed, a heartbeat raises its epoch."""
    ana, joined = sole_member(conversation)
    ana.configures({STANDBYS: 1})

    ana.heartbeats(owned=ana.assigned, member_epoch=joined["member_epoch"] + 1, assigned=None)


@scenario("streams_groups/reconciliation/rebalance-timeout", source=TIMES, clauses=("KS-33",))
def whoever_keeps_its_tasks_is_fenced(conversation: Conversation) -> None:
    """A member that does not give up its tasks within its rebalance timeout gets UNKNOWN_MEMBER_ID."""
    ana, bob = conversation.streams_member("ana"), conversation.streams_member("bob")
    ana.enters(rebalance_timeout_ms=400, assigned=ALL)
    bob.enters(assigned={})
    ana.heartbeats(owned=ana.assigned, assigned={"0": (0, 1)})
    conversation.elapses(1_000)

    ana.heartbeats(owned=ALL, error_code="UNKNOWN_MEMBER_ID")
    bob.heartbeats(owned=bob.assigned, assigned=ALL)


@scenario("streams_groups/reconciliation/session", source=EXPIRES, clauses=("KS-40",))
def whoever_is_silent_is_fenced(conversation: Conversation) -> None:
    """A member that is silent for its session timeout gets UNKNOWN_MEMBER_ID, and the group is Empty."""
    ana = conversation.streams_member("ana")
    ana.configures({"streams.session.timeout.ms": 500, "streams.heartbeat.interval.ms": 100, **AT_ONCE})
    ana.enters(assigned=ALL, interval_ms=100)
    conversation.elapses(1_500)

    ana.heartbeats(owned=ana.assigned, error_code="UNKNOWN_MEMBER_ID")
    ana.describes("Empty", members=())
