"""OffsetCommit checks before the group: topics that do not exist, and metadata that is too large."""

from harness.scenario import Conversation, ask, expect, scenario

HANDLES = "KafkaApis#handleOffsetCommitRequest"
TINY_METADATA = {"offset.metadata.max.bytes": "10"}
STOCK_METADATA = {"offset.metadata.max.bytes": "4096"}
"""Kafka's default, which a broker has that does not tell."""


@scenario("offsets/request/unknown-topic", source=HANDLES, clauses=("OC-21",))
def an_unknown_topic_never_reaches_the_coordinator(conversation: Conversation) -> None:
    """A commit to an unknown topic or partition gets UNKNOWN_TOPIC_OR_PARTITION, for any group."""
    ana = conversation.actor("ana")

    ana.sends(
        ask.offset_commit(
            generation_id=5, member_id="nobody", topics={"no-such-topic": {0: 1}, "orders": {99: 1}}
        )
    )
    ana.receives(
        expect.offset_commit(
            {
                "no-such-topic": {0: "UNKNOWN_TOPIC_OR_PARTITION"},
                "orders": {99: "UNKNOWN_TOPIC_OR_PARTITION"},
            }
        )
    )


@scenario("offsets/request/unknown-partition", source=HANDLES, clauses=("OC-23",))
def known_and_unknown_partitions_are_answered_each(conversation: Conversation) -> None:
    """Partitions are checked one by one: an unknown one is refused, a known one gets the group's answer."""
    ana = conversation.actor("ana")

    ana.sends(ask.offset_commit(generation_id=5, member_id="", topics={"orders": {99: 1, 0: 1}}))
    ana.receives(
        expect.offset_commit({"orders": {99: "UNKNOWN_TOPIC_OR_PARTITION", 0: "ILLEGAL_GENERATION"}})
    )
    ana.sends(ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {99: 1, 0: 1}}))
    ana.receives(expect.offset_commit({"orders": {99: "UNKNOWN_TOPIC_OR_PARTITION", 0: "NONE"}}))


@scenario("offsets/request/no-topics", source=HANDLES, clauses=("OC-22",))
def a_commit_of_nothing_is_answered_with_nothing(conversation: Conversation) -> None:
    """An OffsetCommit without topics returns no topics and creates no group."""
    ana = conversation.actor("ana")

    ana.asks(ask.offset_commit(generation_id=-1, member_id="", topics={}), expect.offset_commit({}))
    ana.asks(ask.describe_groups(), expect.describe_groups(group_state="Dead"))


@scenario(
    "offsets/request/metadata-too-large",
    source="OffsetMetadataManager#validateOffsetCommit",
    clauses=("OC-29", "OC-34"),
    broker_config=TINY_METADATA,
)
def large_metadata_costs_only_its_own_partition(conversation: Conversation) -> None:
    """Of three partitions only that with too large metadata gets OFFSET_METADATA_TOO_LARGE."""
    ana = conversation.actor("ana")

    ana.sends(
        ask.offset_commit(
            generation_id=-1, member_id="", topics={"orders": {0: 1, 1: (2, "x" * 11), 2: (3, "x" * 10)}}
        )
    )
    ana.receives(expect.offset_commit({"orders": {0: "NONE", 1: "OFFSET_METADATA_TOO_LARGE", 2: "NONE"}}))

    ana.repeats(
        ask.offset_fetch(topics={"orders": (0, 1, 2)}),
        until=expect.offset_fetch({"orders": {0: 1, 1: -1, 2: 3}}),
    )


@scenario(
    "offsets/request/metadata-all-too-large",
    source="OffsetMetadataManager#validateOffsetCommit",
    clauses=("OC-32",),
    broker_config=TINY_METADATA,
)
def large_metadata_stores_nothing(conversation: Conversation) -> None:
    """If all metadata is too large, nothing is stored; smaller metadata is accepted afterwards."""
    ana = conversation.actor("ana")
    large = "eleven long"

    ana.sends(
        ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {0: (1, large), 1: (1, large)}})
    )
    ana.receives(
        expect.offset_commit({"orders": {0: "OFFSET_METADATA_TOO_LARGE", 1: "OFFSET_METADATA_TOO_LARGE"}})
    )
    ana.asks(ask.offset_fetch(), expect.offset_fetch({}))
    ana.sends(ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {0: (2, "ten longer")}}))
    ana.receives(expect.offset_commit({"orders": {0: "NONE"}}))
    ana.repeats(ask.offset_fetch(), until=expect.offset_fetch({"orders": {0: 2}}))


@scenario(
    "offsets/request/metadata-at-its-true-size",
    source="OffsetMetadataManager#validateOffsetCommit",
    clauses=("OC-29",),
    broker_config=STOCK_METADATA,
)
def metadata_of_a_stock_broker_has_4096_characters(conversation: Conversation) -> None:
    """On a stock broker metadata of 4,096 characters is stored, and one more is too large."""
    ana = conversation.actor("ana")
    largest = "m" * 4_096

    ana.sends(
        ask.offset_commit(
            generation_id=-1, member_id="", topics={"orders": {0: (1, largest), 1: (2, f"{largest}m")}}
        )
    )
    ana.receives(expect.offset_commit({"orders": {0: "NONE", 1: "OFFSET_METADATA_TOO_LARGE"}}))
    ana.repeats(
        ask.offset_fetch(topics={"orders": (0, 1)}),
        until=expect.offset_fetch({"orders": {0: 1, 1: -1}}),
    )


@scenario(
    "offsets/request/metadata-beyond-ascii",
    source="OffsetMetadataManager#validateOffsetCommit",
    clauses=("OC-30",),
    broker_config=TINY_METADATA,
)
def metadata_is_measured_in_characters(conversation: Conversation) -> None:
    """Metadata is measured in UTF-16 units: ten fit ten letters of two bytes, or five of four."""
    ana = conversation.actor("ana")

    ana.sends(
        ask.offset_commit(
            generation_id=-1, member_id="", topics={"orders": {0: (1, "é" * 10), 1: (2, "é" * 11)}}
        )
    )
    ana.receives(expect.offset_commit({"orders": {0: "NONE", 1: "OFFSET_METADATA_TOO_LARGE"}}))
    ana.sends(
        ask.offset_commit(
            generation_id=-1, member_id="", topics={"orders": {0: (3, "😀" * 5), 1: (4, "😀" * 6)}}
        )
    )
    ana.receives(expect.offset_commit({"orders": {0: "NONE", 1: "OFFSET_METADATA_TOO_LARGE"}}))
