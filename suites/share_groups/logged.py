"""Share groups that a coordinator loads from a log that another release may have written."""

from harness.scenario import (
    Capability,
    Conversation,
    ShareMember,
    ask,
    expect,
    offset_record,
    record_of_type,
    scenario,
)
from harness.scenario.log_records import YEAR_2100_MS, LogRecord
from suites.consumer_groups.loading import compact_string, int32, named
from suites.loading.unreadable import GOOD, MANY_PARTITIONS, restarts
from suites.loading.unreadable import WRITES as SPOILS
from suites.share_groups.membership import sole_sharer
from suites.transactions.producers import initialised

MEMBER_TYPE, GROUP_TYPE, TARGET_EPOCH_TYPE = 10, 11, 12
TARGET_TYPE, ASSIGNMENT_TYPE, STATE_TYPE = 13, 14, 15
"""Types of records of share groups. Source: CoordinatorRecordType (4.3.1)."""
WRITES = (Capability.RESTART, Capability.WRITE_LOG)
REPLAYS = "GroupMetadataManager#replay"
COMPUTES = "GroupMetadataManager#canComputeNextTargetAssignment"
LOST = "NOT_COORDINATOR"
EPOCH = 5
"""The epoch of the group and of its member."""
NOTHING, NO_TAGS, VERSION_0 = b"\x01", b"\x00", b"\x00\x00"
WITHIN_MS = 20_000


def logged(group_id: str, *, tagged: bytes = NO_TAGS) -> tuple[LogRecord, ...]:
    """Return the records of a group with one member, whose topic does not exist.

    Args:
        group_id: The group's id.
        tagged: The tagged fields of the target assignment's epoch.

    Source: ShareGroupMemberMetadataValue.json, ShareGroupMetadataValue.json,
    ShareGroupTargetAssignmentMemberValue.json, ShareGroupTargetAssignmentMetadataValue.json and
    ShareGroupCurrentMemberAssignmentValue.json (4.3.1).
    """
    of_group = named(group_id)
    of_member = of_group + named("member-ana")
    epoch = VERSION_0 + int32(EPOCH)
    client = b"\x00" + compact_string("ana") + compact_string("/127.0.0.1")
    member = VERSION_0 + client + b"\x02" + compact_string("missing") + NO_TAGS
    assigned = VERSION_0 + int32(EPOCH) + int32(EPOCH - 1) + b"\x00" + NOTHING + NO_TAGS
    return (
        record_of_type(MEMBER_TYPE, key=of_member, value=member),
        record_of_type(GROUP_TYPE, key=of_group, value=epoch + bytes(8) + NO_TAGS),
        record_of_type(TARGET_TYPE, key=of_member, value=VERSION_0 + NOTHING + NO_TAGS),
        record_of_type(TARGET_EPOCH_TYPE, key=of_group, value=epoch + tagged),
        record_of_type(ASSIGNMENT_TYPE, key=of_member, value=assigned),
    )


def with_state(group_id: str) -> LogRecord:
    """Return the record that a partition of a deleted topic has share state.

    Source: ShareGroupStatePartitionMetadataValue.json (4.3.1).
    """
    topic = bytes(range(16)) + compact_string("gone") + b"\x02" + int32(0) + NO_TAGS
    state = VERSION_0 + NOTHING + b"\x02" + topic + NOTHING + NO_TAGS
    return record_of_type(STATE_TYPE, key=named(group_id), value=state)


def loaded(conversation: Conversation, group_id: str, *records: LogRecord) -> ShareMember:
    """Let a coordinator load a group, whose name no other scenario uses, and return its member."""
    ana = conversation.share_member("ana")
    for each in records:
        conversation.appends(each)
    conversation.restarts_coordinator()
    ana.repeats(
        ask.share_group_describe(group_ids=(group_id,)),
        until=expect.share_group_describe(error_code="NONE", group_state="Stable", group_epoch=EPOCH),
        within_ms=WITHIN_MS,
    )
    # A restarted coordinator may load its groups before it has the metadata of any topic.
    ana.awaits_metadata()
    return ana


@scenario("share_groups/logged/later-clock", source=COMPUTES, clauses=("SH-36", "SH-40"), needs=WRITES)
def without_an_interval_no_clock_matters(conversation: Conversation) -> None:
    """Without an assignment interval, a target is computed though the former one is of a time to come."""
    group_id = "share-later-clock"
    timestamp = b"\x01\x00\x08" + YEAR_2100_MS.to_bytes(8, "big")
    ana = loaded(conversation, group_id, *logged(group_id, tagged=timestamp))

    ana.heartbeats(group_id=group_id, epoch=EPOCH, member_epoch=EPOCH, assigned=None)
    ana.heartbeats(
        group_id=group_id, epoch=EPOCH, topics=("missing", "absent"), member_epoch=EPOCH + 1, assigned={}
    )


@scenario("share_groups/logged/nobody-gone", source=REPLAYS, clauses=("SH-43",), needs=WRITES)
def tombstones_of_no_member_are_left_out(conversation: Conversation) -> None:
    """A load skips tombstones of a member that its share group does not have."""
    group_id = "share-nobody-gone"
    of_nobody = named(group_id) + named("nobody")
    types = (ASSIGNMENT_TYPE, TARGET_TYPE, MEMBER_TYPE)
    gone = (record_of_type(each, key=of_nobody, value=None) for each in types)
    ana = loaded(conversation, group_id, *logged(group_id), *gone)

    ana.heartbeats(group_id=group_id, epoch=EPOCH, member_epoch=EPOCH, assigned=None)


@scenario("share_groups/logged/state-gone", source=REPLAYS, clauses=("SH-36", "SO-01"), needs=WRITES)
def a_group_loses_its_state(conversation: Conversation) -> None:
    """A share group whose log removes its partitions with state has no offsets, and stays."""
    group_id = "share-state-gone"
    gone = record_of_type(STATE_TYPE, key=named(group_id), value=None)
    ana = loaded(conversation, group_id, *logged(group_id), with_state(group_id), gone)

    ana.asks(ask.describe_share_group_offsets(group_id=group_id), expect.share_offsets({}))
    ana.heartbeats(group_id=group_id, epoch=EPOCH, member_epoch=EPOCH, assigned=None)


@scenario(
    "share_groups/loading/members-of-a-deleted-group",
    source=REPLAYS,
    clauses=("SH-43",),
    needs=SPOILS,
    broker_config=MANY_PARTITIONS,
)
def a_group_is_not_deleted_before_its_members(conversation: Conversation) -> None:
    """A tombstone of a share group that has a member makes the partition unloadable: NOT_COORDINATOR."""
    producer = initialised(conversation.actor("zoe"))
    main = conversation.group("main", partition=23)
    good = conversation.group("good", partition=GOOD)
    ana, _ = sole_sharer(conversation)
    conversation.appends(offset_record("payments", 0, GOOD, group=good), to=good)
    deleted = record_of_type(GROUP_TYPE, key=named("x"), value=None)
    conversation.appends(*logged("x"), deleted, spoils=True)
    restarts(conversation, producer, main)

    described = expect.share_group_describe(
        error_code=LOST, error_message="This is not the correct coordinator."
    )
    ana.asks(ask.share_group_describe(), described)
    ana.heartbeats(error_code=LOST)
