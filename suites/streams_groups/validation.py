"""What a StreamsGroupHeartbeat must contain, and which member epochs are accepted."""

from harness.scenario import (
    LEAVES_FOR_A_WHILE,
    Conversation,
    one_of,
    scenario,
    subtopology,
    topic_info,
    topology,
)
from suites.streams_groups.membership import ALL, HEARTBEATS, sole_member

VALIDATES = "GroupCoordinatorService#throwIfStreamsGroupHeartbeatRequestIsInvalid"
SUPPORTS = "GroupCoordinatorService#throwIfStreamsGroupHeartbeatRequestIsUsingUnsupportedFeatures"
NAMES_TOPICS = "KafkaApis#handleStreamsGroupHeartbeat"
CHECKS_EPOCH = "GroupMetadataManager#throwIfStreamsGroupMemberEpochIsInvalid"
CHECKS_TASKS = "GroupMetadataManager#throwIfRequestContainsInvalidTasks"
UPDATES = "GroupMetadataManager#maybeUpdateTopology"
BLANK = " \t"
INVALID = "INVALID_REQUEST"
ILLEGAL = "STREAMS_INVALID_TOPOLOGY"


@scenario("streams_groups/validation/group-id", source=VALIDATES, clauses=("KS-02",))
def a_group_has_an_id(conversation: Conversation) -> None:
    """A StreamsGroupHeartbeat with an empty or blank group id gets INVALID_REQUEST."""
    ana = conversation.streams_member("ana")

    for group_id in ("", BLANK):
        ana.enters(group_id=group_id, error_code=INVALID)


@scenario("streams_groups/validation/member-id", source=VALIDATES, clauses=("KS-02",))
def a_member_names_itself(conversation: Conversation) -> None:
    """A StreamsGroupHeartbeat with an empty or blank member id gets INVALID_REQUEST."""
    ana = conversation.streams_member("ana")

    for member_id in ("", BLANK):
        ana.enters(member_id=member_id, error_code=INVALID)


@scenario("streams_groups/validation/rack", source=VALIDATES, clauses=("KS-02",))
def a_rack_has_a_name(conversation: Conversation) -> None:
    """A StreamsGroupHeartbeat with an empty or blank rack gets INVALID_REQUEST."""
    ana = conversation.streams_member("ana")

    for rack_id in ("", BLANK):
        ana.enters(rack_id=rack_id, error_code=INVALID)


@scenario("streams_groups/validation/no-topology", source=VALIDATES, clauses=("KS-03",))
def a_join_brings_a_topology(conversation: Conversation) -> None:
    """A StreamsGroupHeartbeat that joins without a topology gets INVALID_REQUEST."""
    conversation.streams_member("ana").enters(topology=None, error_code=INVALID)


@scenario("streams_groups/validation/rebalance-timeout", source=VALIDATES, clauses=("KS-03",))
def a_join_states_a_rebalance_timeout(conversation: Conversation) -> None:
    """A StreamsGroupHeartbeat that joins without a rebalance timeout gets INVALID_REQUEST."""
    conversation.streams_member("ana").enters(rebalance_timeout_ms=-1, error_code=INVALID)


@scenario("streams_groups/validation/joins-with-active-tasks", source=VALIDATES, clauses=("KS-03",))
def a_join_runs_nothing(conversation: Conversation) -> None:
    """A join with active tasks, or without the field for them, gets INVALID_REQUEST."""
    ana = conversation.streams_member("ana")

    for owned in ({"0": (0,)}, None):
        ana.enters(owned=owned, error_code=INVALID)


@scenario("streams_groups/validation/joins-with-standby-tasks", source=VALIDATES, clauses=("KS-03",))
def a_join_has_no_standby_tasks(conversation: Conversation) -> None:
    """A join with standby or warm-up tasks gets INVALID_REQUEST."""
    ana = conversation.streams_member("ana")

    ana.enters(standby={"0": (0,)}, error_code=INVALID)
    ana.enters(warmup={"0": (0,)}, error_code=INVALID)
    ana.enters(standby={"0": (0,)}, warmup={"0": (0,)}, error_code=INVALID)
    ana.enters(warmup={"0": (0,)}, topology=None, error_code=INVALID)


