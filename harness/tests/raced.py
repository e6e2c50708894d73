"""The reference behind a scheduler of chance, whole or with a flaw, for races in this process."""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from selectors import DefaultSelector, SelectorKey
from typing import Final

from typing_extensions import override

from harness.races.catalogue import select_races
from harness.races.drive import Driver, Lines
from harness.races.plan import cohorts
from harness.tap.journal import Journal
from harness.targets.base.conformance import CONFORMANCE_TOPICS
from harness.targets.base.interface import (
    Breakpoint,
    BrokerAction,
    BrokerSession,
    Connection,
    ConnectionLost,
    Frame,
    NoAnswer,
    Role,
)
from harness.targets.reference.capabilities import USUAL_CONFIG
from harness.wire.codec import encode_request
from harness.wire.log_records import EncodedRecord
from reference_coordinator.broker.listener import ConnectionId, Listener, Outgoing, SendFrame
from reference_coordinator.core.choices import DeterministicChoices
from reference_coordinator.core.ids import Millis
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.profiles import profile_for

PATIENCE_MS: Final = 30.0
QUIET_MS: Final = 15.0
TURN_S: Final = 10e-6
"""What one turn of the loop takes."""


class ClockOfTurns(DefaultSelector):
    """A clock that advances with each turn of a loop, so that a race is the same on any machine."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0

    @override
    def select(self, timeout: float | None = None) -> list[tuple[SelectorKey, int]]:
        self.now_s += TURN_S + (timeout or 0)
        return super().select(0)


class LoopOfTurns(asyncio.SelectorEventLoop):
    """A loop that takes its time from such a clock."""

    def __init__(self) -> None:
        self._clock = ClockOfTurns()
        super().__init__(self._clock)

    @override
    def time(self) -> float:
        return self._clock.now_s


class Shuffled:
    """A broker that serves what has come, and sends what it has to send, in an order of chance's choosing.

    Attributes:
        listener: the reference.
    """

    def __init__(self, profile: str, *, seed: int) -> None:
        self.listener = Listener(
            profile=profile_for(profile),
            config=GroupCoordinatorConfig.from_properties(USUAL_CONFIG),
            choices=DeterministicChoices(seed=seed),
            host="127.0.0.1",
            port=9092,
            topics=CONFORMANCE_TOPICS,
        )
        self._chance = Random(seed)
        self._busy_s = _now_s()
        self._come: deque[tuple[ConnectionId, bytes]] = deque()
        self._to_send: deque[tuple[ConnectionId, bytes]] = deque()
        self._lines: dict[ConnectionId, ShuffledConnection] = {}
        self._something = asyncio.Event()
        question = encode_request("FindCoordinator", 2, correlation_id=0, fields={"key": "group"})
        self.receive(self.listener.connected(client_host="127.0.0.1"), question)
        self._to_send.clear()

    def connect(self) -> "ShuffledConnection":
        """Open a connection."""
        line = ShuffledConnection(self, self.listener.connected(client_host="127.0.0.1"))
        self._lines[line.number] = line
        return line

    def take_in(self, connection: ConnectionId, frame: bytes) -> None:
        """Let a frame have come; it is served when chance will have it."""
        self._come.append((connection, frame))
        self._something.set()

    async def run(self) -> None:
        """Serve and send until cancelled."""
        while True:
            if not (self._come or self._to_send):
                self._something.clear()
                try:
                    await asyncio.wait_for(self._something.wait(), timeout=0.001)
                except TimeoutError:
                    self.idle()
                continue
            self._one_thing()
            await asyncio.sleep(0)

    def idle(self) -> None:
        """Do what is due when nobody wants anything."""
        self.deliver(self.listener.advance(now_ms=self.now_ms()))

    def receive(self, connection: ConnectionId, frame: bytes) -> None:
        """Serve a frame; what a flawed broker does otherwise."""
        self.deliver(self.listener.received(connection, frame, now_ms=self.now_ms()))

    def deliver(self, outgoing: tuple[Outgoing, ...]) -> None:
        """Let answers be sent when chance will have it."""
        for each in outgoing:
            assert isinstance(each, SendFrame), each
            self._to_send.append((each.connection, each.frame))

    def answer(self, connection: ConnectionId, frame: bytes) -> None:
        """Let one answer be sent."""
        self._to_send.append((connection, frame))

    def is_quiet(self, *, for_s: float) -> bool:
        """Whether there has been nothing to do for a while."""
        return not (self._come or self._to_send) and _now_s() - self._busy_s > for_s

    def now_ms(self) -> Millis:
        return Millis(int(_now_s() * 1000))

    def _one_thing(self) -> None:
        self._busy_s = _now_s()
        ways = [way for way in (self._come, self._to_send) if way]
        way = self._chance.choice(ways)
        way.rotate(-self._chance.randrange(len(way)))
        connection, frame = way.popleft()
        if way is self._come:
            self.receive(connection, frame)
        elif connection in self._lines:
            self._lines[connection].arrived.put_nowait(frame)


class ShuffledConnection(Connection):
    def __init__(self, broker: Shuffled, number: ConnectionId) -> None:
        self._broker = broker
        self.number = number
        self.arrived: asyncio.Queue[bytes] = asyncio.Queue()
        self._is_closed = False

    @override
    async def send(self, payload: bytes) -> None:
        if self._is_closed:
            raise ConnectionLost("closed by us")
        self._broker.take_in(self.number, payload)

    @override
    async def receive(self, *, timeout_ms: float) -> Frame:
        while True:
            try:
                return Frame(payload=await asyncio.wait_for(self.arrived.get(), timeout_ms / 1000))
            except TimeoutError:
                if self._broker.is_quiet(for_s=timeout_ms / 1000):
                    raise NoAnswer("nothing came") from None

    @override
    async def close(self) -> None:
        self._is_closed = True


class ShuffledSession(BrokerSession):
    def __init__(self, broker: Shuffled) -> None:
        self._broker = broker

    @property
    @override
    def settle_ms(self) -> float:
        return 0

    @override
    def now_ms(self) -> float:
        return self._broker.now_ms()

    @override
    async def connect(self, role: Role = Role.COORDINATOR, *, principal: str | None = None) -> Connection:
        return self._broker.connect()

    @override
    async def elapse(self, duration_ms: float) -> None:
        raise NotImplementedError

    @override
    async def carry_out(self, action: BrokerAction, broker_config: Mapping[str, str]) -> None:
        raise NotImplementedError

    @override
    async def append(self, partition: int, records: Sequence[EncodedRecord]) -> None:
        raise NotImplementedError

    @override
    async def pause_at(self, point: Breakpoint, partitions: frozenset[int] = frozenset()) -> None:
        raise NotImplementedError

    @override
    async def resume_from(self, point: Breakpoint) -> None:
        raise NotImplementedError

    @override
    async def close(self) -> None:
        return


def raced(
    broker_class: type[Shuffled], profile: str, race: str, path: Path, *, rounds: int, seed: int
) -> None:
    """Hold one race with a broker, and record it in a journal."""

    async def run() -> None:
        broker = broker_class(profile, seed=seed)
        serving = asyncio.create_task(broker.run())
        journal = Journal(path, "", now_ns=lambda: round(_now_s() * 1e9))
        driver = Driver(
            lines=Lines(ShuffledSession(broker), journal),
            prefix="race",
            patience_ms=PATIENCE_MS,
            quiet_ms=QUIET_MS,
        )
        (chosen,) = select_races([race])
        driving = asyncio.create_task(driver.run(cohorts(chosen, round_count=rounds, seed=seed)))
        await asyncio.wait((serving, driving), return_when=asyncio.FIRST_COMPLETED)
        is_over = driving.done()
        (serving if is_over else driving).cancel()
        await (driving if is_over else serving)

    with asyncio.Runner(loop_factory=LoopOfTurns) as runner:
        runner.run(run())


def _now_s() -> float:
    return asyncio.get_running_loop().time()
