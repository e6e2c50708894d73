"""Compaction of the log in memory, by the rules of the one on the disk (`compaction`).

Nobody reads tombstones here but a loader that finds nothing without them as well, so they go at once.
What is needed for an open transaction begins with its first record, and nothing from there on is taken away.

Source: Cleaner#cleanInto, CleanedTransactionMetadata (4.3.1).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from reference_coordinator.core.ids import ProducerId
from reference_coordinator.core.records import (
    CoordinatorRecord,
    EndTransactionMarker,
    GroupMetadataRecord,
    GroupMetadataTombstone,
    OffsetCommitRecord,
    OffsetCommitTombstone,
)
from reference_coordinator.log.batches import LogBatch
from reference_coordinator.log.group_record_serde import GROUP_TOMBSTONES, type_and_name

_Key: TypeAlias = tuple[str, str, int]
"""Group, topic or member, and partition, or the negative type of the record."""
_OF_GROUP: Final = -2
_TOMBSTONES: Final = (
    OffsetCommitTombstone,
    GroupMetadataTombstone,
    *GROUP_TOMBSTONES,
)


@dataclass(slots=True)
class _Plan:
    last_offsets: dict[_Key, int] = field(default_factory=dict)
    """Of each key, outside aborted transactions."""
    aborted: set[int] = field(default_factory=set)
    """Base offsets of batches that belong to aborted transactions."""
    marker_of: dict[int, int] = field(default_factory=dict)
    """Base offset of a transactional batch to that of its marker."""
    first_open: int | None = None
    """Where the oldest open transaction begins."""

    def is_open(self, batch: LogBatch) -> bool:
        return self.first_open is not None and batch.base_offset >= self.first_open


def compacted(batches: Sequence[LogBatch]) -> list[LogBatch]:
    """Return what a loader needs of a partition's batches, oldest first: of each key the last value."""
    plan = _plan(batches)
    kept: list[LogBatch] = []
    needed_markers: set[int] = set()
    for batch in batches:
        if plan.is_open(batch) or (batch.is_marker and batch.base_offset in needed_markers):
            kept.append(batch)
        elif not batch.is_marker and batch.base_offset not in plan.aborted:
            remaining = _remaining(batch, plan)
            if remaining is not None:
                kept.append(remaining)
                needed_markers.add(plan.marker_of.get(batch.base_offset, -1))
    return kept


def count_records(batches: Iterable[LogBatch]) -> int:
    """Return how many records batches have."""
    return sum(len(batch.records) for batch in batches)


def _plan(batches: Sequence[LogBatch]) -> _Plan:
    plan = _Plan()
    open_batches: dict[ProducerId, list[LogBatch]] = {}
    for batch in batches:
        if batch.producer is None:
            continue
        if not batch.is_marker:
            open_batches.setdefault(batch.producer.producer_id, []).append(batch)
            continue
        ended = open_batches.pop(batch.producer.producer_id, [])
        plan.marker_of.update((each.base_offset, batch.base_offset) for each in ended)
        if any(isinstance(record, EndTransactionMarker) and not record.is_commit for record in batch.records):
            plan.aborted.update(each.base_offset for each in ended)
    plan.first_open = min((each[0].base_offset for each in open_batches.values()), default=None)
    for batch in batches:
        if plan.is_open(batch):
            break
        if not batch.is_marker and batch.base_offset not in plan.aborted:
            plan.last_offsets.update((_key(record), offset) for offset, record in batch.with_offsets())
    return plan


def _remaining(batch: LogBatch, plan: _Plan) -> LogBatch | None:
    kept = tuple(_kept(batch, plan))
    if not kept:
        return None
    if len(kept) == len(batch.records):
        return batch
    offsets, records = zip(*kept, strict=True)
    return replace(batch, records=records, offsets=offsets)


def _kept(batch: LogBatch, plan: _Plan) -> Iterator[tuple[int, CoordinatorRecord]]:
    for offset, record in batch.with_offsets():
        is_tombstone = isinstance(record, _TOMBSTONES)
        if not is_tombstone and plan.last_offsets[_key(record)] == offset:
            yield offset, record


def _key(record: CoordinatorRecord) -> _Key:
    match record:
        case OffsetCommitRecord() | OffsetCommitTombstone():
            return record.group_id, record.topic, record.partition
        case GroupMetadataRecord() | GroupMetadataTombstone():
            return record.group_id, "", _OF_GROUP
        case EndTransactionMarker():
            raise AssertionError("a marker is in a batch of its own")
        case _:
            record_type, name = type_and_name(record)
            return record.group_id, name, -record_type
