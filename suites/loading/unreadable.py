"""Records that a coordinator cannot read or rejects, and what happens to their partition."""

from harness.scenario import (
    ANY,
    NON_EMPTY,
    Actor,
    Capability,
    Conversation,
    GroupRef,
    ask,
    expect,
    group_record,
    logged_member,
    offset_record,
    offset_tombstone,
    one_of,
    record_of_type,
    scenario,
    with_value,
)
from harness.scenario.log_records import YEAR_2100_MS, LogRecord
from suites.transactions.producers import Producer, ends, initialised

WRITES = (Capability.RESTART, Capability.WRITE_LOG, Capability.SOLE_LEADER)
"""In a cluster, partitions get their leaders back one by one."""
MANY_PARTITIONS = {"offsets.topic.num.partitions": "32"}
"""Each scenario that spoils partitions has its own ones, so that all can be spoilt at once."""
GOOD = 31
"""The partition that no scenario spoils."""
LOADS = "CoordinatorLoaderImpl#doLoad"
READS = "CoordinatorRecordSerde#deserialize"
LOST = ("NONE", "NOT_COORDINATOR")
"""The error codes for a partition that could not be loaded, in the Scala and the Java coordinator."""
UNKNOWN = b"\x00\x4d"
"""Version 77."""
WITHIN_MS = 15_000
ASSIGNMENT_TYPE = 8
"""The type of a consumer group member's assignment records. Source: CoordinatorRecordType (4.3.1)."""


def _appends(conversation: Conversation, name: str, partition: int, *records: LogRecord) -> GroupRef:
    """Append records, if any, that spoil a partition after a good one; return a group there."""
    group = conversation.group(name, partition=partition)
    good = offset_record("payments", 0, partition, group=group)
    conversation.appends(good, *records, to=group, spoils=bool(records))
    return group


def restarts(conversation: Conversation, producer: Producer, *groups: GroupRef, offset: int = 1) -> None:
    """Restart the coordinator, and wait until the partitions of some groups are loaded or given up.

    A partition whose load has not begun answers like one that a Java coordinator has given up. A transaction
    shows when all loads have begun: with KRaft a broker loads transactions after groups, and the Scala
    coordinator applies a transaction's offsets in the one thread that loads, behind all loads.
    """
    ana, good = producer.actor, conversation.group("good")
    conversation.restarts_coordinator()
    ana.repeats(
        ask.offset_fetch(group_id=good, topics={"payments": (0,)}),
        until=expect.offset_fetch({"payments": {0: GOOD}}),
        within_ms=WITHIN_MS,
    )
    ana.repeats(
        producer.adds(group_id=good), until=expect.add_offsets_to_txn(error_code="NONE"), within_ms=WITHIN_MS
    )
    ana.asks(
        producer.commits({"orders": {0: offset}}, group_id=good),
        expect.txn_offset_commit({"orders": {0: "NONE"}}),
    )
    ends(producer, committed=True)
    ana.repeats(
        ask.offset_fetch(group_id=good, topics={"orders": (0,)}),
        until=expect.offset_fetch({"orders": {0: offset}}),
        within_ms=WITHIN_MS,
    )
    for group in groups:
        ana.repeats(
            ask.offset_fetch(group_id=group),
            until=expect.response("OffsetFetch", error_code=one_of(*LOST)),
            within_ms=WITHIN_MS,
        )


def _fetches(ana: Actor, *groups: GroupRef) -> None:
    """Fetch offsets that may exist."""
    for group in groups:
        ana.sends(ask.offset_fetch(group_id=group, topics={"orders": (0, 1), "payments": (0,)}))
        ana.receives(expect.response("OffsetFetch", error_code=one_of(*LOST)))


