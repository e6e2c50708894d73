"""Record batches of format version 2, as stored in segments.

Neither available library is sufficient: kio's reader has no compression and drops milliseconds, and
kafka-python's builder makes no control batches. kio reads and writes the numbers.

Source: DefaultRecordBatch, DefaultRecord, MemoryRecordsBuilder (4.3.1).
"""

import struct
from collections.abc import Mapping
from io import BytesIO
from typing import Final

from crc32c import crc32c
from kio.serial.errors import SerialError
from kio.serial.readers import read_signed_varint, read_signed_varlong
from kio.serial.writers import write_signed_varint, write_signed_varlong

from reference_coordinator.core.ids import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    Millis,
    ProducerEpoch,
    ProducerId,
)
from reference_coordinator.core.values import value
from reference_coordinator.log import codecs

HEADER: Final = struct.Struct(">qiibIhiqqqhii")
"""Base offset, length, leader epoch, magic, CRC, attributes, last offset delta, base and maximum timestamp,
producer id and epoch, base sequence, number of records."""
LOG_OVERHEAD: Final = 12
"""The bytes before the part that the length field counts."""
MAGIC: Final = 2
NO_SEQUENCE: Final = -1
MAGIC_AT: Final = 16
CRC_AT: Final = 17
ATTRIBUTES_AT: Final = 21
CODEC_MASK: Final = 0x07
_LOG_APPEND_TIME: Final = 0x08
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20
_DELETE_HORIZON: Final = 0x40
_NO_HEADERS: Final = b"\0"


class BadBatchError(Exception):
    """The bytes are not a valid record batch. The message says why."""


class ShortBatchError(BadBatchError):
    """The bytes may be the beginning of a batch."""


@value
class Record:
    """A record; its headers remain encoded, with their count first."""

    offset: int
    timestamp_ms: Millis
    key: bytes | None
    value: bytes | None
    headers: bytes = _NO_HEADERS


@value
class RecordBatch:
    """A batch with its records, uncompressed."""

    base_offset: int
    last_offset: int
    """The last offset of the batch as appended; compaction removes records, but does not change it."""
    max_timestamp_ms: Millis
    records: tuple[Record, ...]
    partition_leader_epoch: int = 0
    codec: int = codecs.NONE
    is_log_append_time: bool = False
    is_transactional: bool = False
    is_control: bool = False
    delete_horizon_ms: Millis | None = None
    """The time from which its tombstones, or its marker, may be removed."""
    producer_id: ProducerId = NO_PRODUCER_ID
    producer_epoch: ProducerEpoch = NO_PRODUCER_EPOCH
    base_sequence: int = NO_SEQUENCE

    @property
    def next_offset(self) -> int:
        """The offset after the batch."""
        return self.last_offset + 1


def encode_batch(batch: RecordBatch) -> bytes:
    """Encode a batch."""
    base_timestamp = _base_timestamp(batch)
    body = BytesIO()
    for record in batch.records:
        _write_record(body, record, batch.base_offset, base_timestamp)
    content = codecs.compress(body.getvalue(), batch.codec)
    header = bytearray(
        HEADER.pack(
            batch.base_offset,
            HEADER.size - LOG_OVERHEAD + len(content),
            batch.partition_leader_epoch,
            MAGIC,
            0,
            _attributes(batch),
            batch.last_offset - batch.base_offset,
            base_timestamp,
            batch.max_timestamp_ms,
            batch.producer_id,
            batch.producer_epoch,
            batch.base_sequence,
            len(batch.records),
        )
    )
    struct.pack_into(">I", header, CRC_AT, crc32c(content, crc32c(bytes(header[ATTRIBUTES_AT:]))))
    return bytes(header) + content


def encode_headers(headers: Mapping[str, str]) -> bytes:
    """Encode the headers of a record. Source: DefaultRecord#writeTo (4.4.0)."""
    buffer = BytesIO()
    write_signed_varint(buffer, len(headers))
    for name, text in headers.items():
        for content in (name.encode(), text.encode()):
            write_signed_varint(buffer, len(content))
            buffer.write(content)
    return buffer.getvalue()


def record_size(record: Record, *, base_offset: int, base_timestamp: int) -> int:
    """Return the size of a record within an uncompressed batch. Source: DefaultRecord#sizeInBytes (4.4.0)."""
    body = BytesIO()
    _write_record(body, record, base_offset, base_timestamp)
    return body.tell()


def batch_size(data: memoryview, position: int) -> int:
    """Return the size of the batch at a position, according to its header.

    Raises:
        ShortBatchError: the data is shorter.
        BadBatchError: the header is not that of a batch.
    """
    left = len(data) - position
    if left < HEADER.size:
        raise ShortBatchError(f"{left} bytes are too few for a batch")
    length = int.from_bytes(data[position + LOG_OVERHEAD - 4 : position + LOG_OVERHEAD], "big", signed=True)
    magic = data[position + MAGIC_AT]
    if magic < MAGIC:
        raise BadBatchError(f"it is of message format {magic}, which Kafka 0.11 replaced by format {MAGIC}")
    if magic > MAGIC:
        raise BadBatchError(f"its magic byte is {magic} instead of {MAGIC}")
    if length < HEADER.size - LOG_OVERHEAD:
        raise BadBatchError(f"its length is {length}, which is too little for a batch")
    size = LOG_OVERHEAD + length
    if size > left:
        raise ShortBatchError(f"of {size} bytes {left} are there")
    return size


