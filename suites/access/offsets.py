"""Authorization for offsets: READ, DESCRIBE and DELETE on the group, READ or DESCRIBE on each topic."""

from harness.scenario import Conversation, Pattern, ask, containing, expect, scenario
from suites.access.entries import (
    AUTHORIZER,
    MAIN,
    NEEDS,
    NO_GROUP,
    NO_TOPIC,
    administrator_of,
    allows,
    somebody,
)


@scenario(
    "access/offsets/commit",
    source="KafkaApis#handleOffsetCommitRequest",
    clauses=("AU-09", "AU-10"),
    needs=NEEDS,
    broker_config=AUTHORIZER,
)
def offsets_are_committed_of_topics_that_may_be_read(conversation: Conversation) -> None:
    """OffsetCommit requires READ on each topic; without it, an existing and a missing topic get one error."""
    administrator, ana = administrator_of(conversation), somebody(conversation, "ana")
    allows(administrator, ana, "READ")

    ana.asks(
        ask.offset_commit(topics={"payments": {0: 1}, "missing": {0: 1}}, generation_id=-1, member_id=""),
        expect.offset_commit({"payments": {0: NO_TOPIC}, "missing": {0: NO_TOPIC}}),
    )
    ana.asks(
        ask.offset_commit(topics={"payments": {0: 1}}, generation_id=7, member_id="nobody"),
        expect.offset_commit({"payments": {0: NO_TOPIC}}),
    )
    allows(administrator, ana, "READ", kind="TOPIC", name="orders")
    ana.asks(
        ask.offset_commit(
            topics={"payments": {0: 1}, "orders": {0: 2, 99: 3}}, generation_id=-1, member_id=""
        ),
        expect.offset_commit(
            {"payments": {0: NO_TOPIC}, "orders": {0: "NONE", 99: "UNKNOWN_TOPIC_OR_PARTITION"}}
        ),
    )
    ana.repeats(ask.offset_fetch(), until=expect.offset_fetch({"orders": {0: 2}}))


@scenario(
    "access/offsets/fetch",
    source="KafkaApis#handleOffsetFetchRequest",
    clauses=("AU-11", "AU-12"),
    needs=NEEDS,
    broker_config=AUTHORIZER,
)
def offsets_are_fetched_of_topics_that_may_be_seen(conversation: Conversation) -> None:
    """OffsetFetch requires DESCRIBE on the group and each topic; a full fetch leaves out other topics."""
    administrator, ana = administrator_of(conversation), somebody(conversation, "ana")
    both = {"orders": {0: 1}, "payments": {0: 2}}
    administrator.asks(
        ask.offset_commit(topics=both, generation_id=-1, member_id=""),
        expect.offset_commit({"orders": {0: "NONE"}, "payments": {0: "NONE"}}),
    )
    administrator.repeats(ask.offset_fetch(), until=expect.offset_fetch(both))

    for version in (1, 5):
        ana.asks(ask.offset_fetch(version=version, topics={"orders": (0,)}), expect.response("OffsetFetch"))
    allows(administrator, ana, "DESCRIBE")
    allows(administrator, ana, "READ", kind="TOPIC", name="orders")
    refused: Pattern = {"partition_index": 0, "committed_offset": -1, "error_code": NO_TOPIC}
    ana.asks(
        ask.offset_fetch(topics={"orders": (0,), "payments": (0,)}),
        expect.response(
            "OffsetFetch",
            error_code="NONE",
            topics=containing(
                {"name": "orders", "partitions": ({"committed_offset": 1, "error_code": "NONE"},)},
                {"name": "payments", "partitions": (refused,)},
            ),
        ),
    )
    ana.asks(ask.offset_fetch(), expect.offset_fetch({"orders": {0: 1}}))


@scenario(
    "access/offsets/fetch-several",
    source="KafkaApis#handleOffsetFetchRequest",
    clauses=("AU-11",),
    needs=NEEDS,
    broker_config=AUTHORIZER,
)
def each_group_of_a_fetch_is_refused_by_itself(conversation: Conversation) -> None:
    """OffsetFetch v8 returns the group that the client may DESCRIBE, and refuses the other one."""
    administrator, ana = administrator_of(conversation), somebody(conversation, "ana")
    other = conversation.group("other")
    allows(administrator, ana, "DESCRIBE")

    ana.asks(
        ask.request(
            "OffsetFetch", 8, groups=({"group_id": MAIN, "topics": None}, {"group_id": other, "topics": None})
        ),
        expect.response(
            "OffsetFetch",
            groups=containing(
                {"group_id": MAIN, "error_code": "NONE", "topics": ()},
                {"group_id": other, "error_code": NO_GROUP, "topics": ()},
            ),
        ),
    )


@scenario(
    "access/offsets/delete",
    source="KafkaApis#handleOffsetDeleteRequest",
    clauses=("AU-13",),
    needs=NEEDS,
    broker_config=AUTHORIZER,
)
def offsets_are_deleted_by_who_may_delete_the_group(conversation: Conversation) -> None:
    """OffsetDelete requires DELETE on the group and READ on each topic; a group error lists no topics."""
    administrator, ana = administrator_of(conversation), somebody(conversation, "ana")
    topics = {"orders": (0,), "payments": (0,)}
    allows(administrator, ana, "READ")

    ana.asks(
        ask.offset_delete(topics=topics), expect.response("OffsetDelete", error_code=NO_GROUP, topics=())
    )
    allows(administrator, ana, "DELETE")
    allows(administrator, ana, "READ", kind="TOPIC", name="orders")
    ana.asks(
        ask.offset_delete(topics=topics),
        expect.response("OffsetDelete", error_code="GROUP_ID_NOT_FOUND", topics=()),
    )
    ana.asks(
        ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {0: 1}}),
        expect.offset_commit({"orders": {0: "NONE"}}),
    )
    ana.asks(
        ask.offset_delete(topics=topics),
        expect.offset_delete(error_code="NONE", errors={"orders": {0: "NONE"}, "payments": {0: NO_TOPIC}}),
    )
