"""A recorded conversation as operations: requests with their answers, when they can have taken effect.

A broker takes one request of a connection at a time, so what was sent behind a parked request cannot have
been looked at before that was answered. Source: SocketServer.Processor#processCompletedReceives (3.9.2).
Who reads many sockets sees answers of the same moment in any order, so no time is a bound for that.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import Final

from harness.apis.descriptor import COMMITS_OFFSETS, WRITES_OFFSETS, OffsetUse, Subject
from harness.apis.table import apis_where, descriptor
from harness.invariants.exchange import NO_ERROR, Fields, items, number, text
from harness.replay.exchange import Exchange
from harness.replay.operation import (
    COMPARED,
    OF_TRANSACTIONS,
    RecordedOperation,
    TopicChange,
    groups_of,
    topic_change,
)
from harness.replay.topics import Change, TopicsSeen
from harness.trace.embedded import stored_fields
from harness.trace.events import Event, EventKind

OTHER_GROUPS: Final = apis_where(lambda api: api.subject is Subject.OTHER_GROUPS)
_FED: Final = COMPARED | OF_TRANSACTIONS | {"IncrementalAlterConfigs"}
"""What the reference is told; groups have configurations of their own."""
READ: Final = _FED | OTHER_GROUPS | apis_where(lambda api: api.counts_partitions)
"""APIs whose fields are wanted; of the others it is enough to know when they were spoken."""
_OF_KIND: Final = (
    ("ShareGroup", "of share groups, which are not replayed"),
    ("StreamsGroup", "of streams groups, which are not replayed"),
)
"""Why answers about groups of other protocols are not compared, by how their APIs' names begin."""
_OTHER: Final = "of groups of another protocol"
_IN_DOUBT: Final = "about offsets that a request which cannot be read may have written"
_NO_TOPIC: Final = frozenset(("UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID", "INVALID_TOPIC_EXCEPTION"))


@dataclass(slots=True)
class RecordedConversation:
    """All that replaying needs to know of one conversation."""

    operations: list[RecordedOperation] = field(default_factory=list)
    topics: dict[str, int] = field(default_factory=dict)
    """Partition counts by name: the most that was ever seen."""
    topic_ids: dict[str, str] = field(default_factory=dict)
    """Names to ids, the last ones."""
    topic_names: dict[str, str] = field(default_factory=dict)
    """Ids to names; an id that nobody named is its own."""
    breaks: list[tuple[float, str]] = field(default_factory=list)
    """When the broker closed which connection."""
    unread: Counter[str] = field(default_factory=Counter)
    """Answers that cannot be replayed, by reason."""
    other_groups: dict[str, str] = field(default_factory=dict)
    """Groups that a member of another protocol came to, each with why it is not replayed."""
    first_topics: dict[str, int] = field(default_factory=dict)
    """Partition counts by name, as they were when each topic was looked at first."""
    seen_topic_ids: set[str] = field(default_factory=set)
    """Ids of topics that somebody was told the name of."""
    topics_deleted_ms: float = inf
    """When somebody first asked that topics be deleted."""
    slowest_ms: float = 0.0
    """The longest that the broker took for an answer that waits for nothing."""
    changes: tuple[Change, ...] = ()
    """Topics that came to be, or grew."""

    def about_topics(self) -> "RecordedConversation":
        """Return what it tells of topics alone."""
        return RecordedConversation(
            topics=dict(self.topics),
            topic_ids=dict(self.topic_ids),
            topic_names=dict(self.topic_names),
            first_topics=self.first_topics,
            seen_topic_ids=set(self.seen_topic_ids),
            topics_deleted_ms=self.topics_deleted_ms,
            changes=self.changes,
        )

    def topics_at(self, at_ms: float) -> dict[str, int]:
        """Return the partition counts of topics as they may have been at a time, by name."""
        counts = {**self.topics, **self.first_topics}
        for change in sorted(self.changes, key=lambda each: each.after_ms):
            if change.after_ms <= at_ms:
                counts[change.name] = change.num_partitions
            elif change.name not in self.first_topics:
                counts.pop(change.name, None)
        return counts


