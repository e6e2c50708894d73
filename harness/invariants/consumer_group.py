"""The known state of one consumer group (KIP-848) and its members, and the violations that its answers show.

Of a member it is the partitions it may own and its epoch. A check that depends on a member's ownership must
be sure that it is still a member. It is, if a heartbeat was accepted within its heartbeat interval: session
timeouts are longer than that. Of members in the classic protocol nothing is known. All else that a group
answers, a replay compares with the reference.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from harness.invariants.exchange import NO_ERROR, Exchange, Fields, items, number, structure, text
from harness.invariants.violation import AtFault, Found, Invariant

TopicPartition: TypeAlias = tuple[str, int]
"""A topic's id and a partition's number."""
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
        for partition in _numbers(topic)
    )


def _numbers(topic: Fields) -> list[int]:
    value = topic.get("partitions")
    return [each for each in value if isinstance(each, int)] if isinstance(value, list | tuple) else []


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

    @property
    def owned(self) -> Owned:
        """The partitions that no other member may own while this one is a member."""
        return self.assigned | self.kept

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

    def _gone(self, member_id: str, instance_id: str) -> None:
        """Record that a member may have been removed, or may continue in the classic protocol."""
        for known, consumer in [*self.consumers.items()]:
            if known == member_id or (instance_id and consumer.instance_id == instance_id):
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
        self._replaced(member_id, consumer)
        yield from self._given_twice(answered, member_id, consumer)
        consumer.accepted(answered)

    def _replaced(self, member_id: str, consumer: Consumer) -> None:
        """Remove any other member with this member's instance id."""
        for known, other in [*self.consumers.items()]:
            if known != member_id and other.instance_id and other.instance_id == consumer.instance_id:
                del self.consumers[known]

    def _given_twice(self, answered: Exchange, member_id: str, consumer: Consumer) -> Iterator[Found]:
        """Report partitions that another member owns."""
        given = given_by(answered) or NOTHING
        for other_id, other in self.consumers.items():
            if other is consumer or not other.is_surely_member(answered.answered_ms):
                continue
            if twice := given & other.owned:
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
