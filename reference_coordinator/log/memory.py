"""Compaction of the log in memory, with the rules of the one on disk (`compaction`).

Only a loader reads tombstones here, and it loads the same without them, so they are removed at once.
Nothing is removed from the first record of the oldest open transaction on.

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
"""The approximate size of an object itself, or of its place in a list together with a number in it."""
_TOMBSTONES: Final = (
    OffsetCommitTombstone,
    GroupMetadataTombstone,
    *GROUP_TOMBSTONES,
)


@value
class Amount:
    """The amount of data in a log."""

    records: int = 0
    size_bytes: int = 0
    """The approximate size in memory."""

    def __add__(self, other: "Amount") -> "Amount":
        """Return the sum of two amounts."""
        return Amount(records=self.records + other.records, size_bytes=self.size_bytes + other.size_bytes)

    def reaches(self, bound: "Amount") -> bool:
        """Return whether the number of records or the number of bytes reaches a bound."""
        return self.records >= bound.records or self.size_bytes >= bound.size_bytes

    def or_more(self, other: "Amount") -> "Amount":
        """Return the larger number of records and the larger number of bytes."""
        return Amount(
            records=max(self.records, other.records), size_bytes=max(self.size_bytes, other.size_bytes)
        )


@dataclass(slots=True)
class _Plan:
    last_offsets: dict[_Key, int] = field(default_factory=dict)
    """The last offset of each key, outside aborted transactions."""
    aborted: set[int] = field(default_factory=set)
    """Base offsets of batches that belong to aborted transactions."""
    marker_of: dict[int, int] = field(default_factory=dict)
    """The base offset of each transactional batch, mapped to that of its marker."""
    first_open: int | None = None
    """The offset at which the oldest open transaction begins."""

    def is_open(self, batch: LogBatch) -> bool:
        return self.first_open is not None and batch.base_offset >= self.first_open


def compacted(batches: Sequence[LogBatch]) -> list[LogBatch]:
    """Return the batches that a loader needs, with the last value of each key, oldest first."""
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
    """Return the amount of data in batches."""
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
    """Return the approximate size of a record, or of a part of one."""
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
