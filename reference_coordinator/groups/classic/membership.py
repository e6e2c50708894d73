"""The members and leader of a classic group, and the only code that changes its state."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from reference_coordinator.core.choices import Choices
from reference_coordinator.core.errors import CoordinatorError, Errors, IllegalStateError
from reference_coordinator.core.ids import (
    GenerationId,
    GroupId,
    GroupInstanceId,
    MemberId,
    Millis,
    ResponseToken,
)
from reference_coordinator.groups.classic.member import ClassicGroupMember
from reference_coordinator.groups.classic.state import VALID_PREVIOUS_STATES, ClassicGroupState
from reference_coordinator.groups.group import Group
from reference_coordinator.messages import JoinGroupRequestProtocol
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.profile.profiles import Profile

BEFORE_FIRST_GENERATION: Final = GenerationId(0)
"""The generation of a group that has never completed a join phase."""


@dataclass(slots=True, kw_only=True, eq=False)
class ClassicGroupMembership(Group):
    """The members of one classic group, and its generation, protocol and leader.

    Source: ClassicGroup (4.3.1).
    """

    group_id: GroupId
    profile: Profile
    choices: Choices
    current_state_timestamp_ms: Millis | None
    """When the group entered its state. None if the log did not contain it."""
    state: ClassicGroupState = ClassicGroupState.EMPTY
    previous_state: ClassicGroupState = ClassicGroupState.DEAD
    generation_id: GenerationId = BEFORE_FIRST_GENERATION
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader_id: MemberId | None = None
    leader_candidates: tuple[MemberId, ...] = ()
    """The members that may be the leader in Kafka, including the leader here. Kafka chooses by map order."""
    new_member_added: bool = False
    """Whether a member joined since the initial delay was last checked."""
    subscribed_topics: frozenset[str] | None = None
    """The topics that a consumer group's members subscribe to. None if unknown."""
    members: dict[MemberId, ClassicGroupMember] = field(default_factory=dict)
    """In the order in which they joined."""
    static_members: dict[GroupInstanceId, MemberId] = field(default_factory=dict)
    pending_join_members: set[MemberId] = field(default_factory=set)
    pending_sync_members: dict[MemberId, None] = field(default_factory=dict)
    removed_at_once: frozenset[MemberId] = frozenset()
    """The members that a rebalance timeout of 0 or less removed before they could sync."""
    """The members that have not synced in this generation. A dict, because the order matters.

    A replaced static member stays in it with its old id, so that no SyncGroup can remove it any more.
    Releases in which pending syncs do not expire have no such set.
    """

    def transition_to(self, state: ClassicGroupState, *, now_ms: Millis) -> None:
        """Enter a state.

        Raises:
            IllegalStateError: there is no transition from the current state.

        Source: ClassicGroup#transitionTo (4.3.1), GroupMetadata#transitionTo (3.9.2).
        """
        if self.state not in VALID_PREVIOUS_STATES[state]:
            # This can happen if a deadline was set for an earlier group with this id.
            raise IllegalStateError("Group should be in another state before moving")
        self.previous_state = self.state
        self.state = state
        self.current_state_timestamp_ms = now_ms

    @property
    def can_rebalance(self) -> bool:
        """Whether a rebalance may begin. Source: ClassicGroup#canRebalance (4.3.1)."""
        return self.state in VALID_PREVIOUS_STATES[ClassicGroupState.PREPARING_REBALANCE]

    def add(self, member: ClassicGroupMember) -> None:
        """Add a member. Its JoinGroup, if any, is already parked on it.

        Source: ClassicGroup#add (4.3.1).
        """
        if member.group_instance_id is not None:
            if member.group_instance_id in self.static_members:
                raise IllegalStateError("Static member cannot be added, it is already a member")
            self.static_members[member.group_instance_id] = member.member_id
        if not self.members:
            self.protocol_type = member.protocol_type
        if self.protocol_type != member.protocol_type:
            raise IllegalStateError("The group and member's protocol type must be the same")
        if not self.supports_protocols(member.protocol_type, member.supported_protocols):
            raise IllegalStateError("None of the member's protocols can be supported")
        if self.leader_id is None:
            self._lead(member.member_id, (member.member_id,))
        self.members[member.member_id] = member
        self.pending_join_members.discard(member.member_id)

    def remove(self, member_id: MemberId) -> None:
        """Remove a member or pending member. If it was the leader, choose a new one.

        Source: ClassicGroup#remove (4.3.1), GroupMetadata#remove (3.9.2).
        """
        removed = self.members.pop(member_id, None)
        if removed is not None and removed.group_instance_id is not None:
            self.static_members.pop(removed.group_instance_id, None)
        if member_id in self.leader_candidates:
            self._replace_leader(member_id)
        if self.profile.has(Behaviour.REMOVAL_FORGETS_PENDING_MEMBER):
            self.pending_join_members.discard(member_id)
        self.pending_sync_members.pop(member_id, None)

    def remove_pending_member(self, member_id: MemberId) -> None:
        """Remove a pending member. Source: GroupMetadata#removePendingMember (2.8.2)."""
        self.pending_join_members.discard(member_id)

    def replace_static_member(
        self, group_instance_id: GroupInstanceId, old_member_id: MemberId, new_member_id: MemberId
    ) -> ClassicGroupMember:
        """Give a static member a new id. None of its requests may be parked.

        Source: ClassicGroup#replaceStaticMember (4.3.1), GroupMetadata#replaceStaticMember (3.9.2).
        """
        member = self.members.pop(old_member_id, None)
        if member is None:
            raise IllegalStateError("Cannot replace non-existing member id")
        if self.profile.has(Behaviour.NEWNESS_SURVIVES_REPLACEMENT):
            member.member_id = new_member_id
        else:
            # A new object: pending responses and timers of the old one must not affect this one.
            member = replace(member, member_id=new_member_id, is_new=False)
        self.members[new_member_id] = member
        if self.leader_id is not None:
            renamed = {old_member_id: new_member_id}
            candidates = tuple(renamed.get(each, each) for each in self.leader_candidates)
            self._lead(renamed.get(self.leader_id, self.leader_id), candidates)
        self.static_members[group_instance_id] = new_member_id
        return member

    def update_member(
        self,
        member: ClassicGroupMember,
        protocols: tuple[JoinGroupRequestProtocol, ...],
        *,
        rebalance_timeout_ms: Millis,
        session_timeout_ms: Millis,
        awaiting_join: ResponseToken | None,
    ) -> None:
        """Replace a member's protocols and timeouts, and park its JoinGroup.

        A JoinGroup that was parked before is dropped and never answered.

        Source: ClassicGroup#updateMember (4.3.1), GroupMetadata#updateMember (3.9.2).
        """
        member.supported_protocols = protocols
        if self.profile.has(Behaviour.REJOIN_UPDATES_TIMEOUTS):
            member.rebalance_timeout_ms = rebalance_timeout_ms
            member.session_timeout_ms = session_timeout_ms
        member.awaiting_join = awaiting_join

    def validate_member(
        self,
        member_id: MemberId,
        group_instance_id: GroupInstanceId | None,
        *,
        unknown_instance_is_refused: bool,
    ) -> None:
        """Check that the member exists and has not been replaced.

        Raises:
            CoordinatorError: UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID.

        Source: ClassicGroup#validateMember (4.3.1), GroupCoordinator#validateCurrentMember (3.9.2).
        """
        if group_instance_id is not None:
            existing = self.static_members.get(group_instance_id)
            if existing is None and unknown_instance_is_refused:
                raise CoordinatorError(Errors.UNKNOWN_MEMBER_ID)
            if existing is not None and existing != member_id:
                raise CoordinatorError(Errors.FENCED_INSTANCE_ID)
        if member_id not in self.members:
            raise CoordinatorError(Errors.UNKNOWN_MEMBER_ID)

    @property
    def num_awaiting_join_response(self) -> int:
        """The number of parked JoinGroups. Source: ClassicGroup#numAwaitingJoinResponse (4.3.1)."""
        return sum(member.is_awaiting_join for member in self.members.values())

    @property
    def has_all_members_joined(self) -> bool:
        """Whether all members have joined and no member is pending.

        Source: ClassicGroup#hasAllMembersJoined (4.3.1).
        """
        return len(self.members) == self.num_awaiting_join_response and not self.pending_join_members

    @property
    def has_received_sync_from_all_members(self) -> bool:
        """Whether every member has synced in this generation.

        Source: ClassicGroup#hasReceivedSyncFromAllMembers (4.3.1).
        """
        return not self.pending_sync_members

    @property
    def not_yet_rejoined_members(self) -> list[ClassicGroupMember]:
        """The members that have not rejoined. Source: ClassicGroup#notYetRejoinedMembers (4.3.1)."""
        return [member for member in self.members.values() if not member.is_awaiting_join]

    @property
    def rebalance_timeout_ms(self) -> Millis:
        """The longest rebalance timeout of any member. Source: ClassicGroup#rebalanceTimeoutMs (4.3.1)."""
        return max([Millis(0), *(each.rebalance_timeout_ms for each in self.members.values())])

    def is_leader(self, member_id: MemberId) -> bool:
        """Return whether the member is the leader. Source: ClassicGroup#isLeader (4.3.1)."""
        return self.leader_id == member_id

    def maybe_elect_new_joined_leader(self) -> bool:
        """Make a member that has joined the leader. Return False if none has.

        Source: ClassicGroup#maybeElectNewJoinedLeader (4.3.1).
        """
        if self.leader_id is None:
            return False
        joined = [each.member_id for each in self.members.values() if each.is_awaiting_join]
        if not joined:
            return False
        fit = tuple(each for each in self.leader_candidates if each in joined)
        possible = fit if len(fit) == len(self.leader_candidates) else tuple(joined)
        leader = self.leader_id if self.leader_id in joined else self.choices.leader(joined)
        self._lead(leader, possible)
        return True

    def _replace_leader(self, member_id: MemberId) -> None:
        remaining = tuple(self.members)
        if not remaining:
            self.leader_id = None
            self.leader_candidates = ()
            return
        leader = self.leader_id
        if leader == member_id or leader is None:
            leader = self.choices.leader(remaining)
        self._lead(leader, remaining)

    def _lead(self, leader: MemberId, candidates: tuple[MemberId, ...]) -> None:
        self.leader_id = leader
        self.leader_candidates = candidates

    def supports_protocols(self, protocol_type: str, protocols: Iterable[JoinGroupRequestProtocol]) -> bool:
        """Return whether a member with these protocols could join: all members support one of them.

        A name that one member lists twice counts twice, so it never equals the number of members.

        Source: ClassicGroup#supportsProtocols (4.3.1).
        """
        names = {protocol.name for protocol in protocols}
        if self.state is ClassicGroupState.EMPTY:
            return bool(protocol_type) and bool(names)
        counts = self._supported_protocols()
        known_to_all = (counts[name] == len(self.members) for name in names)
        return self.protocol_type == protocol_type and any(known_to_all)

    def select_protocol(self) -> str:
        """Return the protocol with the most votes among those that every member supports.

        Source: ClassicGroup#selectProtocol (4.3.1), GroupMetadata#selectProtocol (3.9.2).
        """
        if not self.members:
            raise IllegalStateError("Cannot select protocol for empty group")
        counts = self._supported_protocols()
        candidates = {name for name, count in counts.items() if count == len(self.members)}
        votes = Counter(member.vote(candidates) for member in self.members.values())
        most = max(votes.values())
        tied = [name for name, count in votes.items() if count == most]
        return self.choices.protocol(tied, self.profile.coordinator)

    def _supported_protocols(self) -> Counter[str]:
        return Counter(
            protocol.name for member in self.members.values() for protocol in member.supported_protocols
        )
