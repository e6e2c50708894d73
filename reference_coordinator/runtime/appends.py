"""Writes in progress, and the requests that wait for them."""

from dataclasses import field

from reference_coordinator.core.effects import AppendRecords, Respond
from reference_coordinator.core.ids import AppendId, ResponseToken
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.core.values import value
from reference_coordinator.messages import OffsetFetchRequest
from reference_coordinator.runtime.coordinator_result import Continuation, CoordinatorResult


@value
class PendingAppend:
    """A write in progress."""

    append_id: AppendId
    partition: int
    result: CoordinatorResult[object]
    record_offset: int
    """The offset of the first record in the partition's log."""
    then: Continuation | None
    """The continuation that receives the outcome."""
    groups_changed: bool = False
    """Whether the group records were already applied at the time of the write."""


@value
class OpenBatch:
    """The writes and answers that wait for a partition's batch to be written, in order of arrival.

    Source: CoordinatorRuntime.CoordinatorBatch (3.9.2).
    """

    writes: list[AppendRecords] = field(default_factory=list)
    answers: list[Respond[object]] = field(default_factory=list)
    """The answers to requests that wrote nothing."""
    waiting: list[ResponseToken] = field(default_factory=list)
    """These requests and parked ones. Once the batch is written, their timeouts no longer apply."""

    def with_more(self, records: tuple[CoordinatorRecord, ...]) -> tuple[CoordinatorRecord, ...]:
        """Return the records of the batch if these records were added."""
        return (*(each for write in self.writes for each in write.records), *records)


@value
class ParkedFetch:
    """An OffsetFetch that must see the writes in progress as well."""

    awaited: frozenset[AppendId]
    """The writes to the partitions of the fetch's groups."""
    token: ResponseToken
    request: OffsetFetchRequest
