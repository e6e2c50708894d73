"""The topics of a topology: missing ones, mismatched ones, and those that the broker creates."""

from harness.scenario import ANY, Conversation, Pattern, scenario, subtopology, topic_info
from suites.consumer_groups.membership import grows, topic_made
from suites.streams_groups.membership import ALL, HEARTBEATS, sole_member
from suites.streams_groups.reconciliation import AT_ONCE

CREATES = "AutoTopicCreationManager#createStreamsInternalTopics"
CONFIGURES = "InternalTopicManager#configureTopics"
COUNTS = "RepartitionTopics#setup"
CHANGELOGS = "ChangelogTopics#setup"
ENFORCES = "CopartitionedTopicsEnforcer#enforce"
MISSING_SOURCES, WRONG_PARTITIONS, MISSING_INTERNAL = 1, 2, 3
ILLEGAL = "STREAMS_INVALID_TOPOLOGY"


@scenario("streams_groups/topics/no-subtopology", source=CONFIGURES, clauses=("KS-12",))
def a_topology_may_be_empty(conversation: Conversation) -> None:
    """A topology without subtopologies is accepted, and has no tasks."""
    ana = conversation.streams_member("ana")

    ana.enters(topology={"epoch": 0, "subtopologies": ()}, assigned={}, statuses=())
    ana.describes("Stable", epoch=2)
    ana.heartbeats(owned={"0": (0,)}, error_code="INVALID_REQUEST")


@scenario("streams_groups/topics/no-source", source=CHANGELOGS, clauses=("KS-13",))
def a_subtopology_reads_something(conversation: Conversation) -> None:
    """A subtopology without a source topic gets STREAMS_INVALID_TOPOLOGY."""
    conversation.streams_member("ana").enters(subtopology(sources=()), error_code=ILLEGAL)


@scenario("streams_groups/topics/no-sink", source=COUNTS, clauses=("KS-14",))
def a_repartition_topic_is_written_to(conversation: Conversation) -> None:
    """A repartition topic without a writer and a partition count gets STREAMS_INVALID_TOPOLOGY."""
    ana, topic = conversation.streams_member("ana"), conversation.group("repartition")

    ana.enters(subtopology(repartitions=(topic_info(topic),)), error_code=ILLEGAL)


@scenario("streams_groups/topics/loop", source=COUNTS, clauses=("KS-14",))
def repartition_topics_do_not_run_in_circles(conversation: Conversation) -> None:
    """Two repartition topics that depend on each other's partitions get STREAMS_INVALID_TOPOLOGY."""
    ana, one, two = conversation.streams_member("ana"), conversation.group("one"), conversation.group("two")

    ana.enters(
        subtopology("0", sources=(), repartitions=(topic_info(one),), sinks=(two,)),
        subtopology("1", sources=(), repartitions=(topic_info(two),), sinks=(one,)),
        error_code=ILLEGAL,
    )


@scenario("streams_groups/topics/missing-source", source=CONFIGURES, clauses=("KS-27", "KS-53"))
def missing_sources_are_reported(conversation: Conversation) -> None:
    """While source topics are missing no task is assigned, and each heartbeat returns a status for it."""
    ana, topic = conversation.streams_member("ana"), conversation.group("missing")
    ana.enters(subtopology(sources=("orders", topic)), assigned={}, statuses=(MISSING_SOURCES,))

    ana.heartbeats(owned={}, assigned=None, statuses=(MISSING_SOURCES,))
    ana.describes("NotReady")
    ana.leaves()
    ana.describes("Empty")


@scenario("streams_groups/topics/source-comes", source=CONFIGURES, clauses=("KS-27",))
def a_source_that_comes_is_found(conversation: Conversation) -> None:
    """When a missing source topic is created, a heartbeat returns its tasks in a later epoch."""
    ana, topic = conversation.streams_member("ana"), conversation.group("topic")
    joined = ana.enters(subtopology(sources=(topic,)), assigned={}, statuses=(MISSING_SOURCES,))
    topic_made(conversation, ana, "topic", partitions=2)

    ana.heartbeats(owned={}, member_epoch=joined["member_epoch"] + 1, assigned={"0": (0, 1)}, statuses=())
    ana.describes("Stable")


