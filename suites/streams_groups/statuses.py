"""What members get beside their tasks: delays, endpoints, and requests to shut down."""

from harness.scenario import (
    Conversation,
    ask,
    expect,
    one_of,
    scenario,
    subtopology,
    topic_info,
)
from suites.consumer_groups.membership import deletes, topic_made
from suites.streams_groups.membership import ALL, HEARTBEATS, sole_member

DELAYS = "GroupMetadataManager#computeDelayedTargetAssignment"
CONFIGURES = "GroupCoordinatorConfig#extractGroupConfigMap"
LIMITS = "GroupMetadataManager#throwIfStreamsGroupIsFull"
ENDPOINTS = "StreamsGroup#buildEndpointToPartitions"
DELAYED, SHUTDOWN = 5, 4
DELAY_MS = 2_000
AFTER_MS = 3_000


@scenario("streams_groups/delay/first", source=DELAYS, clauses=("KS-19", "KS-53"))
def the_first_assignment_waits(conversation: Conversation) -> None:
    """Until the initial rebalance delay is over, members get no tasks and a status that says so."""
    ana = conversation.streams_member("ana")
    ana.configures({"streams.initial.rebalance.delay.ms": DELAY_MS})
    ana.enters(member_epoch=1, assigned={}, statuses=(DELAYED,))
    ana.describes("Assigning", epoch=2)
    ana.heartbeats(owned={}, member_epoch=1, assigned=None, statuses=(DELAYED,))
    conversation.elapses(AFTER_MS)

    ana.describes("Reconciling", epoch=2, assignment_epoch=2)
    ana.heartbeats(owned={}, member_epoch=2, assigned=ALL, statuses=())
    ana.describes("Stable", epoch=2, assignment_epoch=2)


@scenario("streams_groups/delay/nobody-left", source=DELAYS, clauses=("KS-19", "KS-40"))
def an_empty_group_is_not_assigned(conversation: Conversation) -> None:
    """When all members leave within the initial rebalance delay, its end changes nothing."""
    ana = conversation.streams_member("ana")
    ana.configures({"streams.initial.rebalance.delay.ms": DELAY_MS})
    ana.enters(assigned={}, statuses=(DELAYED,))
    ana.heartbeats(owned={}, assigned=None, statuses=(DELAYED,))
    ana.leaves()
    ana.describes("Empty", epoch=3)
    conversation.elapses(AFTER_MS)

    ana.describes("Empty", epoch=3)
    ana.enters(assigned={}, statuses=(DELAYED,))


@scenario("streams_groups/delay/missing-source", source=DELAYS, clauses=("KS-19", "KS-27", "KS-53"))
def a_group_that_waits_may_not_be_ready(conversation: Conversation) -> None:
    """Within the initial rebalance delay, a group with missing source topics is NotReady."""
    ana, missing = conversation.streams_member("ana"), conversation.group("missing")
    ana.configures({"streams.initial.rebalance.delay.ms": 15_000})
    ana.enters(subtopology(sources=(missing,)), assigned={}, statuses=(DELAYED, 1))

    ana.describes("NotReady")


@scenario("streams_groups/delay/classic", source="GroupMetadataManager#classicGroupJoin", clauses=("KS-19",))
def a_classic_group_has_no_delay_left(conversation: Conversation) -> None:
    """A streams group's initial rebalance delay does not touch the classic group that takes its id."""
    ana, bob = conversation.streams_member("ana"), conversation.actor("bob")
    ana.configures({"streams.initial.rebalance.delay.ms": DELAY_MS})
    ana.enters(assigned={}, statuses=(DELAYED,))
    ana.leaves()
    conversation.stable_group(bob)
    conversation.elapses(AFTER_MS)

    bob.asks(ask.describe_groups(version=6), expect.describe_groups(error_code="NONE", group_state="Stable"))


@scenario("streams_groups/delay/two-members", source=DELAYS, clauses=("KS-19",))
def members_that_come_meanwhile_share(conversation: Conversation) -> None:
    """Members that join within the initial rebalance delay share the tasks from the beginning."""
    ana, bob = conversation.streams_member("ana"), conversation.streams_member("bob")
    ana.configures({"streams.initial.rebalance.delay.ms": DELAY_MS})
    ana.enters(assigned={}, statuses=(DELAYED,))
    bob.enters(assigned={}, statuses=(DELAYED,))
    conversation.elapses(AFTER_MS)

    ana.heartbeats(owned={}, statuses=())
    bob.heartbeats(owned={}, statuses=())
    ana.describes("Stable")


