"""One actor's connection: requests that await their answers, and answers that came early."""

from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import Final

from harness.runner.recorder import EventPosition, Recorder
from harness.scenario.script import ELSEWHERE, FORMERLY
from harness.targets.base.interface import BrokerSession, Connection, ConnectionLost, Frame, NoAnswer, Role
from harness.targets.external.namespace import TopicNames
from harness.trace.events import LATE, EventKind
from harness.wire.codec import Decoded, decode_response
from harness.wire.errors import MalformedResponse

_ROLES: Final = {ELSEWHERE: Role.OTHER, FORMERLY: Role.FORMER}
"""The connections that do not go to the coordinator."""
_STRAYS: Final = 100
"""So many frames that answer nothing: no client reads on."""


def role_of(connection: str) -> Role:
    """Return which broker a connection of an actor goes to."""
    return _ROLES.get(connection, Role.COORDINATOR)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRequest:
    """A request that was sent and whose answer has not come yet."""

    step: int
    api: str
    api_version: int
    correlation_id: int
    sent_at_ms: float
    client_waits_ms: int
    """How long a client would await the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A frame that came for a request, decoded if possible."""

    request: OpenRequest
    frame: Frame
    decoded: Decoded | None
    fault: str | None
    """Why the frame could not be decoded."""
    elapsed_ms: float
    is_late: bool = False
    """Whether it came after its time."""

    def record(self, kind: EventKind, place: EventPosition, recorder: Recorder) -> None:
        """Record the frame as an answer of a kind, or as malformed if it could not be decoded."""
        if self.decoded is None:
            recorder.note(
                EventKind.MALFORMED,
                place,
                self.fault,
                payload=self.frame.payload,
                correlation_id=self.request.correlation_id,
                elapsed_ms=self.elapsed_ms,
            )
            return
        recorder.response(
            kind,
            place,
            self.decoded,
            payload=self.frame.payload,
            elapsed_ms=self.elapsed_ms,
            permitted=self.frame.permitted,
            note=f"{LATE}clients wait {self.request.client_waits_ms / 1000:g} s" if self.is_late else None,
        )


@dataclass(slots=True, kw_only=True)
class Line:
    """A connection with its bookkeeping."""

    session: BrokerSession
    connection: Connection
    recorder: Recorder
    topics: TopicNames | None = None
    """The names of topics on an external broker."""
    is_written_again: bool = True
    """Whether to check for each answer that encoding its fields gives the same bytes."""
    _open: "OrderedDict[int, OpenRequest]" = field(default_factory=OrderedDict)
    """The requests that await answers, by correlation id, oldest first."""
    _early: dict[int, Answered] = field(default_factory=dict)
    """Answers that no step asked for yet, by the step that sent the request."""

    async def send(self, request: OpenRequest, payload: bytes) -> None:
        """Send a request; raises `ConnectionLost` if that is impossible."""
        await self.connection.send(payload)
        self._open[request.correlation_id] = request

    async def answer_to(self, sent_at: int, place: EventPosition, *, timeout_ms: float) -> Answered:
        """Wait for the answer to a step's request; raises `NoAnswer` or `ConnectionLost` if none comes."""
        deadline_ms = self.session.now_ms() + timeout_ms
        strays = 0
        while True:
            early = self._early.pop(sent_at, None)
            if early is not None:
                return early
            left_ms = max(0.0, deadline_ms - self.session.now_ms())
            frame = await self.connection.receive(timeout_ms=left_ms)
            answered = self._read(frame, place)
            if answered is not None:
                self._early[answered.request.step] = answered
            elif (strays := strays + 1) >= _STRAYS:
                raise NoAnswer(f"given up after {strays} frames that answer nothing")

    def client_waits_ms(self, sent_at: int) -> float:
        """Return how much longer a client would await the answer to a step's request; 0 if it is over."""
        open_ms = (
            each.sent_at_ms + each.client_waits_ms for each in self._open.values() if each.step == sent_at
        )
        return max(0.0, max(open_ms, default=0.0) - self.session.now_ms())

    def put_back(self, answered: Answered) -> None:
        """Keep an answer that came too early for the step that will ask for it."""
        self._early[answered.request.step] = answered

    async def closed(self, place: EventPosition, *, timeout_ms: float) -> str:
        """Wait until the broker closes, and record frames meanwhile; raises `NoAnswer` if it does not."""
        deadline_ms = self.session.now_ms() + timeout_ms
        while True:
            try:
                frame = await self.connection.receive(
                    timeout_ms=max(0.0, deadline_ms - self.session.now_ms())
                )
            except ConnectionLost as lost:
                return str(lost)
            self._unsolicited(frame, place, "a frame came where the connection was to be closed")

    def _read(self, frame: Frame, place: EventPosition) -> Answered | None:
        correlation_id = int.from_bytes(frame.payload[:4], "big", signed=True)
        request = self._open.get(correlation_id)
        if request is None and len(frame.payload) < 4:
            # The frame is too short for a correlation id: Kafka answers in the order of the requests.
            request = next(iter(self._open.values()), None)
        if request is None:
            self._unsolicited(frame, place, f"correlation id {correlation_id} awaits no answer")
            return None
        del self._open[request.correlation_id]
        decoded, fault = None, None
        try:
            decoded = decode_response(
                request.api,
                request.api_version,
                frame.payload,
                is_written_again=self.is_written_again,
            )
            if self.topics is not None:
                decoded = replace(decoded, fields=self.topics.incoming(decoded.fields))
        except MalformedResponse as error:
            fault = str(error)
        return Answered(
            request=request,
            frame=frame,
            decoded=decoded,
            fault=fault,
            elapsed_ms=self.session.now_ms() - request.sent_at_ms,
        )

    def _unsolicited(self, frame: Frame, place: EventPosition, note: str) -> None:
        self.recorder.note(EventKind.UNSOLICITED, place, note, payload=frame.payload)
