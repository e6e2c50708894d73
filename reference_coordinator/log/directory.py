"""The log in a directory, in Kafka's format: a record is on disk before its append returns.

Only one process may use it at a time. The torn tail of an interrupted append is truncated, and reported, when
the directory is opened; damage is refused. After a disk error its content is unknown, and writes are refused.
"""

import fcntl
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from typing_extensions import override

from reference_coordinator.core.ids import Millis
from reference_coordinator.log import codecs
from reference_coordinator.log.batches import (
    LogBatch,
    RecordStore,
    StoredPartition,
    UnreadableRecord,
)
from reference_coordinator.log.cleaning import clean, finish_cleaning
from reference_coordinator.log.conversion import to_log_batch, to_record_batch
from reference_coordinator.log.files import DiskFiles, Files
from reference_coordinator.log.full_disk import Disk, append_whole
from reference_coordinator.log.placing import num_partitions_of
from reference_coordinator.log.record_batch import RecordBatch, encode_batch
from reference_coordinator.log.segments import (
    DERIVED_SUFFIXES,
    PartitionLog,
    Segment,
    ends_path,
    partition_name,
    partitions_in,
    read_partition,
    segment_name,
    throw_if_missing,
)
from reference_coordinator.log.synced import SyncedEnds, read_ends
from reference_coordinator.profile.profiles import Profile

DEFAULT_SEGMENT_BYTES: Final = 104_857_600
"""`offsets.topic.segment.bytes`."""
_LOCK: Final = ".lock"
_CLEAN_SHUTDOWN: Final = ".kafka_cleanshutdown"
"""Kafka's marker that the files derived from the segments are up to date, which writes here invalidate."""
_DELETED_SUFFIX: Final = ".00000000000000000000000000000000-delete"
"""Kafka removes directories with this suffix when it starts. Source: UnifiedLog#logDeleteDirName (4.3.1)."""


class LockedDirectoryError(Exception):
    """Another process, perhaps a broker, uses the directory."""


@dataclass(slots=True)
class _PartitionFiles:
    directory: Path
    active: Segment
    closed: tuple[Segment, ...] = ()
    leader_epoch: int = 0
    """The newest leader epoch of a batch; Kafka requires that epochs do not decrease."""


@dataclass(slots=True)
class _Reading:
    """Collects a partition's batches while they are read."""

    partition: int
    profile: Profile
    batches: list[LogBatch] = field(default_factory=list)
    unreadable: UnreadableRecord | None = None
    leader_epoch: int = 0

    def visit(self, stored: RecordBatch) -> None:
        batch, unreadable = to_log_batch(stored, self.partition, self.profile)
        self.batches.append(batch)
        self.unreadable = self.unreadable or unreadable
        self.leader_epoch = max(self.leader_epoch, stored.partition_leader_epoch)

    def result(self, log: PartitionLog) -> StoredPartition:
        return StoredPartition(
            batches=tuple(self.batches), end_offset=log.end_offset, unreadable=self.unreadable
        )


def read_directory(
    directory: Path, profile: Profile, files: Files
) -> tuple[dict[int, StoredPartition], dict[int, PartitionLog]]:
    """Return the content and the files of a directory's partitions, without changing anything.

    Raises:
        DamagedLogError: bytes are wrong elsewhere than at the end of a partition, or one is missing.
        OSError: the directory cannot be read.
    """
    stored: dict[int, StoredPartition] = {}
    logs: dict[int, PartitionLog] = {}
    ends = read_ends(files, ends_path(directory))
    found = partitions_in(files, directory)
    throw_if_missing(directory, ends, found.values())
    for partition, path in found.items():
        reading = _Reading(partition, profile)
        logs[partition] = read_partition(files, path, reading.visit, synced_end=ends.get(path.name, 0))
        stored[partition] = reading.result(logs[partition])
    return stored, logs


