"""A request with its answer, as every judge of traffic reads it, and the pairing of events into exchanges."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from types import MappingProxyType
from typing import Final, Self, TypeAlias

from harness.apis.descriptor import OF_GROUP_COORDINATOR, ApiDescriptor, Subject
from harness.apis.table import apis_where, descriptor
from harness.trace.embedded import stored_fields
from harness.trace.events import Event, EventKind

Fields: TypeAlias = Mapping[str, object]

NO_ERROR: Final = "NONE"
COORDINATOR_CHANGED: Final = frozenset(
    ("NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE")
)
"""After one of these errors, another coordinator may have taken over, with only the state in the log."""
COMPARED: Final = apis_where(lambda api: api.subject in OF_GROUP_COORDINATOR)
"""The group coordinator's APIs, whose answers are compared with the reference's."""
OF_TRANSACTIONS: Final = apis_where(lambda api: api.subject is Subject.TRANSACTIONS)
"""APIs that a replay feeds, since committed offsets depend on them, but does not compare."""
HEARTBEATS: Final = MappingProxyType(
    {"ConsumerGroupHeartbeat": "consumer", "ShareGroupHeartbeat": "share", "StreamsGroupHeartbeat": "streams"}
)
"""The heartbeats with an epoch, with the kinds of the groups."""
DESCRIPTIONS: Final = frozenset(("ConsumerGroupDescribe", "ShareGroupDescribe", "StreamsGroupDescribe"))
"""The descriptions of such groups."""
MEMBERSHIP: Final = HEARTBEATS.keys() | apis_where(
    lambda api: api.subject is Subject.MEMBERSHIP and bool(api.members)
)
"""APIs that members use, of any protocol."""
LOOKED_AT: Final = apis_where(
    lambda api: api.subject is Subject.MEMBERSHIP or api.offsets is not None
) | frozenset((*HEARTBEATS, "ConsumerGroupDescribe", "Metadata", "DeleteTopics"))
"""The APIs that affect invariants: members, offsets, and the existing topics. Other events are ignored."""
NOT_WHOLE: Final = "not recorded whole"
"""Why a request cannot be read of which a part was not kept."""
_WHOLE_BYTES_MAX: Final = 1 << 18
"""Of longer frames a recorder keeps only the beginning."""
_ANSWERS: Final = frozenset((EventKind.RESPONSE, EventKind.POLL, EventKind.MALFORMED))


@dataclass(slots=True, kw_only=True)
class Exchange:
    """A request, and its answer once one has come, on the clock of the recorder.

    It is complete when its answer is set, and nothing in it changes after that.
    """

    api: str
    api_version: int
    actor: str | None
    """The client id."""
    request: Fields
    """Empty where it cannot be read."""
    asked_ms: float
    """When it was sent."""
    frame: bytes = b""
    """The request as it was sent; empty where the fields are all that was kept."""
    answered_ms: float = inf
    """When its answer had arrived; infinite if none came."""
    answer: Fields | None = None
    """None if there is none, or it cannot be read."""
    answer_frame: bytes = b""
    """The answer as it came; empty where the fields are all that was kept."""
    connection: str = ""
    asked_at: int = -1
    """The request's number in its recording, or on its connection."""
    answered_at: int = -1
    """The answer's number; -1 where none came."""
    fault: str = ""
    """Why the request or the answer cannot be read."""
    behind: int | None = None
    """The number of the request before it on its connection, if one was answered."""
    free_ms: float = -inf
    """When that request was answered, or when this one was sent if that was later or alone."""
    index: int = -1
    """Its place in the history that a search orders."""
    groups: tuple[str, ...] = ()
    """The groups that it names; empty if it concerns all."""
    is_in_doubt: bool = False
    """Whether its answer depends on unknown offsets."""

    def __deepcopy__(self, _: object) -> Self:
        """Return the exchange itself: no machine that is copied changes it."""
        return self

    @property
    def descriptor(self) -> ApiDescriptor:
        """The descriptor of its API."""
        return descriptor(self.api)

    @property
    def is_answered(self) -> bool:
        """Whether an answer came, readable or not."""
        return self.answered_at >= 0

    @property
    def is_compared(self) -> bool:
        """Whether its answer is the group coordinator's, and can be predicted."""
        return self.answer is not None and self.api in COMPARED and not self.is_in_doubt

    @property
    def response(self) -> Fields:
        """The fields of the answer; none where there is no answer."""
        return self.answer or {}

    @property
    def position(self) -> int:
        """The position of its answer in the conversation, or of the request if it was not answered."""
        return self.answered_at if self.is_answered else self.asked_at

    @property
    def error(self) -> str:
        """The error at the answer's top level."""
        return text(self.response, "error_code") or NO_ERROR

    @property
    def tells_of_no_coordinator(self) -> bool:
        """Whether the answer says that the coordinator is elsewhere, or not ready."""
        return self.answer is not None and self.api in COMPARED and _says(self.answer, COORDINATOR_CHANGED)

    @property
    def transactional_id(self) -> str:
        """The transactional id; empty where there is none."""
        return text(self.request, "transactional_id") or text(self.request, "v3_and_below_transactional_id")

    @property
    def is_malformed(self) -> bool:
        """Whether the request was recorded whole, and no broker can read it."""
        if not self.api:
            return True
        if self.fault == NOT_WHOLE or not 0 < len(self.frame) < _WHOLE_BYTES_MAX:
            return False
        # Processes of clients check what they see, too, and need no codecs.
        from harness.wire.codec import decode_request  # noqa: PLC0415 - as said
        from harness.wire.errors import WireError  # noqa: PLC0415 - likewise

        try:
            decode_request(self.api, self.api_version, self.frame, is_written_again=False, may_go_on=True)
        except WireError:
            return True
        return False