@scenario("streams_groups/delay/heard-once", source=DELAYS, clauses=("KS-19",))
def a_group_that_was_heard_once_is_assigned_later(conversation: Conversation) -> None:
    """A member that has only joined gets its tasks with its first heartbeat after the delay."""
    ana = conversation.streams_member("ana")
    ana.configures({"streams.initial.rebalance.delay.ms": DELAY_MS})
    ana.enters(assigned={}, statuses=(DELAYED,))
    conversation.elapses(AFTER_MS)

    ana.describes("Assigning")
    ana.heartbeats(owned={}, assigned=ALL, statuses=())


@scenario("streams_groups/delay/otherwise-configured", source=CONFIGURES, clauses=("KS-19",))
def a_configured_group_has_the_brokers_delay(conversation: Conversation) -> None:
    """Since 4.3, a group with any configuration of its own uses the broker's initial rebalance delay."""
    ana = conversation.streams_member("ana")
    ana.configures({"streams.num.standby.replicas": 1})

    ana.enters()


@scenario("streams_groups/statuses/shutdown", source=HEARTBEATS, clauses=("KS-18",))
def one_member_may_stop_all(conversation: Conversation) -> None:
    """When a member requests it, all members get the shutdown status until the group is Empty."""
    ana, _ = sole_member(conversation)
    bob = conversation.streams_member("bob")
    ana.heartbeats(owned=ana.assigned, shuts_down=True, statuses=(SHUTDOWN,))

    bob.enters(statuses=(SHUTDOWN,))
    bob.heartbeats(owned={}, statuses=(SHUTDOWN,))
    bob.leaves()
    ana.leaves()
    ana.enters(statuses=())


@scenario("streams_groups/statuses/shutdown-leaving", source=HEARTBEATS, clauses=("KS-18",))
def whoever_leaves_may_stop_all(conversation: Conversation) -> None:
    """A member that leaves may request the others to shut down."""
    ana, _ = sole_member(conversation)
    bob = conversation.streams_member("bob")
    bob.enters(assigned={})
    bob.heartbeats(epoch=-1, shuts_down=True, member_epoch=-1)

    ana.heartbeats(owned=ana.assigned, statuses=(SHUTDOWN,))


@scenario("streams_groups/endpoints/own", source=ENDPOINTS, clauses=("KS-34",))
def a_member_hears_where_it_can_be_asked(conversation: Conversation) -> None:
    """A member with an endpoint gets its endpoint's partitions when they change, and not again."""
    ana = conversation.streams_member("ana")
    ana.enters(endpoint=("host", 80), assigned=ALL)
    ana.heartbeats(owned=ana.assigned, endpoint_epoch=0)
    ana.heartbeats(owned=ana.assigned, endpoint_epoch=1)


@scenario("streams_groups/endpoints/two", source=ENDPOINTS, clauses=("KS-34",))
def members_hear_of_each_other(conversation: Conversation) -> None:
    """Members get each other's endpoints as tasks move."""
    ana, bob = conversation.streams_member("ana"), conversation.streams_member("bob")
    ana.enters(endpoint=("ana", 80), assigned=ALL)
    bob.enters(endpoint=("bob", 81), assigned={})
    ana.heartbeats(owned=ana.assigned, endpoint_epoch=1)
    ana.heartbeats(owned=ana.assigned, endpoint_epoch=2)
    bob.heartbeats(owned=bob.assigned, endpoint_epoch=1)
    ana.heartbeats(owned=ana.assigned, endpoint_epoch=3)


@scenario("streams_groups/endpoints/missing-source", source=ENDPOINTS, clauses=("KS-27", "KS-34"))
def endpoints_need_a_topology_that_runs(conversation: Conversation) -> None:
    """A member with an endpoint but with missing source topics gets UNKNOWN_SERVER_ERROR."""
    ana, missing = conversation.streams_member("ana"), conversation.group("missing")

    ana.enters(subtopology(sources=(missing,)), endpoint=("host", 80), error_code="UNKNOWN_SERVER_ERROR")


