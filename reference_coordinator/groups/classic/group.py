"""A classic group: its members, and the operations that groups of every type provide."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import assert_never

from typing_extensions import override

from reference_coordinator.core.errors import CoordinatorError, Errors, IllegalStateError
from reference_coordinator.core.ids import (
    UNKNOWN_MEMBER_ID,
    GenerationId,
    GroupInstanceId,
    MemberId,
    Millis,
)
from reference_coordinator.core.java import as_int
from reference_coordinator.core.records import CoordinatorRecord, GroupMetadataTombstone
from reference_coordinator.groups.classic.membership import ClassicGroupMembership
from reference_coordinator.groups.classic.state import ClassicGroupState
from reference_coordinator.groups.classic.subscription import (
    CONSUMER_PROTOCOL_TYPE,
    SubscriptionSchemaError,
    subscribed_topics,
)
from reference_coordinator.groups.group import GroupType, OffsetExpirationCondition
from reference_coordinator.messages import DescribedGroup, ListedGroup
from reference_coordinator.profile.behaviours import Behaviour


@dataclass(slots=True, kw_only=True, eq=False)
class ClassicGroup(ClassicGroupMembership):
    """One group. It is compared by identity: a group created again with the same id is a different one.

    Source: ClassicGroup (4.3.1), GroupMetadata (3.9.2).
    """

    @property
    @override
    def type(self) -> GroupType:
        """The type of the group. Source: ClassicGroup#type (4.3.1)."""
        return GroupType.CLASSIC

    @property
    @override
    def is_empty(self) -> bool:
        """Whether the group has no members and is not Dead. Source: ClassicGroup#isEmpty (4.3.1)."""
        return self.state is ClassicGroupState.EMPTY

    @property
    def is_simple_group(self) -> bool:
        """Whether the group only stores offsets. Source: ClassicGroup#isSimpleGroup (4.3.1)."""
        return self.protocol_type is None and self.is_empty and not self.pending_join_members

    @override
    def is_in_states(self, states: Collection[str]) -> bool:
        """Return whether the group is in one of the states of a filter.

        Source: ClassicGroup#isInStates (4.3.1), GroupCoordinator#handleListGroups (3.9.2).
        """
        ignores_case = self.profile.has(Behaviour.STATES_FILTER_IGNORES_CASE)
        return (self.state.value.lower() if ignores_case else self.state.value) in states

    @override
    def as_listed_group(self) -> ListedGroup:
        """Return the group as ListGroups lists it. Source: ClassicGroup#asListedGroup (4.3.1)."""
        return ListedGroup(
            group_id=self.group_id,
            protocol_type=self.protocol_type or "",
            group_state=self.state.value,
            group_type=self.type.value,
        )

    def as_described_group(self, *, authorized_operations: int) -> DescribedGroup:
        """Return the group as DescribeGroups describes it.

        Raises:
            IllegalStateError: a member does not support the protocol of its Stable group.

        Decided in: GroupMetadataManager#describeGroups (4.3.1), GroupMetadata#summary (3.9.2).
        """
        is_stable = self.state is ClassicGroupState.STABLE
        shows_assignment = is_stable or self.profile.has(Behaviour.DESCRIBE_SHOWS_ASSIGNMENT_IN_REBALANCE)
        return DescribedGroup(
            error_code=Errors.NONE,
            error_message=None,
            group_id=self.group_id,
            group_state=self.state.value,
            protocol_type=self.protocol_type or "",
            protocol_data=(self.protocol_name or "") if is_stable else "",
            members=tuple(
                each.describe(
                    metadata=each.metadata(self.protocol_name) if is_stable else b"",
                    assignment=each.assignment if shows_assignment else b"",
                )
                for each in self.members.values()
            ),
            authorized_operations=authorized_operations,
        )

    def permitted_descriptions(self, described: DescribedGroup) -> Iterator[DescribedGroup]:
        """Yield a description with each permitted order of topics in the assignments, its own first."""
        orders = [
            self.members[each.member_id].orders_of(each.member_assignment)
            if each.member_id in self.members
            else (each.member_assignment,)
            for each in described.members
        ]
        for assignments in product(*orders):
            members = tuple(
                replace(member, member_assignment=assignment)
                for member, assignment in zip(described.members, assignments, strict=True)
            )
            yield replace(described, members=members)

    @override
    def validate_offset_commit(
        self,
        member_id: MemberId,
        group_instance_id: GroupInstanceId | None,
        generation_id_or_member_epoch: int,
        *,
        is_transactional: bool,
        api_version: int,
    ) -> None:
        """Check that the sender may commit offsets in the group's current state.

        Raises:
            CoordinatorError: the first check that fails.

        Source: ClassicGroup#validateOffsetCommit (4.3.1), GroupCoordinator#validateOffsetCommit (3.9.2).
        """
        if self.state is ClassicGroupState.DEAD:
            raise CoordinatorError(Errors.COORDINATOR_NOT_AVAILABLE)
        if is_transactional and not self.profile.has(Behaviour.TXN_COMMIT_CHECKED_AS_COMMIT):
            self._check_what_is_named(member_id, group_instance_id, generation_id_or_member_epoch)
            return
        names_member = member_id != UNKNOWN_MEMBER_ID or group_instance_id is not None
        checks_ids = self.profile.has(Behaviour.SIMPLE_COMMIT_CHECKS_IDS)
        is_simple = generation_id_or_member_epoch < 0 and not (checks_ids and names_member)
        if self.state is ClassicGroupState.EMPTY and is_simple:
            # The sender is a simple consumer, which is not a group member.
            return
        if generation_id_or_member_epoch >= 0 or names_member:
            self.validate_member(
                member_id,
                group_instance_id,
                unknown_instance_is_refused=self.profile.has(Behaviour.UNKNOWN_INSTANCE_ID_REFUSED),
            )
            if generation_id_or_member_epoch != self.generation_id:
                raise CoordinatorError(Errors.ILLEGAL_GENERATION)
        elif not is_transactional:
            # Only members may commit to a group that has members, except for transactional producers:
            # old ones cannot name the member.
            raise CoordinatorError(Errors.UNKNOWN_MEMBER_ID)
        if not is_transactional and self.state is ClassicGroupState.COMPLETING_REBALANCE:
            raise CoordinatorError(Errors.REBALANCE_IN_PROGRESS)

    def _check_what_is_named(
        self, member_id: MemberId, group_instance_id: GroupInstanceId | None, generation_id: int
    ) -> None:
        """Decided in: GroupCoordinator#doTxnCommitOffsets (2.8.2)."""
        if not self.profile.has(Behaviour.TXN_COMMIT_CHECKS_MEMBER):
            return
        named = None if group_instance_id is None else self.static_members.get(group_instance_id)
        if named not in {None, member_id}:
            raise CoordinatorError(Errors.FENCED_INSTANCE_ID)
        if member_id != UNKNOWN_MEMBER_ID and member_id not in self.members:
            raise CoordinatorError(Errors.UNKNOWN_MEMBER_ID)
        if 0 <= generation_id != self.generation_id:
            raise CoordinatorError(Errors.ILLEGAL_GENERATION)

    @override
    def validate_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        """Refuse to return the offsets of a Dead group.

        Raises:
            CoordinatorError: GROUP_ID_NOT_FOUND.

        Source: ClassicGroup#validateOffsetFetch (4.3.1), GroupMetadataManager#getOffsets (3.9.2).
        """
        if self.state is ClassicGroupState.DEAD:
            raise CoordinatorError(Errors.GROUP_ID_NOT_FOUND)

    @override
    def validate_offset_delete(self) -> None:
        """Refuse to delete single offsets while the group has members that are not consumers.

        Raises:
            CoordinatorError: GROUP_ID_NOT_FOUND or NON_EMPTY_GROUP.

        Source: ClassicGroup#validateOffsetDelete (4.3.1), GroupCoordinator#handleDeleteOffsets (3.9.2).
        """
        if self.state is ClassicGroupState.DEAD:
            raise CoordinatorError(Errors.GROUP_ID_NOT_FOUND)
        if self.state is not ClassicGroupState.EMPTY and not self.uses_consumer_group_protocol:
            raise CoordinatorError(Errors.NON_EMPTY_GROUP)

    @override
    def validate_delete_group(self) -> None:
        """Refuse to delete a group that has members. Pending members do not count.

        Raises:
            CoordinatorError: GROUP_ID_NOT_FOUND or NON_EMPTY_GROUP.

        Source: ClassicGroup#validateDeleteGroup (4.3.1), GroupCoordinator#handleDeleteGroups (3.9.2).
        """
        if self.state is ClassicGroupState.DEAD:
            raise CoordinatorError(Errors.GROUP_ID_NOT_FOUND)
        if self.state is not ClassicGroupState.EMPTY:
            raise CoordinatorError(Errors.NON_EMPTY_GROUP)

    @override
    def create_group_tombstone_records(self) -> tuple[CoordinatorRecord, ...]:
        """Return the tombstones to write when the group is removed.

        Source: ClassicGroup#createGroupTombstoneRecords (4.3.1).
        """
        return (GroupMetadataTombstone(group_id=self.group_id),)

    @override
    def offset_expiration_condition(self) -> OffsetExpirationCondition | None:
        """Return when retention starts for the group's offsets, or None while none of them can expire.

        Source: ClassicGroup#offsetExpirationCondition (4.3.1).
        """
        since_commit = OffsetExpirationCondition(since_ms=None)
        if self.protocol_type is None:
            return since_commit
        if self.state is ClassicGroupState.EMPTY:
            return OffsetExpirationCondition(since_ms=self.current_state_timestamp_ms)
        stable_only = self.profile.has(Behaviour.ONLY_STABLE_GROUPS_EXPIRE_OFFSETS)
        if stable_only and self.state is not ClassicGroupState.STABLE:
            return None
        knows_topics = self.uses_consumer_group_protocol and self.subscribed_topics is not None
        return since_commit if knows_topics else None

    @property
    def uses_consumer_group_protocol(self) -> bool:
        """Whether the group's members are consumers.

        Source: ClassicGroup#usesConsumerGroupProtocol (4.3.1).
        """
        return self.protocol_type == CONSUMER_PROTOCOL_TYPE

    @override
    def is_subscribed_to_topic(self, topic: str) -> bool:
        """Return whether a consumer group's members subscribe to a topic. True if that is unknown.

        Source: ClassicGroup#isSubscribedToTopic (4.3.1).
        """
        if self.subscribed_topics is None:
            return self.uses_consumer_group_protocol
        return topic in self.subscribed_topics

    def compute_subscribed_topics(self) -> frozenset[str] | None:
        """Return the topics that the members' metadata for the selected protocol names, or None if unknown.

        Source: ClassicGroup#computeSubscribedTopics (4.3.1).
        """
        if not self.uses_consumer_group_protocol:
            return None
        if not self.members:
            return frozenset()
        if self.protocol_name is None:
            return None
        name = self.protocol_name
        try:
            return frozenset[str]().union(
                *(subscribed_topics(each.metadata(name)) for each in self.members.values())
            )
        except SubscriptionSchemaError:
            return None
        except IllegalStateError:
            if self.profile.has(Behaviour.MALFORMED_SUBSCRIPTION_THROWS):
                raise
            return None

    def init_next_generation(self, *, now_ms: Millis) -> None:
        """Increment the generation and leave PreparingRebalance.

        Source: ClassicGroup#initNextGeneration (4.3.1), GroupMetadata#initNextGeneration (3.9.2).
        """
        self.generation_id = GenerationId(as_int(self.generation_id + 1))
        if self.members:
            self.protocol_name = self.select_protocol()
            self.subscribed_topics = self.compute_subscribed_topics()
            self.transition_to(ClassicGroupState.COMPLETING_REBALANCE, now_ms=now_ms)
        else:
            self.protocol_name = None
            self.subscribed_topics = self.compute_subscribed_topics()
            self.transition_to(ClassicGroupState.EMPTY, now_ms=now_ms)
        self.pending_sync_members.clear()

    @override
    def check_invariants(self) -> None:
        """Assert the invariants that are true between any two inputs, whatever clients send."""
        has_members = bool(self.members)
        match self.state:
            case ClassicGroupState.EMPTY | ClassicGroupState.DEAD:
                assert not has_members or self.state is ClassicGroupState.DEAD
            case ClassicGroupState.COMPLETING_REBALANCE | ClassicGroupState.STABLE:
                assert has_members
                assert self.protocol_name is not None
            case ClassicGroupState.PREPARING_REBALANCE:
                assert not any(each.is_awaiting_sync for each in self.members.values())
            case _:
                assert_never(self.state)
        if self.state not in {ClassicGroupState.COMPLETING_REBALANCE, ClassicGroupState.STABLE}:
            assert not self.pending_sync_members or self.state is ClassicGroupState.DEAD
        if self.state is not ClassicGroupState.COMPLETING_REBALANCE:
            assert not any(each.is_awaiting_sync for each in self.members.values())
        self._check_membership()

    def _check_membership(self) -> None:
        assert all(key == member.member_id for key, member in self.members.items())
        assert (self.leader_id is None) == (not self.members)
        assert self.leader_id is None or self.leader_id in self.members
        assert set(self.leader_candidates) <= set(self.members)
        assert self.leader_id is None or self.leader_id in self.leader_candidates
        assert self.pending_join_members.isdisjoint(self.members)
        if not self.profile.has(Behaviour.REJECTION_ERASES_STATIC_MAPPING):
            # Only a replaced static member leaves an id that is not a member's.
            assert self.static_members or set(self.pending_sync_members) <= set(self.members)
            static = {
                each.group_instance_id: each.member_id
                for each in self.members.values()
                if each.group_instance_id is not None
            }
            assert self.static_members == static
