"""OffsetCommit v0 and v1, and OffsetFetch v0: offsets in ZooKeeper, and commit times set by the client."""

from harness.scenario import (
    OWN,
    Actor,
    Conversation,
    Pattern,
    Value,
    ask,
    expect,
    in_any_order,
    one_of,
    scenario,
)
from suites.offsets.expiry import FREQUENT_EXPIRY

COMMITS = "KafkaApis#commitOffsetsToZookeeper"
FETCHES = "KafkaApis#handleOffsetFetchRequestFromZookeeper"
LONG_PAST_MS = -(10**12)
"""In 1938; the reference's clock starts in 1970."""
REFUSED = "UNSUPPORTED_VERSION"
UNKNOWN = "UNKNOWN_TOPIC_OR_PARTITION"


def _commits(
    actor: Actor, topic: str, *partitions: tuple[int, int, str], version: int, **named: Value
) -> None:
    """Commit partitions, offsets and metadata without a member, in the form of the version."""
    reported: Value = tuple(
        {"partition_index": index, "committed_offset": offset, "committed_metadata": metadata, **named}
        for index, offset, metadata in partitions
    )
    member: dict[str, Value] = {} if version == 0 else {"generation_id_or_member_epoch": -1, "member_id": ""}
    topics = ({"name": topic, "partitions": reported},)
    actor.sends(ask.request("OffsetCommit", version, group_id=OWN, topics=topics, **member))


def _finds(actor: Actor, topic: str, *partitions: int) -> None:
    """Fetch in version 0; the result depends on whether the broker has ZooKeeper."""
    reported: tuple[Pattern, ...] = tuple(
        {"partition_index": each, "error_code": one_of("NONE", UNKNOWN, REFUSED)} for each in partitions
    )
    actor.sends(ask.offset_fetch(version=0, topics={topic: partitions}))
    actor.receives(
        expect.response("OffsetFetch", topics=({"name": topic, "partitions": in_any_order(*reported)},))
    )


@scenario(
    "offsets/first-versions/kept-apart",
    source=COMMITS,
    clauses=("OC-24", "OF-06"),
)
def offsets_of_version_0_are_kept_apart_from_the_group(conversation: Conversation) -> None:
    """OffsetCommit v0 writes to ZooKeeper, where only OffsetFetch v0 finds it; without it, it is refused."""
    ana = conversation.actor("ana")

    _commits(ana, "orders", (0, 7, "mine"), (99, 1, ""), version=0)
    ana.receives(expect.offset_commit({"orders": {0: one_of("NONE", REFUSED), 99: one_of(UNKNOWN, REFUSED)}}))
    _finds(ana, "orders", 0, 1, 99)
    ana.asks(ask.offset_fetch(topics={"orders": (0,)}), expect.offset_fetch({"orders": {0: -1}}))

    _commits(ana, "orders", (0, 8, "theirs"), version=1)
    ana.receives(expect.offset_commit({"orders": {0: "NONE"}}))
    _finds(ana, "orders", 0)
    ana.repeats(ask.offset_fetch(topics={"orders": (0,)}), until=expect.offset_fetch({"orders": {0: 8}}))
    _commits(ana, "no-such-topic", (0, 7, ""), version=0)
    ana.receives(expect.offset_commit({"no-such-topic": {0: UNKNOWN}}))


@scenario(
    "offsets/first-versions/not-judged",
    source=COMMITS,
    clauses=("OC-24", "OF-06"),
    broker_config={"offset.metadata.max.bytes": "10"},
)
def a_commit_of_version_0_is_judged_by_its_metadata_alone(conversation: Conversation) -> None:
    """OffsetCommit v0 ignores the group's members and accepts any offset; only metadata is checked."""
    (ana,) = conversation.stable_group("ana")
    bob = conversation.actor("bob")

    _commits(bob, "orders", (0, 7, "m" * 10), (1, -5, ""), version=0)
    bob.receives(expect.response("OffsetCommit", topics=({"name": "orders"},)))
    _commits(bob, "orders", (0, 9, "m" * 11), (1, 3, ""), version=0)
    bob.receives(expect.response("OffsetCommit", topics=({"name": "orders"},)))
    _finds(bob, "orders", 0, 1)
    ana.asks(ask.offset_commit(topics={"orders": {0: 8}}), expect.offset_commit({"orders": {0: "NONE"}}))
    _finds(bob, "orders", 0, 1)


@scenario(
    "offsets/first-versions/without-a-group",
    source="KafkaZkClient#setOrCreateConsumerOffset",
    clauses=("OC-24", "OF-06"),
)
def a_commit_of_version_0_names_a_path(conversation: Conversation) -> None:
    """OffsetCommit v0 with an empty group id gets UNKNOWN_SERVER_ERROR, as it has no ZooKeeper path."""
    ana = conversation.actor("ana")
    partition: Value = {"partition_index": 0, "committed_offset": 7, "committed_metadata": ""}

    topics: Value = ({"name": "orders", "partitions": (partition,)},)
    ana.sends(ask.request("OffsetCommit", 0, group_id="", topics=topics))
    failed = one_of("UNKNOWN_SERVER_ERROR", REFUSED)
    ana.receives(expect.offset_commit({"orders": {0: failed}}))
    ana.sends(ask.offset_fetch(version=0, group_id="", topics={"orders": (0, 99)}))
    ana.receives(expect.response("OffsetFetch", topics=({"name": "orders"},)))


@scenario(
    "offsets/first-versions/by-partition",
    source=FETCHES,
    clauses=("OF-06",),
)
def a_fetch_of_version_0_is_answered_by_partition(conversation: Conversation) -> None:
    """OffsetFetch v0 answers a partition that is named twice once, and leaves out a topic without any."""
    ana = conversation.actor("ana")

    ana.sends(ask.offset_fetch(version=0, topics={"orders": (0, 0), "payments": ()}))
    partition: Pattern = {"partition_index": 0, "error_code": one_of(UNKNOWN, REFUSED)}
    ana.receives(expect.response("OffsetFetch", topics=({"name": "orders", "partitions": (partition,)},)))


@scenario(
    "offsets/first-versions/timestamp",
    source="OffsetAndMetadata#fromRequest",
    clauses=("OC-25", "EX-11"),
    broker_config=FREQUENT_EXPIRY,
)
def an_offset_ages_from_the_time_that_its_commit_names(conversation: Conversation) -> None:
    """An offset committed by OffsetCommit v1 with an old time is removed at the next pass; others stay."""
    ana = conversation.actor("ana")

    for partition, named in ((0, LONG_PAST_MS), (1, -1)):
        _commits(ana, "orders", (partition, 7, ""), version=1, commit_timestamp=named)
        ana.receives(expect.offset_commit({"orders": {partition: "NONE"}}))
    ana.repeats(
        ask.offset_fetch(topics={"orders": (0, 1)}), until=expect.offset_fetch({"orders": {0: -1, 1: 7}})
    )
    ana.asks(ask.describe_groups(), expect.describe_groups(error_code="NONE", group_state="Empty"))
