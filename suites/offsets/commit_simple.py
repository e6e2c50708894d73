"""OffsetCommit without a member: groups that have no members."""

from harness.scenario import OWN, Conversation, Pattern, Value, ask, expect, scenario

VALIDATES = "ClassicGroup#validateOffsetCommit"
COMMITTED = expect.offset_commit({"orders": {0: "NONE"}})


@scenario(
    "offsets/simple/first-commit", source="OffsetMetadataManager#commitOffset", clauses=("OC-01", "OF-01")
)
def a_first_commit_makes_a_group(conversation: Conversation) -> None:
    """A commit without generation and member id creates an Empty group without protocol type."""
    ana = conversation.actor("ana")

    ana.sends(ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {0: 11, 1: 12}}))
    ana.receives(expect.offset_commit({"orders": {0: "NONE", 1: "NONE"}}))

    ana.repeats(
        ask.offset_fetch(topics={"orders": (0, 1, 2)}),
        until=expect.offset_fetch({"orders": {0: 11, 1: 12, 2: -1}}),
    )
    ana.repeats(ask.describe_groups(), until=expect.describe_groups(group_state="Empty", protocol_type=""))


@scenario("offsets/simple/generation-of-nothing", source=VALIDATES, clauses=("OC-02", "OC-04"))
def a_generation_of_a_missing_group_is_illegal(conversation: Conversation) -> None:
    """A commit with any generation to a missing group gets ILLEGAL_GENERATION and creates no group."""
    ana = conversation.actor("ana")

    ana.sends(ask.offset_commit(generation_id=5, member_id="", topics={"orders": {0: 1}}))
    ana.receives(expect.offset_commit({"orders": {0: "ILLEGAL_GENERATION"}}))
    ana.sends(ask.offset_commit(generation_id=0, member_id="nobody", topics={"orders": {0: 1}}))
    ana.receives(expect.offset_commit({"orders": {0: "ILLEGAL_GENERATION"}}))

    ana.asks(ask.describe_groups(), expect.describe_groups(error_code="NONE", group_state="Dead"))


@scenario(
    "offsets/simple/generation-of-nothing-v9",
    source="OffsetMetadataManager#validateOffsetCommit",
    clauses=("OC-03",),
)
def version_9_makes_no_group_for_a_generation(conversation: Conversation) -> None:
    """OffsetCommit v9 with a generation creates no group; 4.0 answers GROUP_ID_NOT_FOUND, 3.x as before."""
    ana = conversation.actor("ana")

    ana.sends(ask.offset_commit(version=9, generation_id=5, member_id="", topics={"orders": {0: 1}}))
    ana.receives(
        expect.response("OffsetCommit", topics=({"name": "orders", "partitions": ({"partition_index": 0},)},))
    )

    ana.asks(ask.describe_groups(), expect.describe_groups(error_code="NONE", group_state="Dead"))


@scenario("offsets/simple/negative-generation", source=VALIDATES, clauses=("OC-05",))
def any_negative_generation_is_none(conversation: Conversation) -> None:
    """A negative generation counts as none: -5 commits to an Empty group as -1 does."""
    ana = conversation.actor("ana")
    ana.asks(ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {0: 1}}), COMMITTED)

    ana.asks(ask.offset_commit(generation_id=-5, member_id="", topics={"orders": {0: 2}}), COMMITTED)
    ana.repeats(ask.offset_fetch(topics={"orders": (0,)}), until=expect.offset_fetch({"orders": {0: 2}}))


@scenario("offsets/simple/made-up-member", source="KAFKA-14201", clauses=("OC-06", "OC-07"))
def a_made_up_member_needs_no_generation(conversation: Conversation) -> None:
    """An unknown member may commit to an Empty group without a generation; with one, UNKNOWN_MEMBER_ID.

    3.0 to 3.2 refused both.
    """
    ana = conversation.actor("ana")
    ana.asks(ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {0: 1}}), COMMITTED)

    ana.sends(ask.offset_commit(generation_id=-1, member_id="nobody", topics={"orders": {0: 2}}))
    ana.receives(expect.response("OffsetCommit", topics=({"partitions": ({"partition_index": 0},)},)))
    ana.sends(
        ask.offset_commit(generation_id=-1, member_id="", group_instance_id="seat", topics={"orders": {0: 3}})
    )
    ana.receives(expect.response("OffsetCommit", topics=({"partitions": ({"partition_index": 0},)},)))
    ana.sends(ask.offset_commit(generation_id=0, member_id="nobody", topics={"orders": {0: 4}}))
    ana.receives(expect.offset_commit({"orders": {0: "UNKNOWN_MEMBER_ID"}}))
    ana.sends(ask.offset_commit(generation_id=0, member_id="", topics={"orders": {0: 5}}))
    ana.receives(expect.offset_commit({"orders": {0: "UNKNOWN_MEMBER_ID"}}))


