"""Static members, which streams groups have since 4.4: instance ids that outlive their members."""

from harness.scenario import LEAVES_FOR_A_WHILE, Answer, Conversation, StreamsMember, scenario
from suites.streams_groups.membership import ALL
from suites.streams_groups.reconciliation import AT_ONCE

SUBSCRIBES = "GroupMetadataManager#getOrMaybeCreateStaticStreamsGroupMember"
LEAVES = "GroupMetadataManager#streamsGroupLeave"
LEAVES_A_WHILE = "GroupMetadataManager#streamsGroupStaticMemberGroupLeave"
REPLACES = "GroupMetadataManager#replaceStreamsMember"
RENAMES = "StreamsGroup#updateStaticMember"
CHANGES = "GroupMetadataManager#hasEpochRelevantMemberConfigChanged"
LIMITS = "GroupMetadataManager#throwIfStreamsGroupIsFull"
RELABELS = "StreamsGroup#relabelRefinedAssignment"
KEEPS = "GroupMetadataManager#refinedAssignmentForEpoch"
SHORT = {"streams.session.timeout.ms": 500, "streams.heartbeat.interval.ms": 100, **AT_ONCE}
LONG_INTERVAL = {"streams.assignment.interval.ms": 15_000, **AT_ONCE}


def static_member(conversation: Conversation) -> tuple[StreamsMember, Answer]:
    """Return ana, with instance id `one` and all tasks, and the answer to her join."""
    ana = conversation.streams_member("ana", instance_id="one")
    return ana, ana.enters(version=1, assigned=ALL)


@scenario("streams_groups/static/joins", source=SUBSCRIBES, clauses=("KS-07",))
def a_member_may_be_static(conversation: Conversation) -> None:
    """A member that joins with an instance id is described with it."""
    ana, joined = static_member(conversation)

    ana.heartbeats(owned=ana.assigned, member_epoch=joined["member_epoch"], assigned=None)
    ana.describes("Stable", members=({"member_id": ana.member_id, "instance_id": "one"},))


@scenario("streams_groups/static/in-use", source=SUBSCRIBES, clauses=("KS-07",))
def an_instance_id_in_use_is_not_released(conversation: Conversation) -> None:
    """A streams join with the instance id of an active member, even its own, gets UNRELEASED_INSTANCE_ID."""
    ana, joined = static_member(conversation)
    bob = conversation.streams_member("bob", instance_id="one")

    bob.enters(version=1, error_code="UNRELEASED_INSTANCE_ID")
    ana.enters(version=1, error_code="UNRELEASED_INSTANCE_ID")
    ana.heartbeats(owned=ana.assigned, member_epoch=joined["member_epoch"], assigned=None)


@scenario("streams_groups/static/not-named", source=SUBSCRIBES, clauses=("KS-07",))
def a_static_member_need_not_say_so(conversation: Conversation) -> None:
    """A static streams member may heartbeat and join again without its instance id, and keeps it."""
    ana, joined = static_member(conversation)

    ana.heartbeats(instance_id=None, member_epoch=joined["member_epoch"], assigned=None)
    ana.enters(instance_id=None, member_epoch=joined["member_epoch"], assigned=ALL)
    ana.describes("Stable", members=({"member_id": ana.member_id, "instance_id": "one"},))


@scenario("streams_groups/static/renamed", source=RENAMES, clauses=("KS-07",))
def a_static_member_may_change_its_instance(conversation: Conversation) -> None:
    """A member that rejoins with another instance id gets it, and the former one is free."""
    ana, joined = static_member(conversation)
    bob = conversation.streams_member("bob", instance_id="one")
    ana.enters(instance_id="two", member_epoch=joined["member_epoch"], assigned=ALL)

    bob.enters(version=1, member_epoch=joined["member_epoch"] + 1, assigned={})
    ana.heartbeats(instance_id="one", error_code="FENCED_INSTANCE_ID")


@scenario("streams_groups/static/unknown", source=SUBSCRIBES, clauses=("KS-07",))
def an_instance_joins_first(conversation: Conversation) -> None:
    """A heartbeat or a leave with an unused instance id gets UNKNOWN_MEMBER_ID."""
    ana, joined = static_member(conversation)

    for epoch in (joined["member_epoch"], -1, LEAVES_FOR_A_WHILE):
        ana.heartbeats(version=1, epoch=epoch, instance_id="two", error_code="UNKNOWN_MEMBER_ID")


