"""The invariants: what is known of one group, and the violations that its requests and answers show.

Of a classic group it is what its leaders assign. Of a member of a consumer group (KIP-848) it is the
partitions it may own and its epoch. A check that depends on a member's ownership must be sure that it is
still a member. It is, if a heartbeat was accepted within its heartbeat interval: session timeouts are longer
than that. Of members in the classic protocol nothing is known. All else that a group answers, a replay
compares with the reference.

Of committed offsets it is which values are possible, given the writes and when they were answered. Sequence
numbers of events serve as time. A write that was answered before another was sent precedes it; of two writes
that overlap, either may be the later one.
"""

import math
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeAlias

from harness.apis.descriptor import NAMES_WRITTEN_OFFSETS, OffsetUse
from harness.apis.table import descriptor
from harness.invariants.exchange import (
    COORDINATOR_CHANGED,
    HEARTBEATS,
    NO_ERROR,
    Exchange,
    Fields,
    binary,
    items,
    number,
    numbers,
    partitions_in,
    structure,
    text,
)


class Invariant(StrEnum):
    """A statement that must be true."""

    ONE_OWNER = "one owner"
    """A partition has at most one owner: of those a leader assigns, or in a consumer group at any time.

    In a consumer group a member owns what an answer assigned to it, until it reports that it gave that up,
    joins anew, leaves, is fenced, or may have been removed because its session timed out.
    Source: ConsumerGroup#addPartitionEpochs, CurrentAssignmentBuilder#computeNextAssignment (4.3.1).
    """
    COMMITS_STAY = "commits stay"
    """A committed offset never decreases unless the lower offset was committed."""
    ALL_ASSIGNED = "all are assigned"
    """A leader assigns something to every member of its generation."""
    EPOCHS_GROW = "epochs grow"
    """A member's epoch falls only if it joins anew.

    Source: GroupMetadataManager#throwIfConsumerGroupMemberEpochIsInvalid, ConsumerGroupMember.Builder
    #updateMemberEpoch (4.3.1).
    """
    IDENTITY = "one member, one client"
    """No member id is used on two live connections, both of which join, or both of which heartbeat."""


class AtFault(StrEnum):
    """Who broke an invariant."""

    COORDINATOR = "coordinator"
    CLIENTS = "clients"
    """The bytes that clients sent break the invariant by themselves, whatever the answers."""


Found: TypeAlias = tuple[Invariant, AtFault, str]
"""The broken invariant, who is at fault, and what was found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """An invariant that was broken. One record for a target, a conversation and the event that shows it."""

    invariant: str
    """An `Invariant`."""
    party: str
    """An `AtFault`."""
    run_id: str
    target: str
    scenario_id: str
    group_id: str
    sequence: int
    """The sequence number of the event that shows it."""
    at_ms: float
    detail: str
    """For people: what was found, and what should have been."""


TopicPartition: TypeAlias = tuple[str, int]
"""A topic, or its id, and a partition's number."""


def owned(assignment: bytes) -> frozenset[TopicPartition] | None:
    """Return the partitions of a serialized assignment, or None where the bytes are not an assignment.

    Source: ConsumerProtocol#deserializeAssignment (4.3.1). Versions differ only after the partitions.
    """
    found: list[TopicPartition] = []
    try:
        (topic_count,) = struct.unpack_from(">i", assignment, 2)
        position = 6
        for _ in range(topic_count):
            (length,) = struct.unpack_from(">h", assignment, position)
            topic = assignment[position + 2 : position + 2 + length].decode()
            position += 2 + length
            (partition_count,) = struct.unpack_from(">i", assignment, position)
            partitions = struct.unpack_from(f">{max(0, partition_count)}i", assignment, position + 4)
            position += 4 * (1 + len(partitions))
            found += ((topic, partition) for partition in partitions)
    except (struct.error, UnicodeDecodeError):
        return None
    return frozenset(found)


_GENERATIONS_KEPT: Final = 8
_CONSUMERS: Final = "consumer"


@dataclass(frozen=True, slots=True)
class _Task:
    """What a leader has to assign in a generation."""

    members: frozenset[str]
    """The members in its JoinGroup response."""
    is_of_consumers: bool


