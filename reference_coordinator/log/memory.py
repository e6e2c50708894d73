"""Compaction of the log in memory, after which a loader of any release knows the same.

No broker compacts so early. So what a loader reads stays: a tombstone, an aborted commit that made its group,
the order of two group types' records. A record goes only if a later one replaces all that it did, or if its
group is gone without a trace. `compaction` is what Kafka's cleaner does, losses included.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Final, TypeAlias

from reference_coordinator.core.ids import NO_PRODUCER_ID, GroupId, ProducerId
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
from reference_coordinator.log.group_record_serde import GROUP_TOMBSTONES, GroupRecord, types_and_name

_Key: TypeAlias = tuple[str, str | int, int]
"""Group, topic and partition of an offset; or group, number of its life, and the record's negative type."""
_GROUP_METADATA: Final = 2
_TOMBSTONES: Final = (OffsetCommitTombstone, GroupMetadataTombstone, *GROUP_TOMBSTONES)
_ITEM_BYTES: Final = 32
"""The approximate size of an object itself, or of its place in a list together with a number in it."""


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
class _Group:
    """A group, as far as the log has been read."""

    is_made: bool = False
    """Whether a record has made it since a tombstone last ended it."""
    is_classic: bool = True
    """Whether it has had records of no other type."""
    group_type: str = ""
    """The type that its last record says, if not of an offset."""
    life: int = 0
    """How often a tombstone, or a record of another type, came."""
    offsets: set[_Key] = field(default_factory=set)
    open: set[ProducerId] = field(default_factory=set)
    """The producers with offsets in it whose transaction has not ended."""

    @property
    def leaves_nothing(self) -> bool:
        return self.is_classic and not self.offsets and not self.open


@dataclass(slots=True)
class _Plan:
    """What a first pass finds out."""

    end_of: dict[int, int] = field(default_factory=dict)
    """The base offset of each transactional batch, mapped to that of its marker."""
    aborted: set[int] = field(default_factory=set)
    """Base offsets of batches that belong to aborted transactions."""
    first_open: int | None = None
    """The offset at which the oldest open transaction begins. Nothing is removed from there on."""
    makers: set[int] = field(default_factory=set)
    """The offsets of the records that made a group."""
    keys: dict[int, _Key] = field(default_factory=dict)
    """The offsets of the records that a later one with the same key replaces."""
    last_offsets: dict[_Key, int] = field(default_factory=dict)
    """The last offset of each key, outside aborted transactions."""
    gone: dict[GroupId, int] = field(default_factory=dict)
    """The offset of the tombstone that left nothing of a group."""
    groups: dict[GroupId, _Group] = field(default_factory=dict)
    keeps_emptied: bool = True
    """Whether a simple group stays that has lost its last offset."""
    pending: dict[ProducerId, list[tuple[_Group, _Key]]] = field(default_factory=dict)

    def is_open(self, batch: LogBatch) -> bool:
        return self.first_open is not None and batch.base_offset >= self.first_open

    def is_gone(self, offset: int, record: CoordinatorRecord) -> bool:
        return not isinstance(record, EndTransactionMarker) and offset <= self.gone.get(record.group_id, -1)

    def is_replaced(self, offset: int, *, after: int) -> bool:
        """Return whether a record made no group, and one behind an offset replaces it."""
        key = self.keys.get(offset)
        return key is not None and offset not in self.makers and self.last_offsets.get(key, -1) > after


def compacted(batches: Sequence[LogBatch], *, keeps_emptied: bool = True) -> list[LogBatch]:
    """Return the batches that a loader needs, oldest first.

    Args:
        batches: all batches.
        keeps_emptied: whether the loader knows a simple group that has lost its last offset.
    """
    plan = _plan(batches, keeps_emptied=keeps_emptied)
    needed_markers = {
        plan.end_of[batch.base_offset]
        for batch in batches
        if batch.base_offset in plan.end_of and _is_needed(batch, plan)
    }
    kept: list[LogBatch | None] = []
    for batch in batches:
        if plan.is_open(batch):
            kept.append(batch)
        elif batch.is_marker:
            kept.append(batch if batch.base_offset in needed_markers else None)
        elif batch.producer is None or plan.end_of.get(batch.base_offset) in needed_markers:
            kept.append(_remaining(batch, plan))
    return [batch for batch in kept if batch is not None]


def amount_of(batches: Iterable[LogBatch]) -> Amount:
    """Return the amount of data in batches."""
    records = [record for batch in batches for record in batch.records]
    return Amount(records=len(records), size_bytes=sum(map(_size_bytes, records)))


