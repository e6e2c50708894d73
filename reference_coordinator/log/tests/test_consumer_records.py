"""Records of consumer groups beside the bytes that Kafka 4.4.0's own classes make of them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from reference_coordinator.__main__ import main
from reference_coordinator.core.consumer_records import (
    ClassicMemberMetadata,
    ClassicProtocol,
    ConsumerGroupCurrentMemberAssignmentRecord,
    ConsumerGroupCurrentMemberAssignmentTombstone,
    ConsumerGroupMemberMetadataRecord,
    ConsumerGroupMemberMetadataTombstone,
    ConsumerGroupMetadataRecord,
    ConsumerGroupMetadataTombstone,
    ConsumerGroupPartitionMetadataRecord,
    ConsumerGroupPartitionMetadataTombstone,
    ConsumerGroupRecord,
    ConsumerGroupRegularExpressionRecord,
    ConsumerGroupRegularExpressionTombstone,
    ConsumerGroupTargetAssignmentMemberRecord,
    ConsumerGroupTargetAssignmentMemberTombstone,
    ConsumerGroupTargetAssignmentMetadataRecord,
    ConsumerGroupTargetAssignmentMetadataTombstone,
    MemberState,
    PartitionMetadata,
    TopicMetadata,
    TopicPartitions,
)
from reference_coordinator.core.ids import GroupId, GroupInstanceId, MemberId, Millis, TopicId
from reference_coordinator.log.memory import compacted
from reference_coordinator.log.offsets_log import OffsetsLog
from reference_coordinator.log.serde import UnreadableRecordError, UnwritableRecordError, write_record
from reference_coordinator.profile.profiles import profile_for
from reference_coordinator.runtime.group_record_sizes import group_record_bytes
from reference_coordinator.tests.log_kit import append, committed, opened, read

GROUP, MEMBER_ID, NOW = GroupId("g"), MemberId("m"), Millis(1_700_000_000_123)
TOPIC_ID = TopicId("01020304-0506-0708-090a-0b0c0d0e0f10")
EPOCH = ConsumerGroupMetadataRecord(group_id=GROUP, epoch=7)
ORDERS = TopicMetadata(topic_id=TOPIC_ID, topic_name="orders", num_partitions=3)
RACKS = PartitionMetadata(partition=1, racks=("r1", "r2"))
TOPICS = ConsumerGroupPartitionMetadataRecord(group_id=GROUP, topics=(ORDERS,))
JOINED = ConsumerGroupMemberMetadataRecord(
    group_id=GROUP,
    member_id=MEMBER_ID,
    client_id="client",
    client_host="/127.0.0.1",
    subscribed_topic_names=("a", "b"),
    subscribed_topic_regex="",
    rebalance_timeout_ms=Millis(300_000),
)
OLD_JOINED = replace(
    JOINED,
    instance_id=GroupInstanceId("i"),
    rack_id="r",
    subscribed_topic_names=("a",),
    subscribed_topic_regex="x.*",
    rebalance_timeout_ms=Millis(-1),
    server_assignor="range",
    classic_member_metadata=ClassicMemberMetadata(
        session_timeout_ms=Millis(45_000),
        supported_protocols=(ClassicProtocol(name="range", metadata=b"\0\1\2"),),
    ),
)
TARGET_EPOCH = ConsumerGroupTargetAssignmentMetadataRecord(group_id=GROUP, assignment_epoch=9)
TARGET = ConsumerGroupTargetAssignmentMemberRecord(
    group_id=GROUP,
    member_id=MEMBER_ID,
    topic_partitions=(TopicPartitions(topic_id=TOPIC_ID, partitions=(0, 2)),),
)
CURRENT = ConsumerGroupCurrentMemberAssignmentRecord(
    group_id=GROUP,
    member_id=MEMBER_ID,
    member_epoch=3,
    previous_member_epoch=2,
    state=MemberState.UNREVOKED_PARTITIONS,
    assigned_partitions=(TopicPartitions(topic_id=TOPIC_ID, partitions=(0, 1)),),
    partitions_pending_revocation=(TopicPartitions(topic_id=TOPIC_ID, partitions=(2,)),),
)
CURRENT_WITH_EPOCHS = replace(
    CURRENT,
    state=MemberState.STABLE,
    assigned_partitions=(replace(CURRENT.assigned_partitions[0], assignment_epochs=(3, 2)),),
    partitions_pending_revocation=(
        replace(CURRENT.partitions_pending_revocation[0], assignment_epochs=(1,)),
    ),
)
EXPRESSION = ConsumerGroupRegularExpressionRecord(
    group_id=GROUP, regular_expression="x.*", topics=("xa", "xb"), version=42, timestamp_ms=NOW
)
MADE_BY_KAFKA = [
    pytest.param(EPOCH, "0003000167", "00000000000700", id="epoch"),
    pytest.param(
        replace(EPOCH, metadata_hash=-2), "0003000167", "000000000007010008fffffffffffffffe", id="epoch_hash"
    ),
    pytest.param(
        TOPICS,
        "0004000167",
        "0000020102030405060708090a0b0c0d0e0f10076f726465727300000003010000",
        id="topics",
    ),
    pytest.param(
        replace(TOPICS, topics=(replace(ORDERS, partition_metadata=(RACKS,)),)),
        "0004000167",
        "0000020102030405060708090a0b0c0d0e0f10076f726465727300000003020000000103037231037232000000",
        id="topics_racks",
    ),
    pytest.param(
        JOINED,
        "000500016700016d",
        "0000000007636c69656e740b2f3132372e302e302e31030261026201000493e00001000100",
        id="member",
    ),
    pytest.param(
        OLD_JOINED,
        "000500016700016d",
        "00000269027207636c69656e740b2f3132372e302e302e3102026104782e2affffffff0672616e676501"
        "0012010000afc8020672616e6765040001020000",
        id="member_full",
    ),
    pytest.param(TARGET_EPOCH, "0006000167", "00000000000900", id="target_epoch"),
    pytest.param(
        replace(TARGET_EPOCH, assignment_timestamp_ms=NOW),
        "0006000167",
        "0000000000090100080000018bcfe5687b",
        id="target_epoch_time",
    ),
    pytest.param(
        TARGET,
        "000700016700016d",
        "0000020102030405060708090a0b0c0d0e0f100300000000000000020000",
        id="target",
    ),
    pytest.param(
        CURRENT,
        "000800016700016d",
        "0000000000030000000201020102030405060708090a0b0c0d0e0f100300000000000000010002010203"
        "0405060708090a0b0c0d0e0f1002000000020000",
        id="current",
    ),
    pytest.param(
        CURRENT_WITH_EPOCHS,
        "000800016700016d",
        "0000000000030000000200020102030405060708090a0b0c0d0e0f100300000000000000010100090300"
        "00000300000002020102030405060708090a0b0c0d0e0f100200000002010005020000000100",
        id="current_epochs",
    ),
    pytest.param(
        EXPRESSION, "00100001670003782e2a", "000003037861037862000000000000002a0000018bcfe5687b00", id="regex"
    ),
]
MADE_BY_KAFKA += [
    pytest.param(tombstone, key, None, id=type(tombstone).__name__)
    for tombstone, key in (
        (ConsumerGroupMetadataTombstone(group_id=GROUP), "0003000167"),
        (ConsumerGroupPartitionMetadataTombstone(group_id=GROUP), "0004000167"),
        (ConsumerGroupMemberMetadataTombstone(group_id=GROUP, member_id=MEMBER_ID), "000500016700016d"),
        (ConsumerGroupTargetAssignmentMetadataTombstone(group_id=GROUP), "0006000167"),
        (
            ConsumerGroupTargetAssignmentMemberTombstone(group_id=GROUP, member_id=MEMBER_ID),
            "000700016700016d",
        ),
        (
            ConsumerGroupCurrentMemberAssignmentTombstone(group_id=GROUP, member_id=MEMBER_ID),
            "000800016700016d",
        ),
        (
            ConsumerGroupRegularExpressionTombstone(group_id=GROUP, regular_expression="x.*"),
            "00100001670003782e2a",
        ),
    )
]
EPOCH_KEY = bytes.fromhex("0003000167")


@pytest.mark.parametrize(("record", "key", "value"), MADE_BY_KAFKA)
def test_records_are_those_that_kafka_makes(record: ConsumerGroupRecord, key: str, value: str | None) -> None:
    made = bytes.fromhex(key), None if value is None else bytes.fromhex(value)

    assert write_record(record, profile_for("4.4")) == made
    assert read(*made) == record
    assert group_record_bytes(record) == (len(made[0]), None if made[1] is None else len(made[1]))


@pytest.mark.parametrize(
    ("record", "without", "first"),
    [
        (replace(EPOCH, metadata_hash=-2), EPOCH, "4.1"),
        (replace(TARGET_EPOCH, assignment_timestamp_ms=NOW), TARGET_EPOCH, "4.3"),
        (CURRENT_WITH_EPOCHS, replace(CURRENT, state=MemberState.STABLE), "4.3"),
    ],
)
def test_what_a_release_does_not_know_it_neither_writes_nor_reads(
    record: ConsumerGroupRecord, without: ConsumerGroupRecord, first: str
) -> None:
    before = {"4.1": "4.0", "4.3": "4.2"}[first]
    newest = write_record(record, profile_for("4.4"))

    assert write_record(record, profile_for(first)) == newest
    assert write_record(record, profile_for(before)) == write_record(without, profile_for("4.4"))
    assert read(*newest, profile=first) == record
    assert read(*newest, profile=before) == without


def test_releases_without_consumer_groups_skip_their_records() -> None:
    key, value = write_record(EPOCH, profile_for("4.4"))

    assert read(key, value, profile="4.0") == EPOCH
    assert read(key, value, profile="3.9") is None
    assert read(key, None, profile="3.9-java") is None
    with pytest.raises(UnreadableRecordError, match="of type 3"):
        read(key, value, profile="2.8")


def test_tagged_fields_of_releases_to_come_are_skipped() -> None:
    assert read(EPOCH_KEY, bytes.fromhex("0000 00000007 01 05 03 aabbcc")) == EPOCH
    both = bytes.fromhex("0000 00000007 02 00 08 fffffffffffffffe 05 00 00")
    assert read(EPOCH_KEY, both) == replace(EPOCH, metadata_hash=-2)


def test_a_member_of_whom_nothing_is_said_speaks_the_classic_protocol() -> None:
    """Kafka's class begins with empty metadata, whatever the schema's default says."""
    key, value = write_record(JOINED, profile_for("4.4"))
    assert value is not None
    silent = bytes.fromhex(value.hex().removesuffix("01000100") + "00")

    found = read(key, silent)

    empty = ClassicMemberMetadata(session_timeout_ms=Millis(0), supported_protocols=())
    assert found == replace(JOINED, classic_member_metadata=empty)
    assert write_record(replace(JOINED, classic_member_metadata=empty), profile_for("4.4")) == (key, silent)


def test_an_unknown_state_is_unknown() -> None:
    key, value = write_record(CURRENT, profile_for("4.4"))
    assert value is not None

    assert read(key, value[:10] + b"\x63" + value[11:]) == replace(CURRENT, state=MemberState.UNKNOWN)


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        (EPOCH_KEY, "0001 00000007 00", "of version 1"),
        (EPOCH_KEY, "ffff 00000007 00", "of version -1"),
        (EPOCH_KEY, "00", "ends before its version"),
        (EPOCH_KEY, "0000 000007", "unpack_from"),
        (EPOCH_KEY, "0000 00000007 01 05 09 aa", "9 bytes were announced, 1 are there"),
        (EPOCH_KEY, "0000 00000007 ffffffffffff", "no record of a consumer group"),
        (bytes.fromhex("0003 ffff"), "0000 00000007 00", "group_id is null"),
        (bytes.fromhex("0003 0009 67"), "0000 00000007 00", "9 bytes were announced"),
        (bytes.fromhex("0007 0001 67 0001 6d"), "0000 00 00", "topic_partitions is null"),
        (bytes.fromhex("0007 0001 67 0001 6d"), "0000 ffffffff07 00", "announced"),
        (bytes.fromhex("0010 0001 67 0001 78"), "0000 02 00 00", "an item of topics is null"),
    ],
)
def test_damaged_records_cannot_be_read(key: bytes, value: str, reason: str) -> None:
    with pytest.raises(UnreadableRecordError, match=reason):
        read(key, bytes.fromhex(value))


def test_every_cut_is_found_out_or_harmless() -> None:
    for parameters in MADE_BY_KAFKA:
        _, key, value = parameters.values
        if not isinstance(value, str) or not isinstance(key, str):
            continue
        for end in range(len(value) // 2):
            with pytest.raises(UnreadableRecordError):
                read(bytes.fromhex(key), bytes.fromhex(value)[:end])


@pytest.mark.parametrize(
    "record",
    [
        replace(JOINED, client_host="h" * 32_768),
        replace(EPOCH, epoch=2**31),
        replace(EPOCH, group_id=GroupId("g" * 32_768)),
        replace(JOINED, client_id="\ud800"),
    ],
)
def test_what_does_not_fit_is_not_written(record: ConsumerGroupRecord) -> None:
    with pytest.raises(UnwritableRecordError):
        write_record(record, profile_for("4.4"))


def test_compaction_in_memory_keeps_each_record_of_a_member() -> None:
    log = OffsetsLog()
    append(log, JOINED, EPOCH, TARGET_EPOCH, TARGET, EXPRESSION, CURRENT)
    append(log, replace(EPOCH, epoch=8), replace(EPOCH, epoch=9), CURRENT_WITH_EPOCHS, committed(1))

    assert [record for batch in compacted(log.batches(0)) for record in batch.records] == [
        *(JOINED, TARGET_EPOCH, TARGET, EXPRESSION, CURRENT),
        *(replace(EPOCH, epoch=9), CURRENT_WITH_EPOCHS, committed(1)),
    ]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    store, log = opened(tmp_path)
    append(log, EPOCH, replace(OLD_JOINED, subscribed_topic_names=("a", "b")), TARGET_EPOCH, TARGET, CURRENT)
    append(log, EXPRESSION, committed(7))
    gone = GroupId("gone")
    append(log, replace(EPOCH, group_id=gone), ConsumerGroupTargetAssignmentMetadataTombstone(group_id=gone))
    append(log, ConsumerGroupMetadataTombstone(group_id=gone))
    store.close()
    return tmp_path


def test_consumer_groups_of_a_directory_are_shown(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["load", str(directory), "--profile", "4.4", "--partitions", "1"]) == 0

    shown = capsys.readouterr()
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in shown.out.splitlines()]
    assert ["0", "g", "7", "9", "0", "1", "1"] in rows
    assert "UNREVOKED" in shown.out
    assert not any("gone" in row for row in rows)
    assert ["g", "orders", "0", "7", "5", "mé", "1970-01-01 00:00:01.007", "-", "-"] in rows


def test_a_document_has_consumer_groups(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["load", str(directory), "--json", "--profile", "4.4", "--partitions", "1"]) == 0

    document = json.loads(capsys.readouterr().out)
    assert document["groups"] == []
    (group,) = document["consumer_groups"]
    assert (group["group_id"], group["group_epoch"], group["assignment_epoch"]) == ("g", 7, 9)
    assert [each["offset"] for each in group["offsets"]] == [7]
    assert group["regular_expressions"] == [{"regular_expression": "x.*", "topics": ["xa", "xb"]}]
    (member,) = group["members"]
    assert member["state"] == "UNREVOKED_PARTITIONS"
    assert member["speaks_classic_protocol"] is True
    partitions = {key: member[key][0]["partitions"] for key in ("assigned", "pending_revocation", "target")}
    assert partitions == {"assigned": [0, 1], "pending_revocation": [2], "target": [0, 2]}
