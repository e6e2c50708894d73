"""Joining a streams group, running its tasks, and leaving."""

from harness.scenario import (
    Answer,
    Capability,
    Conversation,
    GroupRef,
    StreamsMember,
    ask,
    expect,
    scenario,
)
from suites.share_groups.administration import WITHOUT_FEATURES

HEARTBEATS = "GroupMetadataManager#streamsGroupHeartbeat"
LEAVES = "GroupMetadataManager#streamsGroupLeave"
ALL = {"0": (0, 1, 2)}


def sole_member(conversation: Conversation) -> tuple[StreamsMember, Answer]:
    """Return ana, who runs all tasks of `orders`, and the answer to her join."""
    ana = conversation.streams_member("ana")
    return ana, ana.enters(assigned=ALL, standbys={}, statuses=())


@scenario("streams_groups/membership/first", source=HEARTBEATS, clauses=("KS-16",))
def the_first_member_runs_all_tasks(conversation: Conversation) -> None:
    """The first member sends the topology and is assigned all its tasks, in epoch 2."""
    ana = conversation.streams_member("ana")

    ana.enters(member_epoch=2, assigned=ALL, standbys={}, statuses=())
    ana.describes("Stable", epoch=2, assignment_epoch=2)


@scenario("streams_groups/membership/heartbeat", source=HEARTBEATS, clauses=("KS-18",))
def a_heartbeat_brings_nothing_new(conversation: Conversation) -> None:
    """A heartbeat of a member that has its target tasks returns neither tasks nor statuses."""
    ana, joined = sole_member(conversation)

    ana.heartbeats(owned=ana.assigned, member_epoch=joined["member_epoch"], assigned=None, statuses=())


@scenario("streams_groups/membership/last-leaves", source=LEAVES, clauses=("KS-40",))
def the_last_member_leaves_an_empty_group(conversation: Conversation) -> None:
    """When the last member leaves, the group is Empty, in the next epoch."""
    ana, _ = sole_member(conversation)

    ana.leaves()
    ana.describes("Empty", epoch=3, members=())


@scenario(
    "streams_groups/off/feature",
    source="KafkaApis#isStreamsGroupProtocolEnabled",
    clauses=("KS-01",),
    broker_config=WITHOUT_FEATURES,
    needs=(Capability.FEATURES,),
)
def a_cluster_may_lack_streams_groups(conversation: Conversation) -> None:
    """Without the feature `streams.version`, streams groups get UNSUPPORTED_VERSION."""
    ana = conversation.streams_member("ana")

    ana.enters(error_code="UNSUPPORTED_VERSION")
    described = expect.response("StreamsGroupDescribe", groups=({"error_code": "UNSUPPORTED_VERSION"},))
    ana.asks(ask.request("StreamsGroupDescribe", 0, group_ids=(GroupRef("main"),)), described)