def decode_batch(
    data: memoryview, position: int, *, content_max: int | None = None
) -> tuple[RecordBatch, int]:
    """Decode the batch at a position; return it with the position after it.

    Args:
        data: the bytes that contain it.
        position: where it begins.
        content_max: the maximum size of its decompressed records.

    Raises:
        ShortBatchError: it is incomplete.
        BadBatchError: it is not a batch, its checksum is wrong, or its records exceed the maximum.
    """
    size = batch_size(data, position)
    end = position + size
    header = HEADER.unpack_from(data, position)
    base_offset, _, leader_epoch, _, crc, attributes, delta, base_timestamp, max_timestamp, *rest = header
    actual_crc = crc32c(data[position + ATTRIBUTES_AT : end])
    if crc != actual_crc:
        raise BadBatchError(f"its checksum is {crc:#010x}, but {actual_crc:#010x} is that of its bytes")
    producer_id, producer_epoch, base_sequence, count = rest
    is_log_append_time = bool(attributes & _LOG_APPEND_TIME)
    try:
        packed = bytes(data[position + HEADER.size : end])
        content = codecs.decompress(packed, attributes & CODEC_MASK, bytes_max=content_max)
        records = _read_records(content, count, base_offset, base_timestamp)
    except (codecs.UnreadableCodecError, SerialError, ValueError) as error:
        raise BadBatchError(f"its records cannot be read: {error}") from error
    batch = RecordBatch(
        base_offset=base_offset,
        last_offset=base_offset + delta,
        max_timestamp_ms=Millis(max_timestamp),
        records=records,
        partition_leader_epoch=leader_epoch,
        codec=attributes & CODEC_MASK,
        is_log_append_time=is_log_append_time,
        is_transactional=bool(attributes & TRANSACTIONAL),
        is_control=bool(attributes & CONTROL),
        delete_horizon_ms=Millis(base_timestamp) if attributes & _DELETE_HORIZON else None,
        producer_id=ProducerId(producer_id),
        producer_epoch=ProducerEpoch(producer_epoch),
        base_sequence=base_sequence,
    )
    return batch, end


def _base_timestamp(batch: RecordBatch) -> int:
    if batch.delete_horizon_ms is not None:
        return batch.delete_horizon_ms
    return batch.records[0].timestamp_ms if batch.records else batch.max_timestamp_ms


def _attributes(batch: RecordBatch) -> int:
    attributes = batch.codec
    for bit, is_set in (
        (_LOG_APPEND_TIME, batch.is_log_append_time),
        (TRANSACTIONAL, batch.is_transactional),
        (CONTROL, batch.is_control),
        (_DELETE_HORIZON, batch.delete_horizon_ms is not None),
    ):
        attributes |= bit if is_set else 0
    return attributes


def _write_record(buffer: BytesIO, record: Record, base_offset: int, base_timestamp: int) -> None:
    body = BytesIO()
    body.write(b"\0")  # attributes, none of which is set
    write_signed_varlong(body, record.timestamp_ms - base_timestamp)
    write_signed_varint(body, record.offset - base_offset)
    _write_nullable(body, record.key)
    _write_nullable(body, record.value)
    body.write(record.headers)
    write_signed_varint(buffer, body.tell())
    buffer.write(body.getvalue())


def _write_nullable(buffer: BytesIO, content: bytes | None) -> None:
    write_signed_varint(buffer, -1 if content is None else len(content))
    buffer.write(content or b"")


def _read_records(content: bytes, count: int, base_offset: int, base_timestamp: int) -> tuple[Record, ...]:
    records: list[Record] = []
    position = 0
    for _ in range(count):
        record, position = _read_record(content, position, base_offset, base_timestamp)
        records.append(record)
    if position != len(content):
        raise ValueError(f"{len(content) - position} bytes are left behind the last of {count}")
    return tuple(records)


def _read_record(content: bytes, position: int, base_offset: int, base_timestamp: int) -> tuple[Record, int]:
    length, size = read_signed_varint(content, position)
    position += size
    end = position + length
    if not position < end <= len(content):
        raise ValueError(f"a record of {length} bytes at {position} of {len(content)}")
    position += 1
    timestamp_delta, size = read_signed_varlong(content, position)
    position += size
    offset_delta, size = read_signed_varint(content, position)
    key, position = _read_nullable(content, position + size, end)
    value, position = _read_nullable(content, position, end)
    record = Record(
        offset=base_offset + offset_delta,
        timestamp_ms=Millis(base_timestamp + timestamp_delta),
        key=key,
        value=value,
        headers=content[position:end],
    )
    return record, end


def _read_nullable(content: bytes, position: int, end: int) -> tuple[bytes | None, int]:
    length, size = read_signed_varint(content, position)
    begin = position + size
    if length < 0:
        return None, begin
    if begin + length > end:
        raise ValueError(f"{length} bytes at {begin} of a record that ends at {end}")
    return content[begin : begin + length], begin + length
