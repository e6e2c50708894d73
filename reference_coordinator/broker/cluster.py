"""Several brokers and the faults injected into them, sans-IO: listeners over one state, with one clock.

A cluster of one broker behaves as that broker. Connection ids are unique in the whole cluster, so the broker
of a connection is given only when it is opened.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from reference_coordinator.broker.cluster_state import ClusterState, Node
from reference_coordinator.broker.listener import (
    ConnectionId,
    HandlerFailed,
    Listener,
    Outgoing,
    Shared,
)
from reference_coordinator.core.choices import Choices
from reference_coordinator.core.ids import OFFSETS_TOPIC, Millis
from reference_coordinator.log.batches import StoredPartition
from reference_coordinator.messages.membership import ANONYMOUS
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.profiles import Profile

_NO_TOPICS: Final[Mapping[str, int]] = MappingProxyType({})


class Cluster:
    """Brokers that share their topics and logs. At first, the first of them coordinates all groups."""

    def __init__(
        self,
        *,
        profile: Profile,
        config: GroupCoordinatorConfig,
        choices: Choices,
        nodes: Sequence[Node],
        topics: Mapping[str, int] = _NO_TOPICS,
    ) -> None:
        self.profile = profile
        """The release whose behaviour all of them show."""
        self.state = ClusterState()
        for name, num_partitions in topics.items():
            self.state.topics.create(name, num_partitions)
        shared = Shared(state=self.state)
        self._listeners = {
            node.node_id: Listener(
                profile=profile,
                config=config,
                choices=choices,
                host=node.host,
                port=node.port,
                node_id=node.node_id,
                shared=shared,
            )
            for node in nodes
        }
        self._homes: dict[ConnectionId, int] = {}
        self._paused: dict[int, list[tuple[ConnectionId, bytes]]] = {}
        """For each paused broker, the frames to process when it resumes."""
        self._down: set[int] = set()
        self._cut_off: set[int] = set()
        """The brokers without a network."""

    @property
    def coordinator_id(self) -> int | None:
        """The coordinator of the first partition, and of all others unless partitions were moved."""
        leader = self.state.leader(OFFSETS_TOPIC, 0)
        return None if leader is None else leader.node_id

    @property
    def node_ids_up(self) -> tuple[int, ...]:
        """The brokers that are up, including paused ones."""
        return tuple(node.node_id for node in self.state.nodes)

    def report_failures(self, handler_failed: HandlerFailed) -> None:
        """Set the callback for requests whose handler fails; see `Listener`."""
        for listener in self._listeners.values():
            listener.handler_failed = handler_failed

    def refuse_topics(self, *, refuses: bool) -> None:
        """Refuse requests about topics' logs, or serve them again; see `Listener`."""
        for listener in self._listeners.values():
            listener.refuse_topics(refuses=refuses)

    def is_reachable(self, node_id: int) -> bool:
        """Return whether a client can connect to a broker, even if it is paused."""
        return node_id not in self._down | self._cut_off

    def listener(self, node_id: int) -> Listener:
        """Return the listener of a broker."""
        return self._listeners[node_id]

    def connected(self, node_id: int, *, client_host: str, principal: str = ANONYMOUS) -> ConnectionId:
        """Open a connection to a broker that can be reached."""
        assert self.is_reachable(node_id), f"broker {node_id} is down"
        connection = self._listeners[node_id].connected(client_host=client_host, principal=principal)
        self._homes[connection] = node_id
        return connection

    def answer_bytes(self, connection: ConnectionId, frame: bytes) -> int:
        """Return about how large the answer to a request frame is; see `Listener`."""
        return self._listeners[self._homes[connection]].answer_bytes(connection, frame)

    def received(self, connection: ConnectionId, frame: bytes, *, now_ms: Millis) -> tuple[Outgoing, ...]:
        """Process a frame; it has no effect on a connection that was closed from this side."""
        node_id = self._homes[connection]
        if node_id in self._cut_off:
            return ()
        if node_id in self._paused:
            self._paused[node_id].append((connection, frame))
            return ()
        outgoing = self._listeners[node_id].received(connection, frame, now_ms=now_ms)
        return outgoing + self._published(now_ms=now_ms)

    def is_busy(self, connection: ConnectionId) -> bool:
        """Return whether a request of a connection is in progress, or would wait for its paused broker."""
        node_id = self._homes[connection]
        return node_id in self._paused or self._listeners[node_id].is_busy(connection)

    def disconnected(self, connection: ConnectionId, *, now_ms: Millis) -> tuple[Outgoing, ...]:
        """Remove a connection."""
        return self._listeners[self._homes.pop(connection)].disconnected(connection, now_ms=now_ms)

    def advance(self, *, now_ms: Millis) -> tuple[Outgoing, ...]:
        """Process all due deadlines of the brokers that are not paused."""
        outgoing: list[Outgoing] = []
        for node_id, listener in self._running():
            answers = listener.advance(now_ms=now_ms)
            outgoing.extend(() if node_id in self._cut_off else answers)
        return tuple(outgoing)

    def next_deadline(self) -> Millis | None:
        """Return when `advance` is due."""
        deadlines = (listener.next_deadline() for _, listener in self._running())
        return min((each for each in deadlines if each is not None), default=None)

    def move(
        self, to: int, *, now_ms: Millis, partitions: Collection[int] | None = None
    ) -> tuple[Outgoing, ...]:
        """Make a broker lead partitions of `__consumer_offsets`; by default all, and transactions, too."""
        self.state.move(partitions, to)
        return self._published(now_ms=now_ms)

    def kill(self, node_id: int, *, now_ms: Millis) -> tuple[Outgoing, ...]:
        """Stop a broker without a controlled shutdown; another one that is up takes over its partitions."""
        self._paused.pop(node_id, None)
        self._down.add(node_id)
        closed = self._listeners[node_id].stop()
        self.state.fence(node_id)
        return closed + self._published(now_ms=now_ms)

    def restart(
        self, node_id: int, *, now_ms: Millis, config: GroupCoordinatorConfig | None = None
    ) -> tuple[Outgoing, ...]:
        """Restart a broker, perhaps with a new configuration; it leads partitions without another leader."""
        self._paused.pop(node_id, None)
        self._down.discard(node_id)
        outgoing = self._listeners[node_id].restart(now_ms=now_ms, config=config)
        return outgoing + self._published(now_ms=now_ms)

    def shut_down(self, *, now_ms: Millis) -> tuple[Outgoing, ...]:
        """Shut all brokers down; those that are paused or have no network send nothing."""
        return _all(
            listener.shut_down(now_ms=now_ms)
            for node_id, listener in self._running()
            if node_id not in self._cut_off
        )

    def pause(self, node_id: int) -> None:
        """Pause a broker: it processes neither frames nor deadlines, but remains the leader."""
        self._paused.setdefault(node_id, [])

    def resume(self, node_id: int, *, now_ms: Millis) -> tuple[Outgoing, ...]:
        """Resume a broker: process first the deadlines that are overdue, then the frames received."""
        waiting = self._paused.pop(node_id, [])
        listener = self._listeners[node_id]
        outgoing = list(self._published(now_ms=now_ms))
        outgoing.extend(listener.advance(now_ms=now_ms))
        outgoing.extend(listener.write_parked_markers(now_ms=now_ms))
        for connection, frame in waiting:
            outgoing.extend(listener.received(connection, frame, now_ms=now_ms))
        heard = () if node_id in self._cut_off else outgoing
        return (*heard, *self._published(now_ms=now_ms))

    def disconnect(self, node_id: int, *, now_ms: Millis) -> tuple[Outgoing, ...]:
        """Cut a broker off from the network: it neither receives nor sends, and its timers continue.

        Another broker, which must exist, takes over its partitions.
        """
        self._cut_off.add(node_id)
        self._listeners[node_id].cut_off()
        self.state.fence(node_id)
        return self._published(now_ms=now_ms)

    def reconnect(self, node_id: int, *, now_ms: Millis) -> tuple[Outgoing, ...]:
        """Reconnect a broker to the network; it then learns that it no longer leads its partitions."""
        self._cut_off.discard(node_id)
        outgoing = self._listeners[node_id].rejoin(now_ms=now_ms)
        return outgoing + self._published(now_ms=now_ms)

    def append_external(self, partition: int, added: StoredPartition) -> None:
        """Add external records, written by no coordinator, to a partition's log."""
        self.state.log.append_external(partition, added)

    def pause_at_loading(self, partitions: frozenset[int] = frozenset()) -> None:
        """From now on, pause the loading of all logs, or of some partitions and those queued after them."""
        for listener in self._listeners.values():
            listener.pause_at_loading(partitions)

    def resume_from_loading(self, *, now_ms: Millis) -> tuple[Outgoing, ...]:
        """Load the paused logs, and stop pausing."""
        return _all(listener.resume_from_loading(now_ms=now_ms) for listener in self._listeners.values())

    def pause_at_dead(self) -> None:
        """From now on, pause before the removal of groups that DeleteGroups has marked Dead."""
        for listener in self._listeners.values():
            listener.pause_at_dead()

    def resume_from_dead(self, *, now_ms: Millis) -> tuple[Outgoing, ...]:
        """Remove the paused groups, and stop pausing."""
        return _all(listener.resume_from_dead(now_ms=now_ms) for listener in self._listeners.values())

    def _running(self) -> list[tuple[int, Listener]]:
        return [
            (node_id, listener)
            for node_id, listener in self._listeners.items()
            if node_id not in self._down and node_id not in self._paused
        ]

    def _published(self, *, now_ms: Millis) -> tuple[Outgoing, ...]:
        """Publish changes to every running broker."""
        running = [listener for _, listener in self._running()]
        return _all(listener.publish(now_ms=now_ms) for listener in running)


def _all(outgoing: Iterable[tuple[Outgoing, ...]]) -> tuple[Outgoing, ...]:
    return tuple(each for some in outgoing for each in some)