@dataclass(frozen=True, slots=True, kw_only=True)
class _LostWrite:
    """A request that may have written offsets, and cannot be replayed."""

    asked_ms: float
    groups: frozenset[str] | None
    """None where not even that can be read."""

    def touches(self, operation: RecordedOperation) -> bool:
        """Whether an answer may tell of it."""
        is_later = operation.answer is not None and operation.answered_ms >= self.asked_ms
        return is_later and (self.groups is None or not self.groups.isdisjoint(operation.groups))


@dataclass(slots=True)
class _Reader:
    conversation: RecordedConversation = field(default_factory=RecordedConversation)
    fed: list[Exchange] = field(default_factory=list)
    lost: list[_LostWrite] = field(default_factory=list)
    topics: TopicsSeen = field(default_factory=TopicsSeen)
    within_ms: tuple[float, float] = (-inf, inf)

    def take(self, exchange: Exchange) -> None:
        """Take in the next request, with its answer."""
        api = exchange.api
        if exchange.answered_at is not None and descriptor(api).is_prompt:
            waited_ms = exchange.answered_ms - exchange.free_ms
            self.conversation.slowest_ms = max(self.conversation.slowest_ms, waited_ms)
        if api in OTHER_GROUPS:
            self._leave_out_others(exchange)
        if api in _FED:
            self._add_operation(exchange)
        elif descriptor(api).counts_partitions and exchange.answer is not None:
            self._learn_topics(exchange)
        elif api == "DeleteTopics":
            deleted_ms = min(exchange.asked_ms, self.conversation.topics_deleted_ms)
            self.conversation.topics_deleted_ms = deleted_ms

    def finish(self, first_index: int) -> RecordedConversation:
        if not self.conversation.changes:
            self.conversation.first_topics = self.conversation.first_topics or self.topics.at_first()
            self.conversation.changes = tuple(self.topics.changes())
        begin_ms, end_ms = self.within_ms
        changes = (each for each in self.conversation.changes if begin_ms <= each.after_ms < end_ms)
        self.conversation.operations += map(topic_change, changes)
        self._put_in_order(first_index)
        for operation in self.conversation.operations:
            self._learn_topics_of(operation)
            self._learn_fetched_ids_of(operation)
        self._doubt()
        return self.conversation

    def _put_in_order(self, first_index: int) -> None:
        """Sort by arrival, and name those behind which others were sent by their index."""
        changes = (each for each in self.conversation.operations if isinstance(each, TopicChange))
        fed: list[Exchange | TopicChange] = [*changes, *self.fed]
        fed.sort(key=lambda each: (each.asked_ms, each.asked_at))
        places = {(each.connection, each.asked_at): index for index, each in enumerate(fed, first_index)}
        self.conversation.operations = [
            replace(each, index=index) if isinstance(each, TopicChange) else _operation(each, index, places)
            for index, each in enumerate(fed, first_index)
        ]

    def _doubt(self) -> None:
        """Compare nothing that hangs on offsets which a request that was lost may have written."""
        if not self.lost:
            return
        joined = {
            group
            for each in self.conversation.operations
            if "member_id" in each.descriptor.learns
            for group in each.groups
        }
        for index, operation in enumerate(self.conversation.operations):
            is_of_offsets = operation.descriptor.offsets is OffsetUse.FETCHES or (
                operation.descriptor.shows_groups and not joined.issuperset(operation.groups or ("",))
            )
            if is_of_offsets and any(each.touches(operation) for each in self.lost):
                self.conversation.operations[index] = replace(operation, is_in_doubt=True)
                self.conversation.unread[_IN_DOUBT] += 1

    def _add_operation(self, exchange: Exchange) -> None:
        is_unread = exchange.answered_at is not None and exchange.answer is None
        if exchange.request is not None and exchange.frame is not None and not is_unread:
            self.fed.append(exchange)
            return
        if exchange.answered_at is not None and exchange.api in COMPARED:
            self.conversation.unread["that cannot be read whole"] += 1
        if descriptor(exchange.api).offsets in WRITES_OFFSETS:
            self._lose(exchange)

    def _leave_out_others(self, exchange: Exchange) -> None:
        """Count an answer about groups of another protocol; whose member is not refused is such a group."""
        why = next((why for beginning, why in _OF_KIND if exchange.api.startswith(beginning)), _OTHER)
        if exchange.answered_at is not None:
            self.conversation.unread[why] += 1
        error = text(exchange.answer or {}, "error_code")
        is_refused = error not in ("", NO_ERROR)
        if descriptor(exchange.api).members and exchange.request is not None and not is_refused:
            of_request = groups_of(exchange.api, exchange.request)
            self.conversation.other_groups |= dict.fromkeys(of_request, why)

    def _lose(self, exchange: Exchange) -> None:
        request = exchange.request
        groups = None if request is None else frozenset(groups_of(exchange.api, request))
        self.lost.append(_LostWrite(asked_ms=exchange.asked_ms, groups=groups))

    def _learn_topics(self, exchange: Exchange) -> None:
        for topic in items(exchange.answer or {}, "topics"):
            self._learn_topic(topic)
            self.topics.see(exchange.api, topic, exchange.asked_ms, exchange.answered_ms)

    def _learn_topic(self, topic: Fields) -> None:
        name = text(topic, "name")
        partitions = max(len(list(items(topic, "partitions"))), number(topic, "num_partitions"))
        if text(topic, "error_code") == NO_ERROR and name and partitions > 0:
            self._know(name, partitions)
            if text(topic, "topic_id"):
                self._identify(name, text(topic, "topic_id"))
                self.conversation.seen_topic_ids.add(text(topic, "topic_id"))

    def _learn_topics_of(self, operation: RecordedOperation) -> None:
        """Partitions that were not refused for their sake are there, whoever asked for metadata."""
        if operation.answer is None or operation.descriptor.offsets not in COMMITS_OFFSETS:
            return
        for topic in items(operation.answer, "topics"):
            for partition in items(topic, "partitions"):
                if text(partition, "error_code") not in _NO_TOPIC:
                    self._know(self._name_of(topic), number(partition, "partition_index") + 1)

    def _learn_fetched_ids_of(self, operation: RecordedOperation) -> None:
        """Ids that are not refused are a topic's, where a name would be fetched from all the same."""
        if operation.answer is None or operation.descriptor.offsets is not OffsetUse.FETCHES:
            return
        for group in items(operation.answer, "groups"):
            for topic in items(group, "topics"):
                errors = {text(each, "error_code") for each in items(topic, "partitions")}
                if text(topic, "topic_id") and not errors & _NO_TOPIC:
                    self._know(self._name_of(topic), 1)

    def _name_of(self, topic: Fields) -> str:
        """Return what a topic is called; one of which only the id is known is called by that."""
        name, topic_id = text(topic, "name"), text(topic, "topic_id")
        if not name and topic_id not in self.conversation.topic_names:
            self._identify(topic_id, topic_id)
        return name or self.conversation.topic_names[topic_id]

    def _identify(self, name: str, topic_id: str) -> None:
        self.conversation.topic_ids[name] = topic_id
        self.conversation.topic_names[topic_id] = name

    def _know(self, name: str, partitions: int) -> None:
        self.conversation.topics[name] = max(partitions, self.conversation.topics.get(name, 0))