def groups_of(api: str | None, request: Fields) -> tuple[str, ...]:
    """Return the groups that a request names, in the first of its fields that names any."""
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


@dataclass(slots=True)
class Waiting:
    """The requests on one connection that await an answer; each answer belongs to the oldest with its id."""

    by_id: dict[int, deque[Exchange]] = field(default_factory=dict)
    """By correlation id, which a client may use again before the answer."""
    count: int = 0
    last: Exchange | None = None
    """The exchange that was answered last."""

    def ask(self, exchange: Exchange, correlation_id: int) -> None:
        """Add a request."""
        self._put_behind(exchange)
        self.by_id.setdefault(correlation_id, deque()).append(exchange)
        self.count += 1

    def answer(self, correlation_id: int, *, at_ms: float, at: int) -> Exchange | None:
        """Return the request that an answer belongs to, with the time; None if none awaits one."""
        if correlation_id not in self.by_id:
            return None
        exchange = self.pop(correlation_id)
        if self.last is not None and exchange.asked_at > self.last.asked_at:
            self._put_behind(exchange)
        exchange.answered_ms, exchange.answered_at = at_ms, at
        self.last = exchange
        return exchange

    def pop(self, correlation_id: int) -> Exchange:
        """Remove the oldest request with an id."""
        waiting = self.by_id[correlation_id]
        exchange = waiting.popleft()
        self.count -= 1
        if not waiting:
            del self.by_id[correlation_id]
        return exchange

    def malformed(self) -> Exchange | None:
        """Return the last request, if no broker can read it: a broker ends the connection for that reason."""
        every = (each for waiting in self.by_id.values() for each in waiting)
        last = max(every, key=lambda each: each.asked_at, default=None)
        return last if last is not None and last.is_malformed else None

    def rest(self) -> Iterator[Exchange]:
        """Remove all requests, the one with the oldest id first."""
        while self.by_id:
            yield self.pop(next(iter(self.by_id)))

    def _put_behind(self, exchange: Exchange) -> None:
        exchange.free_ms = exchange.asked_ms
        if self.last is not None:
            exchange.behind = self.last.asked_at
            exchange.free_ms = max(exchange.asked_ms, self.last.answered_ms)


