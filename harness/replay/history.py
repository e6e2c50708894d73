"""A recorded conversation as operations: requests with their answers, when they can have taken effect.

A broker takes one request of a connection at a time, so what was sent behind a parked request cannot have
been looked at before that was answered. Source: SocketServer.Processor#processCompletedReceives (3.9.2).
"""

import json
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import Final

from harness.invariants.exchange import Fields, items, number, text
from harness.trace.events import Event, EventKind

NO_ERROR: Final = "NONE"
COMPARED: Final = frozenset(
    (
        *(
            "JoinGroup",
            "SyncGroup",
            "Heartbeat",
            "LeaveGroup",
            "DescribeGroups",
            "ListGroups",
            "DeleteGroups",
        ),
        *("OffsetCommit", "OffsetFetch", "OffsetDelete", "TxnOffsetCommit"),
    )
)
"""The group coordinator's APIs, whose answers are held against the reference's."""
OF_TRANSACTIONS: Final = frozenset(("InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn"))
"""Fed, since committed offsets hang on them; not compared."""
_OTHER_GROUPS: Final = frozenset(
    ("ConsumerGroupHeartbeat", "ConsumerGroupDescribe", "ShareGroupHeartbeat", "StreamsGroupHeartbeat")
)
_PROMPT: Final = frozenset(("ApiVersions", "FindCoordinator", "Heartbeat", "Metadata"))
"""Answers to these wait for nothing: how long they took is how busy the broker was."""
READ: Final = COMPARED | OF_TRANSACTIONS | _OTHER_GROUPS | {"Metadata", "CreateTopics"}
"""APIs whose fields are wanted; of the others it is enough to know when they were spoken."""
_NO_TOPIC: Final = frozenset(("UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID", "INVALID_TOPIC_EXCEPTION"))
_GONE: Final = frozenset(("NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS"))


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
    asked_ms: float
    earliest_ms: float
    """When the broker can have looked at it first."""
    answered_ms: float
    """Infinite where no answer came."""
    frame: bytes
    request: Fields
    answer: Fields | None

    @property
    def is_compared(self) -> bool:
        """Whether its answer is the group coordinator's."""
        return self.api in COMPARED and self.answer is not None

    @property
    def error(self) -> str:
        """The error at the answer's top level."""
        return NO_ERROR if self.answer is None else text(self.answer, "error_code") or NO_ERROR

    @property
    def tells_of_no_coordinator(self) -> bool:
        """Whether the answer says that the coordinator is elsewhere, or not ready."""
        return self.answer is not None and self.api in COMPARED and _says(self.answer, _GONE)

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups that it is about; none where it is about all."""
        match self.api:
            case "DescribeGroups":
                return _texts(self.request.get("groups"))
            case "DeleteGroups":
                return _texts(self.request.get("groups_names"))
            case "OffsetFetch" if not text(self.request, "group_id"):
                return tuple(text(each, "group_id") for each in items(self.request, "groups"))
            case _:
                group_id = text(self.request, "group_id")
                return (group_id,) if group_id else ()

    @property
    def transactional_id(self) -> str:
        """The transactional id; empty where there is none."""
        return text(self.request, "transactional_id") or text(self.request, "v3_and_below_transactional_id")


@dataclass(slots=True)
class Conversation:
    """All that replaying needs to know of one conversation."""

    operations: list[Operation] = field(default_factory=list)
    topics: dict[str, int] = field(default_factory=dict)
    """Partition counts by name: the most that was ever seen."""
    topic_ids: dict[str, str] = field(default_factory=dict)
    """Names to ids, the last ones."""
    breaks: list[tuple[float, str]] = field(default_factory=list)
    """When the broker closed which connection."""
    unread: Counter[str] = field(default_factory=Counter)
    """Answers that cannot be replayed, by reason."""
    slowest_ms: float = 0.0
    """The longest that the broker took for an answer that waits for nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    event: Event
    earliest_ms: float