def read_conversation(events: Iterable[Event]) -> RecordedConversation:
    """Pair requests with answers; the events are one conversation's, in their order."""
    pairing = _Pairing()
    for event in events:
        pairing.take(event)
    return conversation_of(pairing.exchanges(), breaks=pairing.breaks)


def conversation_of(
    exchanges: Iterable[Exchange],
    *,
    breaks: Iterable[tuple[float, str]] = (),
    first_index: int = 0,
    topics: RecordedConversation | None = None,
    within_ms: tuple[float, float] = (-inf, inf),
) -> RecordedConversation:
    """Return what replaying needs to know.

    Args:
        exchanges: in the order in which requests were sent.
        breaks: when the broker closed which connection.
        first_index: of the operations.
        topics: a conversation that tells of topics; without one, the exchanges do.
        within_ms: from when to when the exchanges are.
    """
    reader = _Reader(within_ms=within_ms)
    if topics is not None:
        reader.conversation = topics.about_topics()
    reader.conversation.breaks += breaks
    for exchange in exchanges:
        reader.take(exchange)
    return reader.finish(first_index)


@dataclass(slots=True)
class _Pairing:
    """Finds the request that an event answers."""

    requests: list[Event] = field(default_factory=list)
    answers: dict[int, Event] = field(default_factory=dict)
    """By the request's sequence."""
    breaks: list[tuple[float, str]] = field(default_factory=list)
    open: defaultdict[tuple[str, int], deque[Event]] = field(default_factory=lambda: defaultdict(deque))

    def take(self, event: Event) -> None:
        conversation = (event.connection or "", -1 if event.correlation_id is None else event.correlation_id)
        match event.kind:
            case EventKind.REQUEST:
                self.requests.append(event)
                self.open[conversation].append(event)
            case EventKind.RESPONSE | EventKind.MALFORMED if self.open[conversation]:
                self.answers[self.open[conversation].popleft().sequence] = event
            case EventKind.CLOSED:
                self.breaks.append((event.at_ms, event.connection or ""))
            case _:
                return

    def exchanges(self) -> Iterator[Exchange]:
        before: dict[str, Event] = {}
        for event in self.requests:
            connection = event.connection or ""
            behind = before.get(connection)
            free_ms = event.at_ms if behind is None else max(event.at_ms, self.answers[behind.sequence].at_ms)
            answer = self.answers.get(event.sequence)
            if answer is not None:
                before[connection] = event
            yield Exchange(
                api=event.api or "",
                api_version=event.api_version or 0,
                actor=event.actor,
                connection=connection,
                asked_at=event.sequence,
                answered_at=None if answer is None else answer.sequence,
                behind=None if behind is None else behind.sequence,
                asked_ms=event.at_ms,
                free_ms=free_ms,
                answered_ms=inf if answer is None else answer.at_ms,
                frame=None if event.raw is None else bytes.fromhex(event.raw),
                request=None if event.fields is None else stored_fields(event),
                answer=None if answer is None or answer.fields is None else stored_fields(answer),
            )