@scenario("streams_groups/topics/source-grows", source=HEARTBEATS, clauses=("KS-41",))
def a_source_that_grows_is_found(conversation: Conversation) -> None:
    """When a source topic gets partitions, a heartbeat returns the new tasks in the next epoch."""
    ana = conversation.streams_member("ana")
    topic = topic_made(conversation, ana)
    joined = ana.enters(subtopology(sources=(topic,)), assigned=ALL, statuses=())
    grows(ana, topic, partitions=4)

    ana.heartbeats(owned=ana.assigned, member_epoch=joined["member_epoch"] + 1, assigned={"0": (0, 1, 2, 3)})


@scenario("streams_groups/topics/source-grows-later", source=HEARTBEATS, clauses=("KS-41",))
def a_source_that_grows_later_is_found(conversation: Conversation) -> None:
    """New partitions of a source topic are found though its topics were checked shortly before."""
    ana = conversation.streams_member("ana")
    topic = topic_made(conversation, ana)
    joined = ana.enters(subtopology(sources=(topic,)), assigned=ALL, statuses=())
    ana.heartbeats(rack_id="one", member_epoch=joined["member_epoch"] + 1, assigned=None)
    ana.heartbeats(rack_id="two", member_epoch=joined["member_epoch"] + 2, assigned=None)
    grows(ana, topic, partitions=4)

    ana.heartbeats(owned=ana.assigned, member_epoch=joined["member_epoch"] + 3, assigned={"0": (0, 1, 2, 3)})


@scenario("streams_groups/topics/copartitioned", source=ENFORCES, clauses=("KS-28",))
def copartitioned_topics_have_as_many_partitions(conversation: Conversation) -> None:
    """With different partition counts of copartitioned sources, the group stays NotReady."""
    ana = conversation.streams_member("ana")

    ana.enters(
        subtopology(sources=("orders", "payments"), copartitioned=(0, 1)),
        assigned={},
        statuses=(WRONG_PARTITIONS,),
    )
    ana.describes("NotReady")


@scenario("streams_groups/topics/not-copartitioned", source=HEARTBEATS, clauses=("KS-28",))
def other_topics_need_not_have_as_many(conversation: Conversation) -> None:
    """A subtopology has as many tasks as its largest source topic has partitions."""
    ana = conversation.streams_member("ana")

    ana.enters(subtopology(sources=("orders", "payments")), assigned=ALL, statuses=())


@scenario("streams_groups/topics/copartition-beyond", source=CONFIGURES, clauses=("KS-28",))
def copartition_groups_name_places(conversation: Conversation) -> None:
    """A copartition group with an index out of range gets UNKNOWN_SERVER_ERROR."""
    ana = conversation.streams_member("ana")

    ana.enters(subtopology(copartitioned=(1,)), error_code="UNKNOWN_SERVER_ERROR")


@scenario("streams_groups/topics/changelog", source=CONFIGURES, clauses=("KS-29",))
def changelogs_are_made(conversation: Conversation) -> None:
    """A missing changelog topic is reported and created, and a later heartbeat returns the tasks."""
    ana, changelog = conversation.streams_member("ana"), conversation.group("changelog")
    stateful = subtopology(changelogs=(topic_info(changelog, configs={"cleanup.policy": "compact"}),))
    joined = ana.enters(stateful, assigned={}, statuses=(MISSING_INTERNAL,))
    ana.awaits_metadata()

    ana.heartbeats(owned={}, member_epoch=joined["member_epoch"] + 1, assigned=ALL, statuses=())
    ana.describes("Stable")


@scenario("streams_groups/topics/not-to-be-made", source=CREATES, clauses=("KS-30",))
def the_status_says_why_a_topic_is_missing(conversation: Conversation) -> None:
    """While an internal topic cannot be created, later heartbeats return the reason."""
    ana, changelog = conversation.streams_member("ana"), conversation.group("changelog")
    ana.configures({"streams.heartbeat.interval.ms": 10_000, "streams.session.timeout.ms": 45_000, **AT_ONCE})
    ana.enters(
        subtopology(changelogs=(topic_info(changelog, configs={"no.such.config": "1"}),)),
        assigned={},
        statuses=(MISSING_INTERNAL,),
    )
    ana.awaits_metadata()

    ana.heartbeats(owned={}, assigned=None, statuses=(MISSING_INTERNAL,))
    ana.describes("NotReady")


