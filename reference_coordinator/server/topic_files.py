"""A partition's log in a file: the batches that clients wrote, one after the other, as in Kafka's segments.

`NAME-N.log` lies in the directory itself, where Kafka looks for directories alone.
"""

from pathlib import Path
from typing import Final

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import TopicPartition
from reference_coordinator.log.files import Files
from reference_coordinator.log.record_batch import HEADER, MAGIC, MAGIC_AT, BadBatchError, batch_size
from reference_coordinator.log.segments import Cut, DamagedLogError
from reference_coordinator.topic_logs.batch import BatchHeader, place_of, read_header
from reference_coordinator.topic_logs.partition_log import PartitionLog

_NEWEST_PRODUCE: Final = 13
_ALL_BYTES: Final = 1 << 62


class TopicFiles:
    """The files of all partitions of clients' topics."""

    def __init__(self, files: Files, directory: Path) -> None:
        self._files = files
        self._directory = directory
        self._written_until: dict[TopicPartition, int] = {}
        self.cuts: list[Cut] = []
        """What had to be cut off when files were read."""

    def make(self, partition: TopicPartition) -> None:
        """Have an empty file for a partition, whatever lies there."""
        self._files.create(self._path(partition))
        self._written_until[partition] = 0

    def made(self) -> None:
        """Return when the names of new files are on the disk."""
        self._files.sync_directory(self._directory)

    def remove(self, partition: TopicPartition) -> None:
        """Lose a partition's file."""
        self._files.remove(self._path(partition))
        self._written_until.pop(partition, None)

    def read(self, partition: TopicPartition, log: PartitionLog) -> None:
        """Restore a partition's log from its file, and cut off what was never answered for.

        Raises:
            DamagedLogError: bytes are wrong elsewhere than at the end.
        """
        path = self._path(partition)
        data = memoryview(self._files.read(path))
        position = 0
        while position < len(data):
            try:
                records, header = _batch(data, position, log.log_end_offset)
            except BadBatchError as error:
                self._cut(path, data, position, log.log_end_offset, reason=str(error))
                break
            log.restore(records, header)
            position += len(records)
        self._written_until[partition] = log.log_end_offset

    def write(self, partition: TopicPartition, log: PartitionLog) -> None:
        """Write what was appended to a log since the last time; returns when it is on the disk."""
        written_until = self._written_until[partition]
        if written_until == log.log_end_offset:
            return
        fetched = log.read(written_until, _ALL_BYTES, is_committed=False, takes_one_anyway=True)
        path = self._path(partition)
        self._files.append(path, b"".join(fetched.contents))
        self._files.sync(path)
        self._written_until[partition] = log.log_end_offset

    def _path(self, partition: TopicPartition) -> Path:
        return self._directory / f"{partition.topic}-{partition.partition}.log"

    def _cut(self, path: Path, data: memoryview, position: int, next_offset: int, *, reason: str) -> None:
        if _is_followed(data, position, next_offset):
            raise DamagedLogError(f"{path} is damaged at {position}: {reason}")
        self.cuts.append(Cut(path=path, position=position, length=len(data) - position, reason=reason))
        self._files.truncate(path, position)
        self._files.sync(path)


def _batch(data: memoryview, position: int, next_offset: int) -> tuple[bytes, BatchHeader]:
    size = batch_size(data, position)
    records = bytes(data[position : position + size])
    header = read_header(records, api_version=_NEWEST_PRODUCE)
    if isinstance(header, Errors):
        raise BadBatchError(f"a broker would refuse it with {header.name}")
    base_offset, _ = place_of(records)
    if base_offset < next_offset:
        raise BadBatchError(f"it begins with offset {base_offset}, but {next_offset} is next")
    return records, header


def _is_followed(data: memoryview, position: int, next_offset: int) -> bool:
    """Whether a whole batch stands somewhere behind bytes that are none."""
    content = bytes(data)
    magic_at = content.find(MAGIC, position + 1 + MAGIC_AT)
    while magic_at >= 0 and magic_at - MAGIC_AT + HEADER.size <= len(content):
        try:
            _batch(data, magic_at - MAGIC_AT, next_offset)
        except BadBatchError:
            magic_at = content.find(MAGIC, magic_at + 1)
        else:
            return True
    return False
