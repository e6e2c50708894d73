"""What the groups have in common whose members heartbeat: consumer, share and streams groups.

A group is a value. What changes it makes another one, so that readers keep the group that is committed while
writers go on with the one that is written.
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
"""Of a group whose target assignment is no more."""
_NEVER_MS: Final = Millis(0)


class ModernGroupMember(Protocol):
    """A member of such a group. Source: ModernGroupMember (4.3.1)."""

    @property
    def member_id(self) -> MemberId:
        """Its id."""

    @property
    def member_epoch(self) -> int:
        """The group's epoch, as far as the member has come."""


class _State(Protocol):
    @property
    def value(self) -> str:
        """As Kafka prints it."""


MemberT = TypeVar("MemberT", bound=ModernGroupMember)
TargetT = TypeVar("TargetT")


@dataclass(slots=True, kw_only=True)
class MetadataRefreshDeadline:
    """When a group looks at its topics anew, at the latest; it outlives writes that fail.

    Source: ModernGroup.DeadlineAndEpoch (4.3.1).
    """

    deadline_ms: Millis = _NEVER_MS
    epoch: int = 0
    """The group's epoch at the last look: a group that is behind it has lost what it wrote."""


def _no_members() -> TimelineHashMap[MemberId, MemberT]:
    return TimelineHashMap(string_hash_code)


@dataclass(slots=True, kw_only=True, eq=False)
class ModernGroup(Group, Generic[MemberT, TargetT]):
    """One group, as of one moment. Source: ModernGroup, and StreamsGroup, which has the same (4.3.1)."""

    group_id: GroupId
    profile: Profile
    group_epoch: int
    assignment_epoch: int
    assignment_timestamp_ms: Millis = _NEVER_MS
    members: TimelineHashMap[MemberId, MemberT] = field(default_factory=_no_members)
    """Never changed in place. In the order of Kafka's map, by which assignors break ties."""
    target_assignment: Mapping[MemberId, TargetT] = field(default_factory=dict)
    metadata_refresh: MetadataRefreshDeadline = field(default_factory=MetadataRefreshDeadline)
    """Shared by all versions of the group."""

    @property
    @abstractmethod
    def state(self) -> _State:
        """How far it is."""

    @property
    @abstractmethod
    def protocol_type(self) -> str:
        """What a listing says of its members' protocol."""

    @abstractmethod
    def new_member(self, member_id: MemberId) -> MemberT:
        """A member that is in no group yet."""

    @abstractmethod
    def remove_member(self, member_id: MemberId) -> Self:
        """The group without a member."""

    @property
    @override
    def is_empty(self) -> bool:
        """Whether it has no members. Source: ConsumerGroup#isEmpty (4.3.1)."""
        return not self.members

    @override
    def as_listed_group(self) -> ListedGroup:
        """The group in a listing. Source: ModernGroup#asListedGroup (4.3.1)."""
        return ListedGroup(
            group_id=self.group_id,
            protocol_type=self.protocol_type,
            group_state=self.state.value,
            group_type=self.type.value,
        )

    def get_or_maybe_create_member(self, member_id: MemberId, *, create_if_not_exists: bool) -> MemberT:
        """A member, or a new one that is in no group yet.

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
        """Whether it is time to look at the topics. Source: ModernGroup#hasMetadataExpired (4.3.1)."""
        refresh = self.metadata_refresh
        return now_ms >= refresh.deadline_ms or self.group_epoch < refresh.epoch

    def set_metadata_refresh_deadline(self, deadline_ms: int, group_epoch: int) -> None:
        """Look at the topics again then. Source: ModernGroup#setMetadataRefreshDeadline (4.3.1)."""
        self.metadata_refresh.deadline_ms = Millis(deadline_ms)
        self.metadata_refresh.epoch = group_epoch

    def request_metadata_refresh(self) -> None:
        """Look at the topics at the next occasion. Source: ModernGroup#requestMetadataRefresh (4.3.1)."""
        self.set_metadata_refresh_deadline(0, 0)

    def stale(self, member: MemberT) -> Errors:
        """What a member is answered that is in another epoch than it says."""
        del member
        return Errors.STALE_MEMBER_EPOCH

    @override
    def validate_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        """Refuse to show the group's offsets to somebody who is not quite a member.

        Raises:
            CoordinatorError: UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH or ILLEGAL_GENERATION.
            IllegalStateError: an epoch comes without a member.

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
        """Let offsets be forgotten. Source: ConsumerGroup#validateOffsetDelete (4.3.1)."""

    @override
    def validate_delete_group(self) -> None:
        """Refuse to forget a group that has members.

        Raises:
            CoordinatorError: NON_EMPTY_GROUP.

        Source: ConsumerGroup#validateDeleteGroup (4.3.1).
        """
        if self.members:
            raise CoordinatorError(Errors.NON_EMPTY_GROUP)

    @override
    def offset_expiration_condition(self) -> OffsetExpirationCondition | None:
        """Offsets expire since their commit. Source: ConsumerGroup#offsetExpirationCondition (4.3.1)."""
        return OffsetExpirationCondition(since_ms=None)

    def with_target_assignment(self, member_id: MemberId, target: TargetT) -> Self:
        """The group with what a member is to have."""
        return replace(self, target_assignment={**self.target_assignment, member_id: target})

    def without_target_assignment(self, member_id: MemberId) -> Self:
        """The group without what a member was to have."""
        targets = {key: each for key, each in self.target_assignment.items() if key != member_id}
        return replace(self, target_assignment=targets)

    def without_assignment_epoch(self) -> Self:
        """The group when its target assignment is no more.

        Raises:
            IllegalStateError: a member still has a target.

        Decided in: GroupMetadataManager#replay (4.3.1).
        """
        self._throw_if_assigned()
        return replace(self, assignment_epoch=DELETED_ASSIGNMENT_EPOCH, assignment_timestamp_ms=_NEVER_MS)

    def without_metadata_of(self, member_id: MemberId) -> Self:
        """The group when a member is no more, which has lost its assignment and its target before.

        Raises:
            IllegalStateError: it has not.

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
        """Refuse to be no more while members or targets are there.

        Raises:
            IllegalStateError: they are.

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
        """Assert the invariants between any two inputs, whatever a client sends."""
        assert all(key == member.member_id for key, member in self.members.items())
        assert set(self.target_assignment) <= set(self.members)
