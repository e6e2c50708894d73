"""A partition's directory in Kafka's format: segments, each named after its base offset.

An interrupted append can leave bytes only at the end of the last segment, because each append completes
before the next one begins. Anything else that is wrong was damaged later, and is not repaired.

Source: LogFileUtils, LogLoader, LogSegment#recover (4.3.1).
"""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from crc32c import crc32c
from typing_extensions import override

from reference_coordinator.core.ids import OFFSETS_TOPIC
from reference_coordinator.core.values import value
from reference_coordinator.log.files import Files
from reference_coordinator.log.record_batch import (
    ATTRIBUTES_AT,
    CRC_AT,
    HEADER,
    MAGIC,
    MAGIC_AT,
    BadBatchError,
    RecordBatch,
    decode_batch,
)

LOG_SUFFIX: Final = ".log"
CLEANED_SUFFIX: Final = ".log.cleaned"
SWAP_SUFFIX: Final = ".log.swap"
DERIVED_SUFFIXES: Final = (".index", ".timeindex", ".txnindex", ".snapshot")
"""The files that Kafka derives from the segments, and rebuilds if they are missing."""
ENDS_NAME: Final = f"{OFFSETS_TOPIC}.synced"
"""The file that records up to which offset each partition was on disk."""
_REMEDY: Final = (
    "put back a copy of the whole directory, or begin with another one: what is damaged was acknowledged, "
    "and nothing of it was changed"
)
_OFFSET_DIGITS: Final = 20
_PARTITION: Final = re.compile(rf"{re.escape(OFFSETS_TOPIC)}-(0|[1-9]\d*)")


class DamagedLogError(Exception):
    """Stored bytes are not what was written. The message contains the place and a remedy."""

    @override
    def __str__(self) -> str:
        """Describe the damage and the remedy."""
        return f"{self.args[0]}; {_REMEDY}"


@value
class Cut:
    """The torn tail of a partition, from an append that was never answered."""

    path: Path
    position: int
    length: int
    reason: str

    def __str__(self) -> str:
        """Describe the torn tail and its place."""
        return (
            f"the last {self.length} bytes of {self.path}, from {self.position} on, are no whole batch "
            f"({self.reason}): an append that was cut off and never answered"
        )


@value
class Segment:
    """A segment, without its content."""

    base_offset: int
    path: Path
    size: int
    """In bytes, without a torn tail."""
    next_offset: int
    """The offset after the last batch; the base offset, if the segment is empty."""


@value
class PartitionLog:
    """All segments of a partition, by offset."""

    segments: tuple[Segment, ...]
    cut: Cut | None = None

    @property
    def end_offset(self) -> int:
        """The offset of the next record."""
        return self.segments[-1].next_offset if self.segments else 0


def segment_name(base_offset: int, suffix: str = LOG_SUFFIX) -> str:
    """Return the name of a segment's file. Source: LogFileUtils#filenamePrefixFromOffset (4.3.1)."""
    return f"{base_offset:0{_OFFSET_DIGITS}d}{suffix}"


def partition_name(partition: int) -> str:
    """Return the name of a partition's directory."""
    return f"{OFFSETS_TOPIC}-{partition}"


def partitions_in(files: Files, directory: Path) -> dict[int, Path]:
    """Return the directories of partitions of `__consumer_offsets`, by number.

    If the directory is itself such a partition, it is the only one returned.
    """
    candidates = [directory / name for name in files.names(directory)]
    if _PARTITION.fullmatch(directory.name):
        candidates = [directory]
    found = ((_PARTITION.fullmatch(path.name), path) for path in candidates)
    return dict(sorted((int(match[1]), path) for match, path in found if match is not None))


def base_offsets(files: Files, directory: Path, suffix: str = LOG_SUFFIX) -> tuple[int, ...]:
    """Return the base offsets of a partition's segments."""
    names = (name.removesuffix(suffix) for name in files.names(directory) if name.endswith(suffix))
    return tuple(sorted(int(name) for name in names if name.isdecimal()))


def ends_path(directory: Path) -> Path:
    """Return the path of the file with the synced ends of a directory's partitions.

    If the directory is itself a partition, the file is in its parent directory.
    """
    is_partition = _PARTITION.fullmatch(directory.name) is not None
    return (directory.parent if is_partition else directory) / ENDS_NAME


def throw_if_missing(directory: Path, ends: Mapping[str, int], found: Iterable[Path]) -> None:
    """Refuse a directory in which a recorded partition is missing.

    Raises:
        DamagedLogError: one is missing.
    """
    if not _PARTITION.fullmatch(directory.name):
        missing = sorted(set(ends) - {path.name for path in found})
        if missing:
            raise DamagedLogError(
                f"{directory / missing[0]} is missing, which had everything before offset {ends[missing[0]]} "
                f"(remove {directory / ENDS_NAME} if it was taken away on purpose)"
            )


