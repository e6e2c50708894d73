"""Partitions beyond the end of a topic, and groups or partitions that a request names twice."""

from harness.scenario import ANY, OWN, Actor, Conversation, Value, ask, expect, scenario
from suites.transactions.producers import initialised

UNKNOWN = "UNKNOWN_TOPIC_OR_PARTITION"
TINY_METADATA = {"offset.metadata.max.bytes": "10"}


@scenario(
    "offsets/edge/commit-beyond-the-last-partition",
    source="KafkaApis#handleOffsetCommitRequest",
    clauses=("OC-23",),
)
def the_last_partition_is_the_last(conversation: Conversation) -> None:
    """A commit beyond a topic's last partition, or below 0, gets UNKNOWN_TOPIC_OR_PARTITION."""
    ana = conversation.actor("ana")

    ana.sends(
        ask.offset_commit(
            generation_id=-1, member_id="", topics={"orders": {2: 1, 3: 1, -1: 1}, "payments": {2: 1}}
        )
    )
    ana.receives(
        expect.offset_commit({"orders": {2: "NONE", 3: UNKNOWN, -1: UNKNOWN}, "payments": {2: UNKNOWN}})
    )


@scenario(
    "offsets/edge/delete-beyond-the-last-partition",
    source="KafkaApis#handleOffsetDeleteRequest",
    clauses=("OD-05",),
)
def partitions_are_deleted_one_by_one(conversation: Conversation) -> None:
    """OffsetDelete refuses a missing partition without affecting others of the same topic."""
    ana = conversation.actor("ana")
    ana.sends(ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {0: 1, 2: 1}}))
    ana.receives(expect.offset_commit({"orders": {0: "NONE", 2: "NONE"}}))

    ana.asks(ask.offset_delete(topics={"orders": (2, 3), "payments": (0,)}), error_code="NONE")
    ana.sends(ask.offset_delete(topics={"payments": (2,), "orders": (3,)}))
    ana.receives(
        expect.offset_delete(error_code=ANY, errors={"payments": {2: UNKNOWN}, "orders": {3: UNKNOWN}})
    )


@scenario(
    "offsets/edge/fetch-a-group-twice",
    source="KafkaApis#handleOffsetFetchRequestFromCoordinator",
    clauses=("OF-12",),
)
def a_group_that_is_named_twice(conversation: Conversation) -> None:
    """OffsetFetch v8 of a group that is named twice returns it twice, but once from 3.0 to 3.4."""
    ana = conversation.actor("ana")
    ana.sends(ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {0: 1}}))
    ana.receives(expect.offset_commit({"orders": {0: "NONE"}}))

    topics: Value = ({"name": "orders", "partition_indexes": (0,)},)
    group: Value = {"group_id": conversation.group("main"), "topics": topics}
    ana.asks(ask.request("OffsetFetch", 8, groups=(group, group)), expect.response("OffsetFetch"))


@scenario(
    "offsets/edge/fetch-no-group",
    source="OffsetFetchResponse#errorCounts",
    clauses=("OF-12",),
)
def a_fetch_that_names_no_group(conversation: Conversation) -> None:
    """OffsetFetch v8 that names no groups is never answered before 4.1."""
    ana = conversation.actor("ana")

    ana.sends(ask.request("OffsetFetch", 8, groups=(), require_stable=False))
    ana.may_receive(expect.response("OffsetFetch", groups=()), within_ms=2_000)
    ana.aside.asks(ask.offset_fetch(), expect.response("OffsetFetch", error_code="NONE"))


@scenario(
    "offsets/edge/stable-readers-of-what-was-refused",
    source="KAFKA-16371",
    broker_config=TINY_METADATA,
)
def readers_of_a_partition_that_was_refused(conversation: Conversation) -> None:
    """From 2.5 to 3.7.0, a stable fetch waits forever for an offset refused for its metadata."""
    ana = conversation.actor("ana")
    ana.sends(
        ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {0: 1, 1: (2, "x" * 11)}}),
    )
    ana.receives(expect.offset_commit({"orders": {0: "NONE", 1: "OFFSET_METADATA_TOO_LARGE"}}))

    ana.sends(ask.offset_fetch(version=7, topics={"orders": (0, 1)}, require_stable=True))
    ana.receives(expect.response("OffsetFetch"))

    ana.sends(ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {2: (2, "x" * 11)}}))
    ana.receives(expect.offset_commit({"orders": {2: "OFFSET_METADATA_TOO_LARGE"}}))
    ana.sends(ask.offset_fetch(version=7, topics={"orders": (2,)}, require_stable=True))
    ana.receives(expect.response("OffsetFetch"))


