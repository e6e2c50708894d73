"""The interface of groups of all types."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from enum import Enum, unique

from reference_coordinator.core.ids import GroupId, GroupInstanceId, MemberId, Millis, TopicId
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.core.values import value
from reference_coordinator.messages import ListedGroup


@unique
class GroupType(Enum):
    """The type of a group. The value is the name that Kafka prints. Source: Group.GroupType (4.3.1)."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"

    # Enum.__hash__ is written in Python and thus slow, and types are looked up at every request.
    __hash__ = object.__hash__


CommitPartitionValidator = Callable[[str, TopicId | None, int], None]
"""A function that refuses a commit for a partition of a topic. The topic id is None if the topic is unknown.

Source: CommitPartitionValidator (4.3.1).
"""


@value
class OffsetExpirationCondition:
    """When retention starts for a group's offsets. Source: OffsetExpirationConditionImpl (4.3.1)."""

    since_ms: Millis | None
    """The time at which retention starts. None means each offset's own commit time."""

    def base_timestamp_ms(self, commit_timestamp_ms: Millis) -> Millis:
        """Return when retention starts for an offset with this commit time."""
        return commit_timestamp_ms if self.since_ms is None else self.since_ms


class Group(ABC):
    """One group of any type, compared by identity. Source: Group (4.3.1)."""

    __slots__ = ()

    group_id: GroupId

    @property
    @abstractmethod
    def type(self) -> GroupType:
        """The type of the group. Source: Group#type (4.3.1)."""

    @property
    @abstractmethod
    def is_empty(self) -> bool:
        """Whether the group has no members and is not Dead. Source: Group#isEmpty (4.3.1)."""

    @abstractmethod
    def is_in_states(self, states: Collection[str]) -> bool:
        """Return whether the group is in one of the states of a filter. Source: Group#isInStates (4.3.1)."""

    @abstractmethod
    def as_listed_group(self) -> ListedGroup:
        """Return the group as ListGroups lists it. Source: Group#asListedGroup (4.3.1)."""

    @abstractmethod
    def validate_offset_commit(
        self,
        member_id: MemberId,
        group_instance_id: GroupInstanceId | None,
        generation_id_or_member_epoch: int,
        *,
        is_transactional: bool,
        api_version: int,
    ) -> CommitPartitionValidator | None:
        """Check that a member may commit offsets, and return the check to apply to each partition.

        Raises:
            CoordinatorError: the first check that fails.

        Source: Group#validateOffsetCommit (4.3.1).
        """

    @abstractmethod
    def validate_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        """Check that the group's offsets may be fetched.

        Raises:
            CoordinatorError: the group cannot be found, or the sender is not a member.

        Source: Group#validateOffsetFetch (4.3.1).
        """

    @abstractmethod
    def validate_offset_delete(self) -> None:
        """Check that the group's offsets may be deleted.

        Raises:
            CoordinatorError: the group cannot be found, or is in use.

        Source: Group#validateOffsetDelete (4.3.1).
        """

    @abstractmethod
    def validate_delete_group(self) -> None:
        """Check that the group may be deleted.

        Raises:
            CoordinatorError: the group cannot be found, or has members.

        Source: Group#validateDeleteGroup (4.3.1).
        """

    @abstractmethod
    def is_subscribed_to_topic(self, topic: str) -> bool:
        """Return whether the group's members subscribe to a topic. True if that is unknown.

        Source: Group#isSubscribedToTopic (4.3.1).
        """

    @abstractmethod
    def offset_expiration_condition(self) -> OffsetExpirationCondition | None:
        """Return when retention starts for the group's offsets, or None while none of them can expire.

        Source: Group#offsetExpirationCondition (4.3.1).
        """

    @abstractmethod
    def create_group_tombstone_records(self) -> tuple[CoordinatorRecord, ...]:
        """Return the tombstones to write when the group is removed.

        Source: Group#createGroupTombstoneRecords (4.3.1).
        """

    @abstractmethod
    def check_invariants(self) -> None:
        """Assert the invariants that are true between any two inputs, whatever clients send."""
