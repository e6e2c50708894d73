"""A session in memory for tests of the harness itself: it answers whatever a test wants, in virtual time."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from harness.runner.interpreter import Interpreter
from harness.runner.recorder import recorder_of
from harness.scenario.bindings import Bindings
from harness.scenario.script import Script
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
from harness.trace.events import Event
from harness.wire.log_records import EncodedRecord

CLOSE = object()
"""What a responder returns to close the connection."""
Responder = Callable[[bytes], object]
"""From a request frame to a response frame, None for no answer, or `CLOSE`."""


@dataclass(slots=True)
class MemoryConnection(Connection):
    """A connection whose other end is a function."""

    session: "MemorySession"
    frames: deque[bytes] = field(default_factory=deque)
    lost: str | None = None

    async def send(self, payload: bytes) -> None:
        if self.lost is not None:
            raise ConnectionLost(self.lost)
        answer = self.session.responder(payload)
        if answer is CLOSE:
            self.lost = "closed by the other side"
        elif isinstance(answer, bytes):
            self.frames.append(answer)

    async def receive(self, *, timeout_ms: float) -> Frame:
        await asyncio.sleep(0)
        if self.frames:
            return Frame(payload=self.frames.popleft())
        if self.lost is not None:
            raise ConnectionLost(self.lost)
        self.session.clock_ms += timeout_ms
        raise NoAnswer

    async def close(self) -> None:
        self.lost = self.lost or "closed by the actor"


@dataclass(slots=True)
class MemorySession(BrokerSession):
    """A broker session on which every connection is answered by the same function."""

    responder: Responder
    clock_ms: float = 0.0
    refuses: bool = False
    actions: list[str] = field(default_factory=list)
    """What was done to the broker."""

    @property
    def settle_ms(self) -> float:
        return 0

    def now_ms(self) -> float:
        return self.clock_ms

    async def connect(self, role: Role = Role.COORDINATOR, *, principal: str | None = None) -> Connection:
        if self.refuses:
            raise ConnectionLost("connection refused")
        return MemoryConnection(self)

    async def elapse(self, duration_ms: float) -> None:
        self.clock_ms += duration_ms

    async def carry_out(self, action: BrokerAction, broker_config: Mapping[str, str]) -> None:
        await asyncio.sleep(0)
        self.actions.append(action.value)

    async def append(self, partition: int, records: Sequence[EncodedRecord]) -> None:
        self.actions.append(f"append {len(records)} to {partition}")

    async def pause_at(self, point: Breakpoint, partitions: frozenset[int] = frozenset()) -> None:
        self.actions.append(f"hold {point.value}" + (f" of {sorted(partitions)}" if partitions else ""))

    async def resume_from(self, point: Breakpoint) -> None:
        self.actions.append(f"release {point.value}")

    async def close(self) -> None:
        return


async def interpreted(
    script: Script, session: BrokerSession, groups: Mapping[str, str], **further: object
) -> list[Event]:
    """Run a script whose groups have these ids, and return what was recorded."""
    events: list[Event] = []
    recorder = recorder_of(script, run_id="r", target="t", groups=groups, write=events.append)
    recorder.now_ms = session.now_ms
    given = {"broker_failure": lambda: None, "bindings": Bindings(groups=groups), **further}
    await Interpreter(script=script, session=session, recorder=recorder, **given).run()  # type: ignore[arg-type] # the caller names fields
    return events
