"""Streams groups among others: offsets, listing, deletion, and group ids that change type."""

from harness.scenario import (
    Conversation,
    GroupRef,
    Pattern,
    StreamsMember,
    ask,
    ask_describe,
    containing,
    expect,
    expect_describe,
    scenario,
    subtopology,
)
from harness.scenario.messages import Number, Text
from suites.streams_groups.membership import ALL, sole_member
from suites.transactions.producers import announced

COMMITS = "StreamsGroup#validateOffsetCommit"
FETCHES = "StreamsGroup#validateOffsetFetch"
LISTS = "StreamsGroup#asListedGroup"
DELETES = "StreamsGroup#validateDeleteGroup"
CONVERTS = "GroupMetadataManager#getOrCreateStreamsGroup"
JOINS_CLASSIC = "GroupMetadataManager#classicGroupJoin"
DESCRIBES = "GroupMetadataManager#streamsGroupDescribe"
MAIN = GroupRef("main")
FIRST = {"orders": {0: 7}}


def _commits(ana: StreamsMember, error_code: str, *, version: int = 9, epoch: Number) -> None:
    committed = ask.offset_commit(version=version, generation_id=epoch, topics=FIRST)
    ana.asks(committed, expect.offset_commit({"orders": {0: error_code}}))


@scenario("streams_groups/offsets/own-epoch", source=COMMITS, clauses=("KS-43",))
def a_member_commits_in_its_epoch(conversation: Conversation) -> None:
    """OffsetCommit v9 in the member's epoch is accepted, for any topic; v8 gets UNSUPPORTED_VERSION."""
    ana, joined = sole_member(conversation)

    _commits(ana, "UNSUPPORTED_VERSION", version=8, epoch=joined["member_epoch"])
    _commits(ana, "NONE", epoch=joined["member_epoch"])
    ana.asks(
        ask.offset_commit(version=9, generation_id=joined["member_epoch"], topics={"payments": {0: 7}}),
        expect.offset_commit({"payments": {0: "NONE"}}),
    )
    fetched = ask.offset_fetch(
        version=9, member_id=ana.member_id, member_epoch=ana.epoch, topics={"orders": (0,)}
    )
    ana.asks(fetched, expect.offset_fetch({"orders": {0: 7}}, version=9))


@scenario("streams_groups/offsets/other-epochs", source=COMMITS, clauses=("KS-43", "KS-44"))
def a_commit_may_be_late(conversation: Conversation) -> None:
    """An OffsetCommit in an earlier epoch is accepted if the member has had the task since then."""
    ana, joined = sole_member(conversation)
    ana.heartbeats(rack_id="one", member_epoch=joined["member_epoch"] + 1)

    _commits(ana, "NONE", epoch=joined["member_epoch"])
    _commits(ana, "STALE_MEMBER_EPOCH", epoch=joined["member_epoch"] - 1)
    _commits(ana, "STALE_MEMBER_EPOCH", epoch=joined["member_epoch"] + 2)


@scenario("streams_groups/offsets/not-its-task", source=COMMITS, clauses=("KS-43",))
def a_late_commit_is_of_the_members_own_tasks(conversation: Conversation) -> None:
    """An OffsetCommit in an earlier epoch for a topic outside the member's tasks gets STALE_MEMBER_EPOCH."""
    ana, joined = sole_member(conversation)
    ana.heartbeats(rack_id="one", member_epoch=joined["member_epoch"] + 1)

    ana.asks(
        ask.offset_commit(version=9, generation_id=joined["member_epoch"], topics={"payments": {0: 7}}),
        expect.offset_commit({"payments": {0: "STALE_MEMBER_EPOCH"}}),
    )


@scenario("streams_groups/offsets/fetch-epoch", source=FETCHES, clauses=("KS-44",))
def a_fetch_names_the_members_epoch(conversation: Conversation) -> None:
    """An OffsetFetch in another epoch gets STALE_MEMBER_EPOCH, of a stranger UNKNOWN_MEMBER_ID."""
    ana, joined = sole_member(conversation)

    for member_id, epoch, error in (
        (ana.member_id, joined["member_epoch"] - 1, "STALE_MEMBER_EPOCH"),
        (ana.member_id, joined["member_epoch"] + 1, "STALE_MEMBER_EPOCH"),
        ("stranger", joined["member_epoch"], "UNKNOWN_MEMBER_ID"),
    ):
        fetched = ask.offset_fetch(
            version=9, member_id=member_id, member_epoch=epoch, topics={"orders": (0,)}
        )
        ana.asks(fetched, expect.offset_fetch({}, version=9, error_code=error))


