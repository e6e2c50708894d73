"""The header of a batch: the fields that a broker reads, and the two fields that it writes itself."""

import struct
from typing import Final

from crc32c import crc32c

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import Millis, ProducerEpoch, ProducerId
from reference_coordinator.core.values import value
from reference_coordinator.log import codecs
from reference_coordinator.log.record_batch import (
    ATTRIBUTES_AT,
    CODEC_MASK,
    CONTROL,
    HEADER,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_AT,
    TRANSACTIONAL,
    BadBatchError,
    Record,
    RecordBatch,
    decode_batch,
    encode_batch,
)

_BASE_OFFSET: Final = struct.Struct(">q")
_LENGTH: Final = struct.Struct(">i")
_LENGTH_AT: Final = 8
_EPOCH_AT: Final = 12
_FIRST_ZSTD_PRODUCE: Final = 7
_MARKER_KEY: Final = struct.Struct(">hh")
_MARKER_VALUE: Final = struct.Struct(">hi")
_UNPACKED_BYTES_MAX: Final = 1 << 24
_RECORDS_MAX: Final = 150_000
"""The largest number of records in an uncompressed batch of `max.message.bytes`."""


@value
class BatchHeader:
    """The fields of a batch's header, as its producer wrote them."""

    size_bytes: int
    codec: int
    is_transactional: bool
    is_control: bool
    last_offset_delta: int
    max_timestamp_ms: Millis
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    base_sequence: int
    count: int

    @property
    def has_producer_id(self) -> bool:
        """Whether its producer is idempotent."""
        return self.producer_id >= 0

    @property
    def last_sequence(self) -> int:
        """The sequence number of its last record. Source: DefaultRecordBatch#incrementSequence (4.3.1)."""
        if self.base_sequence < 0:
            return self.base_sequence
        return (self.base_sequence + self.last_offset_delta) & 0x7FFFFFFF


def read_header(records: bytes, *, api_version: int) -> BatchHeader | Errors:
    """Read the header of a Produce request's records for a partition, which must be exactly one batch.

    Source: ProduceRequest#validateRecords, UnifiedLog#analyzeAndValidateRecords (4.3.1).
    """
    if len(records) < HEADER.size:
        return Errors.INVALID_RECORD
    size = LOG_OVERHEAD + _LENGTH.unpack_from(records, _LENGTH_AT)[0]
    if records[MAGIC_AT] > MAGIC or size < HEADER.size:
        return Errors.CORRUPT_MESSAGE
    if records[MAGIC_AT] < MAGIC or size != len(records):
        return Errors.INVALID_RECORD
    _, _, _, _, crc, attributes, delta, _, max_timestamp, *producer, count = HEADER.unpack_from(records)
    codec = attributes & CODEC_MASK
    if codec == codecs.ZSTD and api_version < _FIRST_ZSTD_PRODUCE:
        return Errors.UNSUPPORTED_COMPRESSION_TYPE
    if crc != crc32c(memoryview(records)[ATTRIBUTES_AT:]):
        return Errors.CORRUPT_MESSAGE
    producer_id, producer_epoch, base_sequence = producer
    return BatchHeader(
        size_bytes=size,
        codec=codec,
        is_transactional=bool(attributes & TRANSACTIONAL),
        is_control=bool(attributes & CONTROL),
        last_offset_delta=delta,
        max_timestamp_ms=Millis(max_timestamp),
        producer_id=ProducerId(producer_id),
        producer_epoch=ProducerEpoch(producer_epoch),
        base_sequence=base_sequence,
        count=count,
    )


def validate_batch(header: BatchHeader) -> Errors:
    """Refuse a batch that no producer may write. Source: LogValidator#validateBatch (4.3.1)."""
    is_named = header.has_producer_id
    if header.is_control or (is_named and header.base_sequence < 0):
        return Errors.INVALID_RECORD
    if header.count <= 0 or header.count != header.last_offset_delta + 1:
        return Errors.INVALID_RECORD
    if header.codec not in codecs.NAMES or (header.is_transactional and not is_named):
        return Errors.INVALID_RECORD
    return Errors.NONE


