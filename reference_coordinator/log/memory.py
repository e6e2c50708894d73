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
from reference_coordinator.core.values import value
from reference_coordinator.log.batches import LogBatch
from reference_coordinator.log.group_record_serde import GROUP_TOMBSTONES, type_and_name

_Key: TypeAlias = tuple[str, str, int]
"""Group, topic or member, and partition, or the negative type of the record."""
_OF_GROUP: Final = -2
_ITEM_BYTES: Final = 32
"""About what an object takes by itself, or its place in a list with a number in it."""
_TOMBSTONES: Final = (
    OffsetCommitTombstone,
    GroupMetadataTombstone,
    *GROUP_TOMBSTONES,
)


@value
class Amount:
    """How much a log keeps."""

    records: int = 0
    size_bytes: int = 0
    """In memory, roughly."""

    def __add__(self, other: "Amount") -> "Amount":
        """Return how much both are."""
        return Amount(records=self.records + other.records, size_bytes=self.size_bytes + other.size_bytes)

    def reaches(self, bound: "Amount") -> bool:
        """Whether there are as many records as that, or as many bytes."""
        return self.records >= bound.records or self.size_bytes >= bound.size_bytes

    def or_more(self, other: "Amount") -> "Amount":
        """Return the larger of each."""
        return Amount(
            records=max(self.records, other.records), size_bytes=max(self.size_bytes, other.size_bytes)
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


def amount_of(batches: Iterable[LogBatch]) -> Amount:
    """Return how much batches keep."""
    records = [record for batch in batches for record in batch.records]
    return Amount(records=len(records), size_bytes=sum(map(_size_bytes, records)))


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


def _size_bytes(content: object) -> int:
    """Return about what a record takes, or a part of one."""
    match content:
        case str() | bytes():
            return len(content)
        case tuple():
            return _ITEM_BYTES * len(content) + sum(map(_size_bytes, content))
        case int() | None:
            return 0
        case _:
            fields = type(content).__slots__  # type: ignore[attr-defined] # all values have them
            return _ITEM_BYTES + sum(_size_bytes(getattr(content, each)) for each in fields)


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