@scenario("streams_groups/topics/repartition", source=COUNTS, clauses=("KS-29",))
def repartition_topics_are_made(conversation: Conversation) -> None:
    """A missing repartition topic is created with the partition count of its upstream topics."""
    ana, topic = conversation.streams_member("ana"), conversation.group("repartition")
    joined = ana.enters(
        subtopology("0", sinks=(topic,)),
        subtopology("1", sources=(), repartitions=(topic_info(topic),)),
        assigned={},
        statuses=(MISSING_INTERNAL,),
    )
    ana.awaits_metadata()

    ana.heartbeats(
        owned={},
        member_epoch=joined["member_epoch"] + 1,
        assigned={"0": (0, 1, 2), "1": (0, 1, 2)},
        statuses=(),
    )


@scenario("streams_groups/topics/repartition-fixed", source=COUNTS, clauses=("KS-29",))
def repartition_topics_may_say_how_many(conversation: Conversation) -> None:
    """A repartition topic may specify its number of partitions."""
    ana, topic = conversation.streams_member("ana"), conversation.group("repartition")
    ana.enters(
        subtopology("0", sinks=(topic,)),
        subtopology("1", sources=(), repartitions=(topic_info(topic, partitions=2),)),
        assigned={},
        statuses=(MISSING_INTERNAL,),
    )
    ana.awaits_metadata()

    ana.heartbeats(owned={}, assigned={"0": (0, 1, 2), "1": (0, 1)}, statuses=())


@scenario("streams_groups/topics/repartition-mismatch", source=ENFORCES, clauses=("KS-28",))
def a_fixed_repartition_topic_fits_its_source(conversation: Conversation) -> None:
    """A copartitioned repartition topic with another partition count than the source is reported."""
    ana, topic = conversation.streams_member("ana"), conversation.group("repartition")
    info = topic_info(topic, partitions=2)

    ana.enters(
        subtopology("0", sinks=(topic,)),
        subtopology("1", repartitions=(info,), copartitioned=(0,), copartitioned_repartitions=(0,)),
        assigned={},
        statuses=(WRONG_PARTITIONS,),
    )


@scenario("streams_groups/topics/internal-mismatch", source=CONFIGURES, clauses=("KS-28",))
def an_internal_topic_that_is_there_fits(conversation: Conversation) -> None:
    """With an existing internal topic of another partition count, no tasks are assigned."""
    ana = conversation.streams_member("ana")
    topic = topic_made(conversation, ana, partitions=2)

    ana.enters(subtopology(changelogs=(topic_info(topic),)), assigned={}, statuses=(WRONG_PARTITIONS,))


@scenario("streams_groups/topics/described", source=CONFIGURES, clauses=("KS-17",))
def a_description_shows_decided_partitions(conversation: Conversation) -> None:
    """Once a heartbeat has resolved it, StreamsGroupDescribe returns the topology with all partitions."""
    ana, changelog = conversation.streams_member("ana"), conversation.group("changelog")
    ana.enters(subtopology(changelogs=(topic_info(changelog),)), statuses=(MISSING_INTERNAL,))
    ana.awaits_metadata()
    ana.heartbeats(owned={}, assigned=ALL, statuses=())

    info: Pattern = {"name": changelog, "partitions": 3}
    shown: dict[str, Pattern] = {
        "subtopology_id": "0",
        "source_topics": ("orders",),
        "state_changelog_topics": (info,),
    }
    ana.describes("Stable", described_topology={"epoch": 0, "subtopologies": (shown,)}, epoch=ANY)


@scenario("streams_groups/topics/described-as-sent", source=HEARTBEATS, clauses=("KS-17",))
def a_description_shows_the_topology(conversation: Conversation) -> None:
    """Right after the first join, StreamsGroupDescribe returns the topology as it was sent."""
    ana, _ = sole_member(conversation)

    shown = {"subtopology_id": "0", "source_topics": ("orders",)}
    ana.describes("Stable", described_topology={"epoch": 0, "subtopologies": (shown,)})