@scenario(
    "loading/unreadable/every-api",
    source=LOADS,
    clauses=("RP-11",),
    needs=WRITES,
    broker_config=MANY_PARTITIONS,
)
def an_offset_of_an_unknown_version_costs_the_partition(conversation: Conversation) -> None:
    """An offset record of version 77 makes its partition unloadable; groups of other partitions are there.

    A Scala coordinator treats the partition as empty, and loses what it then writes there at the next load; a
    Java one does not coordinate it.
    """
    ana = conversation.actor("ana")
    producer = initialised(ana)
    main = _appends(conversation, "main", 16, with_value(offset_record("orders", 0, 10), UNKNOWN + bytes(20)))
    good = _appends(conversation, "good", GOOD)
    restarts(conversation, producer, main)

    _fetches(ana, main)
    ana.climbs(
        [
            (ask.find_coordinator(), expect.find_coordinator(error_code="NONE", host=NON_EMPTY)),
            (ask.describe_groups(), expect.describe_groups(error_code=one_of(*LOST), members=())),
            (ask.describe_groups(groups=(main, good)), expect.response("DescribeGroups", groups=NON_EMPTY)),
            (ask.list_groups(), expect.list_groups(error_code="NONE")),
            (ask.heartbeat(member_id="bob-1", generation_id=1), expect.heartbeat(error_code=ANY)),
            (
                ask.sync_group(member_id="bob-1", generation_id=1),
                expect.sync_group(error_code=one_of("UNKNOWN_MEMBER_ID", "NOT_COORDINATOR")),
            ),
            (ask.leave_group(member_id="bob-1"), expect.leave_group(error_code=one_of(*LOST))),
            (ask.offset_delete(topics={"payments": (0,)}), expect.offset_delete(error_code=ANY)),
            (ask.delete_groups(groups=(main,)), expect.response("DeleteGroups", results=NON_EMPTY)),
            (ask.join_group(member_id=""), expect.join_group(error_code=ANY)),
            (
                ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {0: 5}}),
                expect.offset_commit({"orders": {0: one_of(*LOST)}}),
            ),
        ]
    )
    _fetches(ana, main)
    restarts(conversation, producer, main, offset=2)
    _fetches(ana, main)
    ana.asks(ask.describe_groups(), expect.describe_groups(error_code=one_of(*LOST), members=()))
    ana.asks(ask.delete_groups(groups=(good,)), expect.delete_groups("NONE"))


@scenario(
    "loading/unreadable/costs-the-partition",
    source=READS,
    clauses=("RP-11", "RP-18"),
    needs=WRITES,
    broker_config=MANY_PARTITIONS,
)
def what_cannot_be_read_costs_the_partition(conversation: Conversation) -> None:
    """Unknown versions, truncated values and keys, and empty values make their partitions unloadable."""
    ana = conversation.actor("ana")
    producer = initialised(ana)
    # The groups of these records do not matter, because no load gets to read them.
    offset, tombstone = offset_record("orders", 0, 10), offset_tombstone("orders", 0)
    spoilt = (
        _appends(conversation, "offset-version", 0, with_value(offset, UNKNOWN + bytes(20))),
        _appends(conversation, "group-version", 1, with_value(group_record(), UNKNOWN + bytes(30))),
        _appends(conversation, "negative-version", 2, with_value(offset, b"\xff\xff")),
        _appends(conversation, "short-offset", 3, with_value(offset, b"\x00\x03" + bytes(9))),
        _appends(conversation, "short-group", 4, with_value(group_record(), b"\x00\x03\x00\x08consumer")),
        _appends(conversation, "empty-value", 5, with_value(tombstone, b"")),
        _appends(conversation, "short-key", 6, record_of_type(1, key=b"\x00\x09short", value=None)),
        _appends(conversation, "short-group-key", 7, record_of_type(2, key=b"\x00", value=None)),
    )
    _appends(conversation, "good", GOOD)
    restarts(conversation, producer, *spoilt)

    _fetches(ana, *spoilt)


