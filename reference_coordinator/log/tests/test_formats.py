"""Keys, values and batches of the log, compared with Kafka's formats."""

import struct
import warnings
from dataclasses import replace
from typing import Any

import cramjam
import pytest

from reference_coordinator.core.ids import GenerationId, Millis
from reference_coordinator.core.records import CoordinatorRecord, GroupMetadataRecord, OffsetCommitRecord
from reference_coordinator.log import codecs
from reference_coordinator.log.batches import LogBatch, UnreadableRecord, UnwritableBatchError
from reference_coordinator.log.conversion import to_log_batch, to_record_batch
from reference_coordinator.log.message_codec import Fields, write_message
from reference_coordinator.log.record_batch import (
    BadBatchError,
    Record,
    RecordBatch,
    ShortBatchError,
    decode_batch,
    encode_batch,
)
from reference_coordinator.log.serde import UnreadableRecordError, write_record
from reference_coordinator.profile.profiles import profile_for
from reference_coordinator.tests.log_kit import (
    EMPTY,
    FORGOTTEN,
    GONE,
    MEMBER,
    PRODUCER,
    STABLE,
    committed,
    in_transaction,
    marker,
    read,
)

OFFSET_KEY = bytes.fromhex("0001 0002 7331 0001 74 00000000")
LEGACY_KEY = b"\0\0" + OFFSET_KEY[2:]
GROUP_KEY = bytes.fromhex("0002 0001 67")
TOPIC_ID = "00112233-4455-6677-8899-aabbccddeeff"


def kafka_pythons(batch: RecordBatch) -> Any:  # noqa: ANN401 - a class without types
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # its import uses what Python 3.11 deprecates
        from kafka.record.default_records import DefaultRecordBatch  # type: ignore[import-untyped] # noqa: PLC0415 - as said

    return DefaultRecordBatch(encode_batch(batch))


def offset_value(version: int, **fields: object) -> bytes:
    values: Fields = {
        "offset": 7,
        "leader_epoch": 5,
        "metadata": "m",
        "commit_timestamp": 8,
        "expire_timestamp": -1,
        "topic_id": None,
        **fields,
    }
    return version.to_bytes(2, "big") + write_message("OffsetCommitValue", version, values)


def test_offsets_are_written_as_each_release_writes_them() -> None:
    record = replace(committed(7), metadata="m")
    body = struct.pack(">qi", 7, 5), struct.pack(">q", 1_007)

    assert write_record(record, profile_for("4.0"))[1] == b"\0\3" + body[0] + b"\0\1m" + body[1]
    assert write_record(record, profile_for("4.1"))[1] == b"\0\4" + body[0] + b"\2m" + body[1] + b"\0"
    retained = replace(record, expire_timestamp_ms=Millis(9))
    expected = b"\0\1" + struct.pack(">q", 7) + b"\0\1m" + body[1] + struct.pack(">q", 9)
    assert write_record(retained, profile_for("4.4"))[1] == expected


def test_keys_are_those_that_brokers_write() -> None:
    record = replace(committed(7, group="s1"), topic="t")

    assert write_record(record, profile_for("4.4"))[0] == OFFSET_KEY
    assert write_record(GONE, profile_for("2.4")) == (GROUP_KEY, None)


def test_the_shell_of_a_group_is_the_one_that_brokers_write() -> None:
    shell = replace(
        EMPTY, protocol_type="", generation_id=GenerationId(0), current_state_timestamp_ms=Millis(1)
    )
    expected = bytes.fromhex("0003 0000 00000000 ffff ffff 0000000000000001 00000000")

    assert write_record(shell, profile_for("4.4")) == (GROUP_KEY, expected)


@pytest.mark.parametrize(
    ("key", "value", "leader_epoch", "expires_ms"),
    [
        (LEGACY_KEY, offset_value(0), -1, None),
        (OFFSET_KEY, offset_value(1), -1, None),
        (OFFSET_KEY, offset_value(1, expire_timestamp=9), -1, 9),
        (OFFSET_KEY, offset_value(2), -1, None),
        (OFFSET_KEY, offset_value(3), 5, None),
        (OFFSET_KEY, offset_value(4, topic_id=TOPIC_ID), 5, None),
    ],
)
def test_offsets_of_every_version_are_read(
    key: bytes, value: bytes, leader_epoch: int, expires_ms: int | None
) -> None:
    record = read(key, value)

    assert isinstance(record, OffsetCommitRecord)
    assert (record.group_id, record.topic, record.partition) == ("s1", "t", 0)
    assert (record.offset, record.metadata, record.commit_timestamp_ms) == (7, "m", 8)
    assert (record.leader_epoch, record.expire_timestamp_ms) == (leader_epoch, expires_ms)


def test_a_topic_id_is_written_as_brokers_write_it() -> None:
    value = offset_value(4, topic_id=TOPIC_ID)

    assert value.endswith(bytes.fromhex("01 00 10" + TOPIC_ID.replace("-", "")))


