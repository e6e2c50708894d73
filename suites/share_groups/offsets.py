"""The offsets of share groups, as administrators describe, alter and delete them."""

from collections.abc import Mapping

from harness.scenario import (
    Conversation,
    GroupRef,
    Pattern,
    Response,
    ShareMember,
    ask,
    expect,
    in_any_order,
    one_of,
    scenario,
)
from suites.consumer_groups.membership import topic_made
from suites.share_groups.membership import share_group_is, sole_sharer

DESCRIBES = "GroupCoordinatorService#describeShareGroupOffsets"
DESCRIBES_ALL = "GroupCoordinatorService#describeShareGroupAllOffsets"
ALTERS = "GroupMetadataManager#alterShareGroupOffsets"
DELETES = "GroupMetadataManager#sharePartitionsEligibleForOffsetDeletion"
NO_TOPIC = "UNKNOWN_TOPIC_OR_PARTITION"


def altered(topic: str | GroupRef, errors: Mapping[int, str]) -> Response:
    """Expect the results of altering a topic's partitions; 4.1 returns none."""
    partitions: list[Pattern] = [
        {"partition_index": index, "error_code": error} for index, error in errors.items()
    ]
    responses = ({"topic_name": topic, "partitions": in_any_order(*partitions)},)
    return expect.altered_share_offsets(error_code="NONE", responses=one_of(responses, ()))


def deleted(errors: Mapping[str, str]) -> Response:
    """Expect the results of deleting topics."""
    topics: list[Pattern] = [{"topic_name": topic, "error_code": error} for topic, error in errors.items()]
    return expect.deleted_share_offsets(error_code="NONE", responses=in_any_order(*topics))


def emptied(conversation: Conversation) -> ShareMember:
    """Return a member that had all of `orders`, and has left its group."""
    ana, _ = sole_sharer(conversation)
    ana.leaves()
    return ana


@scenario("share_groups/offsets/no-group", source=DESCRIBES, clauses=("SO-07",))
def a_group_that_there_is_not_reads_nothing(conversation: Conversation) -> None:
    """DescribeShareGroupOffsets of a missing group returns -1 for named partitions, nothing for all."""
    ana = conversation.share_member("ana")

    ana.asks(
        ask.describe_share_group_offsets(topics={"orders": (0, 2), "unheard-of": (0,)}),
        expect.share_offsets({"orders": {0: -1, 2: -1}, "unheard-of": {0: -1}}),
    )
    ana.asks(ask.describe_share_group_offsets(), expect.share_offsets({}))


@scenario("share_groups/offsets/no-topics", source=DESCRIBES, clauses=("SO-07",))
def nothing_is_asked_for(conversation: Conversation) -> None:
    """DescribeShareGroupOffsets without topics returns none."""
    ana, _ = sole_sharer(conversation)

    ana.asks(ask.describe_share_group_offsets(topics={}), expect.share_offsets({}))


@scenario("share_groups/offsets/unset", source=DESCRIBES_ALL, clauses=("SO-07",))
def a_group_that_has_not_fetched(conversation: Conversation) -> None:
    """A group that has never fetched has partitions with state, each without an offset."""
    ana, _ = sole_sharer(conversation)

    nowhere = {"orders": {0: -1, 1: -1, 2: -1}}
    ana.asks(ask.describe_share_group_offsets(), expect.share_offsets(nowhere))
    ana.asks(ask.describe_share_group_offsets(version=0), expect.share_offsets(nowhere))


@scenario("share_groups/offsets/lag", source=DESCRIBES, clauses=("SO-06",))
def version_1_has_the_lag(conversation: Conversation) -> None:
    """DescribeShareGroupOffsets v1 also returns the lag, which is -1 while there is no offset."""
    ana, _ = sole_sharer(conversation)
    ana.asks(ask.describe_share_group_offsets(version=1), expect.share_offsets())


@scenario("share_groups/offsets/other-type", source=DESCRIBES, clauses=("SO-07",))
def a_consumer_group_has_no_share_offsets(conversation: Conversation) -> None:
    """DescribeShareGroupOffsets answers for a consumer group as if it did not exist."""
    ana = conversation.member("ana")
    ana.enters()

    ana.asks(
        ask.describe_share_group_offsets(topics={"orders": (0,)}), expect.share_offsets({"orders": {0: -1}})
    )
    ana.asks(ask.describe_share_group_offsets(), expect.share_offsets({}))


