"""A recorded conversation as operations: requests with their answers, and when they can have taken effect.

A broker processes one request of a connection at a time. So a request that was sent behind a parked one
cannot have been processed before that one was answered.
Source: SocketServer.Processor#processCompletedReceives (3.9.2).
A recorder that reads many sockets sees answers of the same moment in any order, so recorded times do not
bound when a request was processed.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from math import inf
from types import MappingProxyType
from typing import Final

from harness.apis.descriptor import COMMITS_OFFSETS, WRITES_OFFSETS, OffsetUse, Subject
from harness.apis.table import apis_where, descriptor
from harness.invariants.exchange import (
    COMPARED,
    DESCRIPTIONS,
    NO_ERROR,
    OF_TRANSACTIONS,
    EventPairing,
    Exchange,
    Fields,
    items,
    number,
    partitions_in,
    text,
)
from harness.replay.topics import SHOWS_MISSING, TopicChange, TopicsSeen, with_partitions
from harness.trace.events import Event, EventKind

_FED: Final = COMPARED | OF_TRANSACTIONS | {"IncrementalAlterConfigs"}
"""APIs that are fed to the reference. Configurations are, because groups have their own."""
READ: Final = _FED | apis_where(lambda api: api.counts_partitions or api.subject is Subject.OTHER_GROUPS)
"""APIs whose fields are needed; of the others only the times are."""
_IN_FLIGHT: Final = "of ShareFetch and ShareAcknowledge, which depend on records in flight"
_NOT_REPLAYED: Final = MappingProxyType(
    {
        "ShareFetch": _IN_FLIGHT,
        "ShareAcknowledge": _IN_FLIGHT,
        "DescribeShareGroupOffsets": "about offsets of share groups, which depend on what was acknowledged",
        "StreamsGroupTopologyDescriptionUpdate": "about descriptions of topologies, which a plugin keeps",
    }
)
"""Why answers about groups are not compared, by API."""
_IN_DOUBT: Final = "about offsets that a request which cannot be read may have written"
_NO_TOPIC: Final = frozenset(("UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID", "INVALID_TOPIC_EXCEPTION"))


@dataclass(slots=True)
class RecordedConversation:
    """All that replaying needs to know of one conversation."""

    operations: list[Exchange] = field(default_factory=list)
    topics: dict[str, int] = field(default_factory=dict)
    """The highest partition count that was ever seen of each topic, by name."""
    topic_ids: dict[str, str] = field(default_factory=dict)
    """The last id of each topic, by name."""
    topic_names: dict[str, str] = field(default_factory=dict)
    """The name of each topic, by id; an id without a known name is its own."""
    breaks: list[tuple[float, str]] = field(default_factory=list)
    """The times at which the broker closed connections, with the connections."""
    refusals: list[tuple[float, str]] = field(default_factory=list)
    """Those of them on which it closed a connection before any request came."""
    unread: Counter[str] = field(default_factory=Counter)
    """Answers that cannot be replayed, by reason."""
    asked_about: frozenset[str] = frozenset()
    """The names of the topics that an answer has shown to exist, or not to exist."""
    first_topics: dict[str, int] = field(default_factory=dict)
    """The partition count of each topic when it was first looked at, by name."""
    seen_topic_ids: set[str] = field(default_factory=set)
    """Ids of topics that an answer has named."""
    topics_deleted_ms: float = inf
    """When a client first requested that topics be deleted."""
    slowest_ms: float = 0.0
    """The longest time that the broker took for an answer that need not wait."""
    changes: tuple[TopicChange, ...] = ()
    """The creations of topics and the additions of partitions."""

    def about_topics(self) -> "RecordedConversation":
        """Return a conversation that has only what this one shows of topics."""
        return RecordedConversation(
            topics=dict(self.topics),
            topic_ids=dict(self.topic_ids),
            topic_names=dict(self.topic_names),
            first_topics=self.first_topics,
            asked_about=self.asked_about,
            seen_topic_ids=set(self.seen_topic_ids),
            topics_deleted_ms=self.topics_deleted_ms,
            changes=self.changes,
        )

    @property
    def looked_at(self) -> frozenset[str]:
        """The names of the topics whose partitions an answer has shown."""
        return frozenset((*self.first_topics, *(each.name for each in self.changes)))

    def topics_at(self, at_ms: float) -> dict[str, int]:
        """Return the partition counts of topics as they may have been at a time, by name."""
        counts = {**self.topics, **self.first_topics}
        for change in sorted(self.changes, key=lambda each: each.asked_ms):
            if change.asked_ms <= at_ms:
                counts[change.name] = change.num_partitions
            elif change.name not in self.first_topics:
                counts.pop(change.name, None)
        return counts


@dataclass(slots=True)
class _Reader:
    conversation: RecordedConversation = field(default_factory=RecordedConversation)
    fed: list[Exchange] = field(default_factory=list)
    lost: list[Exchange] = field(default_factory=list)
    """Requests that may have written offsets, and cannot be replayed."""
    topics: TopicsSeen = field(default_factory=TopicsSeen)
    within_ms: tuple[float, float] = (-inf, inf)

    def take(self, exchange: Exchange) -> None:
        """Process the next request, with its answer."""
        api = exchange.api
        if exchange.is_answered and descriptor(api).is_prompt:
            waited_ms = exchange.answered_ms - exchange.free_ms
            self.conversation.slowest_ms = max(self.conversation.slowest_ms, waited_ms)
        if api in _NOT_REPLAYED and exchange.is_answered:
            self.conversation.unread[_NOT_REPLAYED[api]] += 1
        if exchange.answer is not None and api == SHOWS_MISSING:
            self.topics.see_missing(
                exchange.request, exchange.answer, exchange.asked_ms, exchange.answered_ms
            )
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
            self.conversation.asked_about |= self.topics.names()
        begin_ms, end_ms = self.within_ms
        changes = (each for each in self.conversation.changes if begin_ms <= each.asked_ms < end_ms)
        self.conversation.operations += map(replace, changes)
        self.conversation.operations += self.fed
        self.conversation.operations.sort(key=lambda each: (each.asked_ms, each.asked_at))
        for index, each in enumerate(self.conversation.operations, first_index):
            each.index = index
        for operation in self.conversation.operations:
            self._learn_topics_of(operation)
        self._doubt()
        return self.conversation

    def _doubt(self) -> None:
        """Exclude from comparison what depends on offsets that a lost request may have written."""
        if not self.lost:
            return
        joined = {
            group
            for each in self.conversation.operations
            if "member_id" in each.descriptor.learns
            for group in each.groups
        }
        for operation in self.conversation.operations:
            is_of_offsets = operation.descriptor.offsets is OffsetUse.FETCHES or (
                operation.descriptor.shows_groups and not joined.issuperset(operation.groups or ("",))
            )
            if is_of_offsets and any(_may_show(operation, each) for each in self.lost):
                operation.is_in_doubt = True
                self.conversation.unread[_IN_DOUBT] += 1

    def _add_operation(self, exchange: Exchange) -> None:
        if exchange.frame and not exchange.fault:
            self.fed.append(exchange)
            return
        if exchange.is_answered and exchange.api in COMPARED:
            self.conversation.unread["that cannot be read whole"] += 1
        if descriptor(exchange.api).offsets in WRITES_OFFSETS:
            self.lost.append(exchange)

    def _learn_topics(self, exchange: Exchange) -> None:
        asked = {text(each, "name"): each for each in items(exchange.request, "topics")}
        for answered in items(exchange.response, "topics"):
            is_created = exchange.api == "CreateTopics"
            topic = (
                with_partitions(answered, asked.get(text(answered, "name"), {})) if is_created else answered
            )
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

    def _learn_topics_of(self, operation: Exchange) -> None:
        """Learn of what a commit, or a fetch by ids, was not refused for: it exists, without metadata too."""
        use = operation.descriptor.offsets
        if use in COMMITS_OFFSETS:
            for topic, partition in partitions_in(operation.response):
                if text(partition, "error_code") not in _NO_TOPIC:
                    self._know(self._name_of(topic), number(partition, "partition_index") + 1)
        for group in items(operation.response, "groups") if use is OffsetUse.FETCHES else ():
            for topic in items(group, "topics"):
                errors = {text(each, "error_code") for each in items(topic, "partitions")}
                if text(topic, "topic_id") and not errors & _NO_TOPIC:
                    self._know(self._name_of(topic), 1)

    def _name_of(self, topic: Fields) -> str:
        """Return the name of a topic, or its id if only that is known."""
        name, topic_id = text(topic, "name"), text(topic, "topic_id")
        if not name and topic_id not in self.conversation.topic_names:
            self._identify(topic_id, topic_id)
        return name or self.conversation.topic_names[topic_id]

    def _identify(self, name: str, topic_id: str) -> None:
        self.conversation.topic_ids[name] = topic_id
        self.conversation.topic_names[topic_id] = name

    def _know(self, name: str, partitions: int) -> None:
        self.conversation.topics[name] = max(partitions, self.conversation.topics.get(name, 0))


def _may_show(operation: Exchange, lost: Exchange) -> bool:
    """Return whether an answer may depend on a lost write, which is of any group if it cannot be read."""
    is_later = operation.answer is not None and operation.answered_ms >= lost.asked_ms
    return is_later and (not lost.request or not set(lost.groups).isdisjoint(operation.groups))


def read_conversation(events: Iterable[Event]) -> RecordedConversation:
    """Pair requests with answers; the events are one conversation's, in their order."""
    pairing, exchanges = EventPairing(), list[Exchange]()
    breaks: list[tuple[float, str]] = []
    refusals: list[tuple[float, str]] = []
    for event in events:
        exchange = pairing.take(event)
        if exchange is not None and event.kind == EventKind.REQUEST:
            exchanges.append(exchange)
        elif event.kind == EventKind.CLOSED and pairing.malformed(event) is None:
            breaks.append((event.at_ms, event.connection or ""))
            refusals += breaks[-1:] if event.actor is None else []
    conversation = conversation_of(exchanges, breaks=breaks)
    conversation.refusals = refusals
    return conversation


def conversation_of(
    exchanges: Iterable[Exchange],
    *,
    breaks: Iterable[tuple[float, str]] = (),
    first_index: int = 0,
    topics: RecordedConversation | None = None,
    within_ms: tuple[float, float] = (-inf, inf),
) -> RecordedConversation:
    """Return a conversation that can be replayed, of exchanges in the order of their requests.

    `topics` is a conversation that shows the topics; without one, the exchanges do. Of changes of topics, the
    operations have those within a time.
    """
    reader = _Reader(within_ms=within_ms)
    if topics is not None:
        reader.conversation = topics.about_topics()
    reader.conversation.breaks += breaks
    for exchange in exchanges:
        reader.take(exchange)
    return reader.finish(first_index)


def members_of(
    operations: Iterable[Exchange], group_id: str, descriptions: Collection[str] = DESCRIPTIONS
) -> Iterator[Fields]:
    """Yield a group's members as answers to leaders and administrators list them."""
    for operation in operations:
        if operation.api in descriptions and operation.answer is not None:
            for group in items(operation.answer, "groups"):
                if text(group, "group_id") == group_id:
                    yield from items(group, "members")
        if "member_id" in operation.descriptor.learns and operation.answer is not None:
            yield from items(operation.answer, "members")