def _operation(exchange: Exchange, index: int, places: Mapping[tuple[str, int], int]) -> RecordedOperation:
    assert exchange.request is not None, "only what can be read is fed"
    assert exchange.frame is not None, "likewise"
    behind = None if exchange.behind is None else places.get((exchange.connection, exchange.behind))
    return RecordedOperation(
        index=index,
        api=exchange.api,
        api_version=exchange.api_version,
        actor=exchange.actor,
        connection=exchange.connection,
        asked_at=exchange.asked_at,
        answered_at=exchange.answered_at,
        asked_ms=exchange.asked_ms,
        behind=behind,
        free_ms=exchange.free_ms,
        answered_ms=exchange.answered_ms,
        frame=exchange.frame,
        request=exchange.request,
        answer=exchange.answer,
        answer_frame=exchange.answer_frame,
    )


def members_of(operations: Iterable[RecordedOperation], group_id: str) -> Iterator[str]:
    """Yield the ids of a group's members that leaders and administrators were told of."""
    for operation in operations:
        if operation.api == "ConsumerGroupDescribe" and operation.answer is not None:
            for group in items(operation.answer, "groups"):
                if text(group, "group_id") == group_id:
                    yield from (text(each, "member_id") for each in items(group, "members"))
        if "member_id" in operation.descriptor.learns and operation.answer is not None:
            yield from (text(each, "member_id") for each in items(operation.answer, "members"))
