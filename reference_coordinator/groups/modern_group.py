"""The common part of groups with server-side assignment: consumer, share and streams groups.

A group is a value, and a change creates a new one. Thus reads can use the committed version of a group while
writes continue with the written one.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Generic, Protocol, Self, TypeVar

from typing_extensions import override

from reference_coordinator.core.errors import CoordinatorError, Errors, IllegalStateError
from reference_coordinator.core.ids import GroupId, MemberId, Millis
from reference_coordinator.core.map_order import string_hash_code
from reference_coordinator.core.timeline_hash_map import TimelineHashMap
from reference_coordinator.groups.group import Group, OffsetExpirationCondition
from reference_coordinator.messages import ListedGroup
from reference_coordinator.messages.consumer_groups import LEAVE_GROUP_MEMBER_EPOCH
from reference_coordinator.profile.profiles import Profile

DELETED_ASSIGNMENT_EPOCH: Final = -1
"""The assignment epoch of a group whose target assignment was removed."""
_NEVER_MS: Final = Millis(0)


class ModernGroupMember(Protocol):
    """A member of such a group. Source: ModernGroupMember (4.3.1)."""

    @property
    def member_id(self) -> MemberId:
        """The member's id."""

    @property
    def member_epoch(self) -> int:
        """The epoch that the member has reached."""


class _State(Protocol):
    @property
    def value(self) -> str:
        """The name that Kafka prints."""


MemberT = TypeVar("MemberT", bound=ModernGroupMember)
TargetT = TypeVar("TargetT")


@dataclass(slots=True, kw_only=True)
class MetadataRefreshDeadline:
    """When a group must recompute its subscription metadata. A failed write does not revert it.

    Source: ModernGroup.DeadlineAndEpoch (4.3.1).
    """

    deadline_ms: Millis = _NEVER_MS
    epoch: int = 0
    """The group epoch at the last refresh. If the group is behind it, its write was reverted."""


def _no_members() -> TimelineHashMap[MemberId, MemberT]:
    return TimelineHashMap(string_hash_code)


