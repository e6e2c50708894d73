"""Every version of OffsetCommit and OffsetFetch: requests, answers and refusals."""

from harness.scenario import OWN, Conversation, Pattern, Value, ask, expect, scenario, sweep
from suites.offsets.topics import UNKNOWN_ID, asked_by_id, committed_by_id, id_of

COMMITS = "OffsetMetadataManager#validateOffsetCommit"
FETCHES = "OffsetMetadataManager#fetchOffsets"


@scenario(
    "offsets/versions/commit",
    source="OffsetMetadataManager#commitOffset",
    clauses=("OC-09", "OF-01"),
    sweep=sweep("OffsetCommit", 1, 9),
)
def a_member_commits(conversation: Conversation, version: int) -> None:
    """OffsetCommit v{version} of a member succeeds, and its offset is fetched with its metadata."""
    (ana,) = conversation.stable_group("ana")

    ana.sends(
        ask.offset_commit(version=version, topics={"orders": {0: (7, "mine"), 1: 8}, "payments": {1: 9}})
    )
    ana.receives(expect.offset_commit({"orders": {0: "NONE", 1: "NONE"}, "payments": {1: "NONE"}}))
    ana.repeats(ask.offset_fetch(), until=expect.offset_fetch({"orders": {0: 7, 1: 8}, "payments": {1: 9}}))
    kept: Pattern = {"committed_offset": 7, "metadata": "mine"}
    ana.sends(ask.offset_fetch(topics={"orders": (0,)}))
    ana.receives(expect.response("OffsetFetch", error_code="NONE", topics=({"partitions": (kept,)},)))


@scenario(
    "offsets/versions/commit-refused",
    source="ClassicGroup#validateOffsetCommit",
    clauses=("OC-14", "OC-16", "OC-23"),
    sweep=sweep("OffsetCommit", 1, 9),
)
def a_commit_is_refused(conversation: Conversation, version: int) -> None:
    """OffsetCommit v{version} is refused per partition for topic, member or generation."""
    (ana,) = conversation.stable_group("ana")

    for reported, error in (
        (
            ask.offset_commit(version=version, member_id="nobody", topics={"orders": {0: 1}}),
            "UNKNOWN_MEMBER_ID",
        ),
        (
            ask.offset_commit(
                version=version, generation_id=ana.generation_id - 1, topics={"orders": {0: 1}}
            ),
            "ILLEGAL_GENERATION",
        ),
    ):
        ana.asks(reported, expect.offset_commit({"orders": {0: error}}))
    ana.sends(ask.offset_commit(version=version, topics={"orders": {0: 1, 99: 1}, "no-such-topic": {0: 1}}))
    unknown = "UNKNOWN_TOPIC_OR_PARTITION"
    ana.receives(expect.offset_commit({"orders": {0: "NONE", 99: unknown}, "no-such-topic": {0: unknown}}))


@scenario(
    "offsets/versions/commit-by-id",
    source="KafkaApis#handleOffsetCommitRequest",
    clauses=("OC-46", "OC-09"),
    sweep=sweep("OffsetCommit", 10, 10),
)
def a_member_commits_by_topic_id(conversation: Conversation, version: int) -> None:
    """OffsetCommit v{version} names topics by id; a non-member gets UNKNOWN_MEMBER_ID."""
    (ana,) = conversation.stable_group("ana")
    orders = id_of(ana, "orders")

    for member_id, error in (("nobody", "UNKNOWN_MEMBER_ID"), (ana.member_id, "NONE")):
        ana.sends(
            ask.request(
                "OffsetCommit",
                version,
                group_id=OWN,
                generation_id_or_member_epoch=OWN,
                member_id=member_id,
                topics=(committed_by_id(orders, 0),),
            )
        )
        reported: Pattern = {"topic_id": orders, "partitions": ({"partition_index": 0, "error_code": error},)}
        ana.receives(expect.response("OffsetCommit", topics=(reported,)))
    ana.repeats(ask.offset_fetch(topics={"orders": (0,)}), until=expect.offset_fetch({"orders": {0: 7}}))


@scenario(
    "offsets/versions/fetch", source=FETCHES, clauses=("OF-01", "OF-26"), sweep=sweep("OffsetFetch", 1, 9)
)
def what_is_committed_is_fetched(conversation: Conversation, version: int) -> None:
    """OffsetFetch v{version} returns committed offsets, and -1 for other partitions."""
    ana = conversation.actor("ana")
    ana.sends(
        ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {1: 21}, "payments": {0: 22}})
    )
    ana.receives(expect.offset_commit({"orders": {1: "NONE"}, "payments": {0: "NONE"}}))

    ana.repeats(
        ask.offset_fetch(version=version, topics={"orders": (0, 1), "no-such-topic": (7,)}),
        until=expect.offset_fetch({"orders": {0: -1, 1: 21}, "no-such-topic": {7: -1}}, version=version),
    )


@scenario("offsets/versions/fetch-all", source=FETCHES, clauses=("OF-05",), sweep=sweep("OffsetFetch", 2, 9))
def all_that_is_committed_is_fetched(conversation: Conversation, version: int) -> None:
    """OffsetFetch v{version} without topics returns all partitions with an offset."""
    ana = conversation.actor("ana")
    ana.sends(
        ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {1: 21}, "payments": {0: 22}})
    )
    ana.receives(expect.offset_commit({"orders": {1: "NONE"}, "payments": {0: "NONE"}}))

    ana.repeats(
        ask.offset_fetch(version=version),
        until=expect.offset_fetch({"orders": {1: 21}, "payments": {0: 22}}, version=version),
    )


@scenario(
    "offsets/versions/fetch-missing-group",
    source=FETCHES,
    clauses=("OF-02",),
    sweep=sweep("OffsetFetch", 1, 9),
)
def a_missing_group_is_fetched_without_an_error(conversation: Conversation, version: int) -> None:
    """OffsetFetch v{version} of a group that never existed returns -1 and no error."""
    ana = conversation.actor("ana")

    ana.sends(ask.offset_fetch(version=version, topics={"orders": (0,)}))
    ana.receives(expect.offset_fetch({"orders": {0: -1}}, version=version))


@scenario(
    "offsets/versions/fetch-by-id",
    source="KafkaApis#handleOffsetFetchRequest",
    clauses=("OF-31", "OF-32"),
    sweep=sweep("OffsetFetch", 10, 10),
)
def offsets_are_fetched_by_topic_id(conversation: Conversation, version: int) -> None:
    """OffsetFetch v{version} names topics by id; an unknown id gets UNKNOWN_TOPIC_ID."""
    ana = conversation.actor("ana")
    orders = id_of(ana, "orders")
    ana.sends(ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {0: 7}}))
    ana.receives(expect.offset_commit({"orders": {0: "NONE"}}))
    ana.repeats(ask.offset_fetch(topics={"orders": (0,)}), until=expect.offset_fetch({"orders": {0: 7}}))

    for wanted, offset, error in ((orders, 7, "NONE"), (UNKNOWN_ID, -1, "UNKNOWN_TOPIC_ID")):
        group: Value = {"group_id": conversation.group("main"), "topics": (asked_by_id(wanted, 0),)}
        ana.sends(ask.request("OffsetFetch", version, groups=(group,)))
        reported: Pattern = {"partition_index": 0, "committed_offset": offset, "error_code": error}
        topic: Pattern = {"topic_id": wanted, "partitions": (reported,)}
        ana.receives(expect.response("OffsetFetch", groups=({"error_code": "NONE", "topics": (topic,)},)))