def _is_needed(batch: LogBatch, plan: _Plan) -> bool:
    """Return whether a transactional batch has a record for which its transaction must stay."""
    end_offset = plan.end_of[batch.base_offset]
    is_aborted = batch.base_offset in plan.aborted
    return any(
        not plan.is_gone(offset, record)
        and (offset in plan.makers if is_aborted else not plan.is_replaced(offset, after=end_offset))
        for offset, record in batch.with_offsets()
    )


def _remaining(batch: LogBatch, plan: _Plan) -> LogBatch | None:
    kept = tuple(
        (offset, record)
        for offset, record in batch.with_offsets()
        if not plan.is_gone(offset, record)
        and (batch.producer is not None or not plan.is_replaced(offset, after=offset))
    )
    if not kept:
        return None
    if len(kept) == len(batch.records):
        return batch
    offsets, records = zip(*kept, strict=True)
    return replace(batch, records=records, offsets=offsets)


def _plan(batches: Sequence[LogBatch], *, keeps_emptied: bool) -> _Plan:
    plan = _Plan(keeps_emptied=keeps_emptied)
    open_batches: dict[ProducerId, list[LogBatch]] = {}
    for batch in batches:
        if batch.producer is None:
            continue
        if not batch.is_marker:
            open_batches.setdefault(batch.producer.producer_id, []).append(batch)
            continue
        ended = open_batches.pop(batch.producer.producer_id, [])
        plan.end_of.update((each.base_offset, batch.base_offset) for each in ended)
        if any(isinstance(record, EndTransactionMarker) and not record.is_commit for record in batch.records):
            plan.aborted.update(each.base_offset for each in ended)
    plan.first_open = min((each[0].base_offset for each in open_batches.values()), default=None)
    for batch in takewhile(lambda each: not plan.is_open(each), batches):
        for offset, record in batch.with_offsets():
            _read(record, offset, plan, takes_effect=batch.base_offset not in plan.aborted)
    return plan


def _read(record: CoordinatorRecord, offset: int, plan: _Plan, *, takes_effect: bool) -> None:
    if isinstance(record, EndTransactionMarker):
        _read_marker(record, plan)
        return
    group = plan.groups.setdefault(record.group_id, _Group())
    if isinstance(record, GroupMetadataTombstone) and group.leaves_nothing:
        _end(record, offset, plan)
        return
    if isinstance(record, OffsetCommitRecord | OffsetCommitTombstone):
        key: _Key | None = _read_offset(record, group, plan)
    else:
        key = _read_group(record, group)
    if not (isinstance(record, _TOMBSTONES) or group.is_made):
        group.is_made = True
        plan.makers.add(offset)
    if key is not None:
        plan.keys[offset] = key
        if takes_effect:
            plan.last_offsets[key] = offset
    is_simple = not group.group_type and not plan.keeps_emptied
    if isinstance(record, OffsetCommitTombstone) and is_simple and group.leaves_nothing:
        _end(record, offset, plan)


def _end(tombstone: OffsetCommitTombstone | GroupMetadataTombstone, offset: int, plan: _Plan) -> None:
    """Forget a group of which a tombstone leaves nothing."""
    plan.gone[tombstone.group_id] = offset
    del plan.groups[tombstone.group_id]


def _read_marker(marker: EndTransactionMarker, plan: _Plan) -> None:
    for group, key in plan.pending.pop(marker.producer_id, ()):
        group.open.discard(marker.producer_id)
        if marker.is_commit:
            group.offsets.add(key)


def _read_offset(record: OffsetCommitRecord | OffsetCommitTombstone, group: _Group, plan: _Plan) -> _Key:
    key: _Key = record.group_id, record.topic, record.partition
    if isinstance(record, OffsetCommitTombstone):
        group.offsets.discard(key)
    elif record.producer_id == NO_PRODUCER_ID:
        group.offsets.add(key)
    else:
        group.open.add(record.producer_id)
        plan.pending.setdefault(record.producer_id, []).append((group, key))
    return key


def _read_group(
    record: GroupMetadataRecord | GroupMetadataTombstone | GroupRecord, group: _Group
) -> _Key | None:
    """Return the key under which a later record replaces a record; None if none does so alone."""
    if isinstance(record, GroupMetadataRecord | GroupMetadataTombstone):
        group_type, key_type, name = "classic", _GROUP_METADATA, ""
    else:
        group_type, key_type, name = types_and_name(record)
    group.is_classic = group.is_classic and group_type == "classic"
    is_tombstone = isinstance(record, _TOMBSTONES)
    if is_tombstone or group.group_type != group_type:
        group.life += 1
        group.group_type = group_type
    group.is_made = group.is_made and not is_tombstone
    return None if name or is_tombstone else (record.group_id, group.life, -key_type)


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
