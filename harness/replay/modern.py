"""Groups that the broker assigns, and whose members heartbeat with an epoch: consumers, share and streams."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from harness.invariants.exchange import (
    HEARTBEATS,
    NO_ERROR,
    Exchange,
    Fields,
    items,
    number,
    numbers,
    text,
    texts,
)
from harness.replay.history import RecordedConversation
from harness.replay.topics import TopicChange, named_in
from harness.targets.reference.profile import ReferenceProfile

_JOINS: Final = 0
"""The member epoch of a member that joins. Source: ConsumerGroupHeartbeatRequest (4.3.1)."""
_DELAYED: Final = 5
"""The status of a group that waits for more members.

Source: StreamsGroupHeartbeatResponse.Status (4.3.1).
"""
_DELAYED_EPOCH: Final = 1
"""The epoch of all members of a new group that waits. Source: GroupMetadataManager (4.3.1)."""

_LEARNS_WITHIN_MS: Final = 10_000.0
"""How much longer a coordinator may take to learn of a topic if its own assignments show that it did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModernGroup:
    """What the heartbeats in a part of a recording show of a group."""

    heartbeats: Sequence[Exchange]

    @property
    def kind(self) -> str:
        """The group's kind, by the last heartbeat that was accepted."""
        accepted = (each for each in reversed(self.heartbeats) if each.error == NO_ERROR)
        last = next(accepted, self.heartbeats[-1] if self.heartbeats else None)
        return "consumer" if last is None else HEARTBEATS[last.api]

    def beyond_replay(self, conversation: RecordedConversation, spec: ReferenceProfile) -> str | None:
        """Return why nothing can be compared of the group; None if it can."""
        kinds = {HEARTBEATS[each.api] for each in self.heartbeats if each.error == NO_ERROR}
        for kind in sorted(kinds):
            if not spec.has_groups(kind):
                return f"of {kind} groups, which the reference does not have in that release"
        if (topic := self._unnamed(conversation)) is not None:
            return f"of a {self.kind} group with a topic that no Metadata answer named: {topic}"
        return None

    def _unnamed(self, conversation: RecordedConversation) -> str | None:
        """Return a topic that members read or subscribe to, and that no answer showed to exist or not."""
        assigned = (text(topic, "topic_id") for _, topic in self._assigned())
        unknown = (each for each in assigned if each not in conversation.seen_topic_ids)
        names, asked_about = conversation.looked_at, conversation.asked_about
        read = (each for each in self._read() if each not in names)
        names_of = (sorted(texts(each.request, "subscribed_topic_names") or ()) for each in self.heartbeats)
        subscribed = (each for each in chain.from_iterable(names_of) if each not in asked_about)
        return next(chain(unknown, read, subscribed), None)

    def as_late_as_assigned(self, changes: Iterable[TopicChange]) -> Iterator[TopicChange]:
        """Yield changes of topics that the coordinator learns of before it first assigns the last partition.

        It learns of the changes of one topic in their order.
        """
        learns_ms: dict[str, float] = {}
        for each in map(self._as_late, changes):
            free_ms = max(each.free_ms, learns_ms.get(each.name, each.free_ms))
            learns_ms[each.name] = free_ms
            yield replace(each, free_ms=free_ms, answered_ms=max(each.answered_ms, free_ms))

    def _as_late(self, change: TopicChange) -> TopicChange:
        """Return a change with the time at which the coordinator is likeliest to learn of it.

        Clients may see a topic seconds earlier: a broker with slow disks first creates the topic's logs.

        Source: BrokerMetadataPublisher#onMetadataUpdate (4.3.1).
        """
        heartbeats = (
            heartbeat
            for heartbeat, topic in self._assigned()
            if text(topic, "topic_id") == change.topic_id
            and change.num_partitions - 1 in numbers(topic, "partitions")
        )
        first = min(heartbeats, key=lambda each: each.answered_ms, default=None)
        if first is None or first.answered_ms <= change.answered_ms:
            return change
        latest_ms = min(first.answered_ms, change.answered_ms + _LEARNS_WITHIN_MS)
        # It is likeliest to learn of it just before that heartbeat.
        return replace(change, answered_ms=latest_ms, free_ms=min(first.free_ms, latest_ms))

    def _assigned(self) -> Iterator[tuple[Exchange, Fields]]:
        for heartbeat in self.heartbeats:
            assignment = (heartbeat.answer or {}).get("assignment")
            if isinstance(assignment, Mapping):
                yield from ((heartbeat, topic) for topic in items(assignment, "topic_partitions"))

    def _read(self) -> Iterator[str]:
        """Yield the topics of a topology whose tasks were assigned, so that the topics were there."""
        if any(list(items(each.answer or {}, "active_tasks")) for each in self.heartbeats):
            for heartbeat in self.heartbeats:
                yield from named_in(heartbeat.request)


def joins(operation: Exchange) -> bool:
    """Return whether an operation joins such a group."""
    return operation.api in HEARTBEATS and number(operation.request, "member_epoch") == _JOINS


def is_first(joined: Exchange, spec: ReferenceProfile) -> bool:
    """Return whether an answer to a member that joins is one that only the first of a new group gets.

    While a streams group waits, all its members are answered the same.
    """
    answer = joined.response
    if joined.api not in HEARTBEATS:
        return number(answer, "generation_id") == 1
    is_delayed = any(number(each, "status_code") == _DELAYED for each in items(answer, "status"))
    first = _DELAYED_EPOCH if is_delayed else spec.first_member_epoch(HEARTBEATS[joined.api])
    return number(answer, "member_epoch") == first


def has_earlier_members(operations: Iterable[Exchange]) -> bool:
    """Return whether a member has an epoch without having joined, which shows that the group existed."""
    known: set[str] = set()
    for operation in operations:
        if operation.api not in HEARTBEATS or operation.error != NO_ERROR:
            continue
        member_id = text(operation.request, "member_id")
        if number(operation.request, "member_epoch") > _JOINS and member_id not in known:
            return True
        known |= {member_id, text(operation.response, "member_id")}
    return False
