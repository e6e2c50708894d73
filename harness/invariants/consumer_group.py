"""The known state of one consumer group (KIP-848) and its members, and the violations that its answers show.

Of a member it is the partitions it may own, its epoch, its subscription. Classic members have no member
epoch, and report by joining again what they gave up. A check that depends on a member's ownership must be
sure that it is still a member. It is, if a heartbeat was accepted within its heartbeat interval: session
timeouts are longer than that.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from harness.invariants.exchange import (
    COORDINATOR_CHANGED,
    NO_ERROR,
    Exchange,
    Fields,
    binary,
    items,
    number,
    structure,
    text,
    texts,
)
from harness.invariants.group import owned
from harness.invariants.violation import AtFault, Found, Invariant

TopicPartition: TypeAlias = tuple[str, int]
"""A topic's id and a partition's number."""
Owned: TypeAlias = frozenset[TopicPartition]

NOTHING: Final[Owned] = frozenset()
JOINS: Final = 0
"""The member epoch of a heartbeat that joins. Lower epochs leave."""
_UNCHANGED: Final = -1


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
    """A member that uses the consumer protocol or the classic protocol."""

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
    """The heartbeat interval. A session timeout is longer than that; a classic member's is not shorter."""
    is_classic: bool = False
    rebalance_timeout_ms: int = 0
    revokes_since_ms: float | None = None
    """When the revocation that it still has to complete began; None while it has nothing to give up."""
    subscribed: frozenset[str] | None = None
    """The subscribed topic names; None where they are unknown, or where it subscribes not only by name."""
    has_regex: bool = False

    @property
    def owned(self) -> Owned:
        """The partitions that no other member may own while this one is a member."""
        return self.assigned | self.kept

    def asked(self, asked: Exchange) -> None:
        """Process a heartbeat request of the member."""
        self.instance_id = text(asked.request, "instance_id") or self.instance_id
        self.is_classic = False
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
        self.subscribed = self.subscribed_by(fields)
        self.has_regex = self.has_regex_by(fields)
        if (given := given_by(answered)) is not None:
            self.assigned = given
            self.kept |= given
        if self.kept <= self.assigned:
            self.revokes_since_ms = None
        elif self.revokes_since_ms is None:
            self.revokes_since_ms = sent_ms

    def joined(self, asked: Exchange) -> None:
        """Record that it joined as a classic member; from then on it may have to revoke partitions."""
        self.is_classic, self.accepted_ms = True, asked.asked_ms
        self.rebalance_timeout_ms = number(asked.request, "rebalance_timeout_ms")
        self.interval_ms = min(self.rebalance_timeout_ms, number(asked.request, "session_timeout_ms"))

    def beat(self, asked: Exchange, *, joins_again: bool) -> None:
        """Record that it is still a classic member; with `joins_again`, it may have to revoke partitions."""
        if not joins_again:
            self.accepted_ms = max(self.accepted_ms, asked.asked_ms)
        elif self.revokes_since_ms is None:
            self.revokes_since_ms = asked.asked_ms

    def subscribed_by(self, fields: Fields) -> frozenset[str] | None:
        """Return the topic names that the member subscribes to after a request."""
        names = texts(fields, "subscribed_topic_names")
        return self.subscribed if names is None else names

    def has_regex_by(self, fields: Fields) -> bool:
        """Return whether the member subscribes with a regular expression after a request."""
        if fields.get("subscribed_topic_regex") is None:
            return self.has_regex
        return bool(text(fields, "subscribed_topic_regex"))

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


_UNKNOWN: Final = "UNKNOWN_MEMBER_ID"
_FENCED: Final = "FENCED_MEMBER_EPOCH"
_GIVES_ALL_UP: Final = frozenset((_UNKNOWN, _FENCED, "FENCED_INSTANCE_ID", "GROUP_ID_NOT_FOUND"))
"""Errors on which a member gives up its partitions.

Source: AbstractHeartbeatRequestManager#onErrorResponse (4.3.1).
"""
_REFUSALS: Final = frozenset((NO_ERROR, *_GIVES_ALL_UP))
"""Other errors may come from a failed write, which also reverts the state that caused earlier refusals."""
_CLASSIC_MEMBER: Final = 0
_JOINS_AGAIN: Final = "REBALANCE_IN_PROGRESS"
_EPOCHS: Final = ("group_epoch", "assignment_epoch")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Refused:
    """A heartbeat that was refused, and that must be refused again."""

    at: int
    epoch: int | None
    """None where the heartbeat is refused with any epoch."""
    kept: Owned | None

    def is_meant_by(self, asked: Exchange) -> bool:
        """Return whether a request that was sent later repeats the refused one."""
        if self.at >= asked.asked_at:
            return False
        same = (number(asked.request, "member_epoch"), owned_partitions(asked.request))
        return self.epoch is None or same == (self.epoch, self.kept)