@scenario("offsets/edge/topics-without-partitions", source="KafkaApis#handleOffsetCommitRequest")
def topics_without_partitions(conversation: Conversation) -> None:
    """OffsetCommit and OffsetDelete ignore an existing topic that is named without partitions."""
    ana = conversation.actor("ana")
    ana.sends(ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {0: 1}}))
    ana.receives(expect.offset_commit({"orders": {0: "NONE"}}))

    ana.sends(ask.offset_commit(generation_id=-1, member_id="", topics={"payments": {}}))
    ana.receives(expect.offset_commit({}))
    ana.sends(ask.offset_commit(generation_id=-1, member_id="", topics={"payments": {}, "orders": {1: 1}}))
    ana.receives(expect.offset_commit({"orders": {1: "NONE"}}))
    for partitions in ({"payments": ()}, {"payments": (), "orders": (1,)}):
        ana.asks(ask.offset_delete(topics=partitions), error_code="NONE")


@scenario("offsets/edge/topic-without-name", source="OffsetMetadataManager#fetchOffsets")
def a_topic_without_a_name_has_no_offsets(conversation: Conversation) -> None:
    """OffsetFetch by names answers a topic with an empty name like any other without offsets."""
    ana = conversation.actor("ana")

    ana.sends(ask.offset_fetch(topics={"": (0,), "orders": (0,)}))
    ana.receives(expect.offset_fetch({"": {0: -1}, "orders": {0: -1}}))


@scenario(
    "offsets/edge/delete-a-partition-twice",
    source="GroupCoordinatorAdapter#deleteOffsets",
    clauses=("OD-03",),
)
def a_partition_that_is_deleted_twice(conversation: Conversation) -> None:
    """OffsetDelete answers a partition that is named twice once until 3.9, and twice since 4.0."""
    ana = conversation.actor("ana")
    ana.sends(ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {0: 1, 1: 2, 2: 3}}))
    ana.receives(expect.offset_commit({"orders": {0: "NONE", 1: "NONE", 2: "NONE"}}))

    _deletes(ana, 0, 0)
    _deletes(ana, 1, 2, split=True)


@scenario(
    "offsets/edge/unknown-partition-twice",
    source="KafkaApis#handleOffsetCommitRequest",
    clauses=("OC-23", "OD-05"),
)
def an_unknown_partition_that_is_named_twice(conversation: Conversation) -> None:
    """A missing partition that is named twice is answered twice since 3.5, and once before."""
    ana = conversation.actor("ana")
    producer = initialised(ana)
    twice: Value = ({"partition_index": 9, "committed_offset": 8},) * 2
    orders: Value = {"name": "orders", "partitions": twice}
    ana.sends(ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {0: 1}}))
    ana.receives(expect.offset_commit({"orders": {0: "NONE"}}))

    ana.sends(
        ask.request("OffsetCommit", 8, group_id=OWN, generation_id_or_member_epoch=-1, topics=(orders,))
    )
    ana.receives(expect.response("OffsetCommit", throttle_time_ms=0))
    ana.sends(
        ask.request(
            "TxnOffsetCommit",
            2,
            group_id=OWN,
            transactional_id=producer.transactional_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            topics=(orders,),
        )
    )
    ana.receives(expect.response("TxnOffsetCommit", throttle_time_ms=0))
    for split in (False, True):
        _deletes(ana, 8, 8, split=split)


@scenario(
    "offsets/edge/nothing-to-delete",
    source="GroupCoordinator#handleDeleteOffsets",
    clauses=("OD-05", "OD-07"),
)
def who_deletes_nothing_leaves_the_group_alone(conversation: Conversation) -> None:
    """An Empty group without offsets survives an OffsetDelete that names no existing partition."""
    (ana,) = conversation.stable_group("ana")
    ana.asks(ask.leave_group(), error_code="NONE")

    for nothing in ({}, {"orders": (3,)}):
        ana.asks(ask.offset_delete(topics=nothing), error_code="NONE")
        ana.asks(ask.describe_groups(), expect.describe_groups(error_code="NONE", group_state="Empty"))
    ana.sends(ask.offset_delete(topics={"orders": (0,)}))
    ana.receives(expect.offset_delete(error_code="NONE", errors={"orders": {0: "NONE"}}))
    ana.asks(ask.describe_groups(), expect.describe_groups(error_code="NONE"))


def _deletes(ana: Actor, *indexes: int, split: bool = False) -> None:
    """Delete offsets of partitions of one topic, which is listed once, or once for each partition."""
    partitions: tuple[Value, ...] = tuple({"partition_index": index} for index in indexes)
    pieces = tuple((each,) for each in partitions) if split else (partitions,)
    topics: tuple[Value, ...] = tuple({"name": "orders", "partitions": piece} for piece in pieces)
    ana.asks(ask.request("OffsetDelete", 0, group_id=OWN, topics=topics), error_code="NONE")
