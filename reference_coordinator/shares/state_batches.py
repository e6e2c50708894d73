"""Batches of records with one delivery state each, and the merge of batches that overlap."""

import heapq
from collections.abc import Iterable, Iterator
from itertools import pairwise

from reference_coordinator.core.values import value


@value
class StateBatch:
    """Records with the same delivery count and the same state.

    Source: PersisterStateBatch (4.3.1).
    """

    first_offset: int
    last_offset: int
    delivery_state: int
    """0 available, 2 acknowledged, 3 archiving, 4 archived; acquired records have their previous state."""
    delivery_count: int


def combine_state_batches(batches: Iterable[StateBatch], start_offset: int) -> tuple[StateBatch, ...]:
    """Give each record its latest state: the one with the most deliveries, and among those the highest.

    Records before the start offset are omitted, unless it is -1. The batches are in the order of their
    offsets, and neighbours with the same state and delivery count are merged.

    Source: PersisterStateBatchCombiner#combineStateBatches (4.3.1).
    """
    combined: list[StateBatch] = []
    for each in _segments([batch for batch in batches if batch.last_offset >= start_offset], start_offset):
        last = combined[-1] if combined else None
        if last is not None and last.last_offset + 1 == each.first_offset and _info(last) == _info(each):
            combined[-1] = _cut(last, last.first_offset, each.last_offset)
        else:
            combined.append(each)
    return tuple(combined)


def _segments(batches: list[StateBatch], start_offset: int) -> Iterator[StateBatch]:
    """Split the records where a batch begins or ends, and give each piece the state that applies."""
    ordered = sorted(batches, key=lambda batch: batch.first_offset)
    firsts = {max(batch.first_offset, start_offset) for batch in ordered}
    cuts = sorted(firsts | {batch.last_offset + 1 for batch in ordered})
    covering: list[tuple[int, int, int, StateBatch]] = []
    at = 0
    for first, end in pairwise(cuts):
        while at < len(ordered) and ordered[at].first_offset <= first:
            batch = ordered[at]
            # The heap returns its least item first; `at` makes each key unique, so batches are not compared.
            heapq.heappush(covering, (-batch.delivery_count, -batch.delivery_state, at, batch))
            at += 1
        while covering and covering[0][-1].last_offset < first:
            heapq.heappop(covering)
        if covering:
            yield _cut(covering[0][-1], first, end - 1)


def _info(batch: StateBatch) -> tuple[int, int]:
    return batch.delivery_count, batch.delivery_state


def _cut(batch: StateBatch, first_offset: int, last_offset: int) -> StateBatch:
    return StateBatch(
        first_offset=first_offset,
        last_offset=last_offset,
        delivery_state=batch.delivery_state,
        delivery_count=batch.delivery_count,
    )