@dataclass(slots=True)
class ConsumerGroup:
    """A consumer group, tracked through heartbeats and descriptions."""

    names: dict[str, str]
    """Topic ids to names."""
    consumers: dict[str, Consumer] = field(default_factory=dict)
    _refused: dict[tuple[str, str], list[_Refused]] = field(default_factory=dict)
    """By member and instance id."""
    _floors: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    """Epochs of the group, by connection and name, each with the sequence number of the answer."""
    _may_lag: bool = False
    """Whether a replaced coordinator that does not know of its replacement may still describe the group."""

    def asked(self, asked: Exchange) -> None:
        """Process a request."""
        self._forget_epochs_if_empty(asked.asked_ms)
        match asked.api:
            case "ConsumerGroupHeartbeat":
                self._heartbeat_asked(asked)
            case "LeaveGroup":
                for each in [*items(asked.request, "members")] or [asked.request]:
                    self._gone(text(each, "member_id"), text(each, "group_instance_id"))
            case "JoinGroup":
                member_id = text(asked.request, "member_id")
                self._gone(member_id, instance_id := text(asked.request, "group_instance_id"))
                self._may_join(member_id)
                if member_id:
                    self.consumers[member_id] = Consumer(
                        spoke_anew_at=asked.asked_at, instance_id=instance_id
                    )
            case _:
                pass

    def _heartbeat_asked(self, asked: Exchange) -> None:
        member_id = text(asked.request, "member_id")
        if not member_id:
            return
        self.consumers.setdefault(member_id, Consumer(spoke_anew_at=-1)).asked(asked)
        if number(asked.request, "member_epoch") == JOINS:
            self._may_join(member_id)

    def _gone(self, member_id: str, instance_id: str) -> None:
        """Record that a member may have been removed, or may continue in the classic protocol."""
        for known, consumer in [*self.consumers.items()]:
            if known == member_id or (instance_id and consumer.instance_id == instance_id):
                del self.consumers[known]

    def _may_join(self, member_id: str) -> None:
        for key in [key for key in self._refused if key[0] == member_id]:
            del self._refused[key]

    def coordinator_may_have_changed(self) -> None:
        """Forget what only the former coordinator knew; a replaced coordinator may still answer."""
        self._may_lag = True
        self._floors.clear()
        self._refused.clear()

    def removed(self) -> None:
        """Clear the state, since the group no longer exists."""
        self.consumers.clear()
        self._floors.clear()
        self._refused.clear()

    def answered(self, answered: Exchange, of_group: Fields) -> Iterator[Found]:
        """Process an answer and yield the violations that it shows.

        Args:
            answered: the whole answer.
            of_group: the part of the answer's fields that is about this group.
        """
        if text(of_group, "error_code") in COORDINATOR_CHANGED:
            self.coordinator_may_have_changed()
        match answered.api:
            case "ConsumerGroupHeartbeat":
                yield from self._heartbeat_answered(answered)
            case "ConsumerGroupDescribe":
                yield from self._described(answered, of_group)
            case "JoinGroup":
                self._joined(answered)
            case "SyncGroup":
                yield from self._synced(answered)
            case "Heartbeat":
                self._beat(answered)
            case _:
                pass

    def _joined(self, answered: Exchange) -> None:
        """Record a classic member that joined. The answer names no leader, since the coordinator assigns."""
        consumer = self.consumers.get(text(answered.response, "member_id"))
        if answered.is_right and not text(answered.response, "leader") and consumer is not None:
            consumer.joined(answered)

    def _synced(self, answered: Exchange) -> Iterator[Found]:
        member_id, consumer = text(answered.request, "member_id"), self._classic_member(answered)
        if consumer is None or not answered.is_right:
            return
        ids = {name: topic_id for topic_id, name in self.names.items()}
        found = owned(binary(answered.response, "assignment")) or NOTHING
        given = frozenset((ids[name], partition) for name, partition in found if name in ids)
        yield from self._given_twice(answered, member_id, consumer, given)
        consumer.assigned = given

    def _beat(self, answered: Exchange) -> None:
        """Record whether a classic member is still a member, and still owns its partitions."""
        consumer, error = self._classic_member(answered), text(answered.response, "error_code")
        if consumer is None:
            return
        if error in (NO_ERROR, _JOINS_AGAIN):
            consumer.beat(answered, joins_again=error == _JOINS_AGAIN)
        else:
            consumer.gives_all_up()

    def _classic_member(self, answered: Exchange) -> Consumer | None:
        consumer = self.consumers.get(text(answered.request, "member_id"))
        if consumer is None or not consumer.is_classic or answered.asked_at < consumer.spoke_anew_at:
            return None
        return consumer

    def _heartbeat_answered(self, answered: Exchange) -> Iterator[Found]:
        asked, error = answered, text(answered.response, "error_code")
        member_id = text(answered.response, "member_id") or text(asked.request, "member_id")
        consumer = self.consumers.setdefault(member_id, Consumer(spoke_anew_at=asked.asked_at))
        if error not in _REFUSALS:
            self._refused.clear()
        if asked.asked_at < consumer.spoke_anew_at:
            return
        if error in _GIVES_ALL_UP:
            consumer.gives_all_up()
            self._note_refusal(answered, member_id, consumer)
        if error != NO_ERROR:
            return
        if number(asked.request, "member_epoch") < JOINS:
            yield from _left(answered, member_id)
            del self.consumers[member_id]
            return
        yield from self._came_back(answered, member_id)
        yield from _epoch_fell(answered, member_id, consumer)
        self._replaced(member_id, consumer)
        yield from self._given(answered, member_id, consumer)
        consumer.accepted(answered)

    def _note_refusal(self, answered: Exchange, member_id: str, consumer: Consumer) -> None:
        asked, error = answered, text(answered.response, "error_code")
        epoch = number(asked.request, "member_epoch")
        is_past = consumer.epoch_known_at < asked.asked_at and epoch <= consumer.epoch
        if epoch <= JOINS or not (error == _UNKNOWN or (error == _FENCED and is_past)):
            return
        refused = _Refused(
            at=answered.answered_at,
            epoch=None if error == _UNKNOWN else epoch,
            kept=owned_partitions(asked.request),
        )
        self._refused.setdefault((member_id, text(asked.request, "instance_id")), []).append(refused)

    def _came_back(self, answered: Exchange, member_id: str) -> Iterator[Found]:
        asked = answered
        epoch = number(asked.request, "member_epoch")
        refused = self._refused.get((member_id, text(asked.request, "instance_id")), ())
        if epoch > JOINS and any(each.is_meant_by(asked) for each in refused):
            what = f"{member_id} was refused, has not joined since, and is accepted in epoch {epoch}"
            yield Invariant.FENCED_STAY_OUT, AtFault.COORDINATOR, what

    def _replaced(self, member_id: str, consumer: Consumer) -> None:
        """Remove any other member with this member's instance id."""
        for known, other in [*self.consumers.items()]:
            if known != member_id and other.instance_id and other.instance_id == consumer.instance_id:
                del self.consumers[known]

    def _given(self, answered: Exchange, member_id: str, consumer: Consumer) -> Iterator[Found]:
        given = given_by(answered) or NOTHING
        yield from self._given_twice(answered, member_id, consumer, given)
        subscribed = consumer.subscribed_by(answered.request)
        if subscribed is None or consumer.has_regex_by(answered.request):
            return
        known = {each for each in given - consumer.owned if each[0] in self.names}
        if unsubscribed := frozenset(each for each in known if self.names[each[0]] not in subscribed):
            what = (
                f"{member_id} was given {self._named(unsubscribed)}, and subscribes to {_listed(subscribed)}"
            )
            yield Invariant.ONLY_SUBSCRIBED, AtFault.COORDINATOR, what

    def _given_twice(
        self, answered: Exchange, member_id: str, consumer: Consumer, given: Owned
    ) -> Iterator[Found]:
        """Report partitions that another member owns, except where both members are classic."""
        for other_id, other in self.consumers.items():
            if other is consumer or not other.is_surely_member(answered.answered_ms):
                continue
            if (twice := given & other.owned) and not (consumer.is_classic and other.is_classic):
                what = f"{member_id} was given {self._named(twice)}, which {other_id} has not given up"
                yield Invariant.ONE_OWNER, AtFault.COORDINATOR, what

    def _described(self, answered: Exchange, group: Fields) -> Iterator[Found]:
        error = text(group, "error_code")
        if error == "GROUP_ID_NOT_FOUND":
            self._floors.clear()
        if error != NO_ERROR:
            return
        epochs = {name: number(group, name) for name in _EPOCHS}
        if epochs["assignment_epoch"] > epochs["group_epoch"]:
            what = (
                f"the assignment is of epoch {epochs['assignment_epoch']}, the group {epochs['group_epoch']}"
            )
            yield Invariant.EPOCHS_GROW, AtFault.COORDINATOR, what
        for name, epoch in epochs.items():
            yield from self._group_epoch(answered, name, epoch)
        yield from self._described_twice(group, "target_assignment", "is to go to")
        yield from self._described_twice(group, "assignment", "is with")

    def _group_epoch(self, answered: Exchange, name: str, epoch: int) -> Iterator[Found]:
        key = (answered.connection if self._may_lag else "", name)
        floor, seen_at = self._floors.get(key, (-1, -1))
        if epoch < floor and seen_at < answered.asked_at:
            what = f"the {name.replace('_', ' ')} is {epoch} after {floor} had been known"
            yield Invariant.EPOCHS_GROW, AtFault.COORDINATOR, what
        if epoch > floor:
            self._floors[key] = epoch, answered.answered_at

    def _described_twice(self, group: Fields, name: str, verb: str) -> Iterator[Found]:
        """Report partitions of two members, except if both are classic members, whose clients assign."""
        owners: dict[TopicPartition, Fields] = {}
        for member in items(group, "members"):
            assignment = structure(member, name) or {}
            for topic in items(assignment, "topic_partitions"):
                self.names[text(topic, "topic_id")] = text(topic, "topic_name")
            partitions = owned_partitions(assignment) or NOTHING
            for twice in sorted(partitions & owners.keys()):
                both = owners[twice], member
                if any(number(each, "member_type") != _CLASSIC_MEMBER for each in both):
                    one, other = (text(each, "member_id") for each in both)
                    what = f"{self._named(frozenset((twice,)))} {verb} {one} and {other}"
                    yield Invariant.ONE_OWNER, AtFault.COORDINATOR, what
            owners |= dict.fromkeys(partitions, member)

    def _forget_epochs_if_empty(self, now_ms: float) -> None:
        """Forget the group's epochs if no member is certain: the group may be removed and created again."""
        consumers = (each for each in self.consumers.values() if not each.is_classic)
        if self._floors and not any(each.is_surely_member(now_ms) for each in consumers):
            self._floors.clear()

    def _named(self, partitions: Owned) -> str:
        return _listed(f"{self.names.get(topic, topic)}-{index}" for topic, index in partitions)


def _left(answered: Exchange, member_id: str) -> Iterator[Found]:
    epoch, said = (number(fields, "member_epoch") for fields in (answered.response, answered.request))
    if epoch != said:
        what = f"{member_id} left with epoch {said}, and was answered epoch {epoch}"
        yield Invariant.EPOCHS_GROW, AtFault.COORDINATOR, what


def _epoch_fell(answered: Exchange, member_id: str, consumer: Consumer) -> Iterator[Found]:
    said, epoch = number(answered.request, "member_epoch"), number(answered.response, "member_epoch")
    is_known = consumer.epoch_known_at < answered.asked_at
    floor = max(said, consumer.epoch) if is_known else said
    if said != JOINS and epoch < floor:
        what = f"{member_id} was answered epoch {epoch} after it had been in {floor}"
        yield Invariant.EPOCHS_GROW, AtFault.COORDINATOR, what


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"