@dataclass(slots=True)
class EventPairing:
    """Pairs the events of a trace into exchanges, whose numbers are the events' sequences."""

    wanted: frozenset[str] | None = None
    """The APIs whose events are paired; None for all."""
    _waiting: dict[tuple[str, str, str], Waiting] = field(default_factory=dict)

    def malformed(self, event: Event) -> Exchange | None:
        """Return the request that no broker can read, because of which a connection was closed."""
        waiting = self._waiting.get(_line_of(event))
        return None if waiting is None else waiting.malformed()

    def take(self, event: Event) -> Exchange | None:
        """Return the exchange that an event begins, or that it completes; None if it does neither."""
        if event.api is None or (self.wanted is not None and event.api not in self.wanted):
            return None
        waiting = self._waiting.setdefault(_line_of(event), Waiting())
        correlation_id = -1 if event.correlation_id is None else event.correlation_id
        if event.kind == EventKind.REQUEST:
            exchange = _asked(event)
            waiting.ask(exchange, correlation_id)
            return exchange
        if event.kind not in _ANSWERS:
            return None
        found = waiting.answer(correlation_id, at_ms=event.at_ms, at=event.sequence)
        while found is not None and found.api != event.api:
            found = waiting.answer(correlation_id, at_ms=event.at_ms, at=event.sequence)
        if found is not None and event.fields is not None:
            found.answer = stored_fields(event)
        elif found is not None:
            found.fault = found.fault or event.note or "not recorded"
        return found


def _line_of(event: Event) -> tuple[str, str, str]:
    return event.target, event.scenario_id, event.connection or event.actor or ""


def _asked(event: Event) -> Exchange:
    request = {} if event.fields is None else stored_fields(event)
    return Exchange(
        api=event.api or "",
        api_version=event.api_version or 0,
        actor=event.actor,
        connection=event.connection or "",
        request=request,
        groups=groups_of(event.api, request),
        frame=bytes.fromhex(event.raw or ""),
        fault="" if event.fields is not None else event.note or "not recorded",
        asked_ms=event.at_ms,
        asked_at=event.sequence,
    )


def text(fields: Fields, name: str) -> str:
    """Return a text field, or an empty string where it is null or missing."""
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def number(fields: Fields, name: str) -> int:
    """Return a number field, or -1 where it is missing."""
    value = fields.get(name)
    return value if isinstance(value, int) else -1


def items(fields: Fields, name: str) -> Iterator[Fields]:
    """Yield the structures of a collection; yield nothing where it is null or missing."""
    value = fields.get(name)
    if isinstance(value, Sequence) and not isinstance(value, str):
        yield from (item for item in value if isinstance(item, Mapping))


def partitions_in(fields: Fields) -> Iterator[tuple[Fields, Fields]]:
    """Yield the partitions that a message lists, each with its topic."""
    for topic in items(fields, "topics"):
        yield from ((topic, partition) for partition in items(topic, "partitions"))


def numbers(fields: Fields, name: str) -> list[int]:
    """Return the numbers of a collection; none where it is null or missing."""
    value = fields.get(name)
    return [each for each in value if isinstance(each, int)] if isinstance(value, list | tuple) else []


def structure(fields: Fields, name: str) -> Fields | None:
    """Return a structure field, or None where it is null or missing."""
    value = fields.get(name)
    return value if isinstance(value, Mapping) else None


def texts(fields: Fields, name: str) -> frozenset[str] | None:
    """Return the texts of a collection, or None where it is null or missing."""
    value = fields.get(name)
    if not isinstance(value, Sequence) or isinstance(value, str):
        return None
    return frozenset(item for item in value if isinstance(item, str))


def instance_of(member: Fields) -> str:
    """Return the instance id of a member, or of a request's sender; empty if it has none."""
    return text(member, "group_instance_id") or text(member, "instance_id")


def binary(fields: Fields, name: str) -> bytes:
    """Return a bytes field, or empty bytes where it is missing."""
    value = fields.get(name)
    digits = value.get("$bytes") if isinstance(value, Mapping) else None
    return bytes.fromhex(digits) if isinstance(digits, str) else b""
