"""The known state of one classic group: members, generations, leaders, and assignments sent and received."""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from harness.invariants.exchange import (
    COORDINATOR_CHANGED,
    NO_ERROR,
    Exchange,
    binary,
    items,
    number,
    text,
)
from harness.invariants.violation import AtFault, Found, Invariant

TopicPartition: TypeAlias = tuple[str, int]

_VERSION: Final = struct.Struct(">h")
_COUNT: Final = struct.Struct(">i")
_LENGTH: Final = struct.Struct(">h")


def owned(assignment: bytes) -> frozenset[TopicPartition] | None:
    """Return the partitions of a serialized assignment, or None where the bytes are not an assignment.

    Source: ConsumerProtocol#deserializeAssignment (4.3.1). Versions differ only after the partitions.
    """
    try:
        return frozenset(_partitions(assignment))
    except (struct.error, UnicodeDecodeError):
        return None


def _partitions(assignment: bytes) -> list[TopicPartition]:
    found: list[TopicPartition] = []
    (topic_count,) = _COUNT.unpack_from(assignment, _VERSION.size)
    position = _VERSION.size + _COUNT.size
    for _ in range(topic_count):
        (length,) = _LENGTH.unpack_from(assignment, position)
        position += _LENGTH.size
        topic = assignment[position : position + length].decode()
        position += length
        (partition_count,) = _COUNT.unpack_from(assignment, position)
        position += _COUNT.size
        partitions = struct.unpack_from(f">{max(0, partition_count)}i", assignment, position)
        position += _COUNT.size * len(partitions)
        found += ((topic, partition) for partition in partitions)
    return found


_GENERATIONS_KEPT: Final = 8
_CONSUMERS: Final = "consumer"


@dataclass(slots=True)
class Generation:
    """One generation, as its members saw it."""

    number: int
    leaders: set[str] = field(default_factory=set)
    """Member ids of leaders in JoinGroup responses; a static leader that comes back has a new id."""
    reported: frozenset[str] = frozenset()
    """The members in the leader's JoinGroup response; empty while that response is unknown."""
    sent: list[Mapping[str, bytes]] = field(default_factory=list)
    """The leader's assignments by member id, one entry for each SyncGroup that contained some."""
    given: dict[str, bytes] = field(default_factory=dict)
    """Assignments that members received, by instance or else member id; the first makes it stable."""
    is_looked_through: bool = False
    """Whether its members were already compared with the assignments that the leader sent."""


@dataclass(slots=True)
class Member:
    """A member that may still be alive."""

    session_timeout_ms: int
    heard_ms: float