@scenario("share_groups/offsets/alter", source=ALTERS, clauses=("SO-06", "SO-01"))
def offsets_are_altered(conversation: Conversation) -> None:
    """AlterShareGroupOffsets sets the start offset of an Empty group; in 4.1 it has no effect."""
    ana = emptied(conversation)

    ana.asks(
        ask.alter_share_group_offsets(topics={"orders": {0: 3, 1: 0}}),
        altered("orders", {0: "NONE", 1: "NONE"}),
    )
    ana.asks(ask.describe_share_group_offsets(), expect.share_offsets())
    ana.asks(
        ask.describe_share_group_offsets(topics={"orders": (0,)}),
        expect.share_offsets({"orders": {0: one_of(3, -1)}}),
    )


@scenario("share_groups/offsets/alter-lag", source=ALTERS, clauses=("SO-06",))
def the_lag_of_an_altered_offset(conversation: Conversation) -> None:
    """The lag of an altered offset is the distance to the end of the partition."""
    ana = conversation.share_member("ana")
    topic = topic_made(conversation, ana, partitions=1)

    ana.asks(ask.alter_share_group_offsets(topics={topic: {0: 0}}), altered(topic, {0: "NONE"}))
    ana.asks(ask.describe_share_group_offsets(version=1, topics={topic: (0,)}), expect.share_offsets())


@scenario("share_groups/offsets/alter-makes-group", source=ALTERS, clauses=("SO-01",))
def altering_makes_a_group(conversation: Conversation) -> None:
    """Since 4.2 AlterShareGroupOffsets creates an Empty share group if there is none."""
    ana = conversation.share_member("ana")

    ana.asks(ask.alter_share_group_offsets(topics={"orders": {0: 1}}), altered("orders", {0: "NONE"}))
    ana.asks(
        ask.share_group_describe(),
        expect.share_group_describe(
            error_code=one_of("NONE", "GROUP_ID_NOT_FOUND"), group_state=one_of("Empty", "")
        ),
    )


@scenario("share_groups/offsets/alter-then-join", source=ALTERS, clauses=("SO-01", "SH-14"))
def a_member_joins_an_altered_group(conversation: Conversation) -> None:
    """A member that joins after AlterShareGroupOffsets gets the altered partitions first."""
    ana = conversation.share_member("ana")
    ana.asks(ask.alter_share_group_offsets(topics={"orders": {1: 5}}), altered("orders", {1: "NONE"}))

    ana.enters()
    ana.awaits({"orders": (0, 1, 2)})


@scenario("share_groups/offsets/alter-unknown", source=ALTERS, clauses=("SO-04",))
def unknown_partitions_are_not_altered(conversation: Conversation) -> None:
    """AlterShareGroupOffsets refuses unknown topics and partitions, and alters the others."""
    ana = conversation.share_member("ana")

    ana.asks(
        ask.alter_share_group_offsets(topics={"orders": {0: 1, 9: 1}, "unheard-of": {0: 1}}),
        expect.altered_share_offsets(error_code="NONE"),
    )
    ana.asks(ask.describe_share_group_offsets(), expect.share_offsets())


@scenario("share_groups/offsets/alter-nothing", source=ALTERS, clauses=("SO-04",))
def nothing_is_altered(conversation: Conversation) -> None:
    """AlterShareGroupOffsets of only unknown topics creates no group."""
    ana = conversation.share_member("ana")

    ana.asks(
        ask.alter_share_group_offsets(topics={"unheard-of": {0: 1}}),
        expect.altered_share_offsets(error_code="NONE"),
    )
    ana.asks(ask.share_group_describe(), expect.share_group_describe(error_code="GROUP_ID_NOT_FOUND"))


@scenario("share_groups/offsets/alter-members", source=ALTERS, clauses=("SO-02",))
def offsets_of_members_stay(conversation: Conversation) -> None:
    """AlterShareGroupOffsets of a group with members gets NON_EMPTY_GROUP, but no error in 4.1."""
    ana, _ = sole_sharer(conversation)

    ana.asks(
        ask.alter_share_group_offsets(topics={"orders": {0: 1}}),
        expect.altered_share_offsets(error_code=one_of("NONE", "NON_EMPTY_GROUP")),
    )
    ana.asks(ask.describe_share_group_offsets(), expect.share_offsets({"orders": {0: -1, 1: -1, 2: -1}}))


@scenario("share_groups/offsets/alter-other-type", source=ALTERS, clauses=("SO-03",))
def a_consumer_group_is_not_altered(conversation: Conversation) -> None:
    """AlterShareGroupOffsets of a consumer group gets GROUP_ID_NOT_FOUND, but no error in 4.1."""
    ana = conversation.member("ana")
    ana.enters()

    ana.asks(
        ask.alter_share_group_offsets(topics={"orders": {0: 1}}),
        expect.altered_share_offsets(error_code=one_of("NONE", "GROUP_ID_NOT_FOUND")),
    )


