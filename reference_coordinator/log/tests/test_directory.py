"""The store over a real directory: what is opened, cut, refused, rolled, compacted, deleted."""

import sys
from dataclasses import replace
from pathlib import Path
from subprocess import run

import pytest
from typing_extensions import override

from reference_coordinator.core.effects import AppendRecords
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import AppendId, Millis, ProducerEpoch
from reference_coordinator.log.batches import LogBatch, StoreError, UnreadableLogError
from reference_coordinator.log.conversion import to_record_batch
from reference_coordinator.log.directory import DirectoryStore, LockedDirectoryError
from reference_coordinator.log.files import DiskFiles, UnsyncedError
from reference_coordinator.log.offsets_log import OffsetsLog
from reference_coordinator.log.persistence import kept_log
from reference_coordinator.log.placing import MisplacedGroupError
from reference_coordinator.log.record_batch import Record, RecordBatch, encode_batch
from reference_coordinator.log.segments import DamagedLogError
from reference_coordinator.profile.profiles import profile_for
from reference_coordinator.tests.log_kit import (
    EMPTY,
    FORGOTTEN,
    PRODUCER,
    STABLE,
    append,
    committed,
    end,
    in_transaction,
    marker,
    never_noted,
    opened,
    segment_of,
)

WORK = (STABLE, committed(1), EMPTY, FORGOTTEN)


def written(directory: Path, *, segment_bytes: int = 10_000) -> list[Path]:
    """Write one batch for each record, and return the segments."""
    store, log = opened(directory, segment_bytes=segment_bytes)
    for record in WORK:
        assert append(log, record) is Errors.NONE
    store.close()
    return sorted((directory / "__consumer_offsets-0").glob("*.log"))


def reread(directory: Path) -> list[object]:
    store, log = opened(directory)
    store.close()
    return list(log.read(0))


def test_what_was_written_is_there_when_it_is_opened_again(tmp_path: Path) -> None:
    written(tmp_path)
    store, log = opened(tmp_path)

    assert list(log.read_with_offsets(0)) == list(enumerate(WORK))
    assert (log.end_offset(0), log.partitions(), log.records) == (4, (0,), list(WORK))
    assert store.notices == ()
    append(log, committed(9))
    store.close()
    assert reread(tmp_path) == [*WORK, committed(9)]


def test_records_of_one_append_are_one_batch_that_is_there_or_not(tmp_path: Path) -> None:
    store, log = opened(tmp_path)
    append(log, committed(1), committed(2))
    store.close()
    path = segment_of(tmp_path)
    path.write_bytes(path.read_bytes()[:-1])
    never_noted(tmp_path)

    assert reread(tmp_path) == []


def test_producers_are_remembered(tmp_path: Path) -> None:
    store, log = opened(tmp_path)
    append(log, in_transaction(1))
    store.close()
    store, log = opened(tmp_path)
    assert log.has_ongoing_transaction(0, PRODUCER.producer_id, PRODUCER.producer_epoch)
    assert log.largest_producer_id() == PRODUCER.producer_id
    assert end(log, is_commit=True) is Errors.NONE
    store.close()

    store, log = opened(tmp_path)
    store.close()
    assert not log.has_ongoing_transaction(0, PRODUCER.producer_id, PRODUCER.producer_epoch)
    older = replace(PRODUCER, producer_epoch=ProducerEpoch(PRODUCER.producer_epoch - 1))
    late = AppendRecords(append_id=AppendId(1), partition=0, records=(in_transaction(1),), producer=older)
    assert log.append(late) is Errors.INVALID_PRODUCER_EPOCH
    assert list(log.read(0)) == [in_transaction(1), marker(is_commit=True)]


def test_a_torn_tail_is_cut_off_and_reported(tmp_path: Path) -> None:
    (path,) = written(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:100])

    store, log = opened(tmp_path)
    store.close()

    (notice,) = store.notices
    assert f"the last 100 bytes of {path}, from {len(whole)} on" in notice
    assert list(log.read(0)) == list(WORK)
    assert path.read_bytes() == whole
    assert opened(tmp_path)[0].notices == ()


