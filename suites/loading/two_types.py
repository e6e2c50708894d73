"""Records of one group id from two types, in each order in which compaction may leave them.

The groups' names are those of the partition that they are to be in, of 32.
"""

from harness.scenario import (
    NON_EMPTY,
    Actor,
    Conversation,
    GroupRef,
    ask,
    ask_describe,
    expect,
    expect_describe,
    offset_record,
    one_of,
    record_of_type,
    scenario,
)
from harness.scenario.log_records import YEAR_2100_MS, LogRecord
from suites.consumer_groups.loading import EPOCH_TYPE, MEMBER_TYPE, int32, named
from suites.consumer_groups.logged import STABLE, TARGET_EPOCH_TYPE
from suites.consumer_groups.logged import logged as consumer_logged
from suites.loading.unreadable import GOOD, LOST, MANY_PARTITIONS, WRITES, restarts
from suites.share_groups.logged import logged as share_logged
from suites.streams_groups.logged import GROUP_TYPE as STREAMS_TYPE
from suites.streams_groups.logged import TARGET_EPOCH_TYPE as STREAMS_TARGET_TYPE
from suites.streams_groups.logged import logged as streams_logged
from suites.transactions.producers import initialised

REPLAYS = "GroupMetadataManager#replay"
OFFSET_TYPE, CLASSIC_TYPE = 1, 2
"""Source: CoordinatorRecordType (4.3.1)."""
EPOCH = 5


def _offset(group_id: str) -> LogRecord:
    """Return the record of offset 6 of `payments`. Source: OffsetCommitValue.json, version 3."""
    value = b"\x00\x03" + (6).to_bytes(8, "big") + b"\xff" * 4 + named("") + YEAR_2100_MS.to_bytes(8, "big")
    return record_of_type(OFFSET_TYPE, key=named(group_id) + named("payments") + int32(0), value=value)


def _classic(group_id: str) -> LogRecord:
    """Return the record of an Empty group in generation 1. Source: GroupMetadataValue.json, version 3."""
    value = b"\x00\x03" + named("consumer") + int32(1) + b"\xff" * 4
    since = YEAR_2100_MS.to_bytes(8, "big")
    return record_of_type(CLASSIC_TYPE, key=named(group_id), value=value + since + int32(0))


def _tombstone(key_type: int, *key: str) -> LogRecord:
    return record_of_type(key_type, key=b"".join(map(named, key)), value=None)


def _loaded(conversation: Conversation, records: dict[int, tuple[LogRecord, ...]]) -> Actor:
    """Have partitions loaded with some records behind a good one, and fetch the good ones' offsets."""
    ana = conversation.actor("ana")
    producer = initialised(ana)
    groups: list[GroupRef] = []
    for partition, added in {**records, GOOD: ()}.items():
        group = conversation.group("good" if partition == GOOD else f"of-{partition}", partition=partition)
        good = offset_record("payments", 0, partition, group=group)
        conversation.appends(good, *added, to=group, spoils=bool(added))
        groups.append(group)
    restarts(conversation, producer, *groups)
    for group in groups:
        ana.sends(ask.offset_fetch(group_id=group, topics={"payments": (0,)}))
        ana.receives(expect.response("OffsetFetch", error_code=one_of(*LOST)))
    return ana


def _fetches(ana: Actor, group_id: str, offset: int) -> None:
    ana.sends(ask.offset_fetch(version=8, group_id=group_id, topics={"payments": (0,)}))
    ana.receives(expect.offset_fetch({"payments": {0: offset}}, version=8))


@scenario(
    "loading/two-types/behind-a-classic-group",
    source="KAFKA-21117, GroupMetadataManager#getOrMaybeCreatePersistedConsumerGroup",
    clauses=("RP-19",),
    needs=WRITES,
    broker_config=MANY_PARTITIONS,
)
def newer_records_behind_a_classic_group(conversation: Conversation) -> None:
    """Records of a newer group type behind those of a classic group with its id cost the partition.

    A downgrade leaves the log so when compaction has removed what stood before. A release that knows the
    newer type cannot load the partition then, even if only tombstones follow.
    """
    consumer, share, streams, gone = "consumer-609", "share-70", "streams-103", "gone-3"
    _loaded(
        conversation,
        {
            24: (_classic(consumer), *consumer_logged(consumer, STABLE)),
            25: (_classic(share), *share_logged(share)),
            26: (_classic(streams), *streams_logged(streams)),
            27: (_classic(gone), _tombstone(MEMBER_TYPE, gone, "member-ana"), _tombstone(EPOCH_TYPE, gone)),
        },
    )


