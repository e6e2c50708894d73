"""Records of the offsets topic as bytes: by samples of a broker, and as the reference reads them."""

import pytest

from harness.wire.codec import Fields
from harness.wire.errors import WireError
from harness.wire.log_records import EncodedRecord, encode_record
from harness.wire.record_batch import encode_batch
from reference_coordinator.core.ids import NO_PRODUCER_ID
from reference_coordinator.core.records import GroupMetadataRecord, OffsetCommitRecord
from reference_coordinator.log.record_batch import decode_batch
from reference_coordinator.log.serde import read_record
from reference_coordinator.profile.profiles import profile_for

OFFSET_KEY: Fields = {"type": 1, "group": "s1", "topic": "t", "partition": 0}
OFFSET_VALUE: Fields = {
    "offset": 7,
    "leader_epoch": 5,
    "metadata": "m",
    "commit_timestamp": 9,
    "expire_timestamp": 11,
}
MEMBER: Fields = {
    "member_id": "ana-1",
    "group_instance_id": "seat",
    "client_id": "ana",
    "client_host": "/h",
    "rebalance_timeout": 3,
    "session_timeout": 4,
    "subscription": b"sub",
    "assignment": b"part",
}
GROUP_VALUE: Fields = {
    "protocol_type": "consumer",
    "generation": 6,
    "protocol": "range",
    "leader": "ana-1",
    "current_state_timestamp": 8,
    "members": (MEMBER,),
}


def read(record: EncodedRecord, profile: str = "4.4") -> object:
    return read_record(*record, producer_id=NO_PRODUCER_ID, profile=profile_for(profile))


def test_a_key_is_what_a_broker_of_4_4_writes() -> None:
    key, value = encode_record({"key": OFFSET_KEY, "value": None})
    assert key == bytes.fromhex("0001 0002 7331 0001 74 00000000")
    assert value is None


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (0, "0000 0000000000000007 0001 6d 0000000000000009"),
        (1, "0001 0000000000000007 0001 6d 0000000000000009 000000000000000b"),
        (2, "0002 0000000000000007 0001 6d 0000000000000009"),
        (3, "0003 0000000000000007 00000005 0001 6d 0000000000000009"),
        (4, "0004 0000000000000007 00000005 02 6d 0000000000000009 00"),
    ],
)
def test_an_offset_has_the_fields_of_its_version(version: int, expected: str) -> None:
    record = encode_record({"key": OFFSET_KEY, "value": {**OFFSET_VALUE, "version": version}})
    assert record.value == bytes.fromhex(expected)


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4])
def test_the_reference_reads_an_offset_of_every_version(version: int) -> None:
    record = read(encode_record({"key": OFFSET_KEY, "value": {**OFFSET_VALUE, "version": version}}))
    assert isinstance(record, OffsetCommitRecord)
    assert (record.group_id, record.topic, record.partition) == ("s1", "t", 0)
    assert (record.offset, record.metadata, record.commit_timestamp_ms) == (7, "m", 9)
    assert record.leader_epoch == (5 if version >= 3 else -1)
    assert record.expire_timestamp_ms == (11 if version == 1 else None)


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4])
def test_the_reference_reads_a_group_of_every_version(version: int) -> None:
    record = read(
        encode_record({"key": {"type": 2, "group": "g"}, "value": {**GROUP_VALUE, "version": version}})
    )
    assert isinstance(record, GroupMetadataRecord)
    assert (record.group_id, record.generation_id, record.leader) == ("g", 6, "ana-1")
    assert record.current_state_timestamp_ms == (8 if version >= 2 else -1)
    (member,) = record.members
    assert (member.client_id, member.subscription, member.assignment) == ("ana", b"sub", b"part")
    assert member.group_instance_id == ("seat" if version >= 3 else None)
    assert member.rebalance_timeout_ms == (3 if version >= 1 else 4)


@pytest.mark.parametrize("version", [3, 4])
def test_what_an_empty_group_has_not_is_null(version: int) -> None:
    empty: Fields = {**GROUP_VALUE, "version": version, "protocol": None, "leader": None, "members": ()}
    record = read(encode_record({"key": {"type": 2, "group": "g"}, "value": empty}))
    assert isinstance(record, GroupMetadataRecord)
    assert (record.protocol, record.leader, record.members) == (None, None, ())


def test_a_record_of_an_unknown_type_has_the_bytes_that_it_is_given() -> None:
    record = encode_record({"key": {"type": -1, "content": b"what"}, "value": b"ever"})
    assert record == (b"\xff\xffwhat", b"ever")


@pytest.mark.parametrize(
    "record",
    [
        {"key": {"type": 1, "group": "g"}, "value": None},
        {"key": OFFSET_KEY, "value": {"version": 3, "offset": 7}},
        {"key": OFFSET_KEY, "value": {**OFFSET_VALUE, "version": 3, "offset": 2**63}},
    ],
    ids=["key without fields", "value without fields", "number that does not fit"],
)
def test_what_is_no_record_is_refused(record: dict[str, object]) -> None:
    with pytest.raises(WireError, match="no record of __consumer_offsets"):
        encode_record(record)  # type: ignore[arg-type] # faulty on purpose


@pytest.mark.parametrize("compress", [False, True])
def test_the_reference_reads_a_batch(compress: bool) -> None:  # noqa: FBT001 - a parameter of the test
    records = [EncodedRecord(b"key", b"value" * 50), EncodedRecord(b"gone", None)]
    data = encode_batch(records, compress=compress)
    batch, _ = decode_batch(memoryview(data), 0)
    assert [(each.key, each.value) for each in batch.records] == records
    assert [each.offset for each in batch.records] == [0, 1]
    assert not batch.is_transactional
