"""An actor of a conversation: a client with a name, and what it can send and expect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Final, Self

from harness.apis.descriptor import ANSWERED_WITHIN_MS
from harness.apis.table import descriptor, fields_of
from harness.scenario import ask, expect
from harness.scenario.ask import RANGE, Protocols
from harness.scenario.bindings import LEARNT_NAMES
from harness.scenario.broker_verbs import BrokerVerbs
from harness.scenario.errors import ScenarioError
from harness.scenario.messages import ANY, Own, PinText, Request, Response, Text, pinned
from harness.scenario.script import (
    ASIDE,
    ELSEWHERE,
    FORMERLY,
    MAIN,
    ActorSheet,
    AwaitMetadata,
    Disconnect,
    Receive,
    Repeat,
    SeeClosed,
    Send,
    SendBytes,
    StayParked,
    Step,
)
from harness.scenario.values import AnswerRef, GroupRef, Ref, Value
from harness.wire.schema import request_shape

WITHIN_MS: Final = ANSWERED_WITHIN_MS
"""How long most answers are awaited, unless a scenario states another time."""
EVERY_MS: Final = 50
_PROBED: Final = GroupRef("metadata-probe")
"""The group whose configuration `awaits_metadata` changes."""
_NAME_GROUPS: Final = fields_of(lambda api: api.groups)
_NAME_MEMBERS: Final = fields_of(lambda api: api.members)
_NAME_GENERATIONS: Final = fields_of(lambda api: api.generation)
_DUE_SHARE: Final = 0.15
"""The share of a timer by which an answer that it triggers may be early or late.

Half of the 30 % by which a timer must not be wrong undetected: the other half is left for a busy machine.
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """The response received at one step, for later references, whatever its actor learns in between."""

    step: int

    def __getitem__(self, path: str | tuple[str | int, ...]) -> AnswerRef:
        return AnswerRef(self.step, path if isinstance(path, tuple) else (path,))


def due_bounds(due_ms: int) -> tuple[int, int]:
    """Return the earliest and the latest time of an answer that a timer of this length triggers."""
    return round(due_ms * (1 - _DUE_SHARE)), round(due_ms * (1 + _DUE_SHARE))