@scenario("streams_groups/static/fenced", source=SUBSCRIBES, clauses=("KS-07",))
def an_instance_is_one_member(conversation: Conversation) -> None:
    """A heartbeat or a leave with another member's instance id gets FENCED_INSTANCE_ID."""
    _, joined = static_member(conversation)
    bob = conversation.streams_member("bob", instance_id="one")

    for epoch in (joined["member_epoch"], -1, LEAVES_FOR_A_WHILE):
        bob.heartbeats(version=1, epoch=epoch, error_code="FENCED_INSTANCE_ID")


@scenario("streams_groups/static/epoch", source=SUBSCRIBES, clauses=("KS-07", "KS-22"))
def a_static_member_has_an_epoch(conversation: Conversation) -> None:
    """A heartbeat of a static member in another epoch than its own gets FENCED_MEMBER_EPOCH."""
    ana, joined = static_member(conversation)

    ana.heartbeats(version=1, epoch=joined["member_epoch"] + 1, error_code="FENCED_MEMBER_EPOCH")
    ana.heartbeats(version=1, epoch=joined["member_epoch"] - 1, error_code="FENCED_MEMBER_EPOCH")


@scenario("streams_groups/static/away", source=LEAVES_A_WHILE, clauses=("KS-47",))
def a_static_member_leaves_for_a_while(conversation: Conversation) -> None:
    """A static member that leaves temporarily keeps its tasks, and the group its epoch."""
    ana, joined = static_member(conversation)
    ana.leaves(epoch=LEAVES_FOR_A_WHILE)

    tasks = {"active_tasks": ({"subtopology_id": "0", "partitions": (0, 1, 2)},)}
    away = {"member_id": ana.member_id, "member_epoch": LEAVES_FOR_A_WHILE, "assignment": tasks}
    ana.describes("Reconciling", epoch=joined["member_epoch"], members=(away,))
    ana.heartbeats(version=1, epoch=joined["member_epoch"], error_code="FENCED_MEMBER_EPOCH")


@scenario("streams_groups/static/successor", source=REPLACES, clauses=("KS-47",))
def a_successor_gets_the_tasks(conversation: Conversation) -> None:
    """A static member that replaces one that left temporarily gets its tasks, in the same epoch."""
    ana, joined = static_member(conversation)
    bob = conversation.streams_member("bob", instance_id="one")
    ana.leaves(epoch=LEAVES_FOR_A_WHILE)

    bob.enters(version=1, process_id="process-ana", member_epoch=joined["member_epoch"], assigned=ALL)
    bob.describes("Stable", epoch=joined["member_epoch"], members=({"member_id": bob.member_id},))
    bob.heartbeats(version=1, epoch=1, owned=ALL, error_code="FENCED_MEMBER_EPOCH")
    ana.heartbeats(version=1, epoch=joined["member_epoch"], error_code="FENCED_INSTANCE_ID")
    ana.heartbeats(instance_id=None, epoch=joined["member_epoch"], error_code="UNKNOWN_MEMBER_ID")


@scenario("streams_groups/static/successor-elsewhere", source=CHANGES, clauses=("KS-41", "KS-47"))
def a_successor_elsewhere_raises_the_epoch(conversation: Conversation) -> None:
    """A static member's successor in another process raises the group epoch, and still gets the tasks."""
    ana, joined = static_member(conversation)
    bob = conversation.streams_member("bob", instance_id="one")
    ana.leaves(epoch=LEAVES_FOR_A_WHILE)

    bob.enters(version=1, member_epoch=joined["member_epoch"] + 1, assigned=ALL)


@scenario("streams_groups/static/returns", source=REPLACES, clauses=("KS-47",))
def a_static_member_comes_back(conversation: Conversation) -> None:
    """A static member that left temporarily and joins again gets its tasks, in the same epoch."""
    ana, joined = static_member(conversation)
    ana.leaves(epoch=LEAVES_FOR_A_WHILE)

    ana.enters(version=1, member_epoch=joined["member_epoch"], assigned=ALL)
    ana.heartbeats(owned=ana.assigned, member_epoch=joined["member_epoch"], assigned=None)
    ana.describes("Stable", epoch=joined["member_epoch"])


@scenario("streams_groups/static/away-expires", source=LEAVES_A_WHILE, clauses=("KS-47",))
def a_static_member_is_away_for_its_session(conversation: Conversation) -> None:
    """A static member that left temporarily is removed at its session timeout."""
    ana = conversation.streams_member("ana", instance_id="one")
    ana.configures(SHORT)
    ana.enters(version=1, assigned=ALL)
    ana.leaves(epoch=LEAVES_FOR_A_WHILE)
    conversation.elapses(1_500)

    ana.describes("Empty", members=())