@dataclass(slots=True)
class Group:
    """A group, whose leaders are tracked through joins and syncs."""

    _tasks: dict[tuple[int, str], _Task] = field(default_factory=dict)
    """By generation and leader, until the leader's assignments have been accepted."""

    def answered(self, answered: Exchange) -> Iterator[Found]:
        """Process an answer to a member and yield the violations that it shows."""
        if answered.error != NO_ERROR:
            return
        match answered.api:
            case "JoinGroup":
                self._joined(answered)
            case "SyncGroup":
                yield from self._synced(answered)
            case _:
                pass

    def removed(self) -> None:
        """Clear the state, since the group no longer exists."""
        self._tasks.clear()

    def _joined(self, answered: Exchange) -> None:
        fields = answered.response
        leader, generation = text(fields, "leader"), number(fields, "generation_id")
        members = frozenset(text(each, "member_id") for each in items(fields, "members"))
        if members and leader == text(fields, "member_id") and not fields.get("skip_assignment"):
            is_of_consumers = text(answered.request, "protocol_type") == _CONSUMERS
            self._tasks[generation, leader] = _Task(members, is_of_consumers)
            for old in sorted(self._tasks)[:-_GENERATIONS_KEPT]:
                del self._tasks[old]

    def _synced(self, answered: Exchange) -> Iterator[Found]:
        asked = answered.request
        generation = number(asked, "generation_id")
        sent = {text(each, "member_id"): binary(each, "assignment") for each in items(asked, "assignments")}
        task = self._tasks.pop((generation, text(asked, "member_id")), None)
        if task is None:
            return
        if missing := sorted(task.members - {member for member, given in sent.items() if given}):
            what = f"in generation {generation} the leader sent no assignment for {', '.join(missing)}"
            yield Invariant.ALL_ASSIGNED, AtFault.CLIENTS, what
        if task.is_of_consumers:
            yield from _owned_twice(generation, sent)


def _owned_twice(generation: int, sent: Mapping[str, bytes]) -> Iterator[Found]:
    owners: dict[TopicPartition, str] = {}
    for member, assignment in sent.items():
        mine = owned(assignment) or frozenset()
        for topic, partition in sorted(mine & owners.keys()):
            both = f"{owners[topic, partition]} and {member}"
            what = f"in generation {generation} the leader gave {topic}-{partition} to {both}"
            yield Invariant.ONE_OWNER, AtFault.CLIENTS, what
        owners |= dict.fromkeys(mine, member)


Owned: TypeAlias = frozenset[TopicPartition]

NOTHING: Final[Owned] = frozenset()
JOINS: Final = 0
"""The member epoch of a heartbeat that joins. Lower epochs leave."""
_UNCHANGED: Final = -1
_GIVES_ALL_UP: Final = frozenset(
    ("UNKNOWN_MEMBER_ID", "FENCED_MEMBER_EPOCH", "FENCED_INSTANCE_ID", "GROUP_ID_NOT_FOUND")
)
"""Errors on which a member gives up its partitions.

Source: AbstractHeartbeatRequestManager#onErrorResponse (4.3.1).
"""


def owned_partitions(fields: Fields) -> Owned | None:
    """Return the partitions that a structure lists, or None where the field is null or missing."""
    if fields.get("topic_partitions") is None:
        return None
    return frozenset(
        (text(topic, "topic_id"), partition)
        for topic in items(fields, "topic_partitions")
        for partition in numbers(topic, "partitions")
    )


