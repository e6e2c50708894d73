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

from harness.apis.descriptor import (
    COMMITS_OFFSETS,
    OF_GROUP_COORDINATOR,
    WRITES_OFFSETS,
    ApiDescriptor,
    OffsetUse,
    Subject,
)
from harness.apis.table import apis_where, descriptor
from harness.invariants.exchange import COORDINATOR_CHANGED, Fields, items, number, text
from harness.trace.embedded import stored_fields
from harness.trace.events import Event, EventKind

NO_ERROR: Final = "NONE"
COMPARED: Final = apis_where(lambda api: api.subject in OF_GROUP_COORDINATOR)
"""The group coordinator's APIs, whose answers are compared with the reference's."""
OF_TRANSACTIONS: Final = apis_where(lambda api: api.subject is Subject.TRANSACTIONS)
"""Fed, since committed offsets hang on them; not compared."""
_OTHER_GROUPS: Final = apis_where(lambda api: api.subject is Subject.OTHER_GROUPS)
READ: Final = COMPARED | OF_TRANSACTIONS | _OTHER_GROUPS | apis_where(lambda api: api.counts_partitions)
"""APIs whose fields are wanted; of the others it is enough to know when they were spoken."""
_OF_KIND: Final = (
    ("ConsumerGroup", "of consumer groups, which are not replayed"),
    ("ShareGroup", "of share groups, which are not replayed"),
    ("StreamsGroup", "of streams groups, which are not replayed"),
)
"""Why answers about groups of other protocols are not compared, by how their APIs' names begin."""
_OTHER: Final = "of groups of another protocol"
_IN_DOUBT: Final = "about offsets that a request which cannot be read may have written"
_NO_TOPIC: Final = frozenset(("UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID", "INVALID_TOPIC_EXCEPTION"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A request, with its answer if one came."""

    index: int
    """Its place among the operations of its conversation."""
    api: str
    api_version: int
    actor: str | None
    connection: str
    asked_at: int
    """The request's sequence."""
    answered_at: int | None
    """The answer's sequence."""
    behind: int | None
    """The index of the request before it on its connection, if one was answered."""
    asked_ms: float
    free_ms: float
    """When the recorder saw that answered; when it was sent itself, if that was later, or there is none."""
    answered_ms: float
    """Infinite where no answer came."""
    frame: bytes
    request: Fields
    answer: Fields | None
    is_in_doubt: bool = False
    """Whether its answer hangs on offsets that nobody knows."""

    @property
    def descriptor(self) -> ApiDescriptor:
        """What is known of its API."""
        return descriptor(self.api)

    @property
    def is_compared(self) -> bool:
        """Whether its answer is the group coordinator's, and can be foretold."""
        return self.api in COMPARED and self.answer is not None and not self.is_in_doubt

    @property
    def error(self) -> str:
        """The error at the answer's top level."""
        return NO_ERROR if self.answer is None else text(self.answer, "error_code") or NO_ERROR

    @property
    def tells_of_no_coordinator(self) -> bool:
        """Whether the answer says that the coordinator is elsewhere, or not ready."""
        return self.answer is not None and self.api in COMPARED and _says(self.answer, COORDINATOR_CHANGED)

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups that it is about; none where it is about all."""
        return _groups_of(self.api, self.request)

    @property
    def transactional_id(self) -> str:
        """The transactional id; empty where there is none."""
        return text(self.request, "transactional_id") or text(self.request, "v3_and_below_transactional_id")


@dataclass(slots=True)
class RecordedConversation:
    """All that replaying needs to know of one conversation."""

    operations: list[Operation] = field(default_factory=list)
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
    slowest_ms: float = 0.0
    """The longest that the broker took for an answer that waits for nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    event: Event
    behind: Event | None
    free_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _LostWrite:
    """A request that may have written offsets, and cannot be replayed."""

    asked_at: int
    groups: frozenset[str] | None
    """None where not even that can be read."""

    def touches(self, operation: Operation) -> bool:
        """Whether an answer may tell of it."""
        is_later = operation.answered_at is not None and operation.answered_at > self.asked_at
        return is_later and (self.groups is None or not self.groups.isdisjoint(operation.groups))


@dataclass(slots=True)
class _Reader:
    conversation: RecordedConversation = field(default_factory=RecordedConversation)
    lost: list[_LostWrite] = field(default_factory=list)
    open: defaultdict[tuple[str, int], deque[Event]] = field(default_factory=lambda: defaultdict(deque))
    answers: dict[int, Event] = field(default_factory=dict)
    """By the request's sequence."""
    requests: list[Event] = field(default_factory=list)

    def take(self, event: Event) -> None:
        conversation = (event.connection or "", -1 if event.correlation_id is None else event.correlation_id)
        match event.kind:
            case EventKind.REQUEST:
                self.requests.append(event)
                self.open[conversation].append(event)
            case EventKind.RESPONSE | EventKind.MALFORMED if self.open[conversation]:
                self.answers[self.open[conversation].popleft().sequence] = event
            case EventKind.CLOSED:
                self.conversation.breaks.append((event.at_ms, event.connection or ""))
            case _:
                return

    def finish(self) -> RecordedConversation:
        before: dict[str, Event] = {}
        for event in self.requests:
            connection = event.connection or ""
            behind = before.get(connection)
            free_ms = event.at_ms if behind is None else max(event.at_ms, self.answers[behind.sequence].at_ms)
            answer = self.answers.get(event.sequence)
            self._add(_Asked(event=event, behind=behind, free_ms=free_ms), answer)
            if answer is not None:
                before[connection] = event
                if descriptor(event.api).is_prompt:
                    waited_ms = answer.at_ms - free_ms
                    self.conversation.slowest_ms = max(self.conversation.slowest_ms, waited_ms)
        self._put_in_order()
        for operation in self.conversation.operations:
            self._learn_topics_of(operation)
            self._learn_fetched_ids_of(operation)
        self._doubt()
        return self.conversation

    def _put_in_order(self) -> None:
        """Sort by arrival, and name those behind which others were sent by their index."""
        operations = sorted(self.conversation.operations, key=lambda each: (each.asked_ms, each.asked_at))
        places = {each.asked_at: index for index, each in enumerate(operations)}
        self.conversation.operations = [
            replace(each, index=index, behind=None if each.behind is None else places.get(each.behind))
            for index, each in enumerate(operations)
        ]

    def _doubt(self) -> None:
        """Compare nothing that hangs on offsets which a request that was lost may have written."""
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

    def _add(self, asked: _Asked, answer: Event | None) -> None:
        api = asked.event.api or ""
        if api in _OTHER_GROUPS:
            self._leave_out_others(asked.event, answer)
        if api in COMPARED | OF_TRANSACTIONS:
            operation = _operation(asked, answer)
            if operation is not None:
                self.conversation.operations.append(operation)
                return
            if answer is not None and api in COMPARED:
                self.conversation.unread["that cannot be read whole"] += 1
            if descriptor(api).offsets in WRITES_OFFSETS:
                self._lose(asked.event)
        elif descriptor(api).counts_partitions and answer is not None and answer.fields is not None:
            for topic in items(stored_fields(answer), "topics"):
                self._learn_topic(topic)

    def _leave_out_others(self, event: Event, answer: Event | None) -> None:
        """Count an answer about groups of another protocol; whose member is not refused is such a group."""
        why = next((why for beginning, why in _OF_KIND if (event.api or "").startswith(beginning)), _OTHER)
        if answer is not None:
            self.conversation.unread[why] += 1
        error = NO_ERROR if answer is None else text(stored_fields(answer), "error_code")
        is_refused = error not in ("", NO_ERROR)
        if descriptor(event.api).members and event.fields is not None and not is_refused:
            self.conversation.other_groups |= dict.fromkeys(_groups_of(event.api, stored_fields(event)), why)

    def _lose(self, event: Event) -> None:
        groups = None if event.fields is None else frozenset(_groups_of(event.api, stored_fields(event)))
        self.lost.append(_LostWrite(asked_at=event.sequence, groups=groups))

    def _learn_topic(self, topic: Fields) -> None:
        name = text(topic, "name")
        partitions = max(len(list(items(topic, "partitions"))), number(topic, "num_partitions"))
        if text(topic, "error_code") == NO_ERROR and name and partitions > 0:
            self._know(name, partitions)
            if text(topic, "topic_id"):
                self._identify(name, text(topic, "topic_id"))

    def _learn_topics_of(self, operation: Operation) -> None:
        """Partitions that were not refused for their sake are there, whoever asked for metadata."""
        if operation.answer is None or operation.descriptor.offsets not in COMMITS_OFFSETS:
            return
        for topic in items(operation.answer, "topics"):
            for partition in items(topic, "partitions"):
                if text(partition, "error_code") not in _NO_TOPIC:
                    self._know(self._name_of(topic), number(partition, "partition_index") + 1)

    def _learn_fetched_ids_of(self, operation: Operation) -> None:
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
    reader = _Reader()
    for event in events:
        reader.take(event)
    return reader.finish()


def _operation(asked: _Asked, answer: Event | None) -> Operation | None:
    event = asked.event
    if event.fields is None or event.raw is None:
        return None
    if answer is not None and answer.fields is None:
        return None
    return Operation(
        index=-1,
        api=event.api or "",
        api_version=event.api_version or 0,
        actor=event.actor,
        connection=event.connection or "",
        asked_at=event.sequence,
        answered_at=None if answer is None else answer.sequence,
        asked_ms=event.at_ms,
        behind=None if asked.behind is None else asked.behind.sequence,
        free_ms=asked.free_ms,
        answered_ms=inf if answer is None else answer.at_ms,
        frame=bytes.fromhex(event.raw),
        request=stored_fields(event),
        answer=None if answer is None or answer.fields is None else stored_fields(answer),
    )


def _groups_of(api: str | None, request: Fields) -> tuple[str, ...]:
    """Return the groups that a request names, by the first of its fields that names any."""
    named = (_named_at(path, request) for path in descriptor(api).groups)
    return next((groups for groups in named if groups), ())


def _named_at(path: str, request: Fields) -> tuple[str, ...]:
    collection, _, name = path.rpartition("[].")
    if collection:
        return tuple(text(each, name) for each in items(request, collection))
    value = request.get(name)
    if isinstance(value, list):
        return tuple(str(each) for each in value)
    return (value,) if isinstance(value, str) and value else ()


def _says(value: object, errors: frozenset[str]) -> bool:
    if isinstance(value, Mapping):
        return value.get("error_code") in errors or any(_says(each, errors) for each in value.values())
    return isinstance(value, list) and any(_says(each, errors) for each in value)


def of_groups(api: str, fields: Fields, groups: frozenset[str]) -> Fields:
    """Return an answer with the entries that are about other groups left out."""
    name = descriptor(api).group_entries
    value = fields.get(name)
    if not isinstance(value, list):
        return fields
    return {**fields, name: [each for each in value if not _is_of_others(each, groups)]}


def _is_of_others(part: object, groups: frozenset[str]) -> bool:
    return isinstance(part, Mapping) and "group_id" in part and part["group_id"] not in groups


def members_of(operations: Iterable[Operation]) -> Iterator[str]:
    """Yield the member ids that leaders were told of."""
    for operation in operations:
        if "member_id" in operation.descriptor.learns and operation.answer is not None:
            yield from (text(each, "member_id") for each in items(operation.answer, "members"))