@scenario(
    "loading/unreadable/may-be-read",
    source=READS,
    clauses=("RP-01", "RP-03", "RP-10", "RP-15", "RP-16"),
    needs=WRITES,
    broker_config=MANY_PARTITIONS,
)
def what_some_releases_read_costs_the_partition_in_others(conversation: Conversation) -> None:
    """New and old types, versions and tags are read, skipped, or make the partition unloadable, by release.

    Unknown types are skipped since 3.4.1, and values of version 4 are read, with unknown tags.
    Later versions are read as the newest one by the Java coordinator until 3.9, and by no other. From 4.1 on
    a key of type 0 has a value of version 0. Extra bytes after a value are accepted.
    """
    ana = conversation.actor("ana")
    producer = initialised(ana)
    types = (
        record_of_type(99, key=b"what", value=b"ever"),
        record_of_type(-1),
        record_of_type(77, value=None),
    )
    # An offset with an old commit time would expire in the first sweep.
    begins, committed = (10).to_bytes(8, "big") + b"\xff\xff\xff\xff", YEAR_2100_MS.to_bytes(8, "big")
    plain = b"\x00\x03" + begins + b"\x00\x03ten" + committed
    tagged = b"\x00\x04" + begins + b"\x04ten" + committed
    names = ("types", "v4", "group-v4", "to-come", "group-to-come", "type-0", "tag", "longer")
    types_, v4, group_v4, to_come, group_to_come, type_0, tag, longer = (
        conversation.group(name, partition=partition) for partition, name in enumerate(names, 8)
    )
    member = logged_member("bob-1", assignment=b"all")
    for group, *records in (
        (types_, *types, offset_record("orders", 1, 11, group=types_)),
        (v4, offset_record("orders", 1, 11, group=v4, version=4, leader_epoch=4, metadata="eleven")),
        (group_v4, group_record(member, group=group_v4, version=4, generation=5)),
        (to_come, offset_record("orders", 0, 10, group=to_come, version=5, leader_epoch=3, metadata="ten")),
        (group_to_come, group_record(member, group=group_to_come, version=6, generation=5)),
        (type_0, offset_record("orders", 0, 10, group=type_0, key_type=0, version=1)),
        (tag, with_value(offset_record("orders", 0, 0, group=tag), tagged + b"\x01\x09\x02hi")),
        (longer, with_value(offset_record("orders", 0, 0, group=longer), plain + b"more")),
    ):
        conversation.appends(offset_record("payments", 0, 7, group=group), *records, to=group, spoils=True)
    groups = (types_, v4, group_v4, to_come, group_to_come, type_0, tag, longer)
    _appends(conversation, "good", GOOD)
    restarts(conversation, producer, *groups)

    _fetches(ana, *groups)
    for group in (group_v4, group_to_come):
        ana.sends(ask.heartbeat(group_id=group, member_id="bob-1", generation_id=5))
        ana.receives(expect.heartbeat(error_code=one_of("UNKNOWN_MEMBER_ID", *LOST)))
        ana.asks(ask.describe_groups(groups=(group,)), expect.describe_groups(error_code=one_of(*LOST)))
    ana.sends(ask.offset_fetch(group_id=longer, topics={"orders": (0,), "payments": (0,)}))
    ana.receives(expect.offset_fetch({"orders": {0: 10}, "payments": {0: 7}}))


def owns(member_id: str, epoch: int, *partitions: int) -> LogRecord:
    """Return the record of what a stable member of consumer group `y` owns of a topic since an epoch.

    Source: ConsumerGroupCurrentMemberAssignmentKey.json, ConsumerGroupCurrentMemberAssignmentValue.json.
    """
    name = member_id.encode()
    numbers = b"".join(each.to_bytes(4, "big") for each in partitions)
    assigned = b"\x02" + bytes(range(16)) + bytes([len(partitions) + 1]) + numbers + b"\x00"
    epochs = epoch.to_bytes(4, "big") + (epoch - 1).to_bytes(4, "big")
    return record_of_type(
        ASSIGNMENT_TYPE,
        key=b"\x00\x01y" + len(name).to_bytes(2, "big") + name,
        value=b"\x00\x00" + epochs + b"\x00" + (assigned if partitions else b"\x01") + b"\x01\x00",
    )


@scenario(
    "loading/unreadable/partition-handed-over",
    source="KAFKA-19862",
    clauses=("KL-10",),
    needs=WRITES,
    broker_config=MANY_PARTITIONS,
)
def a_log_may_be_compacted_while_it_is_read(conversation: Conversation) -> None:
    """A member may own a partition before the log shows that another has given it up.

    A log reads so when it is compacted meanwhile: the record with which the other gave it up has been
    replaced by a later one. Before 4.1.2, and in 4.0 before 4.0.2, this made the log's partition unloadable.
    """
    ana = conversation.actor("ana")
    producer = initialised(ana)
    records = (owns("bob-1", 1, 0, 1), owns("dan-1", 2, 1), owns("bob-1", 3, 0))
    group = _appends(conversation, "main", 17, *records)
    _appends(conversation, "good", GOOD)
    restarts(conversation, producer, group)

    _fetches(ana, group)
