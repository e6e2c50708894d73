"""A recording of all calls to a reference, byte by byte, to repeat them on another without decoding.

Two references whose answers have been equal so far get the same bytes. If all answers are the same bytes at
the same times, no client can distinguish the two.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from typing_extensions import override

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
from harness.wire.log_records import EncodedRecord
from harness.wire.schema import api_key

_CHANGES: Final = frozenset({api_key("FindCoordinator"), api_key("CreateTopics")})
"""Requests that create topics while a broker is prepared."""


@dataclass(slots=True)
class Replay:
    """A broker session on which a tape is played."""

    session: BrokerSession
    connections: list[Connection] = field(default_factory=list)


class Taped(Protocol):
    """One recorded call."""

    async def is_alike(self, on: Replay) -> bool:
        """Repeat the call, and return whether the result is the same."""


@dataclass(frozen=True, slots=True)
class _Connected:
    role: Role
    principal: str | None
    is_lost: bool

    async def is_alike(self, on: Replay) -> bool:
        try:
            on.connections.append(await on.session.connect(self.role, principal=self.principal))
        except ConnectionLost:
            return self.is_lost
        return not self.is_lost


@dataclass(frozen=True, slots=True)
class _Sent:
    connection: int
    payload: bytes
    is_lost: bool

    async def is_alike(self, on: Replay) -> bool:
        try:
            await on.connections[self.connection].send(self.payload)
        except ConnectionLost:
            return self.is_lost
        return not self.is_lost


@dataclass(frozen=True, slots=True)
class Received:
    """A call that awaited a frame."""

    connection: int
    timeout_ms: float
    outcome: bytes | str
    """The frame, or the name of the exception if there was none."""
    at_ms: float

    async def is_alike(self, on: Replay) -> bool:
        """Await a frame, and return whether the same one comes."""
        try:
            frame = await on.connections[self.connection].receive(timeout_ms=self.timeout_ms)
        except (ConnectionLost, NoAnswer) as error:
            return self.outcome == type(error).__name__ and on.session.now_ms() == self.at_ms
        return frame.payload == self.outcome and on.session.now_ms() == self.at_ms


@dataclass(frozen=True, slots=True)
class _Closed:
    connection: int

    async def is_alike(self, on: Replay) -> bool:
        await on.connections[self.connection].close()
        return True


@dataclass(frozen=True, slots=True)
class _Elapsed:
    duration_ms: float

    async def is_alike(self, on: Replay) -> bool:
        await on.session.elapse(self.duration_ms)
        return True


@dataclass(frozen=True, slots=True)
class _CarriedOut:
    action: BrokerAction
    broker_config: Mapping[str, str]

    async def is_alike(self, on: Replay) -> bool:
        await on.session.carry_out(self.action, self.broker_config)
        return True


@dataclass(frozen=True, slots=True)
class _Appended:
    partition: int
    records: Sequence[EncodedRecord]

    async def is_alike(self, on: Replay) -> bool:
        await on.session.append(self.partition, self.records)
        return True


async def is_alike(session: BrokerSession, tape: Collection[Taped]) -> bool:
    """Play a tape on a new broker session, and return whether the same bytes come at the same times."""
    on = Replay(session)
    for each in tape:
        if not await each.is_alike(on):
            return False
    return True


async def play(session: BrokerSession, tape: Collection[Taped]) -> None:
    """Play a tape on a new broker session, whatever the results."""
    on = Replay(session)
    for each in tape:
        await each.is_alike(on)


def without_questions(tape: Sequence[Taped]) -> tuple[Taped, ...]:
    """Return a tape without requests that only query the state of a broker during its preparation."""
    kept: list[Taped] = []
    is_kept = False
    for each in tape:
        if isinstance(each, _Sent):
            is_kept = int.from_bytes(each.payload[:2], "big") in _CHANGES
        if is_kept or not isinstance(each, _Sent | Received):
            kept.append(each)
    return tuple(kept)


class TapedSession(BrokerSession):
    """A broker session that records all calls on a tape.

    Attributes:
        tape: the recorded calls, in the order of time.
    """

    def __init__(self, session: BrokerSession) -> None:
        self.tape: list[Taped] = []
        self._session = session
        self._connections = 0

    @property
    @override
    def settle_ms(self) -> float:
        return self._session.settle_ms

    @override
    def now_ms(self) -> float:
        return self._session.now_ms()

    @override
    async def connect(self, role: Role = Role.COORDINATOR, *, principal: str | None = None) -> Connection:
        try:
            opened = await self._session.connect(role, principal=principal)
        except ConnectionLost:
            self.tape.append(_Connected(role, principal, is_lost=True))
            raise
        self.tape.append(_Connected(role, principal, is_lost=False))
        self._connections += 1
        return TapedConnection(opened, self._connections - 1, self)

    @override
    async def elapse(self, duration_ms: float) -> None:
        self.tape.append(_Elapsed(duration_ms))
        await self._session.elapse(duration_ms)

    @override
    async def carry_out(self, action: BrokerAction, broker_config: Mapping[str, str]) -> None:
        self.tape.append(_CarriedOut(action, broker_config))
        await self._session.carry_out(action, broker_config)

    @override
    async def append(self, partition: int, records: Sequence[EncodedRecord]) -> None:
        self.tape.append(_Appended(partition, records))
        await self._session.append(partition, records)

    @override
    async def pause_at(self, point: Breakpoint, partitions: frozenset[int] = frozenset()) -> None:
        raise AssertionError("no made conversation pauses a broker")

    @override
    async def resume_from(self, point: Breakpoint) -> None:
        raise AssertionError("no made conversation pauses a broker")

    @override
    async def close(self) -> None:
        await self._session.close()


class TapedConnection(Connection):
    """A connection that records all calls on a tape.

    Attributes:
        inner: the wrapped connection.
    """

    def __init__(self, inner: Connection, number: int, session: TapedSession) -> None:
        self.inner = inner
        self._number = number
        self._session = session

    @override
    async def send(self, payload: bytes) -> None:
        try:
            await self.inner.send(payload)
        except ConnectionLost:
            self._session.tape.append(_Sent(self._number, payload, is_lost=True))
            raise
        self._session.tape.append(_Sent(self._number, payload, is_lost=False))

    @override
    async def receive(self, *, timeout_ms: float) -> Frame:
        session = self._session
        try:
            frame = await self.inner.receive(timeout_ms=timeout_ms)
        except (ConnectionLost, NoAnswer) as error:
            outcome = type(error).__name__
            session.tape.append(Received(self._number, timeout_ms, outcome, session.now_ms()))
            raise
        session.tape.append(Received(self._number, timeout_ms, frame.payload, session.now_ms()))
        return frame

    @override
    async def close(self) -> None:
        self._session.tape.append(_Closed(self._number))
        await self.inner.close()