@dataclass(slots=True, kw_only=True, eq=False)
class ModernGroup(Group, Generic[MemberT, TargetT]):
    """A snapshot of one group. Source: ModernGroup, and the same part of StreamsGroup (4.3.1)."""

    group_id: GroupId
    profile: Profile
    group_epoch: int
    assignment_epoch: int
    assignment_timestamp_ms: Millis = _NEVER_MS
    members: TimelineHashMap[MemberId, MemberT] = field(default_factory=_no_members)
    """Never changed in place. In the order of Kafka's map, which assignors use to break ties."""
    target_assignment: Mapping[MemberId, TargetT] = field(default_factory=dict)
    metadata_refresh: MetadataRefreshDeadline = field(default_factory=MetadataRefreshDeadline)
    """Shared by all versions of the group."""

    @property
    @abstractmethod
    def state(self) -> _State:
        """The state of the group."""

    @property
    @abstractmethod
    def protocol_type(self) -> str:
        """The protocol type that ListGroups returns."""

    @abstractmethod
    def new_member(self, member_id: MemberId) -> MemberT:
        """Return a new member that is not in the group yet."""

    @abstractmethod
    def remove_member(self, member_id: MemberId) -> Self:
        """Return the group without a member."""

    @property
    @override
    def is_empty(self) -> bool:
        """Whether the group has no members. Source: ConsumerGroup#isEmpty (4.3.1)."""
        return not self.members

    @override
    def as_listed_group(self) -> ListedGroup:
        """Return the group as ListGroups lists it. Source: ModernGroup#asListedGroup (4.3.1)."""
        return ListedGroup(
            group_id=self.group_id,
            protocol_type=self.protocol_type,
            group_state=self.state.value,
            group_type=self.type.value,
        )

    def get_or_maybe_create_member(self, member_id: MemberId, *, create_if_not_exists: bool) -> MemberT:
        """Return a member, or a new one that is not in the group yet.

        Raises:
            CoordinatorError: UNKNOWN_MEMBER_ID.

        Source: ConsumerGroup#getOrMaybeCreateMember, ShareGroup#getOrMaybeCreateMember (4.3.1).
        """
        member = self.members.get(member_id)
        if member is not None:
            return member
        if not create_if_not_exists:
            raise CoordinatorError(
                Errors.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {self.group_id}."
            )
        return self.new_member(member_id)

    def has_metadata_expired(self, now_ms: Millis) -> bool:
        """Return whether a metadata refresh is due. Source: ModernGroup#hasMetadataExpired (4.3.1)."""
        refresh = self.metadata_refresh
        return now_ms >= refresh.deadline_ms or self.group_epoch < refresh.epoch

    def set_metadata_refresh_deadline(self, deadline_ms: int, group_epoch: int) -> None:
        """Set the next metadata refresh. Source: ModernGroup#setMetadataRefreshDeadline (4.3.1)."""
        self.metadata_refresh.deadline_ms = Millis(deadline_ms)
        self.metadata_refresh.epoch = group_epoch

    def request_metadata_refresh(self) -> None:
        """Refresh metadata at the next request. Source: ModernGroup#requestMetadataRefresh (4.3.1)."""
        self.set_metadata_refresh_deadline(0, 0)

    def stale(self, member: MemberT) -> Errors:
        """Return the error for a request whose epoch is not the member's."""
        del member
        return Errors.STALE_MEMBER_EPOCH

    @override
    def validate_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        """Refuse a fetch of offsets if the sender is not a member or its epoch is not current.

        Raises:
            CoordinatorError: UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH or ILLEGAL_GENERATION.
            IllegalStateError: there is an epoch but no member id.

        Source: ConsumerGroup#validateOffsetFetch, StreamsGroup#validateOffsetFetch (4.3.1).
        """
        if member_id is None and member_epoch < 0:
            return
        if member_id is None:
            raise IllegalStateError("a map of members has no null key")
        member = self.members.get(MemberId(member_id))
        if member is None:
            raise CoordinatorError(Errors.UNKNOWN_MEMBER_ID)
        if member.member_epoch != member_epoch:
            raise CoordinatorError(self.stale(member))

    @override
    def validate_offset_delete(self) -> None:
        """Allow offsets to be deleted. Source: ConsumerGroup#validateOffsetDelete (4.3.1)."""

    @override
    def validate_delete_group(self) -> None:
        """Refuse to delete a group that has members.

        Raises:
            CoordinatorError: NON_EMPTY_GROUP.

        Source: ConsumerGroup#validateDeleteGroup (4.3.1).
        """
        if self.members:
            raise CoordinatorError(Errors.NON_EMPTY_GROUP)

    @override
    def offset_expiration_condition(self) -> OffsetExpirationCondition | None:
        """Start retention at the commit. Source: ConsumerGroup#offsetExpirationCondition (4.3.1)."""
        return OffsetExpirationCondition(since_ms=None)

    def with_target_assignment(self, member_id: MemberId, target: TargetT) -> Self:
        """Return the group with a member's new target assignment."""
        return replace(self, target_assignment={**self.target_assignment, member_id: target})

    def without_target_assignment(self, member_id: MemberId) -> Self:
        """Return the group without a member's target assignment."""
        targets = {key: each for key, each in self.target_assignment.items() if key != member_id}
        return replace(self, target_assignment=targets)

    def without_assignment_epoch(self) -> Self:
        """Return the group after its target assignment was removed.

        Raises:
            IllegalStateError: a member still has a target assignment.

        Decided in: GroupMetadataManager#replay (4.3.1).
        """
        self._throw_if_assigned()
        return replace(self, assignment_epoch=DELETED_ASSIGNMENT_EPOCH, assignment_timestamp_ms=_NEVER_MS)

    def without_metadata_of(self, member_id: MemberId) -> Self:
        """Return the group without a member whose current and target assignments were already removed.

        Raises:
            IllegalStateError: the member still has one of them.

        Decided in: GroupMetadataManager#replay (4.3.1).
        """
        member = self.members.get(member_id)
        if member is None:
            return self
        if member.member_epoch != LEAVE_GROUP_MEMBER_EPOCH:
            raise IllegalStateError("the member still has an assignment")
        if member_id in self.target_assignment:
            raise IllegalStateError("the member still has a target assignment")
        return self.remove_member(member_id)

    def throw_if_not_over(self) -> None:
        """Check that the group may be removed.

        Raises:
            IllegalStateError: the group still has members or a target assignment.

        Decided in: GroupMetadataManager#replay (4.3.1).
        """
        if self.members:
            raise IllegalStateError("the group still has members")
        self._throw_if_assigned()
        if self.assignment_epoch != DELETED_ASSIGNMENT_EPOCH:
            raise IllegalStateError("the group still has a target assignment")

    def _throw_if_assigned(self) -> None:
        if self.target_assignment:
            raise IllegalStateError("members still have a target assignment")

    @override
    def check_invariants(self) -> None:
        """Assert the invariants that are true between any two inputs, whatever clients send."""
        assert all(key == member.member_id for key, member in self.members.items())
        assert set(self.target_assignment) <= set(self.members)
