"""One broker's view of the partitions of `__consumer_offsets`: which it coordinates, and in which epoch."""

from dataclasses import dataclass, field
from enum import Enum, unique
from typing import Final, assert_never

from reference_coordinator.core.errors import CoordinatorError, Errors

NO_EPOCH: Final = -1
"""An epoch older than every leader epoch."""


@unique
class Ownership(Enum):
    """Whether a broker coordinates the groups of a partition.

    Source: CoordinatorRuntime.CoordinatorState (4.3.1), GroupMetadataManager#isPartitionLoading (3.9.2).
    """

    NOT_OWNED = "not owned"
    QUEUED = "queued"
    """Counts as loading but still waits for the load, as on Scala coordinators before 2.8.1."""
    LOADING = "loading"
    OWNED = "owned"
    FAILED = "failed"
    """The load failed, which only a Java coordinator records."""

    # Enum.__hash__ is written in Python and thus slow, and this is looked up at every request.
    __hash__ = object.__hash__


@dataclass(slots=True, kw_only=True)
class CoordinatorPartition:
    """One partition. Source: CoordinatorRuntime.CoordinatorContext (4.3.1)."""

    ownership: Ownership = Ownership.NOT_OWNED
    epoch: int = NO_EPOCH
    """The newest leader epoch in which the partition was loaded or unloaded."""
    last_written_offset: int = 0
    """The offset of the next record. Source: SnapshottableCoordinator.lastWrittenOffset (4.1.0)."""
    last_committed_offset: int = 0
    """The offset up to which the log is committed. Reads see only records below it."""

    def throw_if_not_active(self) -> None:
        """Refuse all requests while another broker coordinates the groups or they are loading.

        Raises:
            CoordinatorError: COORDINATOR_LOAD_IN_PROGRESS or NOT_COORDINATOR.

        Decided in: CoordinatorRuntime#withActiveContextOrThrow (4.3.1),
        GroupCoordinator#validateGroupStatus (3.9.2).
        """
        match self.ownership:
            case Ownership.OWNED:
                return
            case Ownership.QUEUED | Ownership.LOADING:
                raise CoordinatorError(Errors.COORDINATOR_LOAD_IN_PROGRESS)
            case Ownership.NOT_OWNED | Ownership.FAILED:
                raise CoordinatorError(Errors.NOT_COORDINATOR)
            case _:
                assert_never(self.ownership)


@dataclass(slots=True)
class Partitions:
    """A broker's state of each partition."""

    _by_index: dict[int, CoordinatorPartition] = field(default_factory=dict)

    def of(self, index: int) -> CoordinatorPartition:
        """Return a partition's state. An unknown partition is not owned."""
        found = self._by_index.get(index)
        if found is None:
            found = self._by_index[index] = CoordinatorPartition()
        return found

    def forget(self, index: int) -> None:
        """Remove a partition's state, including the epoch in which it was owned."""
        self._by_index.pop(index, None)

    @property
    def are_any_loading(self) -> bool:
        """Whether any partition is loading. While any is queued, another one is loading."""
        return any(each.ownership is Ownership.LOADING for each in self._by_index.values())

    @property
    def are_any_owned(self) -> bool:
        """Whether any partition is owned."""
        return any(each.ownership is Ownership.OWNED for each in self._by_index.values())
