"""Topics that are named by their ids, and topics that are deleted and created again."""

from harness.scenario import (
    GONE,
    OWN,
    Actor,
    AnswerRef,
    Conversation,
    GroupRef,
    Pattern,
    Value,
    ask,
    expect,
    scenario,
)

UNKNOWN_ID = ask.UNKNOWN_TOPIC_ID
NO_ID = "00000000-0000-0000-0000-000000000000"
COMMITS = "KafkaApis#handleOffsetCommitRequest"
FETCHES = "KafkaApis#handleOffsetFetchRequest"
DELETED = "OffsetMetadataManager#onTopicsDeleted"
FREQUENT_EXPIRY = {"offsets.retention.check.interval.ms": "500"}
"""The Scala coordinator checks all groups when a topic is deleted, and removes those without members
and offsets, even if they are about to be joined. So topics are deleted only where groups may be removed
at any time.
"""


def id_of(ana: Actor, topic: str | GroupRef) -> AnswerRef:
    """Let an actor look up the id of a topic."""
    ana.sends(ask.request("Metadata", 12, topics=({"name": topic},), allow_auto_topic_creation=False))
    return ana.receives(expect.response("Metadata", topics=({"error_code": "NONE"},)))[
        "topics", 0, "topic_id"
    ]


def committed_by_id(topic_id: str | AnswerRef, *partitions: int) -> Value:
    """Return the topic entry of an OffsetCommit of offset 7 for some partitions."""
    return {
        "topic_id": topic_id,
        "partitions": tuple({"partition_index": index, "committed_offset": 7} for index in partitions),
    }


def asked_by_id(topic_id: str | AnswerRef, *partitions: int) -> Value:
    """Return the topic entry of an OffsetFetch for some partitions."""
    return {"topic_id": topic_id, "partition_indexes": partitions}


def _made(conversation: Conversation, ana: Actor) -> GroupRef:
    """Create a topic of the scenario's own, and commit an offset for it."""
    topic = conversation.group("topic")
    ana.asks(ask.create_topic(topic), expect.create_topic(error_code="NONE"))
    ana.repeats(
        ask.offset_commit(generation_id=-1, member_id="", topics={topic: {0: 7}}),
        until=expect.offset_commit({topic: {0: "NONE"}}),
    )
    ana.repeats(ask.offset_fetch(topics={topic: (0,)}), until=expect.offset_fetch({topic: {0: 7}}))
    return topic


@scenario("offsets/topic-id/commit", source=COMMITS, clauses=("OC-46", "OC-47"))
def version_10_commits_by_topic_id(conversation: Conversation) -> None:
    """OffsetCommit v10 refuses an unknown or zero topic id with UNKNOWN_TOPIC_ID, and unknown partitions."""
    ana = conversation.actor("ana")
    orders = id_of(ana, "orders")

    topics = (committed_by_id(orders, 0, 99), committed_by_id(UNKNOWN_ID, 0), committed_by_id(NO_ID, 1))
    ana.sends(ask.request("OffsetCommit", 10, group_id=OWN, generation_id_or_member_epoch=-1, topics=topics))
    ana.receives(expect.response("OffsetCommit"))
    ana.repeats(
        ask.offset_fetch(topics={"orders": (0, 1)}), until=expect.offset_fetch({"orders": {0: 7, 1: -1}})
    )


@scenario("offsets/topic-id/commit-nothing-known", source=COMMITS, clauses=("OC-46",))
def an_unknown_id_never_reaches_the_coordinator(conversation: Conversation) -> None:
    """OffsetCommit v10 with only unknown topic ids gets UNKNOWN_TOPIC_ID, for any group."""
    ana = conversation.actor("ana")

    topics = (committed_by_id(UNKNOWN_ID, 0),)
    ana.sends(ask.request("OffsetCommit", 10, group_id=OWN, generation_id_or_member_epoch=5, topics=topics))
    refused: Pattern = {"topic_id": UNKNOWN_ID, "partitions": ({"error_code": "UNKNOWN_TOPIC_ID"},)}
    ana.receives(expect.response("OffsetCommit", topics=(refused,)))
    ana.asks(ask.describe_groups(), expect.describe_groups(error_code="NONE", group_state="Dead"))


@scenario("offsets/topic-id/commit-to-missing-group", source=COMMITS, clauses=("OC-48",))
def version_10_names_a_missing_group(conversation: Conversation) -> None:
    """OffsetCommit v10 with a generation to a missing group gets GROUP_ID_NOT_FOUND."""
    ana = conversation.actor("ana")
    orders = id_of(ana, "orders")

    topics = (committed_by_id(orders, 0),)
    ana.sends(ask.request("OffsetCommit", 10, group_id=OWN, generation_id_or_member_epoch=5, topics=topics))
    refused: Pattern = {"topic_id": orders, "partitions": ({"error_code": "GROUP_ID_NOT_FOUND"},)}
    ana.receives(expect.response("OffsetCommit", topics=(refused,)))


