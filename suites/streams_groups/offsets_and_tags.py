"""What members report since 4.4 beside their tasks: task offsets, showing restoration, and tags."""

from collections.abc import Mapping

from harness.scenario import (
    Conversation,
    Pattern,
    StreamsMember,
    ask_describe,
    ask_topology_description_update,
    expect_describe,
    expect_topology_description_update,
    scenario,
)
from harness.scenario.messages import OWN
from suites.streams_groups.membership import ALL, HEARTBEATS, sole_member
from suites.streams_groups.reconciliation import AT_ONCE, STANDBYS

UPDATES = "MemberTaskOffsets#update"
RANKS = "StickyTaskAssignor#rankStandbyCandidates"
NAMES = "GroupMetadataManager#streamsGroupAssignor"
STORES = "StreamsGroupTopologyDescriptionManager#attachTopologyDescriptions"
PUSHES = "GroupCoordinatorService#throwIfStreamsGroupTopologyDescriptionUpdateInvalid"
VALIDATES = "GroupConfig#validateValues"
TAGS = "streams.rack.aware.assignment.tags"
ASSIGNOR = "streams.assignor.name"
MISSING_TAGS = 6
Offsets = tuple[Mapping[str, str | int], ...]
UNTAGGED = {"zone": "a"}
TAGGED = {"zone": "a", "rack": "b"}


def restored(*offsets: tuple[int, int]) -> Offsets:
    """Return how far tasks of the subtopology `0` are restored, by partition and offset."""
    return tuple({"subtopology_id": "0", "partition": each, "offset": offset} for each, offset in offsets)


def _shows(ana: StreamsMember, offsets: Offsets, ends: Offsets) -> None:
    member: dict[str, Pattern] = {
        "member_id": ana.member_id,
        "task_offsets": offsets,
        "task_end_offsets": ends,
    }
    ana.describes("Stable", members=(member,))


@scenario("streams_groups/task-offsets/told", source=UPDATES, clauses=("KS-08", "KS-51"))
def offsets_of_tasks_are_described(conversation: Conversation) -> None:
    """Task offsets that a member reports are described in order, until it reports others."""
    ana, _ = sole_member(conversation)
    ana.heartbeats(version=1, task_offsets=restored((1, 20), (0, 10)), assigned=None)
    _shows(ana, restored((0, 10), (1, 20)), ())

    ana.heartbeats(version=1, task_end_offsets=restored((0, 30)), assigned=None)
    _shows(ana, restored((0, 10), (1, 20)), restored((0, 30)))
    ana.heartbeats(version=1, task_offsets=(), assigned=None)
    _shows(ana, (), restored((0, 30)))


@scenario("streams_groups/task-offsets/twice", source=UPDATES, clauses=("KS-08",))
def a_task_has_one_offset(conversation: Conversation) -> None:
    """A StreamsGroupHeartbeat that names a task twice gets INVALID_REQUEST."""
    ana, _ = sole_member(conversation)

    ana.heartbeats(version=1, task_offsets=restored((0, 1), (0, 1)), error_code="INVALID_REQUEST")
    ana.heartbeats(version=1, task_end_offsets=restored((0, 1), (0, 2)), error_code="INVALID_REQUEST")
    _shows(ana, (), ())


@scenario("streams_groups/task-offsets/first", source=HEARTBEATS, clauses=("KS-08",))
def offsets_of_the_first_join_are_lost(conversation: Conversation) -> None:
    """Task offsets in the join that creates a group are lost; those of the next join are kept."""
    ana = conversation.streams_member("ana")
    ana.enters(version=1, task_offsets=restored((0, 1)), assigned=ALL)
    _shows(ana, (), ())

    ana.enters(version=1, task_offsets=restored((0, 1)), assigned=ALL)
    _shows(ana, restored((0, 1)), ())


@scenario("streams_groups/task-offsets/leaves", source="StreamsGroup#removeMember", clauses=("KS-08",))
def offsets_go_with_the_member(conversation: Conversation) -> None:
    """Task offsets of a member that has left are dropped."""
    ana, _ = sole_member(conversation)
    ana.heartbeats(version=1, task_offsets=restored((0, 1)), assigned=None)
    ana.leaves()

    ana.enters(version=1, assigned=ALL)
    _shows(ana, (), ())


