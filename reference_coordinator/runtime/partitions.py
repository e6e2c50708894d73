"""The partitions of `__consumer_offsets` as one broker has them: whether it coordinates, and since when."""

from dataclasses import dataclass, field
from enum import Enum, unique
from typing import Final, assert_never

from reference_coordinator.core.errors import CoordinatorError, Errors

NO_EPOCH: Final = -1
"""Older than every leader epoch."""


@unique
class Ownership(Enum):
    """Whether a broker coordinates the groups of a partition.

    Source: CoordinatorRuntime.CoordinatorState (4.3.1), GroupMetadataManager#isPartitionLoading (3.9.2).
    """

    NOT_OWNED = "not owned"
    QUEUED = "queued"
    """It counts as loading and awaits its turn, as on Scala coordinators before 2.8.1."""
    LOADING = "loading"
    OWNED = "owned"
    FAILED = "failed"
    """It could not be loaded, as a Java coordinator remembers."""

    # An Enum's own is written in Python, and this is looked up at every request.
    __hash__ = object.__hash__


@dataclass(slots=True, kw_only=True)
class CoordinatorPartition:
    """One partition. Source: CoordinatorRuntime.CoordinatorContext (4.3.1)."""

    ownership: Ownership = Ownership.NOT_OWNED
    epoch: int = NO_EPOCH
    """The newest leader epoch in which it was loaded or unloaded."""
    last_written_offset: int = 0
    """Where the next record will stand. Source: SnapshottableCoordinator.lastWrittenOffset (4.1.0)."""
    last_committed_offset: int = 0
    """Up to where the log is there for good, which is all that readers see."""

    def throw_if_not_active(self) -> None:
        """Refuse everything while the groups are somebody else's or are being loaded.

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
    """What a broker knows of each partition."""

    _by_index: dict[int, CoordinatorPartition] = field(default_factory=dict)

    def of(self, index: int) -> CoordinatorPartition:
        """A partition; one that was never heard of is not owned."""
        found = self._by_index.get(index)
        if found is None:
            found = self._by_index[index] = CoordinatorPartition()
        return found

    def forget(self, index: int) -> None:
        """Know nothing of a partition any more, not even in which epoch it was owned."""
        self._by_index.pop(index, None)

    @property
    def are_any_loading(self) -> bool:
        """Whether groups of some partition are still to come; one is read while others await their turn."""
        return any(each.ownership is Ownership.LOADING for each in self._by_index.values())

    @property
    def are_any_owned(self) -> bool:
        """Whether some partition's groups are there."""
        return any(each.ownership is Ownership.OWNED for each in self._by_index.values())