def test_a_last_batch_with_a_wrong_checksum_is_taken_for_torn_if_it_was_not_acknowledged(
    tmp_path: Path,
) -> None:
    (path,) = written(tmp_path)
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    never_noted(tmp_path)

    store, log = opened(tmp_path)

    assert "checksum" in store.notices[0]
    assert list(log.read(0)) == list(WORK[:-1])


@pytest.mark.parametrize("at", [8, 16, 70])
def test_damage_in_the_middle_is_refused(at: int, tmp_path: Path) -> None:
    (path,) = written(tmp_path)
    content = bytearray(path.read_bytes())
    content[at] ^= 0xFF
    path.write_bytes(content)

    with pytest.raises(DamagedLogError, match=rf"{path} is damaged at \d+: its "):
        opened(tmp_path)
    assert path.read_bytes() == content


def test_a_torn_segment_that_is_not_the_last_is_damage(tmp_path: Path) -> None:
    first, *_ = written(tmp_path, segment_bytes=1)
    first.write_bytes(first.read_bytes()[:-1])

    with pytest.raises(DamagedLogError, match="is damaged at 0"):
        opened(tmp_path)


def test_segments_that_overlap_are_damage(tmp_path: Path) -> None:
    (path,) = written(tmp_path)
    path.with_name(f"{2:020d}.log").write_bytes(path.read_bytes())

    with pytest.raises(DamagedLogError, match="begins before offset 4"):
        opened(tmp_path)


def test_segments_are_named_by_the_offsets_that_they_begin_with(tmp_path: Path) -> None:
    segments = written(tmp_path, segment_bytes=1)

    assert [int(path.stem) for path in segments] == [0, 1, 2, 3]
    assert reread(tmp_path) == list(WORK)


def test_compaction_leaves_one_closed_segment_and_an_empty_one(tmp_path: Path) -> None:
    written(tmp_path, segment_bytes=1)
    store, log = opened(tmp_path)
    store.compact(now_ms=Millis(0))
    append(log, committed(5))
    store.close()

    names = sorted(path.name for path in segment_of(tmp_path).parent.iterdir())
    assert names == [f"{0:020d}.log", f"{4:020d}.log"]
    assert reread(tmp_path) == [EMPTY, FORGOTTEN, committed(5)]
    store, log = opened(tmp_path)
    assert [offset for offset, _ in log.read_with_offsets(0)] == [2, 3, 4]


def test_all_partitions_are_made_at_once(tmp_path: Path) -> None:
    store, log = opened(tmp_path, num_partitions=3)
    assert not list(tmp_path.glob("__consumer_offsets-*"))
    append(log, committed(1), partition=1)
    store.close()

    assert len(list(tmp_path.glob("__consumer_offsets-*/*.log"))) == 3


def test_how_many_partitions_there_are_is_reported_by_the_directory(tmp_path: Path) -> None:
    profile = profile_for("4.4")
    for partitions, expected in ((None, 50), (7, 7)):
        directory = tmp_path / str(expected)
        for configured in (partitions, None):
            with kept_log(directory, profile, num_partitions=configured, codec=0, tell=print) as kept:
                assert kept.num_partitions == expected
                assert append(kept.log, committed(1, group="g"), partition=103 % expected) is Errors.NONE


def test_groups_that_are_elsewhere_than_they_should_be_are_reported(tmp_path: Path) -> None:
    store, log = opened(tmp_path, num_partitions=4)
    append(log, committed(1, group="g"), partition=3)
    store.close()

    with pytest.raises(
        MisplacedGroupError, match="group 'g' is in partition 3, but of 6 partitions its is 1: say"
    ):
        opened(tmp_path, num_partitions=6)
    with pytest.raises(MisplacedGroupError, match="there is a partition 3, which is none of 2"):
        opened(tmp_path, num_partitions=2)


