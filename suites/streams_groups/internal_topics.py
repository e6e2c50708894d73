"""The partitions of internal topics that copartitioned sources decide, and topics that are named oddly."""

from harness.scenario import Conversation, scenario, subtopology, topic_info
from suites.streams_groups.membership import ALL
from suites.streams_groups.topics import CONFIGURES, ENFORCES, MISSING_INTERNAL, MISSING_SOURCES

NAMES = "InternalTopicManager#summarizeTopics"
STOPPED = "UNKNOWN_SERVER_ERROR"


@scenario("streams_groups/topics/repartition-follows", source=ENFORCES, clauses=("KS-28", "KS-29"))
def a_repartition_topic_follows_its_sources(conversation: Conversation) -> None:
    """An open repartition topic gets the partitions of the source that it is copartitioned with."""
    ana, topic = conversation.streams_member("ana"), conversation.group("repartition")
    other, carried = topic_info(conversation.group("other")), topic_info(topic)
    ana.enters(
        subtopology("0", sources=("payments",), sinks=(topic, conversation.group("other"))),
        subtopology("1", repartitions=(carried,), copartitioned=(0,), copartitioned_repartitions=(0,)),
        subtopology("2", sources=(), repartitions=(carried, other), copartitioned_repartitions=(0, 1)),
        assigned={},
        statuses=(MISSING_INTERNAL,),
    )
    ana.awaits_metadata()

    ana.heartbeats(owned={}, assigned={"0": (0, 1), "1": (0, 1, 2), "2": (0, 1, 2)}, statuses=())


@scenario("streams_groups/topics/repartition-alike", source=ENFORCES, clauses=("KS-28", "KS-29"))
def repartition_topics_follow_a_fixed_one(conversation: Conversation) -> None:
    """An open repartition topic gets the partitions of the fixed one that it is copartitioned with."""
    ana = conversation.streams_member("ana")
    one, two = conversation.group("one"), conversation.group("two")
    repartitions = (topic_info(one, partitions=2), topic_info(two))
    ana.enters(
        subtopology("0", sinks=(one, two)),
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