@dataclass(slots=True)
class Group:
    """A group, tracked through joins and syncs."""

    generations: dict[int, Generation] = field(default_factory=dict)
    members: dict[str, Member] = field(default_factory=dict)
    instances: dict[str, str] = field(default_factory=dict)
    """Member id to instance id."""
    is_consumers: bool = False
    joined_floor: list[tuple[int, int]] = field(default_factory=list)
    """Generations with the sequence number of the answer that first contained each, the latest last."""
    synced: int = -1
    """The latest generation that is certainly in the coordinator's log."""

    def asked(self, asked: Exchange) -> None:
        """Process a request of a member."""
        member_id = text(asked.request, "member_id")
        if instance_id := text(asked.request, "group_instance_id"):
            self.instances[member_id] = instance_id
        if member_id in self.members:
            self.members[member_id].heard_ms = asked.asked_ms
        if asked.api == "SyncGroup":
            self._assignments_sent(asked)

    def _assignments_sent(self, asked: Exchange) -> None:
        generation = self.generations.get(number(asked.request, "generation_id"))
        sent = {
            text(each, "member_id"): binary(each, "assignment")
            for each in items(asked.request, "assignments")
        }
        if generation is None or generation.given:
            return  # A stable generation is not assigned again.
        if text(asked.request, "member_id") in generation.leaders:
            generation.sent.append(sent)

    def answered(self, answered: Exchange) -> Iterator[Found]:
        """Process an answer to a member and yield the violations that it shows."""
        if answered.response.get("error_code") in COORDINATOR_CHANGED:
            self.coordinator_may_have_changed()
        if not answered.is_right:
            return
        match answered.api:
            case "JoinGroup":
                yield from self._joined(answered)
            case "SyncGroup":
                yield from self._synced(answered)
            case "LeaveGroup":
                self._left(answered)
            case _:
                pass

    def coordinator_may_have_changed(self) -> None:
        """Forget generations that only the former coordinator knew."""
        self.joined_floor = [each for each in self.joined_floor if each[0] <= self.synced]

    def removed(self) -> None:
        """Clear the state, since the group no longer exists."""
        self.generations.clear()
        self.members.clear()
        self.joined_floor.clear()
        self.synced = -1

    def _joined(self, answered: Exchange) -> Iterator[Found]:
        asked, fields = answered, answered.response
        self.is_consumers = text(asked.request, "protocol_type") == _CONSUMERS
        joined, leader = number(fields, "generation_id"), text(fields, "leader")
        if not leader:
            # In a consumer group each member has its own epoch, and the coordinator assigns.
            self.generations.pop(joined, None)
            return
        floor = max(
            (known for known, seen_at in self.joined_floor if seen_at < asked.asked_at), default=joined
        )
        if joined < floor:
            if joined == 1 and self._may_be_empty(asked.asked_ms):
                self.removed()
            else:
                yield (
                    Invariant.GENERATIONS_GROW,
                    AtFault.COORDINATOR,
                    f"a join was answered with generation {joined} after {floor} had been known",
                )
        self._note_member(answered)
        generation = self._generation(joined)
        self.joined_floor = [*self.joined_floor[-_GENERATIONS_KEPT:], (joined, answered.answered_at)]
        generation.leaders.add(leader)
        if leader == text(fields, "member_id") and not fields.get("skip_assignment"):
            generation.reported = frozenset(text(each, "member_id") for each in items(fields, "members"))

    def _note_member(self, answered: Exchange) -> None:
        member_id = text(answered.response, "member_id")
        if instance_id := text(answered.request, "group_instance_id"):
            for former in [known for known, whose in self.instances.items() if whose == instance_id]:
                if former != member_id:
                    self.members.pop(former, None)
            self.instances[member_id] = instance_id
        timeout_ms = number(answered.request, "session_timeout_ms")
        self.members[member_id] = Member(session_timeout_ms=timeout_ms, heard_ms=answered.answered_ms)

    def _generation(self, joined: int) -> Generation:
        if joined not in self.generations:
            self.generations[joined] = Generation(number=joined)
            for old in sorted(self.generations)[:-_GENERATIONS_KEPT]:
                if old != joined:
                    del self.generations[old]
        return self.generations[joined]

    def _may_be_empty(self, now_ms: float) -> bool:
        return all(now_ms - each.heard_ms > each.session_timeout_ms for each in self.members.values())

    def _left(self, answered: Exchange) -> None:
        refused = {
            (text(each, "member_id"), text(each, "group_instance_id"))
            for each in items(answered.response, "members")
            if each.get("error_code") != NO_ERROR
        }
        leaving = [*items(answered.request, "members")] or [answered.request]
        for each in leaving:
            member_id, instance_id = text(each, "member_id"), text(each, "group_instance_id")
            if (member_id, instance_id) in refused:
                continue
            gone = {member_id} if member_id else set()
            gone |= {known for known, whose in self.instances.items() if instance_id and whose == instance_id}
            for known in gone:
                self.members.pop(known, None)

    def _synced(self, answered: Exchange) -> Iterator[Found]:
        asked = answered
        synced = number(asked.request, "generation_id")
        self.synced = max(self.synced, synced)
        generation = self.generations.get(synced)
        if generation is None:
            return
        member_id = text(asked.request, "member_id")
        assignment = binary(answered.response, "assignment")
        if member_id in generation.leaders:
            yield from self._unassigned(generation)
        yield from self._not_from_leader(generation, member_id, assignment)
        yield from self._owned_twice(generation, member_id, assignment)

    def _unassigned(self, generation: Generation) -> Iterator[Found]:
        if not generation.reported or not generation.sent or generation.is_looked_through:
            return
        generation.is_looked_through = True
        assigned = {member_id for member_id, assignment in generation.sent[-1].items() if assignment}
        if missing := sorted(generation.reported - assigned):
            yield (
                Invariant.ALL_ASSIGNED,
                AtFault.CLIENTS,
                f"in generation {generation.number} the leader sent no assignment for {', '.join(missing)}",
            )

    def _not_from_leader(self, generation: Generation, member_id: str, assignment: bytes) -> Iterator[Found]:
        if not generation.reported:
            return  # The leader's response is unknown, or it had nothing to assign again.
        expected = [self._for(sent, member_id) for sent in generation.sent] or [b""]
        if assignment not in expected:
            sent = " or ".join(_reported(each) for each in expected)
            what = f"{member_id} was given {_reported(assignment)}, the leader had sent {sent}"
            yield Invariant.LEADER_ASSIGNS, AtFault.COORDINATOR, f"in generation {generation.number} {what}"

    def _for(self, sent: Mapping[str, bytes], member_id: str) -> bytes:
        """Return a member's assignment; a static member's may be under the member id it had before."""
        if member_id in sent or member_id not in self.instances:
            return sent.get(member_id, b"")
        instance_id = self.instances[member_id]
        return next((each for known, each in sent.items() if self.instances.get(known) == instance_id), b"")

    def _owned_twice(self, generation: Generation, member_id: str, assignment: bytes) -> Iterator[Found]:
        identity = self.instances.get(member_id, member_id)
        generation.given[identity] = assignment
        mine = owned(assignment) if self.is_consumers else None
        for other, given in generation.given.items() if mine else ():
            theirs = owned(given) if other != identity else None
            if mine and theirs and (twice := sorted(mine & theirs)):
                partitions = ", ".join(f"{topic}-{partition}" for topic, partition in twice)
                yield (
                    Invariant.ONE_OWNER,
                    AtFault.CLIENTS
                    if self._sent_both(generation, assignment, given)
                    else AtFault.COORDINATOR,
                    f"in generation {generation.number} {identity} and {other} both own {partitions}",
                )

    def _sent_both(self, generation: Generation, one: bytes, other: bytes) -> bool:
        return any({one, other} <= set(sent.values()) for sent in generation.sent)


def _reported(assignment: bytes) -> str:
    partitions = owned(assignment)
    if not assignment:
        return "nothing"
    if partitions is None:
        return f"{len(assignment)} bytes ({assignment[:16].hex()})"
    return ", ".join(f"{topic}-{partition}" for topic, partition in sorted(partitions)) or "no partitions"
