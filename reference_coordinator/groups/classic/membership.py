"""Who is in a classic group, who leads it, and the only writer of its state."""

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
"""The generation of a group that never completed a join phase."""


@dataclass(slots=True, kw_only=True, eq=False)
class ClassicGroupMembership(Group):
    """The members of one classic group, and what they agree on. Source: ClassicGroup (4.3.1)."""

    group_id: GroupId
    profile: Profile
    choices: Choices
    current_state_timestamp_ms: Millis | None
    """When it entered its state; None where the log did not say."""
    state: ClassicGroupState = ClassicGroupState.EMPTY
    previous_state: ClassicGroupState = ClassicGroupState.DEAD
    generation_id: GenerationId = BEFORE_FIRST_GENERATION
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader_id: MemberId | None = None
    leader_candidates: tuple[MemberId, ...] = ()
    """Who might lead in Kafka by now, the leader among them: more than one after a choice by map order."""
    new_member_added: bool = False
    """Whether somebody joined since the initial delay was last looked at."""
    subscribed_topics: frozenset[str] | None = None
    """What a consumer group's members subscribe to; None where that is not known."""
    members: dict[MemberId, ClassicGroupMember] = field(default_factory=dict)
    """In the order in which they came."""
    static_members: dict[GroupInstanceId, MemberId] = field(default_factory=dict)
    pending_join_members: set[MemberId] = field(default_factory=set)
    pending_sync_members: dict[MemberId, None] = field(default_factory=dict)
    """Who has not synced in this generation; a dict for its order.

    A static member that is replaced stays in it with its old id, so that nobody can sync for it any more.
    Releases that let no pending sync expire have no such set.
    """

    def transition_to(self, state: ClassicGroupState, *, now_ms: Millis) -> None:
        """Enter a state.

        Raises:
            IllegalStateError: the group cannot come from the state that it is in.

        Source: ClassicGroup#transitionTo (4.3.1), GroupMetadata#transitionTo (3.9.2).
        """
        if self.state not in VALID_PREVIOUS_STATES[state]:
            # A deadline that was set for another group of this id may bring this about.
            raise IllegalStateError("Group should be in another state before moving")
        self.previous_state = self.state
        self.state = state
        self.current_state_timestamp_ms = now_ms

    @property
    def can_rebalance(self) -> bool:
        """Whether a rebalance may begin. Source: ClassicGroup#canRebalance (4.3.1)."""
        return self.state in VALID_PREVIOUS_STATES[ClassicGroupState.PREPARING_REBALANCE]

    def add(self, member: ClassicGroupMember) -> None:
        """Take in a member; its JoinGroup, if any, is parked on it already.

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
        """Drop a member or pending member; if it led, somebody else leads.

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
        """Forget an id that was given out. Source: GroupMetadata#removePendingMember (2.8.2)."""
        self.pending_join_members.discard(member_id)

    def replace_static_member(
        self, group_instance_id: GroupInstanceId, old_member_id: MemberId, new_member_id: MemberId
    ) -> ClassicGroupMember:
        """Give a static member a new id; nothing of it may be parked any more.

        Source: ClassicGroup#replaceStaticMember (4.3.1), GroupMetadata#replaceStaticMember (3.9.2).
        """
        member = self.members.pop(old_member_id, None)
        if member is None:
            raise IllegalStateError("Cannot replace non-existing member id")
        if self.profile.has(Behaviour.NEWNESS_SURVIVES_REPLACEMENT):
            member.member_id = new_member_id
        else:
            # Another object: what is still to be told to the former one must not reach this one.
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
        """Let a member bring new protocols and timeouts and park its JoinGroup.

        What it had parked before is forgotten, hence never answered.

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
        """Refuse who is not a member, or was replaced.

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
        """How many JoinGroups are parked. Source: ClassicGroup#numAwaitingJoinResponse (4.3.1)."""
        return sum(member.is_awaiting_join for member in self.members.values())

    @property
    def has_all_members_joined(self) -> bool:
        """Whether nobody is missing, pending ones included.

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
        """Who is missing. Source: ClassicGroup#notYetRejoinedMembers (4.3.1)."""
        return [member for member in self.members.values() if not member.is_awaiting_join]

    @property
    def rebalance_timeout_ms(self) -> Millis:
        """The longest that any member asks for. Source: ClassicGroup#rebalanceTimeoutMs (4.3.1)."""
        return max([Millis(0), *(each.rebalance_timeout_ms for each in self.members.values())])

    def is_leader(self, member_id: MemberId) -> bool:
        """Whether that member leads. Source: ClassicGroup#isLeader (4.3.1)."""
        return self.leader_id == member_id

    def maybe_elect_new_joined_leader(self) -> bool:
        """Let somebody lead who has joined; False if there is nobody.

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
        """Whether who brings these could join: one of them is known to every member there is.

        A name that a member lists twice counts twice, so that nobody supports it by this reckoning.

        Source: ClassicGroup#supportsProtocols (4.3.1).
        """
        names = {protocol.name for protocol in protocols}
        if self.state is ClassicGroupState.EMPTY:
            return bool(protocol_type) and bool(names)
        counts = self._supported_protocols()
        known_to_all = (counts[name] == len(self.members) for name in names)
        return self.protocol_type == protocol_type and any(known_to_all)

    def select_protocol(self) -> str:
        """The protocol with the most votes among those that every member supports.

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