def test_a_directory_is_one_processes_at_a_time(tmp_path: Path) -> None:
    store, _ = opened(tmp_path)
    try:
        # A process may lock a file as often as it likes: only another one is refused.
        code = (
            "from pathlib import Path; from reference_coordinator.tests.log_kit import opened; "
            f"opened(Path({str(tmp_path)!r}))"
        )
        done = run(
            [sys.executable, "-c", code],
            cwd=Path(__file__).parents[3],
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        store.close()
    assert LockedDirectoryError.__name__ in done.stderr


def test_a_deleted_log_is_gone_for_good(tmp_path: Path) -> None:
    store, log = opened(tmp_path)
    append(log, committed(1))
    log.delete()
    assert list(log.read(0)) == []
    append(log, committed(2))
    store.close()

    assert reread(tmp_path) == [committed(2)]


class FailingFiles(DiskFiles):
    """A disk that takes what is written, and does not say whether it is there."""

    is_broken = False

    @override
    def sync(self, path: Path) -> None:
        if self.is_broken:
            raise UnsyncedError(28, "No space left on device")
        super().sync(path)


def test_after_an_error_of_the_disk_nothing_is_taken(tmp_path: Path) -> None:
    files = FailingFiles()
    store = DirectoryStore(tmp_path, profile_for("4.4"), num_partitions=1, files=files)
    log = OffsetsLog(store)
    assert append(log, committed(1)) is Errors.NONE
    files.is_broken = True
    assert append(log, committed(2)) is Errors.KAFKA_STORAGE_ERROR
    files.is_broken = False
    assert append(log, committed(3)) is Errors.KAFKA_STORAGE_ERROR
    assert end(log, is_commit=True) is Errors.KAFKA_STORAGE_ERROR
    assert list(log.read(0)) == [committed(1)]
    with pytest.raises(StoreError, match="No space left"):
        store.compact(now_ms=Millis(0))


def test_what_does_not_fit_its_format_is_refused_and_nothing_else(tmp_path: Path) -> None:
    store, log = opened(tmp_path)

    assert append(log, replace(committed(1), topic="t" * 40_000)) is Errors.UNKNOWN_SERVER_ERROR
    assert append(log, committed(2)) is Errors.NONE
    store.close()
    assert reread(tmp_path) == [committed(2)]


def with_external_record(directory: Path, key: bytes, value: bytes) -> None:
    """Write a record, one that is not ours, and another."""
    good = LogBatch(base_offset=0, timestamp_ms=Millis(0), records=(committed(1),))
    batches = [
        to_record_batch(good, profile_for("4.4")),
        RecordBatch(
            base_offset=1,
            last_offset=1,
            max_timestamp_ms=Millis(0),
            records=(Record(offset=1, timestamp_ms=Millis(0), key=key, value=value),),
        ),
        to_record_batch(replace(good, base_offset=2, records=(committed(2),)), profile_for("4.4")),
    ]
    path = segment_of(directory)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join(map(encode_batch, batches)))


def test_a_record_of_an_unknown_type_is_skipped_and_kept(tmp_path: Path) -> None:
    with_external_record(tmp_path, b"\0\x63key", b"\0\0")

    store, log = opened(tmp_path)
    assert list(log.read_with_offsets(0)) == [(0, committed(1)), (2, committed(2))]
    append(log, committed(3))
    store.compact(now_ms=Millis(0))
    store.close()
    assert b"\0\x63key" in segment_of(tmp_path).read_bytes()


@pytest.mark.parametrize("profile", ["3.9", "4.4"])
def test_a_record_that_cannot_be_read_fails_its_partition(profile: str, tmp_path: Path) -> None:
    with_external_record(tmp_path, b"\0\2\0\1g", b"\0\x4d")

    store, log = opened(tmp_path, profile)
    store.close()

    with pytest.raises(UnreadableLogError, match=r"record 1 of partition 0 cannot be read: .* version 77"):
        log.read(0)
    (unreadable,) = log.unreadable()
    assert unreadable.fails_partition == (profile == "4.4")


def test_a_broker_that_opens_the_directory_next_checks_it_all(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / ".kafka_cleanshutdown").touch()
    derived = [segment_of(tmp_path).with_suffix(suffix) for suffix in (".index", ".timeindex", ".snapshot")]
    for path in derived:
        path.touch()

    store, _ = opened(tmp_path)
    store.compact(now_ms=Millis(0))
    store.close()

    assert not (tmp_path / ".kafka_cleanshutdown").exists()
    assert not any(path.exists() for path in derived)
