"""`reference[:PROFILE]`: the reference coordinator in this process, in virtual time.

Each stage has a listener of its own, and with it a coordinator, a log, topics and a clock: scenarios share
nothing, and time passes only when somebody waits. Ids are seeded by the scenario, so that the same scenario
gives the same bytes whatever ran before.
"""

import zlib
from collections import deque
from collections.abc import Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import Final

from typing_extensions import override

from harness.targets.base import (
    CONFORMANCE_CONFIG,
    CONFORMANCE_TOPICS,
    Broker,
    BrokerDescription,
    Capability,
    Connection,
    ConnectionLost,
    Frame,
    NoAnswer,
    PermittedValue,
    Progress,
    Stage,
    Target,
    TargetError,
)
from harness.targets.prepare import Prepared, prepare
from reference_coordinator.choices import DeterministicChoices
from reference_coordinator.config import ConfigError, GroupCoordinatorConfig
from reference_coordinator.ids import Millis
from reference_coordinator.listener import ConnectionId, Listener, Outgoing, SendFrame
from reference_coordinator.profiles import Profile, UnknownProfileError, profile_for

DEFAULT_PROFILE: Final = "4.4"
"""The newest release that the reference's table tells of."""
_HOST: Final = "127.0.0.1"
_CLIENT_HOST: Final = "/127.0.0.1"
_PORT: Final = 9092
_READY_TIMEOUT_MS: Final = 60_000.0


class ReferenceTarget(Target):
    """The reference coordinator, in process, held to one profile."""

    def __init__(self, profile: str | None = None, *, profile_in_spec: bool = False) -> None:
        self._profile = reference_profile(profile or DEFAULT_PROFILE)
        self._suffix = f":{self._profile.name}" if profile_in_spec else ""

    @property
    @override
    def spec(self) -> str:
        return f"reference{self._suffix}"

    @property
    @override
    def name(self) -> str:
        return f"reference{self._suffix.replace(':', '-')}"

    @property
    @override
    def capabilities(self) -> frozenset[Capability]:
        return frozenset(Capability)

    @override
    async def start(self, *, broker_config: Mapping[str, str], directory: Path, progress: Progress) -> Broker:
        properties = {**CONFORMANCE_CONFIG, **broker_config}
        try:
            config = GroupCoordinatorConfig.from_properties(properties)
        except ConfigError as error:
            raise TargetError(f"{self.spec}: {error}") from error
        stage = ReferenceStage(_listener(self._profile, config, "preparation"))
        prepared = await stage.prepared()
        await stage.close()
        description = BrokerDescription(
            spec=self.spec,
            profile=self._profile.name,
            implementation=f"reference coordinator, profile {self._profile.name}",
            bootstrap="in process",
            broker_config=properties,
            api_ranges=prepared.api_ranges,
        )
        return ReferenceBroker(description, self._profile, config)


def reference_profile(name: str) -> Profile:
    """Return a profile of the reference; `TargetError` when there is none of that name."""
    try:
        return profile_for(name)
    except UnknownProfileError as error:
        raise TargetError(str(error)) from error


class ReferenceBroker(Broker):
    """Makes a coordinator for each stage; holds nothing itself."""

    def __init__(
        self, description: BrokerDescription, profile: Profile, config: GroupCoordinatorConfig
    ) -> None:
        self._description = description
        self._profile = profile
        self._config = config

    @property
    @override
    def description(self) -> BrokerDescription:
        return self._description

    @override
    def open_stage(self, scenario_id: str) -> Stage:
        return ReferenceStage(_listener(self._profile, self._config, scenario_id))

    @override
    def failure(self) -> str | None:
        return None

    @override
    async def stop(self) -> None:
        return


def _listener(profile: Profile, config: GroupCoordinatorConfig, scenario_id: str) -> Listener:
    return Listener(
        profile=profile,
        config=config,
        choices=DeterministicChoices(seed=zlib.crc32(scenario_id.encode())),
        host=_HOST,
        port=_PORT,
    )


