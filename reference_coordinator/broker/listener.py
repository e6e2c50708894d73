"""The broker's interface of frames, sans-IO, for the TCP server and for a harness in the same process.

A connection has one request in progress; later frames wait until its answer is sent, as Kafka mutes a
channel. A malformed frame closes only its connection.

Source: SocketServer.Processor#processCompletedReceives (3.9.2).
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import count
from types import MappingProxyType
from typing import Final, NewType

from reference_coordinator.broker.answer_sizes import ESTIMATED, answer_bytes
from reference_coordinator.broker.authorized_apis import AuthorizedApis
from reference_coordinator.broker.cluster_state import ClusterState, Node
from reference_coordinator.broker.error_responses import ABOUT_TOPICS
from reference_coordinator.broker.kafka_apis import Answers, KafkaApis
from reference_coordinator.broker.written_answers import PermittedFrames, failed, write_answer
from reference_coordinator.broker_messages import BrokerRequest, BrokerResponse
from reference_coordinator.core.choices import Choices
from reference_coordinator.core.effects import Respond
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import OFFSETS_TOPIC, Millis, ResponseToken
from reference_coordinator.core.parts import AnswerTooLargeError
from reference_coordinator.core.values import value
from reference_coordinator.log.offsets_log import OffsetsLog
from reference_coordinator.messages import RequestContext
from reference_coordinator.messages.membership import ANONYMOUS
from reference_coordinator.profile.api_versions import ApiRanges
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.profiles import Profile
from reference_coordinator.shares.messages import OfShares
from reference_coordinator.topic_logs.messages import Unanswered
from reference_coordinator.wire import (
    MalformedRequestError,
    ReceivedRequest,
    RequestHeader,
    UnwritableResponseError,
    read_request,
)

ConnectionId = NewType("ConnectionId", int)
_REMEMBERED_CONTEXTS: Final = 256
_API_KEY_BYTES: Final = 2
_NO_TOPICS: Final[Mapping[str, int]] = MappingProxyType({})


@value
class SendFrame:
    """Send a frame, without its size prefix, to a connection."""

    connection: ConnectionId
    frame: bytes
    permitted: tuple[PermittedFrames, ...] = ()
    """The frames that Kafka may send instead."""


@value
class CloseConnection:
    """Close a connection, which the listener has already removed."""

    connection: ConnectionId
    reason: str


Outgoing = SendFrame | CloseConnection
HandlerFailed = Callable[[bytes, Exception], None]
"""A callback for a request whose handler failed, with the frame and the exception."""


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
    """The state that the listeners of a cluster share."""

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
            profile: the release whose behaviour it shows.
            config: its configuration.
            choices: generates ids and breaks ties.
            host: the host that clients are given.
            port: the port that clients are given.
            node_id: the id that clients are given.
            topics: the initial topics with their partition counts; only without `shared`.
            log: `__consumer_offsets`, if it outlives the broker; only without `shared`.
            shared: the state that it shares with the other brokers of its cluster, if there are any.
        """
        self._profile = profile
        self._choices = choices
        self._node = Node(node_id=node_id, host=host, port=port)
        self._shared = _alone(config, topics, log) if shared is None else shared
        self.apis = self._started(config)
        """The broker that handles the frames, for callers that make its writes fail."""
        self.handler_failed: HandlerFailed | None = None
        """If it is set, a request whose handler raises is answered UNKNOWN_SERVER_ERROR, as by Kafka.
        Otherwise the exception reaches the caller, because it shows a fault of the reference."""
        self.refuses_topics = False
        """Whether topics' logs cannot be stored for now, so that requests about them are refused."""
        self._is_up = True
        self._channels: dict[ConnectionId, _Channel] = {}
        self._in_progress: dict[ResponseToken, _InProgress] = {}
        self._estimated: tuple[bytes, ReceivedRequest] | None = None
        """The request whose answer was estimated last, so that it is not read twice."""

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
        """Set the callback for requests whose handler fails; they are then answered with an error."""
        self.handler_failed = handler_failed

    def refuse_topics(self, *, refuses: bool) -> None:
        """Refuse requests about topics' logs, which cannot be stored for now, or serve them again."""
        self.refuses_topics = refuses

    def connected(self, *, client_host: str, principal: str = ANONYMOUS) -> ConnectionId:
        """Open a connection from an address, e.g. `127.0.0.1`; groups show it as Java prints it."""
        connection = ConnectionId(next(self._shared.connection_ids))
        self._channels[connection] = _Channel(client_host=f"/{client_host}", principal=principal)
        return connection

    def answer_bytes(self, connection: ConnectionId, frame: bytes) -> int:
        """Return about how large the answer to a request frame is, or 0 if it is not estimated."""
        if connection not in self._channels or int.from_bytes(frame[:_API_KEY_BYTES], "big") not in ESTIMATED:
            return 0
        try:
            request = read_request(frame, ranges=self.ranges)
        except MalformedRequestError:
            return 0
        self._estimated = frame, request
        return answer_bytes(self.apis.broker, self.apis.coordinator.shard, request.message)

    def received(self, connection: ConnectionId, frame: bytes, *, now_ms: Millis) -> tuple[Outgoing, ...]:
        """Process a frame; it has no effect on a connection that was closed from this side."""
        channel = self._channels.get(connection)
        if channel is None:
            return ()
        found_out = self.publish(now_ms=now_ms) if self.apis.is_behind else ()
        channel.waiting.append(frame)
        if channel.is_muted:
            return found_out
        return found_out + self._process(deque((connection,)), now_ms=now_ms)

    def is_busy(self, connection: ConnectionId) -> bool:
        """Return whether a request of a connection is in progress."""
        channel = self._channels.get(connection)
        return channel is not None and channel.is_muted

    def disconnected(self, connection: ConnectionId, *, now_ms: Millis) -> tuple[Outgoing, ...]:
        """Remove a connection. Its request continues, its answer is dropped, its share session ends."""
        self._channels.pop(connection, None)
        self._estimated = None
        return self._send(self.apis.clients.disconnected(connection, now_ms=now_ms), now_ms=now_ms)

    def advance(self, *, now_ms: Millis) -> tuple[Outgoing, ...]:
        """Process all due deadlines."""
        return self._send(self.apis.advance(now_ms=now_ms), now_ms=now_ms)

    def next_deadline(self) -> Millis | None:
        """Return when `advance` is due."""
        return self.apis.next_deadline()

    def publish(self, *, now_ms: Millis) -> tuple[Outgoing, ...]:
        """Publish the changes in the cluster to the broker."""
        return self._send(self.apis.publish(now_ms=now_ms), now_ms=now_ms)

    def shut_down(self, *, now_ms: Millis) -> tuple[Outgoing, ...]:
        """Shut the broker down: answer parked requests, if the release does so, and close connections."""
        for channel in self._channels.values():
            channel.waiting.clear()
        return self._send(self.apis.shut_down(now_ms=now_ms), now_ms=now_ms) + self.stop()

    def stop(self) -> tuple[Outgoing, ...]:
        """Stop the broker without a controlled shutdown: connections close, and unwritten state is lost."""
        closed = tuple(self._close(each, "the broker ended") for each in tuple(self._channels))
        self._in_progress.clear()
        self._is_up = False
        return closed

    def cut_off(self) -> None:
        """Cut the broker off from the network; its timers continue."""
        self.apis.is_cut_off = True

    def rejoin(self, *, now_ms: Millis) -> tuple[Outgoing, ...]:
        """Reconnect the broker to the network: close its old connections, and publish what it missed."""
        closed = tuple(self._close(each, "the broker had no network") for each in tuple(self._channels))
        self.apis.rejoin()
        return closed + self.publish(now_ms=now_ms)

    def restart(
        self, *, now_ms: Millis, config: GroupCoordinatorConfig | None = None
    ) -> tuple[Outgoing, ...]:
        """Shut the broker down and start it with the same log, perhaps with another configuration."""
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
        """From now on, pause the loading of all logs, or of some partitions and those queued after them."""
        self.apis.pause_at_loading(partitions)

    def resume_from_loading(self, *, now_ms: Millis) -> tuple[Outgoing, ...]:
        """Load the paused logs."""
        return self._send(self.apis.resume_from_loading(now_ms=now_ms), now_ms=now_ms)

    def pause_at_dead(self) -> None:
        """From now on, pause before the removal of groups that DeleteGroups has marked Dead."""
        self.apis.pause_at_dead()

    def resume_from_dead(self, *, now_ms: Millis) -> tuple[Outgoing, ...]:
        """Remove the paused groups."""
        return self._send(self.apis.resume_from_dead(now_ms=now_ms), now_ms=now_ms)

    def write_parked_markers(self, *, now_ms: Millis) -> tuple[Outgoing, ...]:
        """Try again to write the end markers that no coordinator could accept."""
        return self._send(self.apis.write_parked_markers(now_ms=now_ms), now_ms=now_ms)

    def _send(self, answers: Answers, *, now_ms: Millis) -> tuple[Outgoing, ...]:
        if not answers:
            return ()
        unmuted: deque[ConnectionId] = deque()
        outgoing = tuple(self._outgoing(answers, unmuted))
        return outgoing + self._process(unmuted, now_ms=now_ms)

    def _process(self, ready: deque[ConnectionId], *, now_ms: Millis) -> tuple[Outgoing, ...]:
        """Process the waiting frames of connections, including those that this unmutes."""
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
        request = self._read(frame)
        token = ResponseToken(next(self._shared.tokens))
        header, message = request.header, request.message
        self._in_progress[token] = _InProgress(connection=connection, header=header, message=message)
        channel.is_muted = True
        if self.refuses_topics and isinstance(message, ABOUT_TOPICS):
            return failed(token, message, header, Errors.KAFKA_STORAGE_ERROR)
        context = _context(header.api_version, header.client_id, channel.client_host, channel.principal)
        if isinstance(message, OfShares):
            context = replace(context, connection=connection)
        try:
            return self.apis.handle(message, context, token, now_ms=now_ms)
        except Exception as error:
            if self.handler_failed is None:
                raise
            self.handler_failed(frame, error)
            return failed(token, message, header)

    def _read(self, frame: bytes) -> ReceivedRequest:
        estimated, self._estimated = self._estimated, None
        if estimated is not None and estimated[0] is frame:
            return estimated[1]
        return read_request(frame, ranges=self.ranges)

    def _outgoing(self, answers: Answers, unmuted: deque[ConnectionId]) -> list[Outgoing]:
        outgoing: list[Outgoing] = []
        for answer in answers:
            answered = self._in_progress.pop(answer.token, None)
            if answered is None:
                # Its handler failed halfway, and the error was its answer.
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
        """Close the connection if the request failed. Source: RequestChannel#closeConnection (4.3.1)."""
        return () if response.failure is None else (self._close(connection, response.failure),)

    def _frame(self, answered: _InProgress, answer: Respond[BrokerResponse]) -> Outgoing:
        try:
            frame, permitted = write_answer(answered.header, answered.message, answer)
        except (UnwritableResponseError, AnswerTooLargeError) as error:
            return self._close(answered.connection, str(error))
        return SendFrame(connection=answered.connection, frame=frame, permitted=permitted)

    def _close(self, connection: ConnectionId, reason: str) -> CloseConnection:
        del self._channels[connection]
        return CloseConnection(connection=connection, reason=reason)


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
