"""A broker session of the reference: a cluster for one scenario only, and its clock."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final

from typing_extensions import override

from harness.targets.base.appending import BATCH_BYTES_MAX
from harness.targets.base.cluster import node_in
from harness.targets.base.conformance import CONFORMANCE_TOPICS, principal_name
from harness.targets.base.interface import (
    Breakpoint,
    BrokerAction,
    BrokerSession,
    Connection,
    ConnectionLost,
    Role,
    TargetError,
)
from harness.targets.base.prepare import Prepared, prepare
from harness.targets.reference.connection import ReferenceConnection, frame_of
from harness.targets.reference.tape import Taped, TapedSession, play, without_questions
from harness.wire.log_records import EncodedRecord
from harness.wire.record_batch import encode_batch
from reference_coordinator.broker.cluster import Cluster
from reference_coordinator.broker.listener import ConnectionId, Outgoing, SendFrame
from reference_coordinator.core.ids import GroupId, Millis
from reference_coordinator.log.external_records import external_batch
from reference_coordinator.profile.config import ConfigError, GroupCoordinatorConfig

_CLIENT_HOST: Final = "127.0.0.1"
_LONG_LOAD_MS: Final = 1_000
"""How long a lengthened log takes to load, in virtual time."""
_RELOADING: Final = (BrokerAction.RESTART, BrokerAction.KILL, BrokerAction.MOVE, BrokerAction.DISCONNECT)
_READY_TIMEOUT_MS: Final = 60_000.0


@dataclass(frozen=True, slots=True)
class Preparation:
    """How a broker was prepared for a scenario, which is the same for all brokers of one configuration."""

    prepared: Prepared
    tape: Sequence[Taped]


class ReferenceSession(BrokerSession):
    """A cluster for one scenario only, and its clock, which jumps from deadline to deadline."""

    def __init__(
        self, cluster: Cluster, properties: Mapping[str, str], preparation: Preparation | None = None
    ) -> None:
        self._cluster = cluster
        self._preparation = preparation
        self._is_prepared = False
        self._properties = dict(properties)
        self._clock_ms = 0
        self._opened_ms = 0
        self._is_preparing = False
        self._has_long_log = False
        self._load_ends_ms: int | None = None
        self._former: int | None = None
        self._without_network: list[int] = []
        self._still: list[int] = []
        self._connections: dict[ConnectionId, ReferenceConnection] = {}

    @property
    @override
    def settle_ms(self) -> float:
        return 0

    @override
    def now_ms(self) -> float:
        return self._clock_ms - self._opened_ms

    @property
    def next_deadline_ms(self) -> float | None:
        """When something happens next without a request, on the broker session's clock; else None."""
        return None if (due := self._cluster.next_deadline()) is None else due - self._opened_ms

    def group_in(self, group_id: str) -> tuple[str, str] | None:
        """Return the type and state of a group as in ListGroups, or None if there is none."""
        found = self._cluster.listener(self._coordinator).apis.coordinator.shard.find_group(GroupId(group_id))
        listed = None if found is None else found.as_listed_group()
        return None if listed is None else (listed.group_type, listed.group_state)

    async def prepared(self) -> Preparation:
        """Prepare the coordinator for a scenario, once; the clock begins after that."""
        if self._is_prepared:
            assert self._preparation is not None
            return self._preparation
        self._is_preparing = True
        if self._preparation is None:
            taped = TapedSession(self)
            prepared = await prepare(taped, topics=CONFORMANCE_TOPICS, timeout_ms=_READY_TIMEOUT_MS)
            self._preparation = Preparation(prepared, without_questions(taped.tape))
        else:
            await play(self, self._preparation.tape)
        self._is_preparing, self._is_prepared = False, True
        self._opened_ms = self._clock_ms
        return self._preparation

    @override
    async def connect(self, role: Role = Role.COORDINATOR, *, principal: str | None = None) -> Connection:
        if not self._is_preparing:
            await self.prepared()
        node_id = self._node_in(role)
        if not self._cluster.is_reachable(node_id):
            raise ConnectionLost(f"broker {node_id} cannot be reached")
        connection_id = self._cluster.connected(
            node_id, client_host=_CLIENT_HOST, principal=principal_name(principal)
        )
        connection = ReferenceConnection(self, connection_id)
        self._connections[connection_id] = connection
        return connection

    def _node_in(self, role: Role) -> int:
        up = self._cluster.node_ids_up
        return node_in(role, coordinator=self._coordinator, up=up, former=self._former)

    @property
    def _coordinator(self) -> int:
        """The id of the coordinator; before there are groups, of the broker that will coordinate."""
        found = self._cluster.coordinator_id
        return self._cluster.node_ids_up[0] if found is None else found

    @override
    async def elapse(self, duration_ms: float) -> None:
        if not self._is_preparing:
            await self.prepared()
        limit_ms = self._clock_ms + ceil(duration_ms)
        while self.jump(limit_ms):
            pass

    @override
    async def carry_out(self, action: BrokerAction, broker_config: Mapping[str, str]) -> None:
        await self.prepared()
        if self._has_long_log and action in _RELOADING:
            self._cluster.pause_at_loading()
            self._load_ends_ms = self._clock_ms + _LONG_LOAD_MS
        before = self._coordinator
        self._carry_out(action, broker_config)
        if self._coordinator != before:
            self._former = before

    def _carry_out(self, action: BrokerAction, broker_config: Mapping[str, str]) -> None:
        cluster, node_id, now_ms = self._cluster, self._coordinator, self._now()
        match action:
            case BrokerAction.LENGTHEN:
                self._require_room(BATCH_BYTES_MAX)
                self._has_long_log = True
            case BrokerAction.RESTART:
                self._restart(node_id, broker_config)
            case BrokerAction.KILL if cluster.node_ids_up == (node_id,):
                self.deliver(cluster.kill(node_id, now_ms=now_ms))
                self._restart(node_id, {})
            case BrokerAction.KILL:
                self.deliver(cluster.kill(node_id, now_ms=now_ms))
            case BrokerAction.MOVE:
                self.deliver(cluster.move(self._node_in(Role.OTHER), now_ms=now_ms))
            case _:
                self._hinder(node_id, action)

    def _hinder(self, node_id: int, action: BrokerAction) -> None:
        """Carry out an action on a broker that continues to run."""
        cluster, now_ms = self._cluster, self._now()
        match action:
            case BrokerAction.PAUSE:
                cluster.pause(node_id)
                self._still.append(node_id)
            case BrokerAction.RESUME:
                while self._still:
                    self.deliver(cluster.resume(self._still.pop(), now_ms=now_ms))
            case BrokerAction.DISCONNECT:
                self._without_network.append(node_id)
                self.deliver(cluster.disconnect(node_id, now_ms=now_ms))
            case BrokerAction.RECONNECT:
                while self._without_network:
                    self.deliver(cluster.reconnect(self._without_network.pop(), now_ms=now_ms))
            case _:
                raise AssertionError("done above")

    def _restart(self, node_id: int, broker_config: Mapping[str, str]) -> None:
        self._properties |= broker_config
        try:
            config = GroupCoordinatorConfig.from_properties(self._properties)
        except ConfigError as error:
            raise TargetError(f"the reference cannot restart so: {error}") from error
        self.deliver(self._cluster.restart(node_id, now_ms=self._now(), config=config))

    @override
    async def append(self, partition: int, records: Sequence[EncodedRecord]) -> None:
        await self.prepared()
        self._require_room(len(encode_batch(records)))
        cluster, base_offset = self._cluster, self._cluster.state.log.end_offset(partition)
        added = external_batch(records, partition=partition, base_offset=base_offset, profile=cluster.profile)
        cluster.append_external(partition, added)

    def _require_room(self, batch_bytes: int) -> None:
        """Reject an external batch that is too large for the log.

        Source: UnifiedLog#analyzeAndValidateRecords (4.3.1).
        """
        if batch_bytes > GroupCoordinatorConfig.from_properties(self._properties).message_max_bytes:
            raise TargetError("__consumer_offsets cannot be written: Produce answers MESSAGE_TOO_LARGE")

    @override
    async def pause_at(self, point: Breakpoint, partitions: frozenset[int] = frozenset()) -> None:
        await self.prepared()
        match point:
            case Breakpoint.LOADING:
                self._cluster.pause_at_loading(partitions)
            case Breakpoint.DEAD:
                self._cluster.pause_at_dead()

    @override
    async def resume_from(self, point: Breakpoint) -> None:
        match point:
            case Breakpoint.LOADING:
                self.deliver(self._cluster.resume_from_loading(now_ms=self._now()))
            case Breakpoint.DEAD:
                self.deliver(self._cluster.resume_from_dead(now_ms=self._now()))

    @override
    async def close(self) -> None:
        for connection in tuple(self._connections.values()):
            await connection.close()

    def request(self, connection_id: ConnectionId, payload: bytes) -> None:
        """Pass a connection's frame to the cluster."""
        self.deliver(self._cluster.received(connection_id, payload, now_ms=self._now()))

    def disconnect(self, connection_id: ConnectionId) -> None:
        """Inform the cluster that a client closed its connection."""
        if self._connections.pop(connection_id, None) is not None:
            self.deliver(self._cluster.disconnected(connection_id, now_ms=self._now()))

    def limit_ms(self, timeout_ms: float) -> int:
        """Return the clock's time at the end of a wait that begins now."""
        return self._clock_ms + ceil(timeout_ms)

    def jump(self, limit_ms: int) -> bool:
        """Advance to the next deadline, or to a limit before it; return whether there was a deadline."""
        deadlines = (self._cluster.next_deadline(), self._load_ends_ms)
        deadline = min((each for each in deadlines if each is not None), default=None)
        if deadline is None or deadline > limit_ms:
            self._clock_ms = max(self._clock_ms, limit_ms)
            return False
        self._clock_ms = max(self._clock_ms, deadline)
        self.deliver(self._cluster.advance(now_ms=self._now()))
        if self._load_ends_ms is not None and self._load_ends_ms <= self._clock_ms:
            self._load_ends_ms = None
            self.deliver(self._cluster.resume_from_loading(now_ms=self._now()))
        after = self._cluster.next_deadline()
        assert after is None or after > self._clock_ms, "a deadline that has passed was not met"
        return True

    def deliver(self, outgoing: Sequence[Outgoing]) -> None:
        """Pass frames and closes from the cluster to the connections that they are for."""
        for effect in outgoing:
            if isinstance(effect, SendFrame):
                connection = self._connections.get(effect.connection)
                if connection is not None:
                    connection.arrived.append(frame_of(effect))
            else:
                closed = self._connections.pop(effect.connection, None)
                if closed is not None:
                    closed.loss = "closed by the peer"

    def _now(self) -> Millis:
        return Millis(self._clock_ms)
