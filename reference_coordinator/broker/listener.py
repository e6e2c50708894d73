"""The broker's front of frames, sans-IO: what the TCP server and a harness in the same process share.

A connection has one request in progress; what comes behind it waits until the answer has left, as Kafka
mutes a channel. A malformed frame closes its connection and nothing else.

Source: SocketServer.Processor#processCompletedReceives (3.9.2).
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import count
from types import MappingProxyType
from typing import Final, NewType

from reference_coordinator.broker.authorized_apis import AuthorizedApis
from reference_coordinator.broker.cluster_state import ClusterState, Node
from reference_coordinator.broker.error_responses import ABOUT_TOPICS, error_response
from reference_coordinator.broker.kafka_apis import Answers, KafkaApis
from reference_coordinator.broker_messages import BrokerRequest, BrokerResponse
from reference_coordinator.core.choices import Choices
from reference_coordinator.core.effects import Permitted, Respond
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import OFFSETS_TOPIC, Millis, ResponseToken
from reference_coordinator.core.values import value
from reference_coordinator.log.offsets_log import OffsetsLog
from reference_coordinator.messages import RequestContext
from reference_coordinator.messages.membership import ANONYMOUS
from reference_coordinator.profile.api_versions import ApiRanges
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.profiles import Profile
from reference_coordinator.topic_logs.messages import Unanswered
from reference_coordinator.wire import (
    MalformedRequestError,
    RequestHeader,
    UnwritableResponseError,
    read_request,
    write_response,
)

ConnectionId = NewType("ConnectionId", int)
_REMEMBERED_CONTEXTS: Final = 256
_NO_TOKEN: Final = ResponseToken(0)
_NO_TOPICS: Final[Mapping[str, int]] = MappingProxyType({})


@value
class PermittedFrames:
    """Frames that Kafka may send instead of one, where its choice hangs on map order or a race."""

    field: str
    """The top-level field in which they differ."""
    frames: tuple[bytes, ...]
    """One for each value that is right; that of the frame that is sent is among them."""
    reason: str


@value
class SendFrame:
    """Send a frame, without its size prefix, to a connection."""

    connection: ConnectionId
    frame: bytes
    permitted: tuple[PermittedFrames, ...] = ()
    """What Kafka may send instead."""


@value
class CloseConnection:
    """Close a connection, which the listener has forgotten already."""

    connection: ConnectionId
    reason: str


Outgoing = SendFrame | CloseConnection
HandlerFailed = Callable[[bytes, Exception], None]
"""Is told of a request that could not be handled: the frame, and what was raised."""


@dataclass(slots=True, kw_only=True)
class _Channel:
    client_host: str
    principal: str
    waiting: deque[bytes] = field(default_factory=deque)
    is_muted: bool = False


@value
class _InProgress:
    connection: ConnectionId
    header: RequestHeader
    message: BrokerRequest


@value
class Shared:
    """What the listeners of a cluster have in common."""

    state: ClusterState
    connection_ids: Iterator[int] = field(default_factory=lambda: count(1))
    tokens: Iterator[int] = field(default_factory=lambda: count(1))


class Listener:
    """One broker, reached through frames."""

    def __init__(
        self,
        *,
        profile: Profile,
        config: GroupCoordinatorConfig,
        choices: Choices,
        host: str,
        port: int,
        node_id: int = 1,
        topics: Mapping[str, int] = _NO_TOPICS,
        log: OffsetsLog | None = None,
        shared: Shared | None = None,
    ) -> None:
        """Start a broker; a log that has records is loaded before the first request.

        Args:
            profile: the release that it behaves as.
            config: its configuration.
            choices: ids and ties.
            host: what clients are told to reach it by.
            port: likewise.
            node_id: likewise.
            topics: to begin with, by name, with partition counts; of a broker alone.
            log: `__consumer_offsets`, if it outlives the broker; of a broker alone.
            shared: what it shares with the rest of its cluster, if it is not alone.
        """
        self._profile = profile
        self._choices = choices
        self._node = Node(node_id=node_id, host=host, port=port)
        self._shared = _alone(config, topics, log) if shared is None else shared
        self.apis = self._started(config)
        """The broker behind the frames, for who wants to make its writes fail."""
        self.handler_failed: HandlerFailed | None = None
        """Where it is set, a request whose handler raises is answered UNKNOWN_SERVER_ERROR, as by Kafka.
        Otherwise the exception goes on to the caller, who finds a fault of the reference by it."""
        self.refuses_topics = False
        """Whether topics' logs cannot be kept for now, so that whoever asks for them is refused."""
        self._is_up = True
        self._channels: dict[ConnectionId, _Channel] = {}
        self._in_progress: dict[ResponseToken, _InProgress] = {}

    def _started(self, config: GroupCoordinatorConfig) -> KafkaApis:
        apis = AuthorizedApis if config.authorizer_class_name else KafkaApis
        return apis(
            config=config,
            profile=self._profile,
            choices=self._choices,
            node=self._node,
            cluster=self._shared.state,
        )

    @property
    def ranges(self) -> ApiRanges:
        """The API versions that the broker advertises."""
        return self.apis.broker.ranges

    def report_failures(self, handler_failed: HandlerFailed) -> None:
        """Let somebody hear of requests that cannot be handled, which are answered all the same."""
        self.handler_failed = handler_failed

    def refuse_topics(self, *, refuses: bool) -> None:
        """Refuse whoever asks for topics' logs, which cannot be kept for now, or serve them again."""
        self.refuses_topics = refuses

    def connected(self, *, client_host: str, principal: str = ANONYMOUS) -> ConnectionId:
        """Open a connection from an address, e.g. `127.0.0.1`; groups show it as Java prints it."""
        connection = ConnectionId(next(self._shared.connection_ids))
        self._channels[connection] = _Channel(client_host=f"/{client_host}", principal=principal)
        return connection

    def received(self, connection: ConnectionId, frame: bytes, *, now_ms: Millis) -> tuple[Outgoing, ...]:
        """Take a frame; without effect on a connection that was closed from this side."""
        channel = self._channels.get(connection)
        if channel is None:
            return ()
        found_out = self.publish(now_ms=now_ms) if self.apis.is_behind else ()
        channel.waiting.append(frame)
        if channel.is_muted:
            return found_out
        return found_out + self._process(deque((connection,)), now_ms=now_ms)

    def is_busy(self, connection: ConnectionId) -> bool:
        """Whether a request of a connection is in progress."""
        channel = self._channels.get(connection)
        return channel is not None and channel.is_muted

    def disconnected(self, connection: ConnectionId, *, now_ms: Millis) -> tuple[Outgoing, ...]:
        """Forget a connection. Its request in progress goes on, and its answer is dropped."""
        del now_ms  # No group notices that a connection is gone.
        self._channels.pop(connection, None)
        return ()

    def advance(self, *, now_ms: Millis) -> tuple[Outgoing, ...]:
        """Let every deadline fire that is due."""
        return self._send(self.apis.advance(now_ms=now_ms), now_ms=now_ms)

    def next_deadline(self) -> Millis | None:
        """Return when `advance` is due."""
        return self.apis.next_deadline()

    def publish(self, *, now_ms: Millis) -> tuple[Outgoing, ...]:
        """Let the broker find out what has changed in its cluster."""
        return self._send(self.apis.publish(now_ms=now_ms), now_ms=now_ms)

    def shut_down(self, *, now_ms: Millis) -> tuple[Outgoing, ...]:
        """Shut the broker down: those who wait are told, if the release does so, and connections close."""
        for channel in self._channels.values():
            channel.waiting.clear()
        return self._send(self.apis.shut_down(now_ms=now_ms), now_ms=now_ms) + self.stop()

    def stop(self) -> tuple[Outgoing, ...]:
        """End the broker without a word: its connections close, and what it did not write is lost."""
        closed = tuple(self._close(each, "the broker ended") for each in tuple(self._channels))
        self._in_progress.clear()
        self._is_up = False
        return closed

    def cut_off(self) -> None:
        """Take the network from the broker, whose timers run on."""
        self.apis.is_cut_off = True

    def rejoin(self, *, now_ms: Millis) -> tuple[Outgoing, ...]:
        """Give it back: connections from before are gone, and the broker finds out what it missed."""
        closed = tuple(self._close(each, "the broker had no network") for each in tuple(self._channels))
        self.apis.rejoin()
        return closed + self.publish(now_ms=now_ms)

    def restart(
        self, *, now_ms: Millis, config: GroupCoordinatorConfig | None = None
    ) -> tuple[Outgoing, ...]:
        """Shut the broker down and start it over its log, perhaps with another configuration."""
        closed = self.shut_down(now_ms=now_ms) if self._is_up else ()
        self._is_up = True
        former = self.apis
        self.apis = self._started(former.broker.config if config is None else config)
        self.apis.pauses_at_loading, self.apis.paused_partitions = (
            former.pauses_at_loading,
            former.paused_partitions,
        )
        return closed + self.publish(now_ms=now_ms)

    def pause_at_loading(self, partitions: frozenset[int] = frozenset()) -> None:
        """Let logs that are to be loaded wait from now on; or some, and those that come after them."""
        self.apis.pause_at_loading(partitions)

    def resume_from_loading(self, *, now_ms: Millis) -> tuple[Outgoing, ...]:
        """Load what waits for it."""
        return self._send(self.apis.resume_from_loading(now_ms=now_ms), now_ms=now_ms)

    def pause_at_dead(self) -> None:
        """Let groups that DeleteGroups has marked Dead wait for their removal from now on."""
        self.apis.pause_at_dead()

    def resume_from_dead(self, *, now_ms: Millis) -> tuple[Outgoing, ...]:
        """Remove the groups that wait for it."""
        return self._send(self.apis.resume_from_dead(now_ms=now_ms), now_ms=now_ms)

    def write_parked_markers(self, *, now_ms: Millis) -> tuple[Outgoing, ...]:
        """Try again to write the ends of transactions that nobody could take."""
        return self._send(self.apis.write_parked_markers(now_ms=now_ms), now_ms=now_ms)

    def _send(self, answers: Answers, *, now_ms: Millis) -> tuple[Outgoing, ...]:
        if not answers:
            return ()
        unmuted: deque[ConnectionId] = deque()
        outgoing = tuple(self._outgoing(answers, unmuted))
        return outgoing + self._process(unmuted, now_ms=now_ms)

    def _process(self, ready: deque[ConnectionId], *, now_ms: Millis) -> tuple[Outgoing, ...]:
        """Work off the waiting frames of connections, and of those that become free by it."""
        outgoing: list[Outgoing] = []
        while ready:
            connection = ready.popleft()
            channel = self._channels.get(connection)
            if channel is None or channel.is_muted or not channel.waiting:
                continue
            frame = channel.waiting.popleft()
            if channel.waiting:
                ready.append(connection)
            try:
                answers = self._handle(connection, channel, frame, now_ms=now_ms)
            except MalformedRequestError as error:
                outgoing.append(self._close(connection, str(error)))
            else:
                outgoing.extend(self._outgoing(answers, ready))
        return tuple(outgoing)

    def _handle(
        self, connection: ConnectionId, channel: _Channel, frame: bytes, *, now_ms: Millis
    ) -> Answers:
        request = read_request(frame, ranges=self.ranges)
        token = ResponseToken(next(self._shared.tokens))
        header, message = request.header, request.message
        self._in_progress[token] = _InProgress(connection=connection, header=header, message=message)
        channel.is_muted = True
        if self.refuses_topics and isinstance(message, ABOUT_TOPICS):
            return _failed(token, message, header, Errors.KAFKA_STORAGE_ERROR)
        context = _context(header.api_version, header.client_id, channel.client_host, channel.principal)
        try:
            return self.apis.handle(message, context, token, now_ms=now_ms)
        except Exception as error:
            if self.handler_failed is None:
                raise
            self.handler_failed(frame, error)
            return _failed(token, message, header)

    def _outgoing(self, answers: Answers, unmuted: deque[ConnectionId]) -> list[Outgoing]:
        outgoing: list[Outgoing] = []
        for answer in answers:
            answered = self._in_progress.pop(answer.token, None)
            if answered is None:
                # Its handler failed half way, and that was its answer.
                assert self.handler_failed is not None, "a request is answered once"
                continue
            channel = self._channels.get(answered.connection)
            if channel is None:
                continue
            channel.is_muted = False
            if channel.waiting:
                unmuted.append(answered.connection)
            if isinstance(answer.response, Unanswered):
                outgoing.extend(self._untold(answered.connection, answer.response))
                continue
            outgoing.append(self._frame(answered, answer))
        return outgoing

    def _untold(self, connection: ConnectionId, response: Unanswered) -> tuple[Outgoing, ...]:
        """Return what who wants no answer notices of it. Source: RequestChannel#closeConnection (4.3.1)."""
        return () if response.failure is None else (self._close(connection, response.failure),)

    def _frame(self, answered: _InProgress, answer: Respond[BrokerResponse]) -> Outgoing:
        try:
            frame = write_response(answered.header, answer.response)
            permitted = tuple(_permitted_frames(answered, answer, each) for each in answer.permitted)
        except UnwritableResponseError as error:
            return self._instead(answered, error)
        return SendFrame(connection=answered.connection, frame=frame, permitted=permitted)

    def _instead(self, answered: _InProgress, unwritable: UnwritableResponseError) -> Outgoing:
        """Answer with an error where the answer has no bytes, as a text beyond 32767 bytes has none.

        Source: KafkaApis#handle, RequestHandlerHelper#handleError (4.3.1).
        """
        try:
            (answer,) = _failed(_NO_TOKEN, answered.message, answered.header)
            frame = write_response(answered.header, answer.response)
        except (UnwritableResponseError, KeyError):
            return self._close(answered.connection, str(unwritable))
        return SendFrame(connection=answered.connection, frame=frame)

    def _close(self, connection: ConnectionId, reason: str) -> CloseConnection:
        del self._channels[connection]
        return CloseConnection(connection=connection, reason=reason)