def read_batch(records: bytes) -> RecordBatch:
    """Decode a producer's batch, within limits that prevent a small batch from decompressing without bound.

    Raises:
        BadBatchError: it cannot be decoded, or exceeds the limits.

    Decided in: DefaultRecordBatch#iterator (4.3.1).
    """
    *_, count = HEADER.unpack_from(records)
    if count > _RECORDS_MAX:
        raise BadBatchError(f"it has {count} records, and {_RECORDS_MAX} are read at most")
    decoded, _ = decode_batch(memoryview(records), 0, content_max=_UNPACKED_BYTES_MAX)
    return decoded


def keyless_records(records: bytes) -> tuple[int, ...]:
    """Return the indexes, from 0, of a batch's records without a key; none if it cannot be decoded.

    Source: LogValidator#validateKey (4.3.1).
    """
    try:
        decoded = read_batch(records)
    except BadBatchError:
        return ()
    return tuple(at for at, record in enumerate(decoded.records) if record.key is None)


def stamped(records: bytes, *, base_offset: int, leader_epoch: int) -> bytes:
    """Return a batch with its base offset and leader epoch, which its checksum does not cover.

    Source: LogValidator#validateMessagesAndAssignOffsets (4.3.1).
    """
    epoch = _LENGTH.pack(leader_epoch)
    length = records[_LENGTH_AT:_EPOCH_AT]
    return b"".join((_BASE_OFFSET.pack(base_offset), length, epoch, memoryview(records)[MAGIC_AT:]))


def place_of(records: bytes) -> tuple[int, int]:
    """Return the base offset and the leader epoch that a batch got when it was written.

    Source: DefaultRecordBatch#baseOffset, DefaultRecordBatch#partitionLeaderEpoch (4.3.1).
    """
    (base_offset,) = _BASE_OFFSET.unpack_from(records)
    (leader_epoch,) = _LENGTH.unpack_from(records, _EPOCH_AT)
    return base_offset, leader_epoch


def marker_of(records: bytes) -> tuple[bool, int]:
    """Return whether an end marker is a commit, and the epoch of the coordinator that wrote it.

    Source: EndTransactionMarker#deserialize (4.3.1).
    """
    decoded, _ = decode_batch(memoryview(records), 0)
    (marker,) = decoded.records
    assert marker.key is not None
    assert marker.value is not None
    _, kind = _MARKER_KEY.unpack_from(marker.key)
    _, coordinator_epoch = _MARKER_VALUE.unpack_from(marker.value)
    return bool(kind), coordinator_epoch


def marker_batch(
    producer_id: ProducerId,
    producer_epoch: ProducerEpoch,
    *,
    is_commit: bool,
    coordinator_epoch: int,
    now_ms: Millis,
) -> bytes:
    """Build the end marker of a transaction. Source: MemoryRecords#withEndTransactionMarker (4.3.1)."""
    marker = Record(
        offset=0,
        timestamp_ms=now_ms,
        key=_MARKER_KEY.pack(0, int(is_commit)),
        value=_MARKER_VALUE.pack(0, coordinator_epoch),
    )
    return encode_batch(
        RecordBatch(
            base_offset=0,
            last_offset=0,
            max_timestamp_ms=now_ms,
            records=(marker,),
            is_transactional=True,
            is_control=True,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
        )
    )


def timestamps(batch: bytes) -> tuple[tuple[int, Millis], ...]:
    """Return the offset and timestamp of each record of a batch; none if it cannot be decoded."""
    try:
        decoded = read_batch(batch)
    except BadBatchError:
        return ()
    return tuple((record.offset, record.timestamp_ms) for record in decoded.records)