@scenario("share_groups/offsets/alter-no-name", source=ALTERS, clauses=("SO-05",))
def a_group_to_alter_needs_a_name(conversation: Conversation) -> None:
    """AlterShareGroupOffsets with an empty group id gets INVALID_GROUP_ID since 4.2."""
    ana = conversation.share_member("ana")

    ana.asks(
        ask.alter_share_group_offsets(group_id="", topics={"orders": {0: 1}}),
        expect.altered_share_offsets(error_code=one_of("NONE", "INVALID_GROUP_ID")),
    )


@scenario("share_groups/offsets/delete", source=DELETES, clauses=("SO-08",))
def offsets_are_deleted(conversation: Conversation) -> None:
    """DeleteShareGroupOffsets deletes offsets; a second time it gets UNKNOWN_TOPIC_OR_PARTITION."""
    ana = emptied(conversation)

    ana.asks(ask.delete_share_group_offsets(topics=("orders",)), deleted({"orders": "NONE"}))
    ana.asks(ask.describe_share_group_offsets(), expect.share_offsets({}))
    ana.asks(ask.delete_share_group_offsets(topics=("orders",)), deleted({"orders": NO_TOPIC}))
    share_group_is(ana, "Empty")


@scenario("share_groups/offsets/delete-then-join", source=DELETES, clauses=("SO-08", "SH-13"))
def deleted_partitions_get_state_anew(conversation: Conversation) -> None:
    """A member that joins after DeleteShareGroupOffsets waits for its partitions' state again."""
    ana = emptied(conversation)
    ana.asks(ask.delete_share_group_offsets(topics=("orders",)), deleted({"orders": "NONE"}))

    ana.enters(assigned={})
    ana.awaits({"orders": (0, 1, 2)})


@scenario("share_groups/offsets/delete-some", source=DELETES, clauses=("SO-08",))
def one_of_two_topics_is_deleted(conversation: Conversation) -> None:
    """DeleteShareGroupOffsets deletes one topic, keeps the other, and refuses an unknown one."""
    ana = conversation.share_member("ana")
    ana.enters("orders", "payments", assigned={})
    ana.awaits({"orders": (0, 1, 2), "payments": (0, 1)})
    ana.leaves()

    ana.asks(
        ask.delete_share_group_offsets(topics=("payments", "unheard-of")),
        deleted({"payments": "NONE", "unheard-of": NO_TOPIC}),
    )
    ana.asks(ask.describe_share_group_offsets(), expect.share_offsets({"orders": {0: -1, 1: -1, 2: -1}}))


@scenario("share_groups/offsets/delete-members", source=DELETES, clauses=("SO-02",))
def offsets_of_members_are_not_deleted(conversation: Conversation) -> None:
    """DeleteShareGroupOffsets of a group with members gets NON_EMPTY_GROUP."""
    ana, _ = sole_sharer(conversation)

    ana.asks(
        ask.delete_share_group_offsets(topics=("orders",)),
        expect.deleted_share_offsets(error_code="NON_EMPTY_GROUP"),
    )


@scenario("share_groups/offsets/delete-no-group", source=DELETES, clauses=("SO-03", "SO-05"))
def nothing_is_there_to_delete(conversation: Conversation) -> None:
    """DeleteShareGroupOffsets of a missing group gets GROUP_ID_NOT_FOUND; without id, INVALID_GROUP_ID."""
    ana = conversation.share_member("ana")

    for group_id, error in (("", "INVALID_GROUP_ID"), ("nobody-has-heard-of-it", "GROUP_ID_NOT_FOUND")):
        ana.asks(
            ask.delete_share_group_offsets(group_id=group_id, topics=("orders",)),
            expect.deleted_share_offsets(error_code=error),
        )


@scenario("share_groups/offsets/delete-other-type", source=DELETES, clauses=("SO-03",))
def a_consumer_group_has_none_to_delete(conversation: Conversation) -> None:
    """DeleteShareGroupOffsets of a consumer group gets GROUP_ID_NOT_FOUND."""
    ana = conversation.member("ana")
    ana.enters()

    ana.asks(
        ask.delete_share_group_offsets(topics=("orders",)),
        expect.deleted_share_offsets(error_code="GROUP_ID_NOT_FOUND"),
    )


@scenario("share_groups/offsets/delete-nothing", source=DELETES, clauses=("SO-02",))
def nothing_is_deleted_of_a_group_with_members(conversation: Conversation) -> None:
    """DeleteShareGroupOffsets of no topics, in a group with members, gets NON_EMPTY_GROUP; 4.1 NONE."""
    ana, _ = sole_sharer(conversation)

    error = one_of("NON_EMPTY_GROUP", "NONE")
    ana.asks(ask.delete_share_group_offsets(topics=()), expect.deleted_share_offsets(error_code=error))