@scenario("streams_groups/offsets/stranger", source=COMMITS, clauses=("KS-44",))
def strangers_do_not_commit(conversation: Conversation) -> None:
    """An OffsetCommit of a non-member to a group with members gets UNKNOWN_MEMBER_ID."""
    ana, joined = sole_member(conversation)

    ana.asks(
        ask.offset_commit(
            version=9, member_id="stranger", generation_id=joined["member_epoch"], topics=FIRST
        ),
        expect.offset_commit({"orders": {0: "UNKNOWN_MEMBER_ID"}}),
    )


@scenario("streams_groups/offsets/empty-group", source=COMMITS, clauses=("KS-43",))
def anybody_commits_to_an_empty_group(conversation: Conversation) -> None:
    """An OffsetCommit without a member to an Empty streams group is accepted, except in epoch 0."""
    ana, _ = sole_member(conversation)
    ana.leaves()

    ana.asks(
        ask.offset_commit(version=9, generation_id=-1, member_id="", topics=FIRST),
        expect.offset_commit({"orders": {0: "NONE"}}),
    )
    _commits(ana, "UNKNOWN_MEMBER_ID", epoch=0)


@scenario("streams_groups/offsets/delete", source="StreamsGroup#isSubscribedToTopic", clauses=("KS-43",))
def offsets_of_sources_are_kept(conversation: Conversation) -> None:
    """OffsetDelete of a source topic gets GROUP_SUBSCRIBED_TO_TOPIC while the group has members."""
    ana, joined = sole_member(conversation)
    _commits(ana, "NONE", epoch=joined["member_epoch"])

    deleted = ask.offset_delete(topics={"orders": (0,)})
    ana.asks(
        deleted,
        expect.offset_delete(error_code="NONE", errors={"orders": {0: "GROUP_SUBSCRIBED_TO_TOPIC"}}),
    )
    ana.asks(
        ask.offset_delete(topics={"payments": (0,)}),
        expect.offset_delete(error_code="NONE", errors={"payments": {0: "NONE"}}),
    )
    ana.leaves()
    ana.asks(deleted, expect.offset_delete(error_code="NONE", errors={"orders": {0: "NONE"}}))


@scenario("streams_groups/list/listed", source=LISTS, clauses=("KS-53",))
def a_group_is_listed(conversation: Conversation) -> None:
    """ListGroups lists a streams group with its protocol type, state and type."""
    ana, _ = sole_member(conversation)
    whole: dict[str, Pattern] = {
        "group_id": MAIN,
        "protocol_type": "streams",
        "group_state": "Stable",
        "group_type": "streams",
    }

    for states, types in (((), ()), (("Stable",), ()), ((), ("streams",)), (("stable",), ("Streams",))):
        ana.asks(
            ask.list_groups(version=5, states_filter=states, types_filter=types),
            expect.list_groups(error_code="NONE", groups=containing(whole)),
        )


@scenario("streams_groups/list/not-ready", source=LISTS, clauses=("KS-53",))
def a_group_that_is_not_ready_is_filtered_by_another_word(conversation: Conversation) -> None:
    """ListGroups finds a group in state NotReady with the state filter `not_ready`."""
    ana, missing = conversation.streams_member("ana"), conversation.group("missing")
    ana.enters(subtopology(sources=(missing,)), assigned={}, statuses=(1,))

    ana.asks(
        ask.list_groups(version=5, states_filter=("not_ready",)),
        expect.list_groups(
            error_code="NONE", groups=containing({"group_id": MAIN, "group_state": "NotReady"})
        ),
    )


@scenario("streams_groups/delete/members", source=DELETES, clauses=("KS-40",))
def a_group_with_members_is_not_deleted(conversation: Conversation) -> None:
    """DeleteGroups refuses a streams group with members with NON_EMPTY_GROUP, and deletes an empty one."""
    ana, _ = sole_member(conversation)

    ana.asks(ask.delete_groups(), expect.delete_groups("NON_EMPTY_GROUP"))
    ana.leaves()
    ana.asks(ask.delete_groups(), expect.delete_groups("NONE"))
    ana.asks(ask_describe(), expect_describe(error_code="GROUP_ID_NOT_FOUND"))


