"""What is known of one member of a consumer group: what it may own, its epoch, and to what it subscribes.

Classic members have no epoch of ours, and say what they gave up by joining again.
"""

import math
from dataclasses import dataclass
from typing import Final, TypeAlias

from harness.invariants.exchange import Answered, Asked, Fields, items, number, structure, text, texts

TopicPartition: TypeAlias = tuple[str, int]
"""A topic's id, and the number of a partition."""
Owned: TypeAlias = frozenset[TopicPartition]

NOTHING: Final[Owned] = frozenset()
JOINS: Final = 0
"""The epoch of a heartbeat that joins. Lower ones leave."""
_UNCHANGED: Final = -1


def owned_partitions(fields: Fields) -> Owned | None:
    """Return the partitions that a structure lists, or nothing where it does not say."""
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
    """A member, which speaks the consumer protocol or the classic one."""

    spoke_anew_at: int
    """The place of its latest request that gave everything up; what was asked before says no more of it."""
    instance_id: str = ""
    epoch: int = 0
    """The highest that an answer named since it joined."""
    epoch_known_at: int = -1
    assigned: Owned = NOTHING
    """What the latest answer with an assignment gives it."""
    kept: Owned = NOTHING
    """What it was given, and has not said that it gave up."""
    accepted_ms: float = -math.inf
    """When it sent the latest heartbeat that was accepted."""
    interval_ms: int = 0
    """How often it is to heartbeat. A session is longer than that; as for classic members, not shorter."""
    is_classic: bool = False
    rebalance_timeout_ms: int = 0
    revokes_since_ms: float | None = None
    """Since when it is to give something up."""
    subscribed: frozenset[str] | None = None
    """None where it is not known, or not by names alone."""
    has_regex: bool = False

    @property
    def owned(self) -> Owned:
        """What nobody else may have, as long as it is a member."""
        return self.assigned | self.kept

    def asked(self, asked: Asked) -> None:
        """Take in a heartbeat of the member."""
        self.instance_id = text(asked.fields, "instance_id") or self.instance_id
        self.is_classic = False
        if number(asked.fields, "member_epoch") <= JOINS:
            self.spoke_anew_at = asked.at
            self.gives_all_up()
        elif (kept := owned_partitions(asked.fields)) is not None:
            self.kept &= kept

    def gives_all_up(self) -> None:
        """Take in that the member has given up whatever it had."""
        self.assigned = self.kept = NOTHING
        self.revokes_since_ms = None

    def accepted(self, answered: Answered) -> None:
        """Take in an answer without an error."""
        fields, sent_ms = answered.asked.fields, answered.asked.event.at_ms
        epoch = number(answered.fields, "member_epoch")
        self.epoch = epoch if number(fields, "member_epoch") == JOINS else max(self.epoch, epoch)
        self.epoch_known_at = answered.at
        self.accepted_ms = max(self.accepted_ms, sent_ms)
        self.interval_ms = number(answered.fields, "heartbeat_interval_ms")
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

    def joined(self, asked: Asked) -> None:
        """Take in that it was let in as a classic member: it may have to give something up from then on."""
        self.is_classic, self.accepted_ms = True, asked.event.at_ms
        self.rebalance_timeout_ms = number(asked.fields, "rebalance_timeout_ms")
        self.interval_ms = min(self.rebalance_timeout_ms, number(asked.fields, "session_timeout_ms"))

    def beat(self, asked: Asked, *, joins_again: bool) -> None:
        """Take in that it is still a classic member, and perhaps has to give something up."""
        if not joins_again:
            self.accepted_ms = max(self.accepted_ms, asked.event.at_ms)
        elif self.revokes_since_ms is None:
            self.revokes_since_ms = asked.event.at_ms

    def subscribed_by(self, fields: Fields) -> frozenset[str] | None:
        """Return the names to which it subscribes with a request."""
        names = texts(fields, "subscribed_topic_names")
        return self.subscribed if names is None else names

    def has_regex_by(self, fields: Fields) -> bool:
        """Tell whether it has a regular expression with a request."""
        if fields.get("subscribed_topic_regex") is None:
            return self.has_regex
        return bool(text(fields, "subscribed_topic_regex"))

    def is_surely_member(self, now_ms: float) -> bool:
        """Tell whether neither its silence nor its slow revocation can have cost it its membership."""
        if now_ms - self.accepted_ms > self.interval_ms:
            return False
        since_ms = self.revokes_since_ms
        return since_ms is None or now_ms - since_ms < self.rebalance_timeout_ms


def given_by(answered: Answered) -> Owned | None:
    """Return what an answer gives, or nothing where it says nothing of that."""
    assignment = structure(answered.fields, "assignment")
    return None if assignment is None else owned_partitions(assignment)