@scenario("streams_groups/static/leaves", source=LEAVES, clauses=("KS-40", "KS-47"))
def a_static_member_leaves_for_good(conversation: Conversation) -> None:
    """A static member that leaves for good is removed, and its instance id is free."""
    ana, joined = static_member(conversation)
    bob = conversation.streams_member("bob", instance_id="one")
    ana.leaves()

    ana.describes("Empty", epoch=joined["member_epoch"] + 1, members=())
    bob.enters(version=1, assigned=ALL)


@scenario("streams_groups/static/pending", source=LEAVES_A_WHILE, clauses=("KS-33", "KS-47"))
def a_member_that_is_away_need_not_give_up(conversation: Conversation) -> None:
    """Tasks that a member was revoking are free when it leaves temporarily."""
    ana, _ = static_member(conversation)
    bob = conversation.streams_member("bob")
    bob.enters(assigned={})
    ana.heartbeats(owned=ana.assigned, assigned={"0": (0, 1)})
    ana.leaves(epoch=LEAVES_FOR_A_WHILE)

    bob.heartbeats(owned=bob.assigned, assigned={"0": (2,)})
    ana.enters(version=1, assigned={"0": (0, 1)})


@scenario("streams_groups/static/pending-expires", source=LEAVES_A_WHILE, clauses=("KS-33", "KS-47"))
def a_member_that_is_away_has_no_rebalance_timeout(conversation: Conversation) -> None:
    """A member that left temporarily while it was revoking tasks is not removed at its rebalance timeout."""
    ana, _ = static_member(conversation)
    ana.heartbeats(version=1, rebalance_timeout_ms=1_000)
    conversation.streams_member("bob").enters(assigned={})
    ana.heartbeats(owned=ana.assigned, assigned={"0": (0, 1)})
    ana.leaves(epoch=LEAVES_FOR_A_WHILE)
    conversation.elapses(1_600)

    ana.describes("Reconciling")
    ana.enters(version=1, assigned={"0": (0, 1)})


@scenario("streams_groups/static/former-session", source=REPLACES, clauses=("KS-47",))
def the_former_members_session_ends_unnoticed(conversation: Conversation) -> None:
    """When the session of a replaced member would have ended, its successor stays."""
    ana = conversation.streams_member("ana", instance_id="one")
    bob = conversation.streams_member("bob", instance_id="one")
    ana.configures({"streams.session.timeout.ms": 4_000, "streams.heartbeat.interval.ms": 500, **AT_ONCE})
    joined = ana.enters(version=1, assigned=ALL)
    ana.leaves(epoch=LEAVES_FOR_A_WHILE)
    conversation.elapses(2_500)
    bob.enters(version=1, process_id="process-ana", member_epoch=joined["member_epoch"], assigned=ALL)
    conversation.elapses(2_500)

    bob.heartbeats(owned=bob.assigned, member_epoch=joined["member_epoch"], assigned=None)
    bob.describes("Stable", epoch=joined["member_epoch"], members=({"member_id": bob.member_id},))


@scenario("streams_groups/static/tells-anew", source=CHANGES, clauses=("KS-41",))
def not_all_that_is_new_raises_the_epoch(conversation: Conversation) -> None:
    """For a static member, only a new rack, process or tag raises the group epoch."""
    ana, joined = static_member(conversation)
    epoch = joined["member_epoch"]

    ana.heartbeats(rebalance_timeout_ms=5_000, member_epoch=epoch, assigned=None)
    ana.heartbeats(endpoint=("host", 80), member_epoch=epoch, assigned=None)
    ana.heartbeats(rack_id="north", member_epoch=epoch + 1, assigned=None)
    ana.heartbeats(tags={"zone": "a"}, member_epoch=epoch + 2, assigned=None)
    ana.heartbeats(process_id="two", member_epoch=epoch + 3, assigned=None)


@scenario(
    "streams_groups/static/full",
    source=LIMITS,
    clauses=("KS-38", "KS-47"),
    broker_config={"group.streams.max.size": 1},
)
def a_successor_fits_a_full_group(conversation: Conversation) -> None:
    """A static member's successor may join a full group; another instance gets GROUP_MAX_SIZE_REACHED."""
    ana, _ = static_member(conversation)
    bob = conversation.streams_member("bob", instance_id="one")
    carl = conversation.streams_member("carl", instance_id="two")
    ana.leaves(epoch=LEAVES_FOR_A_WHILE)

    carl.enters(version=1, error_code="GROUP_MAX_SIZE_REACHED")
    bob.enters(version=1, assigned=ALL)