@scenario("streams_groups/validation/topology-later", source=VALIDATES, clauses=("KS-04",))
def a_topology_comes_with_the_join_alone(conversation: Conversation) -> None:
    """A StreamsGroupHeartbeat with a topology that does not join gets INVALID_REQUEST."""
    ana, _ = sole_member(conversation)

    ana.heartbeats(topology=topology(), error_code=INVALID)


@scenario("streams_groups/validation/some-kinds", source=VALIDATES, clauses=("KS-05",))
def all_kinds_of_tasks_are_named_or_none(conversation: Conversation) -> None:
    """A StreamsGroupHeartbeat with only one or two kinds of tasks gets INVALID_REQUEST."""
    ana, _ = sole_member(conversation)

    ana.heartbeats(owned=ALL, standby=None, warmup=None, error_code=INVALID)
    ana.heartbeats(owned=None, standby={}, warmup={}, error_code=INVALID)
    ana.heartbeats(owned=ALL, warmup=None, error_code=INVALID)


@scenario("streams_groups/validation/lowest-epoch", source=VALIDATES, clauses=("KS-06",))
def epochs_end_at_minus_two(conversation: Conversation) -> None:
    """A StreamsGroupHeartbeat with an epoch below -2 gets INVALID_REQUEST."""
    ana = conversation.streams_member("ana")

    for epoch in (-3, -4):
        ana.heartbeats(epoch=epoch, error_code=INVALID)


@scenario("streams_groups/validation/dynamic-for-a-while", source=VALIDATES, clauses=("KS-06",))
def only_static_members_leave_for_a_while(conversation: Conversation) -> None:
    """A StreamsGroupHeartbeat with epoch -2 and without an instance id gets INVALID_REQUEST."""
    conversation.streams_member("ana").heartbeats(epoch=LEAVES_FOR_A_WHILE, error_code=INVALID)


@scenario("streams_groups/validation/empty-instance", source=SUPPORTS, clauses=("KS-02", "KS-07"))
def an_instance_has_a_name(conversation: Conversation) -> None:
    """A StreamsGroupHeartbeat with an empty instance id gets INVALID_REQUEST in every release."""
    conversation.streams_member("ana").enters(instance_id="", error_code=INVALID)


@scenario("streams_groups/validation/static", source=SUPPORTS, clauses=("KS-07",))
def members_may_be_static_from_4_4_on(conversation: Conversation) -> None:
    """A StreamsGroupHeartbeat with an instance id gets INVALID_REQUEST until 4.3."""
    ana = conversation.streams_member("ana", instance_id="one")

    ana.enters(error_code=one_of("NONE", INVALID))


@scenario("streams_groups/validation/task-offsets", source=SUPPORTS, clauses=("KS-08",))
def offsets_may_be_named_from_4_4_on(conversation: Conversation) -> None:
    """A StreamsGroupHeartbeat with task offsets or end offsets gets INVALID_REQUEST until 4.3."""
    ana, _ = sole_member(conversation)

    ana.heartbeats(task_offsets=(), error_code=one_of("NONE", INVALID))
    ana.heartbeats(task_end_offsets=(), error_code=one_of("NONE", INVALID))


@scenario("streams_groups/validation/source-regex", source=SUPPORTS, clauses=("KS-09",))
def sources_are_named(conversation: Conversation) -> None:
    """A topology with a regular expression for source topics gets INVALID_REQUEST."""
    ana = conversation.streams_member("ana")

    ana.enters(subtopology(regexes=("or.*",)), error_code=INVALID)


@scenario("streams_groups/validation/changelog-partitions", source=VALIDATES, clauses=("KS-10",))
def changelogs_leave_their_partitions_open(conversation: Conversation) -> None:
    """A changelog topic with a partition count gets STREAMS_INVALID_TOPOLOGY."""
    ana = conversation.streams_member("ana")
    changelog = topic_info(conversation.group("changelog"), partitions=3)

    ana.enters(subtopology(changelogs=(changelog,)), error_code=ILLEGAL)


