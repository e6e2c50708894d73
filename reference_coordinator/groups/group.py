"""What the coordinator asks of a group, whatever its type."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from enum import Enum, unique

from reference_coordinator.core.ids import GroupId, GroupInstanceId, MemberId, Millis, TopicId
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.core.values import value
from reference_coordinator.messages import ListedGroup


@unique
class GroupType(Enum):
    """The protocol of a group's members, as Kafka prints it. Source: Group.GroupType (4.3.1)."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"

    # An Enum's own is written in Python, and types are looked up at every request.
    __hash__ = object.__hash__


CommitPartitionValidator = Callable[[str, TopicId | None, int], None]
"""Refuses a commit for a partition of a topic; the topic's id is None where there is no such topic.

Source: CommitPartitionValidator (4.3.1).
"""


@value
class OffsetExpirationCondition:
    """From when retention counts for a group's offsets. Source: OffsetExpirationConditionImpl (4.3.1)."""

    since_ms: Millis | None
    """None stands for the time of each offset's own commit."""

    def base_timestamp_ms(self, commit_timestamp_ms: Millis) -> Millis:
        """From when retention counts for an offset that was committed then."""
        return commit_timestamp_ms if self.since_ms is None else self.since_ms


class Group(ABC):
    """One group of any type, identified by being itself. Source: Group (4.3.1)."""

    __slots__ = ()

    group_id: GroupId

    @property
    @abstractmethod
    def type(self) -> GroupType:
        """The protocol of its members. Source: Group#type (4.3.1)."""

    @property
    @abstractmethod
    def is_empty(self) -> bool:
        """Whether it has no members and is not Dead. Source: Group#isEmpty (4.3.1)."""

    @abstractmethod
    def is_in_states(self, states: Collection[str]) -> bool:
        """Whether it is in one of the states of a filter. Source: Group#isInStates (4.3.1)."""

    @abstractmethod
    def as_listed_group(self) -> ListedGroup:
        """The group in a listing. Source: Group#asListedGroup (4.3.1)."""

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
        """Refuse who may not commit offsets to the group as it is, or say how each partition is judged.

        Raises:
            CoordinatorError: the first check that fails.

        Source: Group#validateOffsetCommit (4.3.1).
        """

    @abstractmethod
    def validate_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        """Refuse to show the group's offsets.

        Raises:
            CoordinatorError: the group is not to be found, or who asks is no member.

        Source: Group#validateOffsetFetch (4.3.1).
        """

    @abstractmethod
    def validate_offset_delete(self) -> None:
        """Refuse to forget some of the group's offsets.

        Raises:
            CoordinatorError: the group is not to be found, or in use.

        Source: Group#validateOffsetDelete (4.3.1).
        """

    @abstractmethod
    def validate_delete_group(self) -> None:
        """Refuse to forget the group.

        Raises:
            CoordinatorError: the group is not to be found, or has members.

        Source: Group#validateDeleteGroup (4.3.1).
        """

    @abstractmethod
    def is_subscribed_to_topic(self, topic: str) -> bool:
        """Whether its members read a topic; yes where that cannot be told.

        Source: Group#isSubscribedToTopic (4.3.1).
        """

    @abstractmethod
    def offset_expiration_condition(self) -> OffsetExpirationCondition | None:
        """From when retention counts for its offsets; None while none of them expires.

        Source: Group#offsetExpirationCondition (4.3.1).
        """

    @abstractmethod
    def create_group_tombstone_records(self) -> tuple[CoordinatorRecord, ...]:
        """What the log is told when the group is no more.

        Source: Group#createGroupTombstoneRecords (4.3.1).
        """

    @abstractmethod
    def check_invariants(self) -> None:
        """Assert what applies between any two inputs, whatever a client sends."""