@pytest.mark.parametrize(
    ("version", "rebalance_timeout_ms", "timestamp_ms", "instance"),
    [(0, 10, -1, None), (1, 20, -1, None), (2, 20, 5, None), (3, 20, 5, "i"), (4, 20, 5, "i")],
)
def test_groups_of_every_version_are_read(
    version: int, rebalance_timeout_ms: int, timestamp_ms: int, instance: str | None
) -> None:
    member = {
        "member_id": "m",
        "group_instance_id": "i",
        "client_id": "c",
        "client_host": "/h",
        "rebalance_timeout": 20,
        "session_timeout": 10,
        "subscription": b"s",
        "assignment": b"a",
    }
    group = {
        "protocol_type": "consumer",
        "generation": 3,
        "protocol": "range",
        "leader": "m",
        "current_state_timestamp": 5,
        "members": (member,),
    }
    value = version.to_bytes(2, "big") + write_message("GroupMetadataValue", version, group)
    record = read(GROUP_KEY, value)

    assert isinstance(record, GroupMetadataRecord)
    (found,) = record.members
    assert (record.generation_id, record.protocol, record.leader) == (3, "range", "m")
    assert record.current_state_timestamp_ms == timestamp_ms
    assert (found.rebalance_timeout_ms, found.session_timeout_ms) == (rebalance_timeout_ms, 10)
    assert (found.group_instance_id, found.client_host) == (instance, "/h")


@pytest.mark.parametrize("profile", ["2.4", "3.9", "4.4"])
@pytest.mark.parametrize("record", [committed(7), STABLE, EMPTY, GONE, FORGOTTEN], ids=str)
def test_what_is_written_is_read(profile: str, record: CoordinatorRecord) -> None:
    assert read(*write_record(record, profile_for(profile)), profile) == record


UNKNOWN_TYPE = (b"\0\x63rest", b"\0\0")
UNKNOWN_VERSION = (OFFSET_KEY, b"\0\x4d" + bytes(30))
FLEXIBLE = (OFFSET_KEY, offset_value(4))


@pytest.mark.parametrize("profile", ["3.4.1", "3.9", "3.9-java", "4.4"])
def test_unknown_types_are_skipped(profile: str) -> None:
    assert read(*UNKNOWN_TYPE, profile) is None


@pytest.mark.parametrize(
    ("profile", "record", "said"),
    [
        ("3.4.0", UNKNOWN_TYPE, "type 99"),
        ("3.3", FLEXIBLE, "an offset of version 4"),
        ("4.4", UNKNOWN_VERSION, "an offset of version 77"),
        ("3.9", (GROUP_KEY, b"\0\5"), "a group of version 5"),
        ("3.9", (GROUP_KEY, b"\0\3\0"), "value is no GroupMetadataValue of version 3"),
        ("4.4", (GROUP_KEY, b"\0"), "ends before its version"),
        ("4.4", (b"\0\1\0", b""), "key is no OffsetCommitKey"),
        ("4.4", (None, b""), "no key"),
    ],
)
def test_what_no_loader_reads_is_found(profile: str, record: tuple[bytes | None, bytes], said: str) -> None:
    with pytest.raises(UnreadableRecordError, match=said):
        read(*record, profile)


BATCH = RecordBatch(
    base_offset=7,
    last_offset=9,
    max_timestamp_ms=Millis(1_002),
    records=(
        Record(offset=7, timestamp_ms=Millis(1_000), key=b"k", value=b"v" * 70_000),
        Record(offset=8, timestamp_ms=Millis(1_001), key=b"k", value=None),
        Record(offset=9, timestamp_ms=Millis(1_002), key=None, value=b"", headers=b"\2\2h\2v"),
    ),
    is_transactional=True,
    producer_id=PRODUCER.producer_id,
    producer_epoch=PRODUCER.producer_epoch,
    base_sequence=0,
    partition_leader_epoch=4,
)


@pytest.mark.parametrize("codec", range(5), ids=codecs.NAMES.values())
def test_batches_of_every_codec_are_read_again(codec: int) -> None:
    written = encode_batch(replace(BATCH, codec=codec))

    assert decode_batch(memoryview(b"--" + written + b"--"), 2) == (
        replace(BATCH, codec=codec),
        2 + len(written),
    )
    assert (len(written) < 5_000) == (codec != codecs.NONE)


@pytest.mark.parametrize("codec", [codecs.NONE, codecs.GZIP])
def test_another_implementation_reads_the_batches(codec: int) -> None:
    theirs = kafka_pythons(replace(BATCH, codec=codec))

    assert theirs.validate_crc()
    assert (theirs.producer_id, theirs.producer_epoch, theirs.is_transactional) == (7, 2, True)
    assert [(each.offset, each.timestamp, each.key, each.value) for each in theirs] == [
        (each.offset, each.timestamp_ms, each.key, each.value) for each in BATCH.records
    ]