@dataclass(slots=True)
class Consumer:
    """A member that uses the consumer protocol."""

    spoke_anew_at: int
    """Place of its latest request that gave up everything; answers to earlier requests are ignored."""
    instance_id: str = ""
    epoch: int = 0
    """The highest epoch that an answer contained since the member joined."""
    epoch_known_at: int = -1
    assigned: Owned = NOTHING
    """The assignment in the latest answer that contained one."""
    kept: Owned = NOTHING
    """The partitions that were assigned to it and that it has not reported as given up."""
    accepted_ms: float = -math.inf
    """When the member sent the latest heartbeat that was accepted."""
    interval_ms: int = 0
    """The heartbeat interval, which is shorter than a session timeout."""
    rebalance_timeout_ms: int = 0
    revokes_since_ms: float | None = None
    """When the revocation that it still has to complete began; None while it has nothing to give up."""

    def asked(self, asked: Exchange) -> None:
        """Process a heartbeat request of the member."""
        self.instance_id = text(asked.request, "instance_id") or self.instance_id
        if number(asked.request, "member_epoch") <= JOINS:
            self.spoke_anew_at = asked.asked_at
            self.gives_all_up()
        elif (kept := owned_partitions(asked.request)) is not None:
            self.kept &= kept

    def gives_all_up(self) -> None:
        """Record that the member gave up all its partitions."""
        self.assigned = self.kept = NOTHING
        self.revokes_since_ms = None

    def accepted(self, answered: Exchange) -> None:
        """Process an answer without an error."""
        fields, sent_ms = answered.request, answered.asked_ms
        epoch = number(answered.response, "member_epoch")
        self.epoch = epoch if number(fields, "member_epoch") == JOINS else max(self.epoch, epoch)
        self.epoch_known_at = answered.answered_at
        self.accepted_ms = max(self.accepted_ms, sent_ms)
        self.interval_ms = number(answered.response, "heartbeat_interval_ms")
        if (timeout_ms := number(fields, "rebalance_timeout_ms")) != _UNCHANGED:
            self.rebalance_timeout_ms = timeout_ms
        if (given := given_by(answered)) is not None:
            self.assigned = given
            self.kept |= given
        if self.kept <= self.assigned:
            self.revokes_since_ms = None
        elif self.revokes_since_ms is None:
            self.revokes_since_ms = sent_ms

    def is_surely_member(self, now_ms: float) -> bool:
        """Return whether the member cannot have been removed for missed heartbeats or a slow revocation."""
        if now_ms - self.accepted_ms > self.interval_ms:
            return False
        since_ms = self.revokes_since_ms
        return since_ms is None or now_ms - since_ms < self.rebalance_timeout_ms


def given_by(answered: Exchange) -> Owned | None:
    """Return the assignment in an answer, or None where it contains none."""
    assignment = structure(answered.response, "assignment")
    return None if assignment is None else owned_partitions(assignment)


@dataclass(slots=True)
class ConsumerGroup:
    """A consumer group, tracked through heartbeats."""

    names: dict[str, str]
    """Topic ids to names."""
    consumers: dict[str, Consumer]

    def asked(self, asked: Exchange) -> None:
        """Process a request."""
        member_id = text(asked.request, "member_id")
        match asked.api:
            case "ConsumerGroupHeartbeat" if member_id:
                self.consumers.setdefault(member_id, Consumer(spoke_anew_at=-1)).asked(asked)
            case "LeaveGroup":
                for each in [*items(asked.request, "members")] or [asked.request]:
                    self._gone(text(each, "member_id"), text(each, "group_instance_id"))
            case "JoinGroup":
                self._gone(member_id, text(asked.request, "group_instance_id"))
            case _:
                pass

    def _gone(self, member_id: str, instance_id: str, *, but: str = "") -> None:
        """Record that members may have been removed, or may continue in the classic protocol, all but one."""
        for known, consumer in [*self.consumers.items()]:
            is_same = known == member_id or (instance_id and consumer.instance_id == instance_id)
            if is_same and known != but:
                del self.consumers[known]

    def removed(self) -> None:
        """Clear the state, since the group no longer exists."""
        self.consumers.clear()

    def answered(self, answered: Exchange) -> Iterator[Found]:
        """Process an answer and yield the violations that it shows."""
        if answered.api != "ConsumerGroupHeartbeat":
            return
        error = text(answered.response, "error_code")
        member_id = text(answered.response, "member_id") or text(answered.request, "member_id")
        consumer = self.consumers.setdefault(member_id, Consumer(spoke_anew_at=answered.asked_at))
        if answered.asked_at < consumer.spoke_anew_at:
            return
        if error in _GIVES_ALL_UP:
            consumer.gives_all_up()
        if error != NO_ERROR:
            return
        yield from _epoch_fell(answered, member_id, consumer)
        if number(answered.request, "member_epoch") < JOINS:
            del self.consumers[member_id]
            return
        self._gone("", consumer.instance_id, but=member_id)
        yield from self._given_twice(answered, member_id, consumer)
        consumer.accepted(answered)

    def _given_twice(self, answered: Exchange, member_id: str, consumer: Consumer) -> Iterator[Found]:
        """Report partitions that another member owns."""
        given = given_by(answered) or NOTHING
        for other_id, other in self.consumers.items():
            if other is consumer or not other.is_surely_member(answered.answered_ms):
                continue
            if twice := given & (other.assigned | other.kept):
                partitions = sorted(f"{self.names.get(topic, topic)}-{index}" for topic, index in twice)
                what = f"{member_id} was given {', '.join(partitions)}, which {other_id} has not given up"
                yield Invariant.ONE_OWNER, AtFault.COORDINATOR, what