@scenario(
    "streams_groups/membership/full",
    source=LIMITS,
    clauses=("KS-38",),
    broker_config={"group.streams.max.size": 1},
)
def a_full_group_takes_nobody(conversation: Conversation) -> None:
    """A full streams group refuses a new member with GROUP_MAX_SIZE_REACHED; members may heartbeat."""
    ana, _ = sole_member(conversation)
    bob = conversation.streams_member("bob")

    bob.enters(error_code="GROUP_MAX_SIZE_REACHED")
    ana.heartbeats(owned=ana.assigned, assigned=None)
    ana.leaves()
    bob.enters(assigned=ALL)


@scenario(
    "streams_groups/membership/full-again",
    source=LIMITS,
    clauses=("KS-38",),
    broker_config={"group.streams.max.size": 1},
)
def a_member_of_a_full_group_joins_again(conversation: Conversation) -> None:
    """A member of a full streams group may join again since 4.4."""
    ana, _ = sole_member(conversation)

    ana.enters(error_code=one_of("NONE", "GROUP_MAX_SIZE_REACHED"))


@scenario("streams_groups/membership/joins-again", source=HEARTBEATS, clauses=("KS-23",))
def a_member_may_join_again(conversation: Conversation) -> None:
    """A member that joins again keeps its epoch and gets all its tasks."""
    ana, joined = sole_member(conversation)

    ana.enters(member_epoch=joined["member_epoch"], assigned=ALL)


@scenario("streams_groups/membership/tells-anew", source=HEARTBEATS, clauses=("KS-41",))
def whatever_is_new_raises_the_epoch(conversation: Conversation) -> None:
    """Any change in a member's details raises the group epoch."""
    ana, joined = sole_member(conversation)

    ana.heartbeats(rack_id="north", member_epoch=joined["member_epoch"] + 1, assigned=None)
    ana.heartbeats(rack_id="north", member_epoch=joined["member_epoch"] + 1, assigned=None)
    ana.heartbeats(tags={"zone": "a"}, member_epoch=joined["member_epoch"] + 2, assigned=None)
    ana.heartbeats(process_id="two", member_epoch=joined["member_epoch"] + 3, assigned=None)
    ana.heartbeats(rebalance_timeout_ms=5_000, member_epoch=joined["member_epoch"] + 4, assigned=None)


@scenario("streams_groups/endpoints/smaller-topic", source=ENDPOINTS, clauses=("KS-34", "KS-35"))
def endpoints_have_partitions_that_exist(conversation: Conversation) -> None:
    """Of a source topic with fewer partitions than others, since 4.4 endpoints have only those that exist."""
    ana, bob = conversation.streams_member("ana"), conversation.streams_member("bob")
    changelog = topic_info(topic_made(conversation, ana))
    part = subtopology(sources=("orders", "payments"), changelogs=(changelog,))
    ana.configures({"streams.num.standby.replicas": 1, "streams.initial.rebalance.delay.ms": 0})
    ana.enters(part, endpoint=("ana", 80), assigned=ALL)
    bob.enters(part, endpoint=("bob", 81), assigned={})
    for _ in range(4):
        for each in (ana, bob):
            each.heartbeats(owned=each.assigned, standby=each.standbys, endpoint_epoch=9)
    ana.describes("Stable")


@scenario("streams_groups/endpoints/topic-gone", source=ENDPOINTS, clauses=("KS-27", "KS-34"))
def endpoints_need_their_topics(conversation: Conversation) -> None:
    """While a repartition topic of tasks with an endpoint is gone, a heartbeat gets UNKNOWN_SERVER_ERROR."""
    ana, bob = conversation.streams_member("ana"), conversation.streams_member("bob")
    topic = topic_made(conversation, ana)
    part = subtopology(sinks=(topic,), repartitions=(topic_info(topic),))
    ana.enters(part, endpoint=("ana", 80), assigned=ALL)
    bob.enters(part, assigned={})
    deletes(ana, topic)

    bob.heartbeats(owned={}, endpoint_epoch=9, error_code="UNKNOWN_SERVER_ERROR")