@dataclass(slots=True)
class _Reader:
    conversation: Conversation = field(default_factory=Conversation)
    open: defaultdict[tuple[str, int], deque[Event]] = field(default_factory=lambda: defaultdict(deque))
    answers: dict[int, Event] = field(default_factory=dict)
    """By the request's sequence."""
    requests: list[Event] = field(default_factory=list)

    def take(self, event: Event) -> None:
        talk = (event.connection or "", -1 if event.correlation_id is None else event.correlation_id)
        match event.kind:
            case EventKind.REQUEST:
                self.requests.append(event)
                self.open[talk].append(event)
            case EventKind.RESPONSE | EventKind.MALFORMED if self.open[talk]:
                self.answers[self.open[talk].popleft().sequence] = event
            case EventKind.CLOSED:
                self.conversation.breaks.append((event.at_ms, event.connection or ""))
            case _:
                return

    def finish(self) -> Conversation:
        free_ms: dict[str, float] = {}
        for event in self.requests:
            connection = event.connection or ""
            answer = self.answers.get(event.sequence)
            earliest_ms = max(event.at_ms, free_ms.get(connection, 0.0))
            if answer is not None:
                free_ms[connection] = answer.at_ms
            self._add(_Asked(event=event, earliest_ms=earliest_ms), answer)
            if answer is not None and event.api in _PROMPT:
                waited_ms = answer.at_ms - earliest_ms
                self.conversation.slowest_ms = max(self.conversation.slowest_ms, waited_ms)
        self.conversation.operations.sort(key=lambda each: (each.earliest_ms, each.asked_at))
        self.conversation.operations = [
            replace(each, index=index) for index, each in enumerate(self.conversation.operations)
        ]
        return self.conversation

    def _add(self, asked: _Asked, answer: Event | None) -> None:
        api = asked.event.api or ""
        if api in _OTHER_GROUPS:
            self.conversation.unread["of groups of another protocol"] += 1
        if api in COMPARED | OF_TRANSACTIONS:
            operation = _operation(asked, answer)
            if operation is not None:
                self.conversation.operations.append(operation)
                self._learn_topics_of(operation)
            elif answer is not None and api in COMPARED:
                self.conversation.unread["that cannot be read whole"] += 1
        elif api in ("Metadata", "CreateTopics") and answer is not None and answer.fields is not None:
            for topic in items(json.loads(answer.fields), "topics"):
                self._learn_topic(topic)

    def _learn_topic(self, topic: Fields) -> None:
        name = text(topic, "name")
        partitions = max(len(list(items(topic, "partitions"))), number(topic, "num_partitions"))
        if text(topic, "error_code") == NO_ERROR and name and partitions > 0:
            self._know(name, partitions)
            if text(topic, "topic_id"):
                self.conversation.topic_ids[name] = text(topic, "topic_id")

    def _learn_topics_of(self, operation: Operation) -> None:
        """Partitions whose commit was not refused for their sake are there, whoever asked for metadata."""
        if operation.api in ("OffsetCommit", "TxnOffsetCommit") and operation.answer is not None:
            for topic in items(operation.answer, "topics"):
                for partition in items(topic, "partitions"):
                    if text(partition, "error_code") not in _NO_TOPIC and text(topic, "name"):
                        self._know(text(topic, "name"), number(partition, "partition_index") + 1)

    def _know(self, name: str, partitions: int) -> None:
        self.conversation.topics[name] = max(partitions, self.conversation.topics.get(name, 0))


def read_conversation(events: Iterable[Event]) -> Conversation:
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
        earliest_ms=asked.earliest_ms,
        answered_ms=inf if answer is None else answer.at_ms,
        frame=bytes.fromhex(event.raw),
        request=json.loads(event.fields),
        answer=None if answer is None or answer.fields is None else json.loads(answer.fields),
    )


def _texts(value: object) -> tuple[str, ...]:
    return tuple(str(each) for each in value) if isinstance(value, list) else ()


def _says(value: object, errors: frozenset[str]) -> bool:
    if isinstance(value, Mapping):
        return value.get("error_code") in errors or any(_says(each, errors) for each in value.values())
    return isinstance(value, list) and any(_says(each, errors) for each in value)


def of_groups(fields: Fields, groups: frozenset[str]) -> Fields:
    """Return an answer with the parts that are about other groups left out."""
    narrowed = dict(fields)
    for name in ("groups", "results"):
        value = fields.get(name)
        if isinstance(value, list):
            narrowed[name] = [each for each in value if not _is_of_others(each, groups)]
    return narrowed


def _is_of_others(part: object, groups: frozenset[str]) -> bool:
    return isinstance(part, Mapping) and "group_id" in part and part["group_id"] not in groups


def members_of(operations: Iterable[Operation]) -> Iterator[str]:
    """Yield the member ids that leaders were told of."""
    for operation in operations:
        if operation.api == "JoinGroup" and operation.answer is not None:
            yield from (text(each, "member_id") for each in items(operation.answer, "members"))