def _epoch_fell(answered: Exchange, member_id: str, consumer: Consumer) -> Iterator[Found]:
    said, epoch = number(answered.request, "member_epoch"), number(answered.response, "member_epoch")
    is_known = said > JOINS and consumer.epoch_known_at < answered.asked_at
    floor = max(said, consumer.epoch) if is_known else said
    if said != JOINS and epoch < floor:
        what = f"{member_id} was answered epoch {epoch} after it had been in {floor}"
        yield Invariant.EPOCHS_GROW, AtFault.COORDINATOR, what


_WRITES_KEPT: Final = 32
_NO_OFFSET: Final = -1
UNDECIDED: Final = COORDINATOR_CHANGED | {
    "REQUEST_TIMED_OUT",
    "UNKNOWN_SERVER_ERROR",
    "NETWORK_EXCEPTION",
    "KAFKA_STORAGE_ERROR",
}
"""Errors of a commit that may be in the log all the same."""


@dataclass(slots=True)
class Write:
    """A value that may have been written as a committed offset."""

    value: int
    asked_at: int
    answered_at: int | None = None
    """None while it is unknown when the write took effect, or whether it took effect at all."""


@dataclass(slots=True)
class Commits:
    """The committed offsets of one group."""

    may_expire: bool
    """Whether an offset may disappear without a request that deletes it."""
    names: dict[str, str]
    """Topic ids to names."""
    _writes: dict[TopicPartition, list[Write]] = field(default_factory=dict)
    _open: dict[int, list[tuple[TopicPartition, Write]]] = field(default_factory=dict)
    """Writes of unanswered requests, by the request's sequence number."""

    def asked(self, asked: Exchange) -> None:
        """Process a request that writes offsets."""
        use = descriptor(asked.api).offsets
        if use not in NAMES_WRITTEN_OFFSETS:
            return
        if number(asked.request, "retention_time_ms") >= 0:
            self.may_expire = True
        written: list[tuple[TopicPartition, Write]] = []
        for partition, entry in self._entries(asked.request):
            value = _NO_OFFSET if use is OffsetUse.DELETES else number(entry, "committed_offset")
            written.append((partition, self._add(partition, Write(value, asked.asked_at))))
        if use is not OffsetUse.COMMITS_AT_END:
            # The offsets that a transaction commits take effect when it ends, whenever that is.
            self._open[asked.asked_at] = written

    def answered(self, answered: Exchange, of_group: Fields) -> Iterator[Found]:
        """Process an answer, a part of which is about this group; yield the violations that it shows."""
        match descriptor(answered.api).offsets:
            case OffsetUse.COMMITS | OffsetUse.DELETES:
                self._decided(answered)
            case OffsetUse.FETCHES:
                yield from self._fetched(answered, of_group)
            case _:
                pass

    def removed(self, answered: Exchange) -> None:
        """Record that the group was removed with all its offsets."""
        at = (answered.asked_at, answered.answered_at)
        for partition in self._writes:
            self._add(partition, Write(_NO_OFFSET, *at))

    def topic_removed(self, topic: str, answered: Exchange) -> None:
        """Record that a topic was removed; its offsets are removed some time later."""
        for partition in self._writes:
            if partition[0] == topic:
                self._add(partition, Write(_NO_OFFSET, answered.asked_at))

    def _decided(self, answered: Exchange) -> None:
        errors = {
            partition: text(entry, "error_code") for partition, entry in self._entries(answered.response)
        }
        overall = text(answered.response, "error_code") or NO_ERROR
        for partition, write in self._open.pop(answered.asked_at, ()):
            error = errors.get(partition, overall) if overall == NO_ERROR else overall
            if error == NO_ERROR:
                write.answered_at = answered.answered_at
            elif error not in UNDECIDED:
                self._writes[partition].remove(write)

    def _fetched(self, answered: Exchange, of_group: Fields) -> Iterator[Found]:
        if text(of_group, "error_code") not in ("", NO_ERROR):
            return
        for partition, entry in self._entries(of_group):
            value = number(entry, "committed_offset")
            if text(entry, "error_code") != NO_ERROR or self._is_explained(partition, value, answered):
                continue
            latest = self._latest_before(partition, answered.asked_at)
            self._add(partition, Write(value, answered.asked_at, answered.answered_at))
            if latest is not None and value < latest and not (value == _NO_OFFSET and self.may_expire):
                topic, index = partition
                what = f"{topic}-{index} was committed at {latest} and found at {value}, where nobody put it"
                yield Invariant.COMMITS_STAY, AtFault.COORDINATOR, what

    def _is_explained(self, partition: TopicPartition, value: int, answered: Exchange) -> bool:
        return any(
            write.asked_at < answered.answered_at and not self._is_past(partition, write, answered)
            for write in self._writes.get(partition, ())
            if write.value == value
        )

    def _is_past(self, partition: TopicPartition, write: Write, answered: Exchange) -> bool:
        """Return whether another value had certainly replaced the write before the fetch was sent."""
        if write.answered_at is None:
            return False
        return any(
            other.asked_at > write.answered_at
            and other.answered_at is not None
            and other.answered_at < answered.asked_at
            for other in self._writes[partition]
        )

    def _latest_before(self, partition: TopicPartition, at: int) -> int | None:
        certain = [
            (write.answered_at, write.value)
            for write in self._writes.get(partition, ())
            if write.answered_at is not None and write.answered_at < at
        ]
        return max(certain)[1] if certain else None

    def _add(self, partition: TopicPartition, write: Write) -> Write:
        writes = self._writes.setdefault(partition, [])
        writes.append(write)
        del writes[:-_WRITES_KEPT]
        return write

    def _entries(self, fields: Fields) -> Iterator[tuple[TopicPartition, Fields]]:
        for topic, entry in partitions_in(fields):
            topic_id = text(topic, "topic_id")
            name = text(topic, "name") or self.names.get(topic_id, topic_id)
            yield (name, number(entry, "partition_index")), entry


