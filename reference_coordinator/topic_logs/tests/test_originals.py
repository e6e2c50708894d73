"""The records that dead letters are copies of."""

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import Millis
from reference_coordinator.log import codecs
from reference_coordinator.log.record_batch import Record, record_size
from reference_coordinator.tests.wire_topic_client import batch
from reference_coordinator.topic_logs.batch import BatchHeader, read_header
from reference_coordinator.topic_logs.originals import Originals
from reference_coordinator.topic_logs.partition_log import PartitionLog

NOW = Millis(0)
SIZE = record_size(Record(offset=0, timestamp_ms=NOW, key=b"k", value=b"v"), base_offset=0, base_timestamp=0)


def log_of(*values: bytes, codec: int = codecs.NONE) -> PartitionLog:
    """Return a log with one batch."""
    written = batch(*values, keys=(b"k",) * len(values), codec=codec)
    header = read_header(written, api_version=13)
    assert isinstance(header, BatchHeader)
    log = PartitionLog()
    log.append_as_leader(written, header, leader_epoch=0, now_ms=NOW)
    return log


def copied(log: PartitionLog | Errors, first: int, last: int, most: int) -> tuple[list[int], int]:
    """Return the offsets of the copies, and the last offset of the round."""
    originals = Originals(first, last, most)
    originals.read(log)
    return list(originals.records), originals.last_resolved


@pytest.mark.parametrize(
    ("first", "last", "most", "expected"),
    [
        (0, 3, 1_000, ([0, 1, 2, 3], 3)),
        (1, 2, 1_000, ([1, 2], 2)),
        (0, 3, 2 * SIZE, ([0, 1], 1)),
        (0, 3, 2 * SIZE + 1, ([0, 1], 1)),
        (2, 3, SIZE, ([2], 2)),
        (0, 3, SIZE - 1, ([], 3)),
        (0, 9, 1_000, ([0, 1, 2, 3], 9)),
    ],
)
def test_a_round_has_as_many_copies_as_fit(
    first: int, last: int, most: int, expected: tuple[list[int], int]
) -> None:
    assert copied(log_of(b"v", b"v", b"v", b"v"), first, last, most) == expected


def test_a_record_that_is_too_large_is_left_out() -> None:
    assert copied(log_of(b"v", b"v" * 100, b"v"), 0, 2, 50) == ([0, 2], 2)


def test_a_compressed_batch_that_is_too_large_is_left_out_as_a_whole() -> None:
    assert copied(log_of(b"v", b"v" * 100, b"v", codec=codecs.GZIP), 0, 2, 50) == ([], 2)
    assert copied(log_of(b"v", b"v", codec=codecs.GZIP), 0, 1, 50) == ([0, 1], 1)


def test_records_that_cannot_be_read_are_left_out() -> None:
    assert copied(Errors.NOT_LEADER_OR_FOLLOWER, 0, 2, 50) == ([], 2)
    log = log_of(b"v", b"v")
    log.log_start_offset = 1
    assert copied(log, 0, 1, 50) == ([], 1)