class ReferenceStage(Stage):
    """A coordinator of one scenario's own and its clock, which jumps from deadline to deadline."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._clock_ms = 0
        self._opened_ms = 0
        self._prepared: Prepared | None = None
        self._is_preparing = False
        self._connections: dict[ConnectionId, ReferenceConnection] = {}

    @property
    @override
    def settle_ms(self) -> float:
        return 0

    @override
    def now_ms(self) -> float:
        return self._clock_ms - self._opened_ms

    async def prepared(self) -> Prepared:
        """Bring the coordinator to where a scenario may begin, once; the clock begins after that."""
        if self._prepared is None:
            self._is_preparing = True
            self._prepared = await prepare(self, topics=CONFORMANCE_TOPICS, timeout_ms=_READY_TIMEOUT_MS)
            self._is_preparing = False
            self._opened_ms = self._clock_ms
        return self._prepared

    @override
    async def connect(self) -> Connection:
        if not self._is_preparing:
            await self.prepared()
        connection_id = self._listener.connected(client_host=_CLIENT_HOST)
        connection = ReferenceConnection(self, connection_id)
        self._connections[connection_id] = connection
        return connection

    @override
    async def elapse(self, duration_ms: float) -> None:
        if not self._is_preparing:
            await self.prepared()
        limit_ms = self._clock_ms + ceil(duration_ms)
        while self.jump(limit_ms):
            pass

    @override
    async def restart_coordinator(self, *, hold_loading: bool) -> None:
        await self.prepared()
        self.deliver(self._listener.restart(hold_loading=hold_loading, now_ms=self._now()))

    @override
    async def release_loading(self) -> None:
        self.deliver(self._listener.release_loading(now_ms=self._now()))

    @override
    async def close(self) -> None:
        for connection in tuple(self._connections.values()):
            await connection.close()

    def request(self, connection_id: ConnectionId, payload: bytes) -> None:
        """Hand a connection's frame to the listener."""
        self.deliver(self._listener.received(connection_id, payload, now_ms=self._now()))

    def disconnect(self, connection_id: ConnectionId) -> None:
        """Tell the listener that a client closed its connection."""
        if self._connections.pop(connection_id, None) is not None:
            self.deliver(self._listener.disconnected(connection_id, now_ms=self._now()))

    def limit_ms(self, timeout_ms: float) -> int:
        """Return the clock's time at the end of a wait that begins now."""
        return self._clock_ms + ceil(timeout_ms)

    def jump(self, limit_ms: int) -> bool:
        """Let time pass to the next deadline, or to a limit before it; tell whether there was one."""
        deadline = self._listener.next_deadline()
        if deadline is None or deadline > limit_ms:
            self._clock_ms = max(self._clock_ms, limit_ms)
            return False
        self._clock_ms = max(self._clock_ms, deadline)
        self.deliver(self._listener.advance(now_ms=self._now()))
        after = self._listener.next_deadline()
        assert after is None or after > self._clock_ms, "a deadline that has passed was not met"
        return True

    def deliver(self, outgoing: Sequence[Outgoing]) -> None:
        """Put what the listener wants sent or closed where the connections look for it."""
        for effect in outgoing:
            if isinstance(effect, SendFrame):
                connection = self._connections.get(effect.connection)
                if connection is not None:
                    connection.arrived.append(_frame(effect))
            else:
                closed = self._connections.pop(effect.connection, None)
                if closed is not None:
                    closed.loss = "closed by the peer"

    def _now(self) -> Millis:
        return Millis(self._clock_ms)


def _frame(effect: SendFrame) -> Frame:
    permitted = tuple(
        PermittedValue(field=choice.field, payloads=choice.frames, reason=choice.reason)
        for choice in effect.permitted
    )
    return Frame(payload=effect.frame, permitted=permitted)


class ReferenceConnection(Connection):
    """A connection to a stage's listener.

    Attributes:
        arrived: frames that nobody received yet.
        loss: why no more will come, once that is so.
    """

    def __init__(self, stage: ReferenceStage, connection_id: ConnectionId) -> None:
        self._stage = stage
        self._connection_id = connection_id
        self.arrived: deque[Frame] = deque()
        self.loss: str | None = None

    @override
    async def send(self, payload: bytes) -> None:
        if self.loss is not None:
            raise ConnectionLost(self.loss)
        self._stage.request(self._connection_id, payload)

    @override
    async def receive(self, *, timeout_ms: float) -> Frame:
        limit_ms = self._stage.limit_ms(timeout_ms)
        while not self.arrived:
            if self.loss is not None:
                raise ConnectionLost(self.loss)
            if not self._stage.jump(limit_ms):
                raise NoAnswer(f"no frame within {timeout_ms:g} ms")
        return self.arrived.popleft()

    @override
    async def close(self) -> None:
        if self.loss is None:
            self.loss = "closed by us"
            self._stage.disconnect(self._connection_id)
