"""OffsetFetch: what it returns for a partition, and that unknown partitions are not an error."""

from collections.abc import Mapping

from harness.scenario import Actor, Conversation, Value, ask, expect, in_any_order, scenario

FETCHES = "OffsetMetadataManager#fetchOffsets"
FETCHES_ALL = "OffsetMetadataManager#fetchAllOffsets"


def _committed(conversation: Conversation) -> Actor:
    """Return an actor whose group has two committed offsets, of one topic each."""
    ana = conversation.actor("ana")
    ana.sends(
        ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {1: 21}, "payments": {0: 22}})
    )
    ana.receives(expect.offset_commit({"orders": {1: "NONE"}, "payments": {0: "NONE"}}))
    return ana


def _offset(partition: int, offset: int) -> Mapping[str, int]:
    """Return the expected partition and its offset."""
    return {"partition_index": partition, "committed_offset": offset}


@scenario("offsets/fetch/named", source=FETCHES, clauses=("OF-01",))
def what_is_not_committed_is_minus_one(conversation: Conversation) -> None:
    """OffsetFetch returns -1 for partitions without an offset, whether the topic exists or not."""
    ana = _committed(conversation)

    ana.repeats(
        ask.offset_fetch(topics={"orders": (0, 1), "payments": (0,), "no-such-topic": (7,)}),
        until=expect.offset_fetch({"orders": {0: -1, 1: 21}, "payments": {0: 22}, "no-such-topic": {7: -1}}),
    )


@scenario("offsets/fetch/all", source=FETCHES_ALL, clauses=("OF-05",))
def all_means_what_is_committed(conversation: Conversation) -> None:
    """OffsetFetch v2+ without topics returns all partitions with an offset, and no others."""
    ana = _committed(conversation)
    both = expect.offset_fetch({"orders": {1: 21}, "payments": {0: 22}})

    ana.repeats(ask.offset_fetch(), until=both)
    ana.asks(ask.offset_fetch(version=2), both)


@scenario("offsets/fetch/nothing", source=FETCHES, clauses=("OF-05",))
def no_topics_are_not_all_topics(conversation: Conversation) -> None:
    """OffsetFetch with an empty list of topics, unlike a null list, returns nothing."""
    ana = _committed(conversation)

    ana.asks(ask.offset_fetch(topics={}), expect.offset_fetch({}))


@scenario("offsets/fetch/missing-group", source=FETCHES, clauses=("OF-02", "OF-03"))
def a_missing_group_has_no_offsets_and_no_error(conversation: Conversation) -> None:
    """OffsetFetch of a missing group returns no error, in any version."""
    ana = conversation.actor("ana")

    ana.sends(ask.offset_fetch(version=1, topics={"orders": (0,)}))
    ana.receives(expect.offset_fetch({"orders": {0: -1}}, version=1))
    ana.asks(ask.offset_fetch(version=2, topics={"orders": (0,)}), expect.offset_fetch({"orders": {0: -1}}))
    ana.asks(ask.offset_fetch(topics={"orders": (0, 1)}), expect.offset_fetch({"orders": {0: -1, 1: -1}}))
    ana.asks(ask.offset_fetch(), expect.offset_fetch({}))


@scenario("offsets/fetch/low-version", source=FETCHES, clauses=("OF-01",))
def version_1_fetches_named_partitions(conversation: Conversation) -> None:
    """OffsetFetch v1 has no top-level error and no leader epoch, and returns offsets as later versions do."""
    ana = _committed(conversation)

    ana.repeats(
        ask.offset_fetch(version=1, topics={"orders": (0, 1)}),
        until=expect.offset_fetch({"orders": {0: -1, 1: 21}}, version=1),
    )


@scenario("offsets/fetch/require-stable", source="KIP-447", clauses=("OF-20",))
def a_plain_commit_is_stable(conversation: Conversation) -> None:
    """OffsetFetch with require_stable returns a committed offset that is in no transaction."""
    ana = _committed(conversation)

    ana.repeats(
        ask.offset_fetch(version=7, topics={"orders": (1, 2)}, require_stable=True),
        until=expect.offset_fetch({"orders": {1: 21, 2: -1}}),
    )
    ana.sends(ask.offset_fetch(version=7, require_stable=True))
    ana.receives(expect.offset_fetch({"orders": {1: 21}, "payments": {0: 22}}))


@scenario("offsets/fetch/several-groups", source="KIP-709", clauses=("OF-12", "OF-02"))
def several_groups_are_fetched_at_once(conversation: Conversation) -> None:
    """OffsetFetch v8 answers for each group with its own error code, even if the group is missing."""
    ana = _committed(conversation)
    ana.repeats(ask.offset_fetch(), until=expect.offset_fetch({"orders": {1: 21}, "payments": {0: 22}}))

    main, never, nor_this = (conversation.group(name) for name in ("main", "never", "nor-this"))
    wanted: Value = (
        {"group_id": main, "topics": ({"name": "orders", "partition_indexes": (1,)},)},
        {"group_id": never, "topics": ({"name": "orders", "partition_indexes": (1,)},)},
        {"group_id": nor_this, "topics": None},
    )
    ana.sends(ask.request("OffsetFetch", 8, groups=wanted))
    ana.receives(
        expect.response(
            "OffsetFetch",
            groups=in_any_order(
                {"group_id": main, "error_code": "NONE", "topics": ({"partitions": (_offset(1, 21),)},)},
                {"group_id": never, "error_code": "NONE", "topics": ({"partitions": (_offset(1, -1),)},)},
                {"group_id": nor_this, "error_code": "NONE", "topics": ()},
            ),
        )
    )


@scenario("offsets/fetch/as-nobody", source="ClassicGroup#validateOffsetFetch", clauses=("OF-26", "OF-29"))
def a_classic_group_asks_nobody_who_fetches(conversation: Conversation) -> None:
    """OffsetFetch v9 ignores the member id and epoch for a group without members."""
    ana = _committed(conversation)

    for member_id, member_epoch in ((None, -1), ("nobody", 5), (None, 5)):
        wanted: Value = {
            "group_id": conversation.group("main"),
            "member_id": member_id,
            "member_epoch": member_epoch,
            "topics": ({"name": "orders", "partition_indexes": (1,)},),
        }
        ana.repeats(
            ask.request("OffsetFetch", 9, groups=(wanted,)),
            until=expect.offset_fetch({"orders": {1: 21}}, version=9),
        )


@scenario("offsets/fetch/partition-twice", source=FETCHES, clauses=("OF-13",))
def a_partition_that_is_named_twice(conversation: Conversation) -> None:
    """OffsetFetch answers a partition that is named twice once until 3.9, and twice since 4.0."""
    ana = _committed(conversation)

    orders: Value = {"name": "orders", "partition_indexes": (1, 1, 0)}
    ana.sends(ask.request("OffsetFetch", 6, group_id=conversation.group("main"), topics=(orders,)))
    ana.receives(expect.response("OffsetFetch", error_code="NONE"))