@scenario("offsets/simple/after-the-last-member", source=VALIDATES, clauses=("OC-08", "DG-05"))
def an_emptied_group_takes_commits(conversation: Conversation) -> None:
    """An emptied group accepts a commit without generation, and keeps its members' offsets."""
    (ana,) = conversation.stable_group("ana")
    ana.asks(ask.offset_commit(topics={"orders": {0: 1}}), COMMITTED)
    ana.asks(ask.leave_group(), error_code="NONE")

    ana.sends(ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {1: 2}}))
    ana.receives(expect.offset_commit({"orders": {1: "NONE"}}))
    ana.repeats(ask.offset_fetch(), until=expect.offset_fetch({"orders": {0: 1, 1: 2}}))
    ana.asks(ask.heartbeat(), error_code="UNKNOWN_MEMBER_ID")


@scenario("offsets/simple/retention-time", source="KIP-211", clauses=("OC-26", "OC-27"))
def a_retention_time_is_still_accepted(conversation: Conversation) -> None:
    """OffsetCommit v2 to v4 may carry a retention time; the offset can be fetched."""
    ana = conversation.actor("ana")

    ana.sends(
        ask.offset_commit(
            version=2, generation_id=-1, member_id="", retention_time_ms=3_600_000, topics={"orders": {0: 4}}
        )
    )
    ana.receives(COMMITTED)
    ana.sends(
        ask.offset_commit(
            version=4, generation_id=-1, member_id="", retention_time_ms=-1, topics={"orders": {1: 5}}
        )
    )
    ana.receives(expect.offset_commit({"orders": {1: "NONE"}}))

    ana.repeats(ask.offset_fetch(), until=expect.offset_fetch({"orders": {0: 4, 1: 5}}))


@scenario(
    "offsets/simple/twice-in-one-request", source="OffsetMetadataManager#commitOffset", clauses=("OC-31",)
)
def of_two_offsets_for_one_partition_the_last_wins(conversation: Conversation) -> None:
    """A partition named twice in one commit keeps the last offset; 4.0 answers twice, 3.x once."""
    ana = conversation.actor("ana")

    twice: Value = (
        {"partition_index": 0, "committed_offset": 8},
        {"partition_index": 0, "committed_offset": 9},
    )
    orders: Value = {"name": "orders", "partitions": twice}
    ana.sends(
        ask.request("OffsetCommit", 8, group_id=OWN, generation_id_or_member_epoch=-1, topics=(orders,))
    )
    ana.receives(expect.response("OffsetCommit"))
    ana.repeats(ask.offset_fetch(topics={"orders": (0,)}), until=expect.offset_fetch({"orders": {0: 9}}))


@scenario("offsets/simple/leader-epoch", source="KIP-320", clauses=("OF-08", "OC-33"))
def leader_epoch_and_metadata_are_kept(conversation: Conversation) -> None:
    """OffsetFetch returns leader epoch and metadata as committed; the defaults are -1 and an empty string."""
    ana = conversation.actor("ana")
    partitions: Value = (
        {
            "partition_index": 0,
            "committed_offset": 8,
            "committed_leader_epoch": 3,
            "committed_metadata": "mine",
        },
        {"partition_index": 1, "committed_offset": 9, "committed_metadata": None},
    )
    orders: Value = {"name": "orders", "partitions": partitions}
    ana.sends(
        ask.request("OffsetCommit", 8, group_id=OWN, generation_id_or_member_epoch=-1, topics=(orders,))
    )
    ana.receives(expect.offset_commit({"orders": {0: "NONE", 1: "NONE"}}))

    for partition, offset, epoch, metadata in ((0, 8, 3, "mine"), (1, 9, -1, "")):
        kept: Pattern = {"committed_offset": offset, "committed_leader_epoch": epoch, "metadata": metadata}
        ana.repeats(
            ask.offset_fetch(topics={"orders": (partition,)}),
            until=expect.response("OffsetFetch", error_code="NONE", topics=({"partitions": (kept,)},)),
        )