@scenario("offsets/topic-id/fetch", source=FETCHES, clauses=("OF-31", "OF-32"))
def version_10_fetches_by_topic_id(conversation: Conversation) -> None:
    """OffsetFetch v10 refuses an unknown topic id; an unknown partition just has no offset."""
    ana = conversation.actor("ana")
    orders = id_of(ana, "orders")
    ana.sends(
        ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {0: 7}, "payments": {1: 8}})
    )
    ana.receives(expect.offset_commit({"orders": {0: "NONE"}, "payments": {1: "NONE"}}))
    ana.repeats(ask.offset_fetch(topics={"orders": (0,)}), until=expect.offset_fetch({"orders": {0: 7}}))

    by_id = (asked_by_id(orders, 0, 1, 99), asked_by_id(UNKNOWN_ID, 0), asked_by_id(NO_ID, 0))
    for topics in (by_id, (), None):
        group: Value = {"group_id": conversation.group("main"), "topics": topics}
        ana.sends(ask.request("OffsetFetch", 10, groups=(group,)))
        ana.receives(expect.response("OffsetFetch", groups=({"error_code": "NONE"},)))


@scenario("offsets/topic-id/fetch-missing-group", source=FETCHES, clauses=("OF-31", "OF-32"))
def version_10_knows_ids_of_missing_groups(conversation: Conversation) -> None:
    """OffsetFetch v10 of a missing group refuses unknown topic ids, and returns no offsets."""
    ana = conversation.actor("ana")
    orders = id_of(ana, "orders")

    topics = (asked_by_id(orders, 0), asked_by_id(UNKNOWN_ID, 0))
    group: Value = {"group_id": conversation.group("main"), "topics": topics}
    ana.sends(ask.request("OffsetFetch", 10, groups=(group,)))
    ana.receives(expect.response("OffsetFetch", groups=({"error_code": "NONE"},)))


@scenario("offsets/topic/deleted", source=DELETED, clauses=("EX-17",), broker_config=FREQUENT_EXPIRY)
def a_deleted_topic_takes_its_offsets_along(conversation: Conversation) -> None:
    """Deleting a topic deletes its offsets, and a group that has no others."""
    ana = conversation.actor("ana")
    topic = _made(conversation, ana)

    ana.asks(ask.delete_topic(topic), expect.delete_topic(error_code="NONE"))
    ana.repeats(
        ask.offset_fetch(topics={topic: (0,)}), until=expect.offset_fetch({topic: {0: -1}}), within_ms=10_000
    )
    ana.repeats(ask.describe_groups(), until=GONE)


@scenario(
    "offsets/topic/deleted-in-first-version",
    source=DELETED,
    clauses=("EX-17",),
    broker_config=FREQUENT_EXPIRY,
)
def a_topic_is_deleted_in_the_first_version(conversation: Conversation) -> None:
    """DeleteTopics v0, which 4.0 dropped, refuses an unknown topic and deletes a known one with offsets."""
    ana = conversation.actor("ana")
    topic = _made(conversation, ana)

    ana.sends(ask.delete_topic(conversation.group("no-such-topic"), version=0))
    ana.receives(expect.delete_topic(error_code="UNKNOWN_TOPIC_OR_PARTITION"))
    ana.asks(ask.delete_topic(topic, version=0), expect.delete_topic(error_code="NONE"))
    ana.repeats(
        ask.offset_fetch(topics={topic: (0,)}), until=expect.offset_fetch({topic: {0: -1}}), within_ms=10_000
    )


@scenario(
    "offsets/topic/deleted-among-others", source=DELETED, clauses=("EX-17",), broker_config=FREQUENT_EXPIRY
)
def a_deleted_topic_leaves_others_alone(conversation: Conversation) -> None:
    """When a topic is deleted, the group and its offsets of other topics stay."""
    ana = conversation.actor("ana")
    topic = _made(conversation, ana)
    ana.sends(ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {0: 8}}))
    ana.receives(expect.offset_commit({"orders": {0: "NONE"}}))

    ana.asks(ask.delete_topic(topic), expect.delete_topic(error_code="NONE"))
    ana.repeats(
        ask.offset_fetch(topics={topic: (0,)}), until=expect.offset_fetch({topic: {0: -1}}), within_ms=10_000
    )
    ana.asks(ask.offset_fetch(), expect.offset_fetch({"orders": {0: 8}}))
    ana.asks(ask.describe_groups(), expect.describe_groups(error_code="NONE", group_state="Empty"))


@scenario("offsets/topic/made-anew", source=FETCHES, clauses=("OF-33",), broker_config=FREQUENT_EXPIRY)
def a_topic_made_anew_is_another(conversation: Conversation) -> None:
    """A topic that is created again has another id and no offsets; its former id is unknown."""
    ana = conversation.actor("ana")
    topic = _made(conversation, ana)
    former = id_of(ana, topic)
    ana.asks(ask.delete_topic(topic), expect.delete_topic(error_code="NONE"))
    ana.repeats(
        ask.offset_fetch(topics={topic: (0,)}), until=expect.offset_fetch({topic: {0: -1}}), within_ms=10_000
    )
    ana.repeats(ask.create_topic(topic), until=expect.create_topic(error_code="NONE"))
    ana.repeats(
        ask.request("Metadata", 12, topics=({"name": topic},), allow_auto_topic_creation=False),
        until=expect.response("Metadata", topics=({"error_code": "NONE"},)),
    )
    current = id_of(ana, topic)

    for topics in ((asked_by_id(current, 0),), (asked_by_id(former, 0),), None):
        group: Value = {"group_id": conversation.group("main"), "topics": topics}
        ana.sends(ask.request("OffsetFetch", 10, groups=(group,)))
        ana.receives(expect.response("OffsetFetch", groups=({"error_code": "NONE"},)))
