"""Writes that are under way, and who waits for them."""

from dataclasses import field

from reference_coordinator.core.effects import AppendRecords, Respond
from reference_coordinator.core.ids import AppendId, ResponseToken
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.core.values import value
from reference_coordinator.messages import OffsetFetchRequest
from reference_coordinator.runtime.coordinator_result import Continuation, CoordinatorResult


@value
class PendingAppend:
    """A write that is under way."""

    append_id: AppendId
    partition: int
    result: CoordinatorResult[object]
    record_offset: int
    """Where in the partition's log the first of its records will stand."""
    then: Continuation | None
    """Who learns how it ended."""
    groups_changed: bool = False
    """Whether what its records say of groups took effect when it was made."""


@value
class OpenBatch:
    """What waits for a partition's batch to be written, in the order in which it came.

    Source: CoordinatorRuntime.CoordinatorBatch (3.9.2).
    """

    writes: list[AppendRecords] = field(default_factory=list)
    answers: list[Respond[object]] = field(default_factory=list)
    """To requests that wrote nothing."""
    waiting: list[ResponseToken] = field(default_factory=list)
    """Those requests, and parked ones: none of them times out any more once the batch is written."""

    def with_more(self, records: tuple[CoordinatorRecord, ...]) -> tuple[CoordinatorRecord, ...]:
        """All that would be written if these came on top."""
        return (*(each for write in self.writes for each in write.records), *records)


@value
class ParkedFetch:
    """An OffsetFetch that wants to see what is under way as well."""

    awaited: frozenset[AppendId]
    """Writes to the partitions of its groups."""
    token: ResponseToken
    request: OffsetFetchRequest
