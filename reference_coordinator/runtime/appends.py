"""What the coordinator does when a write to the log has succeeded or failed, and who waits for that.

Kafka hangs a callback on the append; here it is a value that knows how to go on. A group is named by the
object itself, as Kafka's closures do: one made anew under the same id is another group.
"""

from abc import ABC, abstractmethod
from dataclasses import field

from typing_extensions import override

from reference_coordinator.core.effects import AppendRecords, Respond
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import AppendId, ResponseToken
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.core.values import value
from reference_coordinator.messages import OffsetFetchRequest


class Continuation(ABC):
    """How to go on when an append is through."""

    __slots__ = ()

    @abstractmethod
    def append_completed(self, error: Errors) -> None:
        """Go on; NONE means that the records are in the log for good."""


@value
class NobodyWaits(Continuation):
    """Whether it was written makes no difference to what the coordinator does."""

    @override
    def append_completed(self, error: Errors) -> None:
        """Do nothing."""


@value
class PendingAppend:
    """A write that is under way."""

    append_id: AppendId
    partition: int
    records: tuple[CoordinatorRecord, ...]
    record_offset: int
    """Where in the partition's log the first of them will stand."""
    replays: bool
    """Whether the records change the coordinator's state when they are written, or did so before."""
    then: Continuation


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