@dataclass(slots=True)
class Identity:
    """The connections on which each member of one group joins, and on which it heartbeats.

    A member may join on one connection and heartbeat on another, and it may connect anew. They are two
    members if a connection goes on after another one did the same.
    """

    _last: dict[tuple[str, str], list[Exchange]] = field(default_factory=dict)
    """By member id and API, the last request on each of the last two connections."""
    _given: dict[str, set[str]] = field(default_factory=dict)
    """The connections on which the coordinator gave out a member id."""
    _found: set[str] = field(default_factory=set)

    def asked(self, asked: Exchange) -> Iterator[Found]:
        """Process a request and yield the violation that it shows."""
        member_id = text(asked.request, "member_id")
        if not member_id or asked.api not in ("JoinGroup", "Heartbeat", *HEARTBEATS):
            return
        last = self._last.setdefault((member_id, asked.api), [])
        if last and last[-1].connection == asked.connection:
            last[-1] = asked
            return
        if member_id not in self._found and any(each.connection == asked.connection for each in last):
            self._found.add(member_id)
            clients = " and ".join(f"{each.actor} ({each.connection})" for each in (last[-1], asked))
            given = {last[-1].connection, asked.connection} <= self._given.get(member_id, set())
            what = f"{member_id} sends {asked.api} on two live connections, of {clients}"
            yield Invariant.IDENTITY, AtFault.COORDINATOR if given else AtFault.CLIENTS, what
        self._last[member_id, asked.api] = [*last[-1:], asked]

    def answered(self, answered: Exchange) -> None:
        """Process an answer, which may give out a member id."""
        given = text(answered.response, "member_id")
        if given and not text(answered.request, "member_id"):
            self._given.setdefault(given, set()).add(answered.connection)