@scenario("streams_groups/validation/internal-topics", source=NAMES_TOPICS, clauses=("KS-11",))
def coordinators_logs_are_no_sources(conversation: Conversation) -> None:
    """A topology that names a coordinator's log anywhere gets STREAMS_INVALID_TOPOLOGY."""
    ana, log = conversation.streams_member("ana"), "__consumer_offsets"

    ana.enters(subtopology(sources=(log,)), error_code=ILLEGAL)
    ana.enters(subtopology(sinks=(log,)), error_code=ILLEGAL)
    ana.enters(subtopology(repartitions=(topic_info(log, partitions=1),)), error_code=ILLEGAL)
    ana.enters(subtopology(changelogs=(topic_info(log),)), error_code=ILLEGAL)


@scenario("streams_groups/validation/illegal-topics", source=NAMES_TOPICS, clauses=("KS-11",))
def names_of_topics_are_legal(conversation: Conversation) -> None:
    """A topology with an illegal topic name gets STREAMS_INVALID_TOPOLOGY."""
    ana = conversation.streams_member("ana")

    for name in ("", "..", "a b"):
        ana.enters(subtopology(sources=(name,)), error_code=ILLEGAL)


@scenario("streams_groups/validation/unknown-group", source=HEARTBEATS, clauses=("KS-21",))
def a_group_is_joined_first(conversation: Conversation) -> None:
    """A heartbeat or a leave to a missing streams group gets GROUP_ID_NOT_FOUND."""
    ana = conversation.streams_member("ana")

    for epoch in (1, -1):
        ana.heartbeats(epoch=epoch, error_code="GROUP_ID_NOT_FOUND")


@scenario("streams_groups/validation/unknown-member", source=HEARTBEATS, clauses=("KS-21",))
def a_member_joins_first(conversation: Conversation) -> None:
    """A heartbeat or a leave of a non-member gets UNKNOWN_MEMBER_ID."""
    sole_member(conversation)
    bob = conversation.streams_member("bob")

    for epoch in (1, -1):
        bob.heartbeats(epoch=epoch, error_code="UNKNOWN_MEMBER_ID")


@scenario("streams_groups/validation/epoch-ahead", source=CHECKS_EPOCH, clauses=("KS-22",))
def a_later_epoch_is_fenced(conversation: Conversation) -> None:
    """A StreamsGroupHeartbeat with a later epoch than the member's gets FENCED_MEMBER_EPOCH."""
    ana, joined = sole_member(conversation)

    ana.heartbeats(epoch=joined["member_epoch"] + 1, error_code="FENCED_MEMBER_EPOCH")
    ana.heartbeats(epoch=joined["member_epoch"], member_epoch=joined["member_epoch"])


@scenario("streams_groups/validation/epoch-behind", source=CHECKS_EPOCH, clauses=("KS-22",))
def an_earlier_epoch_is_fenced(conversation: Conversation) -> None:
    """A StreamsGroupHeartbeat with an epoch before the previous one gets FENCED_MEMBER_EPOCH."""
    ana, joined = sole_member(conversation)
    ana.heartbeats(rack_id="one", member_epoch=joined["member_epoch"] + 1)
    ana.heartbeats(rack_id="two", member_epoch=joined["member_epoch"] + 2)

    ana.heartbeats(epoch=joined["member_epoch"], owned=ALL, error_code="FENCED_MEMBER_EPOCH")


@scenario("streams_groups/validation/former-epoch", source=CHECKS_EPOCH, clauses=("KS-22",))
def the_former_epoch_is_taken_with_the_tasks(conversation: Conversation) -> None:
    """The previous epoch is accepted from a member that lists only tasks that it has."""
    ana, joined = sole_member(conversation)
    ana.heartbeats(rack_id="one", member_epoch=joined["member_epoch"] + 1)

    ana.heartbeats(epoch=joined["member_epoch"], error_code="FENCED_MEMBER_EPOCH")
    for owned in (ALL, {"0": (0, 2)}):
        ana.heartbeats(epoch=joined["member_epoch"], owned=owned, member_epoch=joined["member_epoch"] + 1)