@scenario("streams_groups/describe/nobody", source=DESCRIBES, clauses=("KS-17",))
def a_missing_group_is_not_described(conversation: Conversation) -> None:
    """StreamsGroupDescribe of a missing group gets GROUP_ID_NOT_FOUND; without an id, INVALID_GROUP_ID."""
    ana = conversation.streams_member("ana")

    ana.asks(ask_describe(), expect_describe(error_code="GROUP_ID_NOT_FOUND"))
    ana.asks(ask_describe(group_ids=("",)), expect_describe(error_code="INVALID_GROUP_ID"))


@scenario("streams_groups/describe/whole", source=DESCRIBES, clauses=("KS-17",))
def a_group_is_described(conversation: Conversation) -> None:
    """StreamsGroupDescribe returns a member's details, its assignment and its target assignment."""
    ana = conversation.streams_member("ana")
    joined = ana.enters(
        rack_id="north", process_id="one", tags={"zone": "a"}, endpoint=("host", 80), assigned=ALL
    )

    tasks: dict[str, Pattern] = {"active_tasks": ({"subtopology_id": "0", "partitions": (0, 1, 2)},)}
    member: dict[str, Pattern] = {
        "member_id": ana.member_id,
        "member_epoch": joined["member_epoch"],
        "rack_id": "north",
        "client_id": "ana",
        "topology_epoch": 0,
        "process_id": "one",
        "user_endpoint": {"host": "host", "port": 80},
        "client_tags": ({"key": "zone", "value": "a"},),
        "assignment": tasks,
        "target_assignment": tasks,
        "is_classic": False,
    }
    ana.describes("Stable", epoch=2, assignment_epoch=2, members=(member,))


@scenario("streams_groups/conversion/empty-classic", source=CONVERTS, clauses=("KS-16",))
def an_empty_classic_group_gives_its_id(conversation: Conversation) -> None:
    """A group with only offsets becomes a streams group when a member joins, and keeps them."""
    ana = conversation.streams_member("ana")
    ana.asks(
        ask.offset_commit(version=9, generation_id=-1, member_id="", topics=FIRST),
        expect.offset_commit({"orders": {0: "NONE"}}),
    )

    ana.enters(member_epoch=2, assigned=ALL)
    ana.asks(
        ask.offset_fetch(version=8, topics={"orders": (0,)}),
        expect.offset_fetch({"orders": {0: 7}}, version=8),
    )


@scenario("streams_groups/conversion/empty-streams", source=JOINS_CLASSIC, clauses=("KS-40", "XT-10"))
def an_empty_streams_group_gives_its_id(conversation: Conversation) -> None:
    """A classic member may join an Empty streams group; one with members refuses it."""
    ana, _ = sole_member(conversation)
    bob = conversation.actor("bob")
    refused = expect.join_group(error_code="INCONSISTENT_GROUP_PROTOCOL")
    bob.asks(ask.join_group(member_id=""), refused)
    ana.leaves()

    conversation.stable_group(bob)
    bob.asks(ask_describe(), expect_describe(error_code="GROUP_ID_NOT_FOUND"))
    bob.asks(ask.describe_groups(version=6), expect.describe_groups(error_code="NONE", group_state="Stable"))


@scenario("streams_groups/conversion/consumer", source=CONVERTS, clauses=("KS-16",))
def a_consumer_group_stays_one(conversation: Conversation) -> None:
    """A streams member that joins a consumer group, even an empty one, gets GROUP_ID_NOT_FOUND."""
    bob = conversation.member("bob")
    bob.enters()
    ana = conversation.streams_member("ana")

    ana.enters(error_code="GROUP_ID_NOT_FOUND")
    bob.leaves()
    ana.enters(error_code="GROUP_ID_NOT_FOUND")


@scenario("streams_groups/offsets/transactional", source=COMMITS, clauses=("KS-43", "KS-44"))
def a_transaction_is_a_members_or_nobodys(conversation: Conversation) -> None:
    """TxnOffsetCommit v3 to a streams group requires a member's epoch, or no member; others are refused."""
    ana, _ = sole_member(conversation)
    producer = announced(ana)
    stale, unknown = "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID"
    epochs: tuple[tuple[Text, Number, str | None, str], ...] = (
        ("", -1, None, "NONE"),
        (ana.member_id, ana.epoch, None, "NONE"),
        (ana.member_id, ana.epoch + 1, None, stale),
        (ana.member_id, -1, None, stale),
        ("", ana.epoch, None, unknown),
        ("", -1, "one", unknown),
    )

    for member_id, epoch, instance_id, error in epochs:
        ana.asks(
            producer.commits(
                FIRST, version=3, member_id=member_id, generation_id=epoch, group_instance_id=instance_id
            ),
            expect.txn_offset_commit({"orders": {0: error}}),
        )