@scenario("streams_groups/task-offsets/preferred", source=RANKS, clauses=("KS-08", "KS-16"))
def whoever_has_restored_a_task_runs_it(conversation: Conversation) -> None:
    """When a member leaves, its tasks go to the members that have restored most of them."""
    ana, _ = sole_member(conversation)
    bob, carl = conversation.streams_member("bob"), conversation.streams_member("carl")
    bob.enters(version=1, assigned={})
    carl.enters(version=1, assigned={})
    bob.heartbeats(version=1, owned={}, task_offsets=restored((0, 5), (1, 50), (2, 5)))
    carl.heartbeats(version=1, owned={}, task_offsets=restored((0, 50), (1, 5), (2, 50)))
    ana.leaves()

    bob.heartbeats(owned=bob.assigned, assigned={"0": (1,)})
    carl.heartbeats(owned=carl.assigned, assigned={"0": (0, 2)})


@scenario("streams_groups/task-offsets/preferred-otherwise", source=RANKS, clauses=("KS-08", "KS-16"))
def whoever_has_restored_two_tasks_runs_them(conversation: Conversation) -> None:
    """When a member leaves, two of its tasks go to the member that has restored more of these two."""
    ana, _ = sole_member(conversation)
    bob, carl = conversation.streams_member("bob"), conversation.streams_member("carl")
    bob.enters(version=1, assigned={})
    carl.enters(version=1, assigned={})
    bob.heartbeats(version=1, owned={}, task_offsets=restored((0, 50), (1, 5), (2, 50)))
    carl.heartbeats(version=1, owned={}, task_offsets=restored((0, 5), (1, 50), (2, 5)))
    ana.leaves()

    bob.heartbeats(owned=bob.assigned, assigned={"0": (0, 2)})
    carl.heartbeats(owned=carl.assigned, assigned={"0": (1,)})


@scenario("streams_groups/reconciliation/two-join", source=RANKS, clauses=("KS-16",))
def two_join_before_tasks_are_given_up(conversation: Conversation) -> None:
    """Two members join while the first has all tasks; since 4.4 its current tasks count, not its target."""
    ana, _ = sole_member(conversation)
    members = ana, conversation.streams_member("bob"), conversation.streams_member("carl")
    for each in members[1:]:
        each.enters(assigned={})

    for _ in range(3):
        for each in members:
            each.heartbeats(owned=each.assigned)
    ana.describes("Stable")


@scenario("streams_groups/tags/missing", source=HEARTBEATS, clauses=("KS-49",))
def missing_tags_are_listed(conversation: Conversation) -> None:
    """Since heartbeat v1, a member that lacks configured tags gets a status, and still runs its tasks."""
    ana = conversation.streams_member("ana")
    ana.configures({TAGS: "zone, rack", **AT_ONCE})
    ana.enters(version=1, tags=UNTAGGED, assigned=ALL, statuses=(MISSING_TAGS,))

    ana.heartbeats(version=0, owned=ana.assigned, statuses=())
    ana.heartbeats(version=1, owned=ana.assigned, statuses=(MISSING_TAGS,))
    ana.heartbeats(version=1, tags=TAGGED, statuses=())


@scenario("streams_groups/tags/configured", source=HEARTBEATS, clauses=("KS-41", "KS-49"))
def other_tags_raise_the_epoch(conversation: Conversation) -> None:
    """When other tags are configured, a StreamsGroupHeartbeat raises the group's epoch."""
    ana = conversation.streams_member("ana")
    joined = ana.enters(version=1, tags=TAGGED, assigned=ALL, statuses=())
    ana.configures({TAGS: "zone", **AT_ONCE})

    ana.heartbeats(version=1, member_epoch=joined["member_epoch"] + 1, assigned=None, statuses=())
    ana.configures({TAGS: "rack"})
    ana.heartbeats(version=1, member_epoch=joined["member_epoch"] + 2, assigned=None, statuses=())
    ana.configures({TAGS: ""})
    ana.heartbeats(version=1, member_epoch=joined["member_epoch"] + 3, assigned=None, statuses=())


@scenario(
    "streams_groups/tags/of-broker",
    source=HEARTBEATS,
    clauses=("KS-49",),
    broker_config={"group.streams.rack.aware.assignment.tags": "zone"},
)
def a_broker_may_ask_for_tags(conversation: Conversation) -> None:
    """Tags configured on the broker apply to groups that have none of their own."""
    ana, bob = conversation.streams_member("ana"), conversation.streams_member("bob")
    ana.enters(version=1, statuses=(MISSING_TAGS,))

    bob.enters(version=1, tags=UNTAGGED, statuses=())


