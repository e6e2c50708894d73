"""Compaction: keep the last value of each key, tombstones for a time, and the markers transactions need.

A pure function of batches. From the first record of the oldest open transaction on, nothing is examined or
removed.

Source: Cleaner#cleanInto, CleanedTransactionMetadata (4.3.1), LogCleaner (3.9.2).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from reference_coordinator.core.ids import Millis, ProducerId
from reference_coordinator.log.conversion import control_type
from reference_coordinator.log.record_batch import Record, RecordBatch

DELETE_RETENTION_MS: Final = Millis(24 * 60 * 60 * 1000)
"""`delete.retention.ms`."""
_ABORT: Final = 0


@dataclass(slots=True)
class _Plan:
    """The result of a first pass over the batches."""

    last_offsets: dict[bytes, int] = field(default_factory=dict)
    """The last offset of each key, outside aborted transactions."""
    aborted: set[int] = field(default_factory=set)
    """Base offsets of batches that belong to aborted transactions."""
    marker_of: dict[int, int] = field(default_factory=dict)
    """The base offset of each transactional batch, mapped to that of its marker."""
    last_of_producer: dict[ProducerId, int] = field(default_factory=dict)
    first_open: int | None = None
    """The offset at which the oldest open transaction begins."""


def compact(
    batches: Sequence[RecordBatch], *, now_ms: Millis, delete_retention_ms: Millis = DELETE_RETENTION_MS
) -> tuple[RecordBatch, ...]:
    """Return the remaining batches of closed segments, oldest first.

    Tombstones and markers that may be removed are kept for `delete_retention_ms`, counted from the first
    compaction that finds them.
    """
    horizon_ms = Millis(now_ms + delete_retention_ms)
    plan = _plan(batches)
    kept: list[RecordBatch] = []
    needed_markers: set[int] = set()
    for batch in batches:
        if plan.first_open is not None and batch.base_offset >= plan.first_open:
            kept.append(batch)
        elif batch.is_control:
            kept.extend(_kept_marker(batch, plan, batch.base_offset in needed_markers, now_ms, horizon_ms))
        elif batch.base_offset not in plan.aborted:
            remaining = tuple(_kept_records(batch, plan, now_ms, horizon_ms))
            kept.extend(remaining)
            needed_markers.update(plan.marker_of.get(each.base_offset, -1) for each in remaining)
    return tuple(kept)


def _plan(batches: Iterable[RecordBatch]) -> _Plan:
    plan = _Plan()
    open_batches: dict[ProducerId, list[RecordBatch]] = {}
    seen = tuple(batches)
    for batch in seen:
        if batch.is_control:
            ended = open_batches.pop(batch.producer_id, [])
            plan.marker_of.update((each.base_offset, batch.base_offset) for each in ended)
            if _is_abort(batch):
                plan.aborted.update(each.base_offset for each in ended)
        elif batch.is_transactional:
            open_batches.setdefault(batch.producer_id, []).append(batch)
        plan.last_of_producer[batch.producer_id] = batch.base_offset
    plan.first_open = min((each[0].base_offset for each in open_batches.values()), default=None)
    for batch in seen:
        if plan.first_open is not None and batch.base_offset >= plan.first_open:
            break
        if not batch.is_control and batch.base_offset not in plan.aborted:
            plan.last_offsets.update(
                (record.key, record.offset) for record in batch.records if record.key is not None
            )
    return plan


def _kept_marker(
    batch: RecordBatch,
    plan: _Plan,
    has_records: bool,  # noqa: FBT001 - private, and the only call shows the condition
    now_ms: Millis,
    horizon_ms: Millis,
) -> Iterator[RecordBatch]:
    """Keep a marker until some time after its transaction has no records; keep a producer's last one."""
    is_last = plan.last_of_producer[batch.producer_id] == batch.base_offset
    if has_records or is_last:
        yield batch
    elif batch.delete_horizon_ms is None:
        yield replace(batch, delete_horizon_ms=horizon_ms)
    elif now_ms < batch.delete_horizon_ms:
        yield batch


def _kept_records(
    batch: RecordBatch, plan: _Plan, now_ms: Millis, horizon_ms: Millis
) -> Iterator[RecordBatch]:
    has_expired = batch.delete_horizon_ms is not None and now_ms >= batch.delete_horizon_ms
    records = tuple(
        record
        for record in batch.records
        if _is_latest(record, plan) and (record.value is not None or not has_expired)
    )
    if not records:
        return
    if batch.delete_horizon_ms is None and any(record.value is None for record in records):
        yield replace(batch, records=records, delete_horizon_ms=horizon_ms)
    else:
        yield batch if records == batch.records else replace(batch, records=records)


def _is_latest(record: Record, plan: _Plan) -> bool:
    """Return whether no later record has the same key; False for a record without a key."""
    return record.key is not None and plan.last_offsets[record.key] == record.offset


def _is_abort(batch: RecordBatch) -> bool:
    return any(control_type(record.key) == _ABORT for record in batch.records)
