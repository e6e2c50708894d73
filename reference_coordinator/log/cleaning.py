"""Compaction of closed segments on disk: into a new file, which then replaces them.

A crash at any point leaves either the segments or their compacted file. The suffix shows how far it got:
a `.cleaned` file may be incomplete and is removed, a `.swap` file is complete.

Source: Cleaner#cleanSegments, UnifiedLog#replaceSegments, LogLoader#completeSwapOperations (4.3.1).
"""

from collections.abc import Sequence
from pathlib import Path

from reference_coordinator.core.ids import Millis
from reference_coordinator.log.compaction import compact
from reference_coordinator.log.files import Files
from reference_coordinator.log.record_batch import RecordBatch, encode_batch
from reference_coordinator.log.segments import (
    CLEANED_SUFFIX,
    SWAP_SUFFIX,
    Segment,
    base_offsets,
    read_segment,
    segment_name,
)


def clean(files: Files, directory: Path, closed: Sequence[Segment], *, now_ms: Millis) -> Segment:
    """Compact closed segments into one, which is durable on disk when this returns."""
    batches: list[RecordBatch] = []
    for segment in closed:
        content = files.read(segment.path)
        read_segment(content, segment.path, segment.base_offset, batches.append, is_last=False)
    content = b"".join(encode_batch(batch) for batch in compact(batches, now_ms=now_ms))
    base_offset = closed[0].base_offset
    cleaned = directory / segment_name(base_offset, CLEANED_SUFFIX)
    swap = directory / segment_name(base_offset, SWAP_SUFFIX)
    files.create(cleaned)
    files.append(cleaned, content)
    files.sync(cleaned)
    files.rename(cleaned, swap)
    files.sync_directory(directory)
    path = _put_in_place(files, directory, swap, [segment.base_offset for segment in closed])
    return Segment(base_offset=base_offset, path=path, size=len(content), next_offset=closed[-1].next_offset)


def finish_cleaning(files: Files, directory: Path) -> None:
    """Finish or undo a compaction that a crash interrupted."""
    for base_offset in base_offsets(files, directory, CLEANED_SUFFIX):
        files.remove(directory / segment_name(base_offset, CLEANED_SUFFIX))
    for base_offset in base_offsets(files, directory, SWAP_SUFFIX):
        swap = directory / segment_name(base_offset, SWAP_SUFFIX)
        found, _ = read_segment(files.read(swap), swap, base_offset, lambda _: None, is_last=False)
        replaced = [
            each
            for each in base_offsets(files, directory)
            if base_offset <= each < max(found.next_offset, base_offset + 1)
        ]
        _put_in_place(files, directory, swap, replaced)


def _put_in_place(files: Files, directory: Path, swap: Path, replaced: Sequence[int]) -> Path:
    """Remove the replaced segments, oldest first, and rename the swap file to the first one's name."""
    for base_offset in replaced:
        files.remove(directory / segment_name(base_offset))
    files.sync_directory(directory)
    path = swap.with_name(swap.name.removesuffix(SWAP_SUFFIX) + ".log")
    files.rename(swap, path)
    files.sync_directory(directory)
    return path