def _failed(
    token: ResponseToken,
    message: BrokerRequest,
    header: RequestHeader,
    error: Errors = Errors.UNKNOWN_SERVER_ERROR,
) -> Answers:
    response = error_response(message, error, api_version=header.api_version)
    return (Respond(token=token, response=response),)


def _alone(config: GroupCoordinatorConfig, topics: Mapping[str, int], log: OffsetsLog | None) -> Shared:
    state = ClusterState(log)
    for name, num_partitions in topics.items():
        state.topics.create(name, num_partitions)
    if state.log.partitions():
        state.topics.create(OFFSETS_TOPIC, config.offsets_topic_num_partitions)
    return Shared(state=state)


@lru_cache(maxsize=_REMEMBERED_CONTEXTS)
def _context(api_version: int, client_id: str | None, client_host: str, principal: str) -> RequestContext:
    return RequestContext(
        api_version=api_version, client_id=client_id, client_host=client_host, principal=principal
    )


def _permitted_frames(
    answered: _InProgress, answer: Respond[BrokerResponse], choice: Permitted
) -> PermittedFrames:
    frames = tuple(
        write_response(answered.header, replace(answer.response, **{choice.field: value}))  # type: ignore[arg-type] # a choice names a field of its response
        for value in choice.any_of
    )
    return PermittedFrames(field=choice.field, frames=frames, reason=choice.reason)