class DirectoryStore(RecordStore):
    """`DIRECTORY/__consumer_offsets-N/` with segments in Kafka's format."""

    def __init__(
        self,
        directory: Path,
        profile: Profile,
        *,
        num_partitions: int | None = None,
        codec: int = codecs.NONE,
        segment_bytes: int = DEFAULT_SEGMENT_BYTES,
        now_ms: Callable[[], Millis] | None = None,
        files: Files | None = None,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Open a directory, which may be empty, not exist yet, or belong to a broker.

        Args:
            directory: what Kafka calls a log directory.
            profile: the release whose formats are written and read.
            num_partitions: the number of the log's partitions; None for those found, or Kafka's default.
            codec: the codec of batches, by Kafka's number.
            segment_bytes: the maximum size of a segment, unless a single batch is larger.
            now_ms: the clock by which compaction removes tombstones; without one, segments are only
                compacted on request.
            files: the file system.
            tell: receives a message when the disk is full, and when it has room again.

        Raises:
            LockedDirectoryError: the directory is in use.
            DamagedLogError: bytes are wrong elsewhere than at the end of a partition.
            MisplacedGroupError: a group is not in the partition that this number of partitions gives.
            OSError: the directory cannot be read or written.
        """
        self._directory = directory
        self._profile = profile
        self.num_partitions = 0
        """The number of partitions that exist, or will be created with the first append."""
        self._codec, self._segment_bytes, self._now_ms = codec, segment_bytes, now_ms
        self._files = DiskFiles() if files is None else files
        self._disk = Disk(directory, tell)
        self._stored: dict[int, StoredPartition] = {}
        self._partitions: dict[int, _PartitionFiles] = {}
        self.notices: tuple[str, ...] = ()
        """Messages for people about the torn tails that were truncated."""
        self._make_directory(directory)
        self._lock = _lock(directory) if files is None else None
        self._ends = SyncedEnds(self._files, ends_path(directory))
        try:
            self._open(num_partitions)
        except BaseException:
            self.close()
            raise

    @override
    def load(self) -> Mapping[int, StoredPartition]:
        # Returned only once: the caller keeps it from then on.
        stored, self._stored = self._stored, {}
        return stored

    @override
    def append(self, partition: int, batch: LogBatch) -> None:
        leader_epoch = self._partitions[partition].leader_epoch if partition in self._partitions else 0
        stored = to_record_batch(batch, self._profile, codec=self._codec, partition_leader_epoch=leader_epoch)
        with self._disk.writing():
            self._append(partition, stored)

    @override
    def delete(self) -> None:
        with self._disk.writing():
            for partition in self._partitions.values():
                self._ends.forget(partition.directory.name)
            self._ends.sync()
            for partition in self._partitions.values():
                doomed = partition.directory.with_name(f"{partition.directory.name}{_DELETED_SUFFIX}")
                self._remove_all(doomed)
                self._files.rename(partition.directory, doomed)
                self._files.sync_directory(self._directory)
                self._remove_all(doomed)
        self._partitions.clear()

    def compact(self, *, now_ms: Millis) -> None:
        """Close the active segments, and compact all closed ones.

        Raises:
            StoreError: the disk failed.
        """
        with self._disk.writing():
            for partition in self._partitions.values():
                if partition.active.size:
                    self._roll(partition)
                self._clean(partition, now_ms)

    def close(self) -> None:
        """Close the files, and unlock the directory for other processes."""
        self._files.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _make_directory(self, directory: Path) -> None:
        self._files.make_directory(directory)
        self._files.sync_directory(directory.parent)

    def _open(self, num_partitions: int | None) -> None:
        for path in partitions_in(self._files, self._directory).values():
            finish_cleaning(self._files, path)
        self._stored, logs = read_directory(self._directory, self._profile, self._files)
        self.num_partitions = num_partitions_of(self._stored, configured=num_partitions)
        if logs:
            self._files.remove(self._directory / _CLEAN_SHUTDOWN)
            self._files.sync_directory(self._directory)
        for partition, log in logs.items():
            self._take(partition, log)
        cuts = [log.cut for log in logs.values() if log.cut is not None]
        for cut in cuts:
            self._files.truncate(cut.path, cut.position)
            self._files.sync(cut.path)
        self.notices = tuple(f"{cut} was cut off" for cut in cuts)
        self._ends.begin({partition_name(partition): log.end_offset for partition, log in logs.items()})

    def _take(self, partition: int, log: PartitionLog) -> None:
        directory = partitions_in(self._files, self._directory)[partition]
        if log.segments:
            *closed, active = log.segments
            taken = _PartitionFiles(directory, active, tuple(closed))
        else:
            taken = _PartitionFiles(directory, self._new_segment(directory, 0))
        self._partitions[partition] = taken

    def _append(self, partition: int, stored: RecordBatch) -> None:
        found = self._partitions.get(partition)
        if found is None:
            self._make_partitions()
            found = self._partitions[partition]
        content = encode_batch(stored)
        if found.active.size and found.active.size + len(content) > self._segment_bytes:
            self._roll(found)
            if self._now_ms is not None:
                self._clean(found, self._now_ms())
        append_whole(self._files, found.active.path, content, size=found.active.size)
        self._files.sync(found.active.path)
        found.active = Segment(
            base_offset=found.active.base_offset,
            path=found.active.path,
            size=found.active.size + len(content),
            next_offset=stored.next_offset,
        )
        self._ends.grew(found.directory.name, stored.next_offset)

    def _make_partitions(self) -> None:
        """Create all partitions, as Kafka does; the last one first, because it determines their number."""
        made = [each for each in reversed(range(self.num_partitions)) if each not in self._partitions]
        for partition in made:
            directory = self._directory / partition_name(partition)
            self._make_directory(directory)
            self._partitions[partition] = _PartitionFiles(directory, self._new_segment(directory, 0))
        self._ends.begin({partition_name(partition): 0 for partition in made})

    def _new_segment(self, directory: Path, base_offset: int) -> Segment:
        path = directory / segment_name(base_offset)
        self._files.create(path)
        self._files.sync_directory(directory)
        return Segment(base_offset=base_offset, path=path, size=0, next_offset=base_offset)

    def _roll(self, partition: _PartitionFiles) -> None:
        self._drop_derived(partition.directory)
        closed = partition.active
        # Compaction may remove records before this end, so the end has to be recorded first.
        self._ends.note(partition.directory.name, closed.next_offset)
        self._ends.sync()
        partition.active = self._new_segment(partition.directory, closed.next_offset)
        partition.closed = (*partition.closed, closed)

    def _clean(self, partition: _PartitionFiles, now_ms: Millis) -> None:
        if partition.closed:
            self._drop_derived(partition.directory)
            cleaned = clean(self._files, partition.directory, partition.closed, now_ms=now_ms)
            partition.closed = (cleaned,)

    def _drop_derived(self, directory: Path) -> None:
        for name in self._files.names(directory):
            if name.endswith(DERIVED_SUFFIXES):
                self._files.remove(directory / name)

    def _remove_all(self, directory: Path) -> None:
        for name in self._files.names(directory):
            self._files.remove(directory / name)


def _lock(directory: Path) -> int:
    """Take the lock with which Kafka excludes a second broker. Source: LogManager#lockLogDirs (4.3.1)."""
    descriptor = os.open(directory / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise LockedDirectoryError(f"{directory} is in use by another process") from error
    return descriptor
