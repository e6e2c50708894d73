from typing import cast

import pytest

from harness.trace.canonical import Canonicaliser, FieldValue, Json
from harness.wire.record_batch import BatchProducer, encode_batch, numbered_records
from reference_coordinator.core.ids import Millis, ProducerEpoch, ProducerId
from reference_coordinator.log.record_batch import Record, RecordBatch, encode_headers
from reference_coordinator.log.record_batch import encode_batch as reference_batch
from reference_coordinator.topic_logs.batch import marker_batch


def written(count: int, *, producer_id: int, base_sequence: int = 0) -> bytes:
    return encode_batch(numbered_records(count), producer=BatchProducer(producer_id, 0, base_sequence))


def ended(*, producer_id: int, is_commit: bool, coordinator_epoch: int = 0, now_ms: int = 0) -> bytes:
    return marker_batch(
        ProducerId(producer_id),
        ProducerEpoch(0),
        is_commit=is_commit,
        coordinator_epoch=coordinator_epoch,
        now_ms=Millis(now_ms),
    )


def fetched(records: bytes, *, producer_id: int = 7) -> Json:
    """Return the canonical form of records that a member fetched, after zoe was given a producer id."""
    canon = Canonicaliser(groups={})
    given: dict[str, FieldValue] = {"error_code": "NONE", "producer_id": producer_id}
    canon.canonical(actor="zoe", api="InitProducerId", fields=given)
    return canon.value(records, api="ShareFetch", path="responses[].partitions[].records")


def test_batches_of_one_transaction_are_alike_whatever_its_producer_time_and_coordinator_are() -> None:
    one = written(2, producer_id=7) + ended(producer_id=7, is_commit=True)
    other = written(2, producer_id=4_000) + ended(
        producer_id=4_000, is_commit=True, coordinator_epoch=3, now_ms=1_700_000_000_000
    )

    assert one != other
    assert fetched(one) == fetched(other, producer_id=4_000)


def letter(offset: int, *, now_ms: int) -> bytes:
    """Return a batch with one dead letter, as a broker writes it."""
    headers = encode_headers({"__dlq.errors.offset": str(offset)})
    record = Record(offset=offset, timestamp_ms=Millis(now_ms), key=None, value=b"v", headers=headers)
    batch = RecordBatch(
        base_offset=offset, last_offset=offset, max_timestamp_ms=Millis(now_ms), records=(record,)
    )
    return reference_batch(batch)


def test_dead_letters_are_one_list_without_times_however_they_are_batched() -> None:
    (batch,) = cast("list[dict[str, Json]]", fetched(letter(0, now_ms=5) + letter(1, now_ms=9)))

    assert (batch["base_offset"], batch["last_offset"]) == (0, 1)
    assert not {"base_timestamp", "max_timestamp", "records"} & batch.keys()
    assert batch["dead_letters"] == [
        {"key": None, "value": b"v".hex(), "headers": {"__dlq.errors.offset": str(offset)}}
        for offset in (0, 1)
    ]


@pytest.mark.parametrize("spoilt", [b"__dlq.errors.", b"\xff" * 3 + b"__dlq.errors."])
def test_what_only_looks_like_dead_letters_stays_as_it_is(spoilt: bytes) -> None:
    whole = letter(0, now_ms=5)
    header = bytearray(whole[:61])
    header[8:12] = (49 + len(spoilt)).to_bytes(4, "big")

    (batch,) = cast("list[dict[str, Json]]", fetched(bytes(header) + spoilt))

    assert batch["records"] == {"$bytes": spoilt.hex()}


def test_a_batch_is_written_field_by_field() -> None:
    batches = fetched(written(2, producer_id=7, base_sequence=5) + ended(producer_id=7, is_commit=False))

    assert batches == [
        {
            "base_offset": 0,
            "last_offset": 1,
            "attributes": 0x10,
            "producer_id": "producer:zoe",
            "producer_epoch": 0,
            "base_sequence": 5,
            "base_timestamp": 0,
            "max_timestamp": 0,
            "records": {"$bytes": "18000000000c3030303030300018000002000c30303030303100"},
        },
        {
            "base_offset": 0,
            "last_offset": 0,
            "attributes": 0x30,
            "producer_id": "producer:zoe",
            "producer_epoch": 0,
            "base_sequence": -1,
            "marker": "abort",
        },
    ]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"count": 3}, id="records"),
        pytest.param({"producer_id": 8}, id="producer"),
        pytest.param({"base_sequence": 2}, id="sequence"),
    ],
)
def test_what_a_reader_notices_stays(change: dict[str, int]) -> None:
    assert fetched(written(**{"count": 2, "producer_id": 7} | change)) != fetched(written(2, producer_id=7))


def test_a_commit_is_not_an_abort() -> None:
    committed, aborted = (fetched(ended(producer_id=7, is_commit=is_commit)) for is_commit in (True, False))

    assert committed != aborted


@pytest.mark.parametrize("cut_off", [1, 30, 60])
def test_a_batch_that_is_cut_off_is_left_out(cut_off: int) -> None:
    whole, last = written(2, producer_id=7), written(1, producer_id=7, base_sequence=2)

    assert fetched(whole + last[:-cut_off]) == fetched(whole)


@pytest.mark.parametrize(
    "records",
    [
        pytest.param(b"\0" * 80, id="zeros"),
        pytest.param(written(1, producer_id=7)[:16] + b"\1" + written(1, producer_id=7)[17:], id="format 1"),
        pytest.param(b"\xff" * 80, id="negative length"),
    ],
)
def test_what_is_of_another_format_stays_as_it_is(records: bytes) -> None:
    expected: FieldValue = {"$bytes": records.hex()}

    assert fetched(records) == expected
