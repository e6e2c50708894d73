"""Conversion of batches of records to keys and values, as a release writes them, and back."""

from typing import Final

from reference_coordinator.core.effects import Producer
from reference_coordinator.core.ids import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, ProducerId
from reference_coordinator.core.records import CoordinatorRecord, EndTransactionMarker
from reference_coordinator.log import codecs
from reference_coordinator.log.batches import LogBatch, UnreadableRecord, UnwritableBatchError
from reference_coordinator.log.record_batch import NO_SEQUENCE, Record, RecordBatch
from reference_coordinator.log.serde import (
    UnreadableRecordError,
    UnwritableRecordError,
    read_record,
    write_record,
)
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.profile.profiles import Profile

_ABORT: Final = 0
_COMMIT: Final = 1
_FIRST_SEQUENCE: Final = 0
"""Coordinators do not number batches. Source: CoordinatorRuntime#maybeAllocateNewBatch (4.3.1)."""
_MARKER_VERSION: Final = b"\0\0"
_TYPE_AT: Final = slice(2, 4)
_COORDINATOR_EPOCH_AT: Final = slice(2, 6)


def to_record_batch(
    batch: LogBatch, profile: Profile, *, codec: int = codecs.NONE, partition_leader_epoch: int = 0
) -> RecordBatch:
    """Return a batch as a release writes it.

    Raises:
        UnwritableBatchError: a record does not fit its format.
    """
    producer = batch.producer
    try:
        records = tuple(_record(batch, offset, record, profile) for offset, record in batch.with_offsets())
    except UnwritableRecordError as error:
        raise UnwritableBatchError(str(error)) from error
    return RecordBatch(
        base_offset=batch.base_offset,
        last_offset=records[-1].offset,
        max_timestamp_ms=batch.timestamp_ms,
        records=records,
        partition_leader_epoch=partition_leader_epoch,
        codec=codecs.NONE if batch.is_marker else codec,
        is_transactional=producer is not None,
        is_control=batch.is_marker,
        producer_id=NO_PRODUCER_ID if producer is None else producer.producer_id,
        producer_epoch=NO_PRODUCER_EPOCH if producer is None else producer.producer_epoch,
        base_sequence=NO_SEQUENCE if batch.is_marker or producer is None else _FIRST_SEQUENCE,
    )


def to_log_batch(
    stored: RecordBatch, partition: int, profile: Profile
) -> tuple[LogBatch, UnreadableRecord | None]:
    """Return a batch as a release's loader reads it, up to the first record that it fails on."""
    producer = None
    if stored.producer_id != NO_PRODUCER_ID:
        producer = Producer(producer_id=stored.producer_id, producer_epoch=stored.producer_epoch)
    found: list[CoordinatorRecord] = []
    offsets: list[int] = []
    unreadable = None
    for record in stored.records:
        try:
            read = _marker(stored, record, partition) if stored.is_control else _read(stored, record, profile)
        except UnreadableRecordError as error:
            unreadable = UnreadableRecord(
                partition=partition,
                offset=record.offset,
                reason=str(error),
                fails_partition=profile.has(Behaviour.UNREADABLE_RECORD_FAILS_PARTITION),
            )
            break
        if read is not None:
            found.append(read)
            offsets.append(record.offset)
    batch = LogBatch(
        base_offset=stored.base_offset,
        timestamp_ms=stored.max_timestamp_ms,
        records=tuple(found),
        producer=producer,
        coordinator_epoch=_coordinator_epoch(stored) if stored.is_control else None,
        offsets=tuple(offsets),
    )
    return batch, unreadable


def _record(batch: LogBatch, offset: int, record: CoordinatorRecord, profile: Profile) -> Record:
    if isinstance(record, EndTransactionMarker):
        epoch = batch.coordinator_epoch or 0
        key, value = (
            control_key(is_commit=record.is_commit),
            _MARKER_VERSION + epoch.to_bytes(4, "big", signed=True),
        )
    else:
        key, value = write_record(record, profile)  # type: ignore[assignment] # a tombstone has no value
    return Record(offset=offset, timestamp_ms=batch.timestamp_ms, key=key, value=value)


def control_key(*, is_commit: bool) -> bytes:
    """Return the key of a marker. Source: ControlRecordType#recordKey (4.3.1)."""
    return _MARKER_VERSION + (_COMMIT if is_commit else _ABORT).to_bytes(2, "big")


def control_type(key: bytes | None) -> int:
    """Return the type of a control record's key; -1 for none. Source: ControlRecordType#parse (4.3.1)."""
    key = key or b""
    return int.from_bytes(key[_TYPE_AT], "big") if len(key) >= _TYPE_AT.stop else -1


def _read(stored: RecordBatch, record: Record, profile: Profile) -> CoordinatorRecord | None:
    producer_id = stored.producer_id if stored.is_transactional else NO_PRODUCER_ID
    return read_record(record.key, record.value, producer_id=ProducerId(producer_id), profile=profile)


def _marker(stored: RecordBatch, record: Record, partition: int) -> EndTransactionMarker | None:
    kind = control_type(record.key)
    if kind not in {_ABORT, _COMMIT}:
        return None
    return EndTransactionMarker(
        partition=partition,
        producer_id=stored.producer_id,
        producer_epoch=stored.producer_epoch,
        is_commit=kind == _COMMIT,
    )


def _coordinator_epoch(stored: RecordBatch) -> int:
    values = [record.value or b"" for record in stored.records]
    return int.from_bytes(values[0][_COORDINATOR_EPOCH_AT], "big", signed=True) if values else 0