@scenario("streams_groups/configs/tags-twice", source=VALIDATES, clauses=("KS-49",))
def tags_are_named_once(conversation: Conversation) -> None:
    """A group configuration with a repeated tag gets INVALID_CONFIG."""
    ana = conversation.streams_member("ana")

    ana.configures({TAGS: "zone,zone"}, error_code="INVALID_CONFIG")


@scenario("streams_groups/configs/assignor", source=VALIDATES, clauses=("KS-54",))
def a_group_has_a_known_assignor(conversation: Conversation) -> None:
    """A group configuration with an unknown assignor gets INVALID_CONFIG."""
    ana = conversation.streams_member("ana")

    ana.configures({ASSIGNOR: "other"}, error_code="INVALID_CONFIG")
    ana.configures({ASSIGNOR: ""}, error_code="INVALID_CONFIG")


@scenario(
    "streams_groups/configs/standbys",
    source=VALIDATES,
    clauses=("KS-36",),
    broker_config={"group.streams.max.standby.replicas": "2"},
)
def a_group_has_no_more_standbys_than_the_broker_allows(conversation: Conversation) -> None:
    """More standby tasks than group.streams.max.standby.replicas get INVALID_CONFIG."""
    ana = conversation.streams_member("ana")
    ana.enters()

    ana.configures({STANDBYS: 2})
    ana.configures({STANDBYS: 3}, error_code="INVALID_CONFIG")
    ana.configures({STANDBYS: -1}, error_code="INVALID_CONFIG")


@scenario("streams_groups/configs/task-offsets", source=VALIDATES, clauses=("KS-48",))
def a_group_tells_how_often_offsets_come(conversation: Conversation) -> None:
    """A group may configure its task offset interval and its acceptable recovery lag, within bounds."""
    ana = conversation.streams_member("ana")
    ana.enters(version=1)
    ana.configures({"streams.task.offset.interval.ms": 20_000, **AT_ONCE})
    ana.configures({"streams.acceptable.recovery.lag": 7, **AT_ONCE})
    ana.configures({"streams.task.offset.interval.ms": 1}, error_code="INVALID_CONFIG")
    ana.configures({"streams.num.warmup.replicas": 21}, error_code="INVALID_CONFIG")

    ana.heartbeats(version=1)


@scenario("streams_groups/describe/assignor", source=NAMES, clauses=("KS-51",))
def a_description_names_the_assignor(conversation: Conversation) -> None:
    """StreamsGroupDescribe v1 returns the assignor, and that no topology description is stored."""
    ana = conversation.streams_member("ana")
    ana.enters(version=1, assigned=ALL)

    ana.asks(
        ask_describe(version=1, include_topology_description=False),
        expect_describe(error_code="NONE", assignor_name="sticky", topology_description_status=0),
    )
    ana.asks(
        ask_describe(version=1, include_topology_description=True),
        expect_describe(error_code="NONE", assignor_name="sticky", topology_description_status=1),
    )


@scenario("streams_groups/describe/assignor-of-nobody", source=STORES, clauses=("KS-51",))
def a_missing_group_has_no_assignor(conversation: Conversation) -> None:
    """StreamsGroupDescribe v1 of a missing group returns no assignor."""
    ana = conversation.streams_member("ana")

    ana.asks(
        ask_describe(version=1, include_topology_description=True),
        expect_describe(error_code="GROUP_ID_NOT_FOUND", assignor_name=None, topology_description_status=0),
    )


@scenario("streams_groups/describe/description-pushed", source=PUSHES, clauses=("KS-50",))
def nobody_stores_descriptions(conversation: Conversation) -> None:
    """Without a plugin to store it, a topology description gets UNSUPPORTED_VERSION."""
    ana, _ = sole_member(conversation)

    for group_id in (OWN, "", conversation.group("nobody")):
        ana.asks(
            ask_topology_description_update(group_id=group_id),
            expect_topology_description_update(error_code="UNSUPPORTED_VERSION"),
        )


@scenario("streams_groups/endpoints/changes", source=HEARTBEATS, clauses=("KS-34",))
def endpoints_that_change_are_heard_of(conversation: Conversation) -> None:
    """Since 4.4 members are informed of an endpoint that is new, changed or gone."""
    ana, bob = conversation.streams_member("ana"), conversation.streams_member("bob")
    ana.enters(endpoint=("ana", 80), assigned=ALL)
    bob.enters(assigned={})
    for endpoint in (("bob", 81), ("bob", 81), ("bob", 82)):
        bob.heartbeats(owned=bob.assigned, endpoint=endpoint)
        ana.heartbeats(endpoint_epoch=1)

    ana.enters()
    bob.heartbeats(owned=bob.assigned)
