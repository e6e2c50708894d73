"""The known state of one member of a consumer group: the partitions it may own, its epoch, its subscription.

Classic members have no member epoch, and report by joining again what they gave up.
"""

import math
from dataclasses import dataclass
from typing import Final, TypeAlias

from harness.invariants.exchange import Exchange, Fields, items, number, structure, text, texts

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