def read_partition(
    files: Files, directory: Path, visit: Callable[[RecordBatch], None], *, synced_end: int = 0
) -> PartitionLog:
    """Read all segments of a partition, one batch at a time, without changing anything.

    Args:
        files: the file system.
        directory: the partition's directory.
        visit: is called with each batch.
        synced_end: the offset up to which the partition was certainly on disk.

    Raises:
        DamagedLogError: bytes are wrong elsewhere than at the end, or before `synced_end`.
    """
    bases = base_offsets(files, directory)
    segments: list[Segment] = []
    cut = None
    next_offset = 0
    for base_offset in bases:
        path = directory / segment_name(base_offset)
        if base_offset < next_offset:
            raise DamagedLogError(
                f"{path} begins before offset {next_offset}, up to which the segment before it goes"
            )
        segment, cut = read_segment(
            files.read(path),
            path,
            base_offset,
            visit,
            is_last=base_offset == bases[-1],
            synced_end=synced_end,
        )
        segments.append(segment)
        next_offset = segment.next_offset
    if next_offset < synced_end:
        place = segments[-1].path if segments else directory
        raise DamagedLogError(
            f"{place} ends before offset {next_offset}, but everything before offset {synced_end} was written"
        )
    return PartitionLog(segments=tuple(segments), cut=cut)


def read_segment(
    content: bytes,
    path: Path,
    base_offset: int,
    visit: Callable[[RecordBatch], None],
    *,
    is_last: bool,
    synced_end: int = 0,
) -> tuple[Segment, Cut | None]:
    """Read one segment; only the last segment of a partition may end in the middle of a batch.

    Raises:
        DamagedLogError: bytes are wrong elsewhere, or before `synced_end`.
    """
    data = memoryview(content)
    position, next_offset = 0, base_offset
    cut = None
    while position < len(data):
        try:
            batch, end = decode_batch(data, position)
            throw_if_out_of_order(batch, next_offset)
            if is_last and next_offset < synced_end < batch.next_offset:
                # A batch ended at `synced_end`. Only compaction removes such ends, never in the last segment.
                raise OutOfOrderError(f"it begins with offset {batch.base_offset}, but {next_offset} is next")
        except BadBatchError as error:
            if (
                not is_last
                or next_offset < synced_end
                or not is_torn(data, position, error)
                or _is_followed(data, position, next_offset)
            ):
                raise DamagedLogError(f"{path} is damaged at {position}: {error}") from error
            cut = Cut(path=path, position=position, length=len(data) - position, reason=str(error))
            break
        visit(batch)
        position, next_offset = end, batch.next_offset
    segment = Segment(base_offset=base_offset, path=path, size=position, next_offset=next_offset)
    return segment, cut


class OutOfOrderError(BadBatchError):
    """A whole batch whose offsets cannot be those that it was written with."""


def is_torn(data: memoryview, position: int, error: BadBatchError) -> bool:
    """Return whether the rest of a file may be an interrupted append, which never was a whole batch.

    The checksum does not cover the first fields of a batch. If it is right and the batch is still invalid,
    the batch was whole, and one of these fields is damaged.
    """
    if isinstance(error, OutOfOrderError):
        return False
    rest = data[position:]
    if len(rest) < HEADER.size:
        return True
    crc = int.from_bytes(rest[CRC_AT:ATTRIBUTES_AT], "big")
    return crc != crc32c(rest[ATTRIBUTES_AT:])


def throw_if_out_of_order(batch: RecordBatch, next_offset: int) -> None:
    """Refuse a batch that begins before the end of the one before it."""
    if batch.base_offset < next_offset:
        raise OutOfOrderError(f"it begins with offset {batch.base_offset}, but {next_offset} is next")


def _is_followed(data: memoryview, position: int, next_offset: int) -> bool:
    """Return whether a whole batch follows somewhere after bytes that are not a batch."""
    content = bytes(data)
    magic_at = content.find(MAGIC, position + 1 + MAGIC_AT)
    while magic_at >= 0 and magic_at - MAGIC_AT + HEADER.size <= len(content):
        try:
            batch, _ = decode_batch(data, magic_at - MAGIC_AT)
        except BadBatchError:
            pass
        else:
            if batch.base_offset >= next_offset:
                return True
        magic_at = content.find(MAGIC, magic_at + 1)
    return False