class Actor:
    """A client with a name, using its main connection, or another while a request is parked there."""

    def __init__(self, conversation: BrokerVerbs, sheet: ActorSheet, connection: str = MAIN) -> None:
        self._conversation = conversation
        self._sheet = sheet
        self._connection = connection

    @property
    def sheet(self) -> ActorSheet:
        """The actor's data in the script."""
        return self._sheet

    @property
    def name(self) -> str:
        """The name that traces and references use."""
        return self._sheet.name

    @property
    def aside(self) -> Self:
        """The same actor on its second connection."""
        return self._on(ASIDE)

    @property
    def elsewhere(self) -> Self:
        """The same actor on a connection to a broker that does not coordinate."""
        return self._on(ELSEWHERE)

    @property
    def formerly(self) -> Self:
        """The same actor on a connection to the broker that was the coordinator before."""
        return self._on(FORMERLY)

    def _on(self, connection: str) -> Self:
        """Return the same actor on another of its connections."""
        other = copy(self)
        other._connection = connection  # noqa: SLF001 - of its own class
        return other

    @property
    def member_id(self) -> Text:
        """The member id that a JoinGroup response last gave it."""
        return Ref(self.name, "member_id")

    @property
    def generation_id(self) -> Ref:
        """The generation that it last joined."""
        return Ref(self.name, "generation_id")

    @property
    def leader(self) -> Ref:
        """The leader in the last response to it that named one."""
        return Ref(self.name, "leader")

    @property
    def protocol_name(self) -> Ref:
        """The protocol in the last response to it that named one."""
        return Ref(self.name, "protocol_name")

    @property
    def producer_id(self) -> Ref:
        """The producer id that it was last given."""
        return Ref(self.name, "producer_id")

    @property
    def producer_epoch(self) -> Ref:
        """The producer epoch that it was last given."""
        return Ref(self.name, "producer_epoch")

    @property
    def group_instance_id(self) -> str | None:
        """A static member's instance id."""
        return self._sheet.group_instance_id

    @property
    def part(self) -> bytes:
        """The assignment that helpers give it, recognisable in a trace."""
        return f"part of {self.name}".encode()

    def sends(self, request: Request) -> None:
        """Send a request and await nothing yet."""
        self._conversation.steps.append(
            Send(
                actor=self.name,
                connection=self._connection,
                api=request.api,
                api_version=request.version,
                fields=self._filled(request),
            )
        )

    def sends_bytes(self, payload: bytes, *, says: str) -> None:
        """Send a frame that need not be a request; `says` describes for people what is wrong with it."""
        self._conversation.steps.append(
            SendBytes(actor=self.name, connection=self._connection, payload=payload, says=says)
        )

    def receives(
        self,
        response: Response,
        *,
        within_ms: int | None = None,
        not_before_ms: int | None = None,
        not_after_ms: int | None = None,
        due_ms: int | None = None,
    ) -> Answer:
        """Expect the answer to the oldest request that still awaits one on this connection.

        Args:
            response: the expected response.
            within_ms: after what time it is late: usually 5 s, and 30 s if the broker asks others first.
            not_before_ms: how long after its request the answer comes at the earliest.
            not_after_ms: how long after its request the answer comes at the latest.
            due_ms: the timer that triggers the answer, if it starts with the request; replaces the bounds.
        """
        if due_ms is not None:
            not_before_ms, not_after_ms = due_bounds(due_ms)
        if within_ms is None:
            within_ms = descriptor(response.api).answered_within_ms
        return self._receives(response, within_ms, not_before_ms, not_after_ms, rung=None)

    def asks(
        self, request: Request, response: Response | None = None, *, error_code: PinText = ANY
    ) -> Answer:
        """Send a request and expect its answer, at once or as long as `receives` awaits it.

        Args:
            request: the request; no other one may await an answer on this connection.
            response: the expected response, if it is more than an error.
            error_code: the expected error.
        """
        self.sends(request)
        if self._oldest_sent() != len(self._conversation.steps) - 1:
            raise ScenarioError(f"{self.name} asks while it still awaits an answer on this connection")
        return self.receives(response or pinned(request.api, error_code=error_code))

    def may_receive(
        self, response: Response, *, within_ms: int = WITHIN_MS, due_ms: int | None = None
    ) -> Answer:
        """Await an answer that some releases never give; the reference determines which of them do."""
        bounds = (None, None) if due_ms is None else due_bounds(due_ms)
        return self._receives(response, within_ms, *bounds, rung=None, is_optional=True)

    def stays_parked(self, *, for_ms: int) -> None:
        """Expect no answer for a while to the oldest request that still awaits one."""
        step = StayParked(
            actor=self.name, connection=self._connection, sent_at=self._oldest_sent(), for_ms=for_ms
        )
        self._conversation.steps.append(step)

    def looks_up(self, *topics: str | GroupRef) -> Answer:
        """Learn the ids of topics, so that later requests and expectations of all actors may use them."""
        self._conversation.known_topics.update(topics)
        return self.repeats(ask.metadata(topics), until=expect.metadata(topics))

    def awaits_metadata(self) -> None:
        """Wait until the coordinator has received every change of topics and configurations so far.

        Without it a request may overtake the change: a coordinator receives a change some milliseconds after
        its requester was answered. On this connection no request may await an answer.
        """
        self._conversation.steps.append(
            AwaitMetadata(actor=self.name, connection=self._connection, group=_PROBED)
        )

    def finds_connection_closed(self, *, within_ms: int = WITHIN_MS) -> None:
        """Expect that the broker closes this connection."""
        self._conversation.steps.append(
            SeeClosed(actor=self.name, connection=self._connection, within_ms=within_ms)
        )

    def repeats(
        self,
        request: Request,
        *,
        until: Response,
        within_ms: int = WITHIN_MS,
        every_ms: int = EVERY_MS,
    ) -> Answer:
        """Repeat a request until the answer is as expected; if it never is, the last answer counts."""
        if until.api != request.api:
            raise ScenarioError(f"{request.api} is never answered by {until.api}")
        self._conversation.steps.append(
            Repeat(
                actor=self.name,
                connection=self._connection,
                api=request.api,
                api_version=request.version,
                fields=self._filled(request),
                until=until.fields,
                every_ms=every_ms,
                within_ms=within_ms,
            )
        )
        return Answer(len(self._conversation.steps) - 1)

    def climbs(self, rungs: Sequence[tuple[Request, Response]]) -> None:
        """Send requests that each repair one more defect, so that the order of the checks shows."""
        for index, (request, expected) in enumerate(rungs):
            self.sends(request)
            self._receives(expected, WITHIN_MS, None, None, rung=index)

    def disconnects(self) -> None:
        """Close this connection without a further request."""
        self._conversation.steps.append(Disconnect(actor=self.name, connection=self._connection))

    def obtains_member_id(self, *, protocols: Protocols = RANGE) -> None:
        """Take the first of the two steps of joining, which a static member does not need."""
        if self.group_instance_id is None:
            self.asks(ask.join_group(member_id="", protocols=protocols), error_code="MEMBER_ID_REQUIRED")

    def joins(self, *, protocols: Protocols = RANGE) -> None:
        """Join the group, and expect success; take both steps if the coordinator requires two."""
        self.obtains_member_id(protocols=protocols)
        self.asks(ask.join_group(protocols=protocols), error_code="NONE")

    def syncs_as_leader(self, members: Sequence[Actor]) -> None:
        """Send every member's assignment, and expect the leader's own."""
        parts = tuple((member.member_id, member.part) for member in members)
        mine = expect.sync_group(error_code="NONE", assignment=self.part)
        self.asks(ask.sync_group(assignments=parts), mine)

    def _receives(
        self,
        response: Response,
        within_ms: int,
        not_before_ms: int | None,
        not_after_ms: int | None,
        *,
        rung: int | None,
        is_optional: bool = False,
    ) -> Answer:
        sent_at = self._oldest_sent()
        sent = self._conversation.steps[sent_at]
        assert isinstance(sent, Send)
        if sent.api != response.api:
            raise ScenarioError(f"{self.name} sent {sent.api} and cannot receive {response.api}")
        self._conversation.steps.append(
            Receive(
                actor=self.name,
                connection=self._connection,
                sent_at=sent_at,
                api=sent.api,
                api_version=sent.api_version,
                fields=response.fields,
                within_ms=within_ms,
                not_before_ms=not_before_ms,
                not_after_ms=not_after_ms,
                rung=rung,
                is_optional=is_optional,
            )
        )
        return Answer(len(self._conversation.steps) - 1)

    def _oldest_sent(self) -> int:
        """Return the index of the oldest request on this connection whose answer was not received."""
        line = self.name, self._connection
        found = (
            index for index, step in open_requests(self._conversation.steps).items() if _line(step) == line
        )
        oldest = next(found, None)
        if oldest is None:
            raise ScenarioError(f"{self.name} awaits an answer although no request of its own is open")
        return oldest

    def _filled(self, request: Request) -> Mapping[str, Value]:
        shape = request_shape(request.api, request.version)
        return {
            name: self._fill(name, value)
            for name, value in request.fields.items()
            if not (name not in shape.fields and (value is None or isinstance(value, Own)))
        }

    def _fill(self, name: str, value: object) -> Value:
        if value is None or isinstance(value, int | str | bytes):
            return value
        if isinstance(value, Own):
            return self._own(name)
        if isinstance(value, Mapping):
            return {key: self._fill(key, item) for key, item in value.items()}
        if isinstance(value, tuple):
            return tuple(self._fill(name, item) for item in value)
        filled: Value = value  # type: ignore[assignment] # a Value that is no Own is a Value
        return filled

    def _own(self, name: str) -> Value:
        match name:
            case _ if name in _NAME_GROUPS:
                return GroupRef("main")
            case "group_instance_id" | "instance_id":
                return self.group_instance_id
            case _ if name in _NAME_MEMBERS:
                return self._own_member_id()
            case _ if name in _NAME_GENERATIONS:
                return self._own_generation()
            case _:
                raise ScenarioError(f"{self.name} has no {name} of its own; name one of {LEARNT_NAMES}")

    def _own_member_id(self) -> Text:
        return self.member_id if self._has_joined() else ""

    def _own_generation(self) -> Ref:
        return self.generation_id

    def _has_joined(self) -> bool:
        return any(
            isinstance(step, Receive)
            and "member_id" in descriptor(step.api).learnt_names
            and step.actor == self.name
            for step in self._conversation.steps
        )


def open_requests(steps: Sequence[Step]) -> dict[int, Send]:
    """Return, by index, the requests whose answers were not received, on connections that are still open."""
    found: dict[int, Send] = {}
    for index, step in enumerate(steps):
        match step:
            case Send():
                found[index] = step
            case Receive():
                found.pop(step.sent_at, None)
            case Disconnect():
                found = {at: sent for at, sent in found.items() if _line(sent) != _line(step)}
            case _:
                pass
    return found


def _line(step: Send | Disconnect) -> tuple[str, str]:
    return step.actor, step.connection