@scenario("streams_groups/validation/former-epoch-and-tasks", source=CHECKS_EPOCH, clauses=("KS-22",))
def the_former_epoch_is_not_taken_with_former_tasks(conversation: Conversation) -> None:
    """The previous epoch is refused with FENCED_MEMBER_EPOCH from a member that lists a task it gave up."""
    ana, joined = sole_member(conversation)
    conversation.streams_member("bob").enters(assigned={})
    ana.heartbeats(owned=ALL, assigned={"0": (0, 1)})
    ana.heartbeats(owned=ana.assigned, member_epoch=joined["member_epoch"] + 1, assigned=None)

    ana.heartbeats(epoch=joined["member_epoch"], owned=ALL, error_code="FENCED_MEMBER_EPOCH")
    ana.heartbeats(epoch=joined["member_epoch"], owned={"0": (0,)}, member_epoch=joined["member_epoch"] + 1)


@scenario("streams_groups/validation/tasks-that-are-not", source=CHECKS_TASKS, clauses=("KS-22",))
def tasks_are_the_topologys(conversation: Conversation) -> None:
    """A StreamsGroupHeartbeat with a task that is not in the topology gets INVALID_REQUEST."""
    ana, _ = sole_member(conversation)

    ana.heartbeats(owned={"1": (0,)}, error_code=INVALID)
    ana.heartbeats(owned={"0": (3,)}, error_code=INVALID)
    ana.heartbeats(owned={"0": (-1,)}, error_code=INVALID)


@scenario("streams_groups/validation/other-topology", source=UPDATES, clauses=("KS-25",))
def a_group_has_one_topology(conversation: Conversation) -> None:
    """A join with another topology, in the group's topology epoch or a later one, gets INVALID_REQUEST."""
    sole_member(conversation)
    bob, other = conversation.streams_member("bob"), subtopology(sources=("payments",))

    bob.enters(topology=topology(other), error_code=INVALID)
    bob.enters(topology=topology(other, epoch=1), error_code=INVALID)
    bob.enters(topology=topology(epoch=1), error_code=INVALID)


@scenario("streams_groups/validation/earlier-topology", source=UPDATES, clauses=("KS-26",))
def an_earlier_topology_is_reported(conversation: Conversation) -> None:
    """A member with an earlier topology epoch gets a status that it is stale, and still gets tasks."""
    ana, bob = conversation.streams_member("ana"), conversation.streams_member("bob")
    ana.enters(topology=topology(epoch=3), assigned=ALL, statuses=())

    bob.enters(topology=topology(subtopology(sources=("payments",)), epoch=2), assigned={}, statuses=(0,))
    ana.heartbeats(owned=ana.assigned, assigned={"0": (0, 1)}, statuses=())
    ana.heartbeats(owned=ana.assigned, assigned=None)
    bob.heartbeats(owned=bob.assigned, assigned={"0": (2,)}, statuses=(0,))


@scenario("streams_groups/validation/negative-topology-epoch", source=UPDATES, clauses=("KS-25",))
def a_topology_has_an_epoch(conversation: Conversation) -> None:
    """A join with a negative topology epoch gets UNKNOWN_SERVER_ERROR."""
    ana = conversation.streams_member("ana")

    ana.enters(topology=topology(epoch=-1), error_code="UNKNOWN_SERVER_ERROR")


@scenario("streams_groups/validation/same-subtopology-twice", source=UPDATES, clauses=("KS-25",))
def subtopologies_have_ids_of_their_own(conversation: Conversation) -> None:
    """A join with two subtopologies of the same id gets UNKNOWN_SERVER_ERROR."""
    ana = conversation.streams_member("ana")

    ana.enters(subtopology(), subtopology(sources=("payments",)), error_code="UNKNOWN_SERVER_ERROR")