def test_blocks_of_lz4_are_independent_of_each_other() -> None:
    independent = 0x20

    assert codecs.compress(b"abc" * 99, codecs.LZ4)[4] & independent


def test_snappy_without_frames_is_read() -> None:
    raw = bytes(cramjam.snappy.compress_raw(b"abc" * 99))

    assert codecs.decompress(raw, codecs.SNAPPY) == b"abc" * 99


@pytest.mark.parametrize("codec", range(1, 8))
def test_what_no_codec_made_is_refused(codec: int) -> None:
    with pytest.raises(codecs.UnreadableCodecError):
        codecs.decompress(codecs._XERIAL_HEADER + b"\0\0\0\x09abc", codec)


def test_every_changed_byte_of_a_batch_is_found() -> None:
    written = encode_batch(replace(BATCH, records=BATCH.records[1:]))
    # Base offset and leader epoch stand before what the checksum covers.
    for position in (*range(8, 12), *range(16, len(written))):
        changed = bytearray(written)
        changed[position] ^= 0x55
        with pytest.raises(BadBatchError):
            decode_batch(memoryview(changed), 0)


def test_every_beginning_of_a_batch_is_short() -> None:
    written = encode_batch(replace(BATCH, records=BATCH.records[1:]))

    for length in range(1, len(written)):
        with pytest.raises(ShortBatchError):
            decode_batch(memoryview(written)[:length], 0)


@pytest.mark.parametrize(("magic", "said"), [(1, "message format 1"), (3, "magic byte is 3")])
def test_other_formats_are_named(magic: int, said: str) -> None:
    written = bytearray(encode_batch(BATCH))
    written[16] = magic

    with pytest.raises(BadBatchError, match=said):
        decode_batch(memoryview(written), 0)


@pytest.mark.parametrize("is_commit", [True, False])
def test_a_marker_is_a_control_batch(*, is_commit: bool) -> None:
    profile = profile_for("4.4")
    batch = LogBatch(
        base_offset=3,
        timestamp_ms=Millis(5),
        records=(marker(is_commit=is_commit),),
        producer=PRODUCER,
        coordinator_epoch=6,
    )

    stored = to_record_batch(batch, profile, codec=codecs.GZIP)

    (record,) = kafka_pythons(stored)
    assert (record.commit, record.abort, record.value) == (is_commit, not is_commit, b"\0\0\0\0\0\6")
    assert to_log_batch(stored, 0, profile) == (replace(batch, offsets=(3,)), None)


def test_offsets_of_a_transaction_name_its_producer() -> None:
    profile = profile_for("3.9")
    batch = LogBatch(base_offset=0, timestamp_ms=Millis(5), records=(in_transaction(1),), producer=PRODUCER)

    assert to_log_batch(to_record_batch(batch, profile), 0, profile)[0] == replace(batch, offsets=(0,))


@pytest.mark.parametrize(("profile", "fails"), [("3.9", False), ("3.9-java", True), ("4.4", True)])
def test_a_batch_is_read_up_to_what_cannot_be(profile: str, *, fails: bool) -> None:
    good = write_record(committed(1), profile_for(profile))
    records = tuple(
        Record(offset=at, timestamp_ms=Millis(0), key=key, value=value)
        for at, (key, value) in enumerate((UNKNOWN_TYPE, good, UNKNOWN_VERSION, good))
    )
    stored = RecordBatch(base_offset=0, last_offset=3, max_timestamp_ms=Millis(0), records=records)

    batch, unreadable = to_log_batch(stored, 6, profile_for(profile))

    assert (batch.records, batch.offsets) == ((committed(1),), (1,))
    assert isinstance(unreadable, UnreadableRecord)
    assert (unreadable.partition, unreadable.offset, unreadable.fails_partition) == (6, 2, fails)
    assert ("NOT_COORDINATOR" in str(unreadable)) == fails


def test_a_text_that_is_too_long_is_refused() -> None:
    batch = LogBatch(
        base_offset=0, timestamp_ms=Millis(0), records=(replace(committed(1), metadata="m" * 40_000),)
    )

    with pytest.raises(UnwritableBatchError, match="OffsetCommitRecord"):
        to_record_batch(batch, profile_for("4.0"))


def test_other_control_records_say_nothing() -> None:
    leader_change = Record(offset=0, timestamp_ms=Millis(0), key=b"\0\0\0\2", value=b"\0\0")
    stored = RecordBatch(
        base_offset=0, last_offset=0, max_timestamp_ms=Millis(0), records=(leader_change,), is_control=True
    )

    batch, unreadable = to_log_batch(stored, 0, profile_for("4.4"))

    assert (batch.records, unreadable) == ((), None)


def test_a_static_member_is_written_with_its_instance() -> None:
    _, value = write_record(STABLE, profile_for("2.4"))

    assert value is not None
    assert MEMBER.group_instance_id is not None
    assert MEMBER.group_instance_id.encode() in value