@scenario(
    "streams_groups/static/full-after-leaving",
    source=LIMITS,
    clauses=("KS-38", "KS-47"),
    broker_config={"group.streams.max.size": 1},
)
def whoever_left_for_good_has_no_room_left(conversation: Conversation) -> None:
    """The instance id of a member that left for good does not get into a full group."""
    ana, _ = static_member(conversation)
    bob, carl = conversation.streams_member("bob"), conversation.streams_member("carl", instance_id="one")
    ana.leaves()
    bob.enters(version=1, assigned=ALL)

    carl.enters(version=1, error_code="GROUP_MAX_SIZE_REACHED")


def _refused_successor(conversation: Conversation) -> tuple[StreamsMember, StreamsMember]:
    """Return ana, who waits for a task and whose instance id another one asked for in vain, and bob."""
    bob, ana = conversation.streams_member("bob"), conversation.streams_member("ana", instance_id="one")
    carl = conversation.streams_member("carl", instance_id="one")
    bob.enters(assigned=ALL)
    ana.enters(version=1, assigned={})
    bob.heartbeats(owned=bob.assigned)
    carl.enters(version=1, error_code="UNRELEASED_INSTANCE_ID")
    bob.heartbeats(owned=bob.assigned)
    return ana, bob


@scenario("streams_groups/static/refused-successor", source=RELABELS, clauses=("KS-47",))
def a_refused_successor_takes_what_is_to_come(conversation: Conversation) -> None:
    """A waiting member gets no task after a join with its instance id was refused, until all is done."""
    ana, bob = _refused_successor(conversation)

    ana.heartbeats(version=1, owned=ana.assigned)
    ana.heartbeats(version=1, owned=ana.assigned)
    ana.heartbeats(version=1, owned=ana.assigned)
    bob.heartbeats(owned=bob.assigned)
    ana.heartbeats(version=1, owned=ana.assigned)
    ana.describes("Stable")


@scenario("streams_groups/static/refused-successor-interval", source=RELABELS, clauses=("KS-47",))
def what_is_to_come_is_no_new_assignment(conversation: Conversation) -> None:
    """A waiting member gets its target in a later epoch, though the assignment interval is not over."""
    ana, bob = _refused_successor(conversation)
    bob.configures(LONG_INTERVAL)

    for _ in range(4):
        ana.heartbeats(version=1, owned=ana.assigned, statuses=())
        bob.heartbeats(owned=bob.assigned, statuses=())
    ana.describes("Stable")


@scenario("streams_groups/static/back-at-once", source=KEEPS, clauses=("KS-40",))
def a_member_that_is_back_at_once_has_its_tasks(conversation: Conversation) -> None:
    """A member that leaves and rejoins before the next assignment gets its former tasks."""
    ana, bob = conversation.streams_member("ana"), conversation.streams_member("bob")
    ana.enters(version=1, assigned=ALL)
    bob.enters(assigned={})
    ana.heartbeats(owned=ana.assigned, assigned={"0": (0, 1)})
    ana.heartbeats(owned=ana.assigned, assigned=None)
    bob.heartbeats(owned=bob.assigned, assigned={"0": (2,)})
    ana.configures(LONG_INTERVAL)
    bob.leaves()

    bob.enters(statuses=(5,), assigned={"0": (2,)})
    ana.describes("Assigning")


@scenario("streams_groups/static/back-at-once-without-warm-ups", source=KEEPS, clauses=("KS-40",))
def without_warm_ups_nothing_is_kept(conversation: Conversation) -> None:
    """Without warm-up tasks in the group, a member that leaves and rejoins at once waits for tasks."""
    ana, bob = conversation.streams_member("ana"), conversation.streams_member("bob")
    ana.configures({"streams.num.warmup.replicas": 0, **AT_ONCE})
    ana.enters(version=1, assigned=ALL)
    bob.enters(assigned={})
    ana.heartbeats(owned=ana.assigned, assigned={"0": (0, 1)})
    ana.heartbeats(owned=ana.assigned, assigned=None)
    bob.heartbeats(owned=bob.assigned, assigned={"0": (2,)})
    ana.configures({"streams.num.warmup.replicas": 0, **LONG_INTERVAL})
    bob.leaves()

    bob.enters(statuses=(5,), assigned={})
