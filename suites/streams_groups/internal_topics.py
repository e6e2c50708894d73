"""The partitions of internal topics that copartitioned sources decide, and topics that are named oddly."""

from harness.scenario import Conversation, scenario, subtopology, topic_info
from suites.consumer_groups.membership import topic_made
from suites.streams_groups.membership import ALL
from suites.streams_groups.topics import (
    CONFIGURES,
    ENFORCES,
    MISSING_INTERNAL,
    MISSING_SOURCES,
    WRONG_PARTITIONS,
)

NAMES = "InternalTopicManager#summarizeTopics"
STOPPED = "UNKNOWN_SERVER_ERROR"


@scenario("streams_groups/topics/repartition-follows", source=ENFORCES, clauses=("KS-28", "KS-29"))
def a_repartition_topic_follows_its_sources(conversation: Conversation) -> None:
    """An open repartition topic gets the partitions of the source that it is copartitioned with."""
    ana, topic = conversation.streams_member("ana"), conversation.group("repartition")
    ana.enters(
        subtopology("0", sources=("payments",), sinks=(topic,)),
        subtopology(
            "1", repartitions=(topic_info(topic),), copartitioned=(0,), copartitioned_repartitions=(0,)
        ),
        assigned={},
        statuses=(MISSING_INTERNAL,),
    )
    ana.awaits_metadata()

    ana.heartbeats(owned={}, assigned={"0": (0, 1), "1": (0, 1, 2)}, statuses=())


@scenario("streams_groups/topics/repartition-follows-on", source=ENFORCES, clauses=("KS-28", "KS-29"))
def what_follows_a_source_is_followed(conversation: Conversation) -> None:
    """Partitions that one copartition group has decided count in the next, where another topic has fewer."""
    ana, topic = conversation.streams_member("ana"), conversation.group("repartition")
    other = topic_made(conversation, ana, partitions=2)
    carried = topic_info(topic)

    ana.enters(
        subtopology("0", sources=("payments",), sinks=(topic, other)),
        subtopology("1", repartitions=(carried,), copartitioned=(0,), copartitioned_repartitions=(0,)),
        subtopology(
            "2", sources=(), repartitions=(carried, topic_info(other)), copartitioned_repartitions=(0, 1)
        ),
        assigned={},
        statuses=(WRONG_PARTITIONS,),
    )


@scenario("streams_groups/topics/repartition-alike", source=ENFORCES, clauses=("KS-28", "KS-29"))
def repartition_topics_follow_a_fixed_one(conversation: Conversation) -> None:
    """An open repartition topic gets the partitions of the fixed one that it is copartitioned with."""
    ana, topic = conversation.streams_member("ana"), conversation.group("repartition")
    other = topic_made(conversation, ana, partitions=2)
    repartitions = (topic_info(other, partitions=2), topic_info(topic))
    ana.enters(
        subtopology("0", sinks=(topic, other)),
        subtopology("1", sources=(), repartitions=repartitions, copartitioned_repartitions=(0, 1)),
        assigned={},
        statuses=(MISSING_INTERNAL,),
    )
    ana.awaits_metadata()

    ana.heartbeats(owned={}, assigned={"0": (0, 1, 2), "1": (0, 1)}, statuses=())


@scenario("streams_groups/topics/copartition-of-none", source=ENFORCES, clauses=("KS-28",))
def a_copartition_group_may_be_empty(conversation: Conversation) -> None:
    """A copartition group without topics is ignored."""
    ana = conversation.streams_member("ana")
    nothing = {"source_topics": (), "source_topic_regex": (), "repartition_source_topics": ()}

    ana.enters({**subtopology(), "copartition_groups": (nothing,)}, assigned=ALL, statuses=())


@scenario("streams_groups/topics/changelog-twice", source=CONFIGURES, clauses=("KS-29",))
def an_internal_topic_is_named_once(conversation: Conversation) -> None:
    """A subtopology that names a changelog topic twice gets UNKNOWN_SERVER_ERROR."""
    ana, changelog = conversation.streams_member("ana"), topic_info(conversation.group("changelog"))

    ana.enters(subtopology(changelogs=(changelog, changelog)), error_code=STOPPED)


@scenario("streams_groups/topics/three-missing", source=NAMES, clauses=("KS-27",))
def three_missing_topics_are_named(conversation: Conversation) -> None:
    """A status names all of three missing topics."""
    ana = conversation.streams_member("ana")
    missing = tuple(conversation.group(each) for each in ("one", "two", "three"))

    ana.enters(subtopology(sources=missing), assigned={}, statuses=(MISSING_SOURCES,))
