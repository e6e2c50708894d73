"""A partition's log in a file: the batches that clients wrote, in order, as in Kafka's segments.

`NAME-N.log` is in the directory itself, where Kafka looks only for directories. A name too long for a file is
replaced by its digest, after a character that no topic's name contains.
"""

import hashlib
from pathlib import Path
from typing import Final

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import TopicPartition
from reference_coordinator.log.files import Files
from reference_coordinator.log.full_disk import append_whole
from reference_coordinator.log.record_batch import HEADER, MAGIC, MAGIC_AT, BadBatchError, batch_size
from reference_coordinator.log.segments import LOG_SUFFIX, Cut, DamagedLogError, OutOfOrderError, is_torn
from reference_coordinator.log.synced import SyncedEnds
from reference_coordinator.topic_logs.batch import BatchHeader, place_of, read_header
from reference_coordinator.topic_logs.partition_log import PartitionLog

_NEWEST_PRODUCE: Final = 13
_NAME_MAX: Final = 255
"""The greatest length of a file name."""


class TopicFiles:
    """The files of all partitions of clients' topics."""

    def __init__(self, files: Files, directory: Path, ends: SyncedEnds) -> None:
        self._files = files
        self._directory = directory
        self._ends = ends
        self._written_until: dict[TopicPartition, int] = {}
        self._sizes: dict[TopicPartition, int] = {}
        self.cuts: list[Cut] = []
        """The incomplete ends that were cut off when files were read."""

    def make(self, partition: TopicPartition) -> None:
        """Create an empty file for a partition, replacing any other."""
        path = self._path(partition)
        self._files.create(path)
        self._ends.note(path.name, 0)
        self._written_until[partition] = self._sizes[partition] = 0

    def made(self) -> None:
        """Sync the names of new files to the disk."""
        self._ends.sync()
        self._files.sync_directory(self._directory)

    def remove(self, partition: TopicPartition) -> None:
        """Delete the file of a partition that no longer exists."""
        path = self._path(partition)
        self._ends.forget(path.name)
        self._files.remove(path)
        self._written_until.pop(partition, None)
        self._sizes.pop(partition, None)

    def read(self, partition: TopicPartition, log: PartitionLog) -> None:
        """Restore a partition's log from its file, and cut off an end that was never acknowledged.

        Raises:
            DamagedLogError: bytes are wrong before the end, or in the part that was synced to the disk.
        """
        path = self._path(partition)
        synced_end = self._ends.ends.get(path.name, 0)
        data = memoryview(self._content(path))
        position = 0
        while position < len(data):
            try:
                records, header = _batch(data, position, log.log_end_offset)
            except BadBatchError as error:
                self._cut(path, data, position, log.log_end_offset, error)
                break
            log.restore(records, header)
            position += len(records)
        if log.log_end_offset < synced_end:
            raise DamagedLogError(
                f"{path} ends before offset {log.log_end_offset}, but everything before offset {synced_end} "
                "was written"
            )
        self._written_until[partition], self._sizes[partition] = log.log_end_offset, position
        log.saved_until = log.log_end_offset

    def begin(self) -> None:
        """Record how far the files were read, drop the records of others, and sync that to the disk."""
        ends = {self._path(each).name: end for each, end in self._written_until.items()}
        for name in [each for each in self._ends.ends if each.endswith(LOG_SUFFIX) and each not in ends]:
            self._ends.forget(name)
        self._ends.begin(ends)

    def _content(self, path: Path) -> bytes:
        try:
            return self._files.read(path)
        except FileNotFoundError as error:
            raise DamagedLogError(f"{path} is missing") from error

    def write(self, partition: TopicPartition, log: PartitionLog) -> None:
        """Write the batches appended to a log since the last call, and sync them to the disk."""
        written_until = self._written_until[partition]
        if written_until == log.log_end_offset:
            log.saved_until = written_until
            log.trim()
            return
        path = self._path(partition)
        content = b"".join(batch.content for batch in log.batches_from(written_until))
        append_whole(self._files, path, content, size=self._sizes[partition])
        self._files.sync(path)
        self._sizes[partition] += len(content)
        self._written_until[partition] = log.saved_until = log.log_end_offset
        log.trim()
        self._ends.grew(path.name, log.log_end_offset)

    def _path(self, partition: TopicPartition) -> Path:
        topic, ending = partition.topic, f"-{partition.partition}.log"
        if len(topic) + len(ending) > _NAME_MAX:
            topic = f"~{hashlib.sha256(topic.encode()).hexdigest()}"
        return self._directory / f"{topic}{ending}"

    def _cut(
        self, path: Path, data: memoryview, position: int, next_offset: int, error: BadBatchError
    ) -> None:
        was_synced = next_offset < self._ends.ends.get(path.name, 0)
        if was_synced or not is_torn(data, position, error) or _is_followed(data, position, next_offset):
            raise DamagedLogError(f"{path} is damaged at {position}: {error}")
        self.cuts.append(Cut(path=path, position=position, length=len(data) - position, reason=str(error)))
        self._files.truncate(path, position)
        self._files.sync(path)


def _batch(data: memoryview, position: int, next_offset: int) -> tuple[bytes, BatchHeader]:
    size = batch_size(data, position)
    records = bytes(data[position : position + size])
    header = read_header(records, api_version=_NEWEST_PRODUCE)
    if isinstance(header, Errors):
        raise BadBatchError(f"a broker would refuse it with {header.name}")
    base_offset, _ = place_of(records)
    if base_offset != next_offset:
        raise OutOfOrderError(f"it begins with offset {base_offset}, but {next_offset} is next")
    return records, header


def _is_followed(data: memoryview, position: int, next_offset: int) -> bool:
    """Return whether a whole batch follows somewhere after invalid bytes."""
    content = bytes(data)
    magic_at = content.find(MAGIC, position + 1 + MAGIC_AT)
    while magic_at >= 0 and magic_at - MAGIC_AT + HEADER.size <= len(content):
        try:
            _batch(data, magic_at - MAGIC_AT, next_offset)
        except OutOfOrderError:
            return True
        except BadBatchError:
            magic_at = content.find(MAGIC, magic_at + 1)
        else:
            return True
    return False