@scenario(
    "loading/two-types/consumer-group-behind-a-classic-one",
    source="KAFKA-21117, GroupMetadataManager#getOrMaybeCreatePersistedConsumerGroup",
    clauses=("RP-19",),
    needs=WRITES,
    broker_config=MANY_PARTITIONS,
)
def a_consumer_group_behind_a_classic_one(conversation: Conversation) -> None:
    """Records of a consumer group behind those of a classic group with its id cost the partition."""
    ana = _loaded(conversation, {24: (_classic("consumer-609"), *consumer_logged("consumer-609", STABLE))})

    lost = expect.consumer_group_describe(error_code="NOT_COORDINATOR")
    ana.asks(ask.consumer_group_describe(group_ids=("consumer-609",)), lost)


@scenario(
    "loading/two-types/consumer-group",
    source="GroupMetadataManager#getOrMaybeCreatePersistedConsumerGroup",
    clauses=("RP-20",),
    needs=WRITES,
    broker_config=MANY_PARTITIONS,
)
def a_consumer_group_beside_other_records(conversation: Conversation) -> None:
    """A consumer group behind an offset of its id is loaded; a classic group behind it takes its place.

    Tombstones of a consumer group count behind an offset too, as if there had been such a group.
    """
    offset_first, classic_last, no_group, no_member = (
        *("consuming-6", "was-consumer-5", "offset-gone-2", "member-gone-9"),
    )
    records = (
        *(_offset(offset_first), *consumer_logged(offset_first, STABLE)),
        *(_offset(classic_last), *consumer_logged(classic_last, STABLE), _classic(classic_last)),
        *(_offset(no_group), _tombstone(TARGET_EPOCH_TYPE, no_group), _tombstone(EPOCH_TYPE, no_group)),
        *(_offset(no_member), _tombstone(MEMBER_TYPE, no_member, "member-ana")),
    )
    ana = _loaded(conversation, {30: records})

    described = expect.consumer_group_describe(error_code="NONE", group_state="Stable", group_epoch=EPOCH)
    ana.asks(ask.consumer_group_describe(group_ids=(offset_first,)), described)
    ana.asks(
        ask.describe_groups(groups=(classic_last,)),
        expect.describe_groups(error_code="NONE", group_state="Empty"),
    )
    not_found = expect.consumer_group_describe(error_code="GROUP_ID_NOT_FOUND")
    for group_id in (classic_last, no_group):
        ana.asks(ask.consumer_group_describe(group_ids=(group_id,)), not_found)
    made = expect.consumer_group_describe(error_code="NONE", group_state="Empty")
    ana.asks(ask.consumer_group_describe(group_ids=(no_member,)), made)
    for group_id in (offset_first, classic_last, no_member):
        _fetches(ana, group_id, 6)
    _fetches(ana, no_group, -1)


@scenario(
    "loading/two-types/share-group",
    source="GroupMetadataManager#getOrMaybeCreatePersistedShareGroup",
    clauses=("RP-21",),
    needs=WRITES,
    broker_config=MANY_PARTITIONS,
)
def a_share_group_behind_an_offset(conversation: Conversation) -> None:
    """Records of a share group behind an offset of its id cost the partition."""
    ana = _loaded(conversation, {28: (_offset("shared-40"), *share_logged("shared-40"))})

    lost = expect.share_group_describe(error_code="NOT_COORDINATOR")
    ana.asks(ask.share_group_describe(group_ids=("shared-40",)), lost)


@scenario(
    "loading/two-types/streams-group",
    source="KAFKA-20254, GroupMetadataManager#getOrMaybeCreatePersistedStreamsGroup",
    clauses=("RP-21",),
    needs=WRITES,
    broker_config=MANY_PARTITIONS,
)
def a_streams_group_behind_an_offset(conversation: Conversation) -> None:
    """A streams group behind an offset of its id is loaded since 4.2.1; in 4.2.0 it costs the partition."""
    offset_first, no_group = "streaming-80", "offset-gone-1"
    records = (
        *(_offset(offset_first), *streams_logged(offset_first)),
        *(_offset(no_group), _tombstone(STREAMS_TARGET_TYPE, no_group), _tombstone(STREAMS_TYPE, no_group)),
    )
    ana = _loaded(conversation, {29: records})

    for group_id in (offset_first, no_group):
        ana.sends(ask_describe(group_ids=(group_id,)))
        ana.receives(expect_describe(error_code=one_of("NONE", "GROUP_ID_NOT_FOUND", "NOT_COORDINATOR")))
        ana.sends(ask.offset_fetch(version=8, group_id=group_id, topics={"payments": (0,)}))
        ana.receives(expect.response("OffsetFetch", groups=NON_EMPTY))
